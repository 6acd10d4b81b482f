//! The example `backend_detection` of aprender-compute, as its crate has it.
#![allow(warnings, clippy::all)]

include!(concat!(env!("OUT_DIR"), "/backend_detection.rs"));
