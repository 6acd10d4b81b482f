//! Sums over the path.

pub(crate) mod background;
pub(crate) mod beside_waits;
pub(crate) mod condense;
pub(crate) mod host_over_device;
pub(crate) mod iterations;
pub mod path_sums;
pub mod path_time_by_name;
pub(crate) mod serial_work;
pub(crate) mod smallest_rows;
