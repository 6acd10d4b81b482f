//! The importer of Chrome traces.

mod annotations;
mod hostile;
mod kineto_versions;
mod memory;
mod reimport;
mod shapes;
mod support;
mod traces;
