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
pub use usable::{Rejection, Search, Usable, first_usable};

/// What `cuptiGetVersion` of the packages for CUDA 11.8, 12.0 and 12.1 says. (12.2 is 20, 12.4 is 22, 12.6 is 24, 13.0.1
/// is 130001.) Whether records are long enough is checked kind by kind.
pub const MIN_VERSION: u32 = 18;
