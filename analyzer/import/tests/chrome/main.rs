//! The importer of Chrome traces.

mod hostile;
mod memory;
mod reimport;
mod support;
mod traces;
