//! Records Rust programs around [`cudarc`](https://docs.rs/cudarc) into a run of [`trueno_recorder`].
//!
//! Without the feature `cuda` there is only [`driver`], which says whether a GPU can be used here;
//! nothing of CUDA is compiled then. With it:
//!
//! - [`CudaDevice`] is the [`Device`](trueno_recorder::Device) of a recorder: it is synchronised as the
//!   [`SyncMode`](trueno_recorder::SyncMode) says, and CUDA events are its clock.
//! - [`Cuda`] makes what records itself: [`Stream`]s, [`Module`]s of PTX, whose source is kept in the run,
//!   [`Memory`] of the device, copies, and [`Launch`]es, each a row with its own times.
//! - Nothing panics where there is no driver: [`CudaDevice::open`] says what is missing.
//!
//! ```no_run
//! # #[cfg(feature = "cuda")]
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use trueno_recorder::{Recorder, SyncMode};
//! use trueno_recorder_cuda::cudarc::driver::LaunchConfig;
//! use trueno_recorder_cuda::{Cuda, CudaDevice};
//! # const PTX: &str = "";
//!
//! let device = CudaDevice::open(0)?;
//! let rec = Recorder::builder("gpu.run").device(device.clone()).sync_mode(SyncMode::Deferred).create()?;
//! let cuda = Cuda::new(&rec, &device);
//! let stream = cuda.new_stream()?;
//! let scale = cuda.load_ptx("scale", PTX)?.function("scale")?;
//! let mut x = stream.alloc_zeros::<f32>("activations", 1 << 20)?;
//! let n = 1u32 << 20;
//! {
//!     let _brick = rec.brick("scale");
//!     let mut launch = stream.launch(&scale, LaunchConfig::for_num_elems(n));
//!     launch.write(&mut *x).value(&n).flops(u64::from(n));
//!     // SAFETY: the kernel takes a pointer to n floats and n.
//!     unsafe { launch.submit()? };
//! }
//! rec.finish()?;
//! # Ok(()) }
//! # #[cfg(not(feature = "cuda"))]
//! # fn main() {}
//! ```
//!
//! # What the times are
//!
//! A row of `kernels` or `transfers` lasts from one CUDA event to the next, around the launch and nothing else of the
//! stream. The driver gives distances of events in milliseconds as an `f32`, of about half a microsecond: so exact
//! are start and duration, and a launch that found its stream idle includes the way from the event to the kernel.
//! Distances are taken from an event that lies at most about a second before, as an `f32` of more is coarser. `run.json` has
//! `device.<number>.time_source`, `.resolution_ns` and `.driver` among its values.
//!
//! # With `trueno-record run`
//!
//! That command records any CUDA program through CUPTI, whose times are of the kernels themselves. A program that uses
//! this crate can be started by it: bricks of [`Cuda::brick`] are then ranges of that recording, with its kernels in them by
//! CUPTI's correlation. No events are put in this case, as two measurements would disturb each other: in the program's own run the
//! rows of device work are `bound`, and `device.<number>.time_source` says where the times are.

#![warn(missing_docs)]
#![deny(unsafe_op_in_unsafe_fn)]

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
