//! Runs against runs, against golden files and against assertions.

pub mod allocated;
pub mod check;
pub mod golden;
pub mod runs;
pub mod tolerances;
