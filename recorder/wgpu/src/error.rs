//! Errors.

/// A failure on the device.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no adapter of that number.
    #[error(
        "no adapter {number}: wgpu finds {found} (hint: a driver of Vulkan or OpenGL; Mesa's llvmpipe is one in software)"
    )]
    NoAdapter {
        /// The requested number.
        number: usize,
        /// Number of adapters.
        found: usize,
    },
    /// The adapter provides no device.
    #[error("cannot open the device: {0}")]
    Device(String),
    /// A wait failed.
    #[error("cannot wait for the device: {0}")]
    Wait(String),
    /// A buffer cannot be read.
    #[error("cannot read the buffer: {0}")]
    Read(String),
}
