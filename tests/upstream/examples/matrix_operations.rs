//! The example `matrix_operations` of aprender-compute, as its crate has it.
#![allow(warnings, clippy::all)]

include!(concat!(env!("OUT_DIR"), "/matrix_operations.rs"));
