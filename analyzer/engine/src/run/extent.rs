//! Extent of the data: the end of the last interval.

use polars::prelude::{DataType, Engine, LazyFrame, col};

use crate::panic_guard::guarded;

/// Largest `start_ns + dur_ns`; `None` if there are no rows or they cannot be read.
pub(super) fn last_end_ns(spans: LazyFrame) -> Option<i64> {
    let end = (col("start_ns") + col("dur_ns"))
        .max()
        .cast(DataType::Int64);
    let frame = guarded(|| spans.select([end]).collect_with_engine(Engine::Streaming))
        .ok()?
        .unwrap_single();
    frame.columns().first()?.i64().ok()?.get(0)
}
