//! The importer of Chrome traces.

mod annotations;
mod attributes;
mod collectives;
mod devices;
mod hostile;
mod kineto_versions;
mod memory;
mod odd;
mod reimport;
mod shapes;
mod support;
mod traces;
