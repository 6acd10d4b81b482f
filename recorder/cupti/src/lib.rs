//! Records of CUPTI, NVIDIA's tracing library, about a CUDA program.
//!
//! - [`record`]: the activity records as they lie in CUPTI's buffers, decoded. No CUDA is needed to
//!   build or to use it.
//! - [`walk`]: records of a raw buffer, one after the other.
//! - [`spool`]: the file that a recorded process appends to, and its reader.
//! - [`driver`]: as much of the NVIDIA driver as kernels of our own need.
//! - [`nvml`]: gauges of GPUs.
//! - [`library`]: where `libcupti` lies and what can be called in it; nothing is linked.
//!
//! Offsets were compared with NVIDIA's headers of CUPTI 12.9.79 and 13.0.85. Records only ever grew at
//! their end, so a longer record of a newer library is read by its known beginning.

#![deny(unsafe_op_in_unsafe_fn)]

pub mod driver;
pub mod kind;
mod layout;
pub mod library;
pub mod nvml;
pub mod record;
pub mod spool;
pub mod walk;
