//! The importer of Chrome traces.

mod hostile;
mod memory;
mod own;
mod support;
mod traces;
