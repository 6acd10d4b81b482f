//! Memory that a run says it took and gave back; blocks that a recording allocator saw are not part of it.

use std::collections::BTreeMap;

use trueno_engine::frame::Rows;
use trueno_engine::query::{Database, QueryError, collect};

/// Memory of the host (`None`) or of a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Allocated {
    pub rows: u64,
    /// Most bytes allocated and not freed at one time.
    pub peak_bytes: i64,
    /// The first time of that peak.
    pub peak_ns: i64,
    /// Allocated and never freed.
    pub kept_bytes: i64,
    pub taken_bytes: i64,
}

/// By place. Memory allocated before the recording began is unknown and not counted. Empty if nothing was recorded.
///
/// # Errors
/// The engine could not run the query.
pub fn allocated(database: &Database) -> Result<BTreeMap<Option<u64>, Allocated>, QueryError> {
    // At one time what is given back comes first: a block that is moved is never two.
    // What an allocator recorded by itself tells of the same bytes again, or of samples of them.
    let sql = "SELECT CAST(device AS BIGINT) AS device, time_ns, bytes FROM allocations \
               WHERE weight IS NULL ORDER BY time_ns, bytes";
    let frame = collect(database, sql)?;
    let rows = Rows::new(&frame);
    let (device, time, bytes) = (
        rows.i64("device")?,
        rows.i64("time_ns")?,
        rows.i64("bytes")?,
    );
    let mut places: BTreeMap<Option<u64>, Allocated> = BTreeMap::new();
    for row in 0..frame.height() {
        let place = places
            .entry(
                device
                    .get(row)
                    .and_then(|device| u64::try_from(device).ok()),
            )
            .or_default();
        let bytes = bytes.get(row).unwrap_or(0);
        place.rows += 1;
        place.kept_bytes = place.kept_bytes.saturating_add(bytes);
        place.taken_bytes = place.taken_bytes.saturating_add(bytes.max(0));
        if place.kept_bytes > place.peak_bytes {
            place.peak_bytes = place.kept_bytes;
            place.peak_ns = time.get(row).unwrap_or(0);
        }
    }
    Ok(places)
}
