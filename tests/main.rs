//! End-to-end tests: the built command, real plugins, real recordings.

mod cli;
mod damage;
mod harness;
mod hostile;
mod plugins;
mod report;
mod structure;
