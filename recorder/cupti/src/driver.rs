//! The NVIDIA driver, for kernels of our own: as few of its functions as that takes.
//!
//! Nothing is linked and nothing panics: without a driver there is an error that says so. Modules are PTX
//! texts, which the driver compiles for the device it has.

mod api;
mod context;
mod memory;
mod stream;

pub use api::{Api, DriverError, LIBRARY};
pub use context::{Argument, Context, Device, Function, Launch, Module, attribute, uuid_text};
pub use memory::{Buffer, Pinned};
pub use stream::{Event, Stream, StreamHandle};
