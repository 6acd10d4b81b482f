//! The NVIDIA driver: [`Driver`] finds and starts it, and the rest is as many of its functions as kernels of our own
//! take.
//!
//! Nothing is linked and nothing panics: without a driver there is an error that says so. Modules are PTX
//! texts, which the driver compiles for the device it has.
//!
//! The functions are a table of our own ([`Api`]), each looked for first, and not cudarc's: so ceilings and checksums add
//! no dependency to a build, and any program with an address and a stream can use them.

mod api;
mod context;
mod error;
mod listing;
mod loader;
mod memory;
mod stream;

pub use api::Api;
pub use context::{
    Argument, Context, Device, Function, Launch, Module, attribute, mig_uuid_text, uuid_text,
};
pub use error::DriverError;
pub use listing::Listed;
pub use loader::{Driver, LIBRARY};
pub use memory::{Buffer, Pinned};
pub use stream::{Event, Stream, StreamHandle};
