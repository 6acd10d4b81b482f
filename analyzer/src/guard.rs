//! Keeps a panic of the query engine within the call that caused it.

use std::panic::{AssertUnwindSafe, catch_unwind};

use polars::prelude::PolarsResult;

/// Runs `work`; a panic becomes an error.
///
/// The engine asserts some of what it expects of files and queries rather than
/// returning an error.
pub(crate) fn guarded<T>(work: impl FnOnce() -> PolarsResult<T>) -> Result<T, String> {
    guard_panic(work)?.map_err(|error| error.to_string())
}

/// Runs `work`; a panic becomes its text.
pub(crate) fn guard_panic<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| {
        let text = panic
            .downcast_ref::<&str>()
            .copied()
            .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
            .unwrap_or("no message");
        format!("the query engine gave up: {text}")
    })
}
