//! Records Rust programs around [`cudarc`](https://docs.rs/cudarc) into a run of `trueno-recorder`.
//!
//! Without the feature `cuda` there is only [`driver`], which says whether a GPU can be used here;
//! nothing of CUDA is compiled then.

#![warn(missing_docs)]
#![deny(unsafe_op_in_unsafe_fn)]

pub mod driver;
