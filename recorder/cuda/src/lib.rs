//! Records Rust programs around [`cudarc`](https://docs.rs/cudarc) into a run of `trueno-recorder`.
//!
//! Without the feature `cuda` there are only [`checksum`], which fingerprints tensors where they lie, and
//! [`driver`], which says whether a GPU can be used here; cudarc is not compiled then.

#![warn(missing_docs)]
#![deny(unsafe_op_in_unsafe_fn)]

pub mod checksum;
pub mod driver;
