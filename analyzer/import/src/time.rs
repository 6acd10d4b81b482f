//! Times that files state as real numbers.

/// Rounds a time in nanoseconds; `None` if it is out of range, which means damage.
pub(crate) fn rounded_ns(ns: f64) -> Option<i64> {
    const LATEST_NS: f64 = (i64::MAX / 2) as f64;
    (ns.abs() < LATEST_NS).then(|| ns.round() as i64)
}
