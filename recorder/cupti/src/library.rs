//! `libcupti`: where it lies, and what can be called in it.
//!
//! Nothing is linked. Every function is optional: CUPTI 12.0 lacks some that 13.0 has, and a missing one
//! costs what it does, not the recording.

mod api;
mod find;
mod open;
mod probe;
mod usable;

pub use api::{
    ActivityBufferCompleted, ActivityBufferRequested, CallbackFunction, Cupti, Refused,
    SubscriberParams, code_name,
};
pub use find::{CANDIDATES_VARIABLE, Candidate, Places, candidates, python_folders};
pub use open::{Library, OpenError};
pub use probe::record_sizes;
pub use usable::{Search, Usable, first_usable};

/// CUPTI 12.0, which numbers itself so; older ones have other layouts. (12.9.1 is 28, 13.0.1 is 130001.)
pub const MIN_VERSION: u32 = 19;
