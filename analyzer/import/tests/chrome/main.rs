//! The importer of Chrome traces.

mod hostile;
mod own;
mod support;
mod traces;
