//! Weights of samples.
//!
//! A row of a sampling allocator has the weight w = 1 / p, with p the probability that a block of
//! its size was recorded (`trueno_recorder::alloc`, Horvitz and Thompson). Numbers of blocks are Σ w and
//! bytes Σ w · bytes: unbiased *estimates*, whose variance is estimated by Σ w (w − 1) · bytes².
//! A release has the weight of its allocation, so a block that is given back leaves nothing.

/// One block. Counts are integers in units of 1 / `ONE`, so that sums do not depend on their order.
pub const ONE: u64 = 1 << 20;

/// A row's weight as a count; `None` if it is not a valid weight.
pub fn stands_for(weight: f64) -> Option<u64> {
    let count = (weight * ONE as f64).round();
    (weight.is_finite() && weight >= 1.0 && count < u64::MAX as f64).then_some(count as u64)
}

pub fn scaled(bytes: i64, weight: f64) -> i64 {
    // A cast of a float saturates.
    (bytes as f64 * weight).round() as i64
}

pub fn blocks(count: u128) -> u64 {
    u64::try_from((count + u128::from(ONE / 2)) / u128::from(ONE)).unwrap_or(u64::MAX)
}

pub fn number(count: u128) -> f64 {
    count as f64 / ONE as f64
}

/// Variance that a sampled block adds to a sum of bytes; 0 if it was certain to be recorded. `bytes` are scaled.
pub fn variance(bytes: i64, stands_for: u64) -> f64 {
    let weight = stands_for as f64 / ONE as f64;
    // w (w − 1) · s² with the scaled bytes w · s.
    (1.0 - 1.0 / weight) * (bytes as f64).powi(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_certain_is_exact() {
        assert_eq!(stands_for(1.0), Some(ONE));
        assert_eq!(scaled(-4097, 1.0), -4097);
        assert_eq!(blocks(3 * u128::from(ONE)), 3);
        for broken in [0.0, 0.5, -1.0, f64::NAN, f64::INFINITY, 1e300] {
            assert_eq!(stands_for(broken), None, "{broken}");
        }
    }
}
