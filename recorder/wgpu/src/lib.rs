//! Records Rust programs around [`wgpu`](https://docs.rs/wgpu) into a run of [`trueno_recorder`].
//!
#![doc = include_str!("guide.md")]
#![warn(missing_docs)]
#![forbid(unsafe_code)]

mod buffer;
mod clock;
mod device;
mod dispatch;
mod encoder;
mod error;
mod offered;
mod open;
mod pass;
mod queries;
mod recorded;
mod recording;

pub use buffer::Buffer;
pub use device::WgpuDevice;
pub use dispatch::Dispatch;
pub use encoder::Encoder;
pub use error::Error;
pub use pass::Pass;
pub use recorded::Wgpu;
/// The version that this crate was built with; a program must use the same.
pub use wgpu;
