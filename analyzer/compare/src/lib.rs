//! Runs against runs, against golden files and against assertions.

pub mod allocated;
pub mod check;
pub mod compare;
pub mod golden;
pub mod tolerances;
