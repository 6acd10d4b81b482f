//! The importer of Chrome traces.

mod hostile;
mod kineto_versions;
mod memory;
mod reimport;
mod support;
mod traces;
