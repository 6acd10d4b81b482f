//! Devices: what the recorder asks of one, and what it makes of the answers.

mod bricks;
mod clocks;
mod interface;
mod launch;
mod pending;
mod resolve;
mod rows;
mod timeline;
mod work;

pub(crate) use bricks::Launched;
pub use interface::Device;
pub use launch::{LaunchGuard, TransferGuard};
pub(crate) use work::DeviceWork;
