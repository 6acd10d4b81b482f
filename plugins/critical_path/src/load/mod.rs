//! Rows, dependencies and waits as recorded, and what the runtime promises about them.

pub mod dependencies;
pub(crate) mod device;
pub(crate) mod device_waits;
pub mod edges;
pub(crate) mod inferred;
pub(crate) mod row_index;
pub(crate) mod scale;
pub(crate) mod streams;
pub(crate) mod wait_functions;
pub(crate) mod waits;
pub mod window;
