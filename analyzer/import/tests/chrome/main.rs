//! The importer of Chrome traces.

mod annotations;
mod collectives;
mod hostile;
mod kineto_versions;
mod memory;
mod reimport;
mod shapes;
mod support;
mod traces;
