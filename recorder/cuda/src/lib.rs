//! Records Rust programs around [`cudarc`](https://docs.rs/cudarc) into a run of [`trueno_recorder`].
//!
//! Without the feature `cuda` there are only [`checksum`], which fingerprints tensors where they lie, and [`driver`],
//! which says whether a GPU can be used here; cudarc is not compiled then: two of its versions do not compile together, so
//! that it is one crate's business behind one feature. It panics where there is no driver, so the library and every function
//! that it will need are looked for first. With the feature:
//!
#![cfg_attr(feature = "cuda", doc = include_str!("guide.md"))]
#![cfg_attr(
    not(feature = "cuda"),
    doc = "a device for a recorder, and what records launches, copies and memory (build the documentation with that feature to see them)."
)]
#![warn(missing_docs)]
#![deny(unsafe_op_in_unsafe_fn)]

pub mod checksum;
pub mod driver;

#[cfg(feature = "cuda")]
mod brick;
#[cfg(feature = "cuda")]
mod clock;
#[cfg(feature = "cuda")]
mod device;
#[cfg(feature = "cuda")]
mod error;
#[cfg(feature = "cuda")]
mod events;
#[cfg(feature = "cuda")]
mod injected;
#[cfg(feature = "cuda")]
mod launch;
#[cfg(feature = "cuda")]
mod memory;
#[cfg(feature = "cuda")]
mod module;
#[cfg(feature = "cuda")]
mod order;
#[cfg(feature = "cuda")]
mod recorded;
#[cfg(feature = "cuda")]
mod stream;
#[cfg(feature = "cuda")]
mod symbols;
#[cfg(feature = "cuda")]
mod transfer;

#[cfg(feature = "cuda")]
pub use brick::Brick;
/// The version that this crate was built with; a program must use the same.
#[cfg(feature = "cuda")]
pub use cudarc;
#[cfg(feature = "cuda")]
pub use device::CudaDevice;
#[cfg(feature = "cuda")]
pub use error::Error;
#[cfg(feature = "cuda")]
pub use launch::Launch;
#[cfg(feature = "cuda")]
pub use memory::Memory;
#[cfg(feature = "cuda")]
pub use module::{Kernel, Module};
#[cfg(feature = "cuda")]
pub use order::Event;
#[cfg(feature = "cuda")]
pub use recorded::Cuda;
#[cfg(feature = "cuda")]
pub use stream::Stream;
