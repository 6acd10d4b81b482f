//! Times that files state as real numbers.

/// A time in nanoseconds, rounded; `None`: no clock shows it, so the file is damaged there.
pub(crate) fn rounded_ns(ns: f64) -> Option<i64> {
    const LATEST_NS: f64 = (i64::MAX / 2) as f64;
    (ns.abs() < LATEST_NS).then(|| ns.round() as i64)
}
