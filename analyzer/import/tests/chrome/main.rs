//! The importer of Chrome traces.

mod hostile;
mod support;
mod traces;
