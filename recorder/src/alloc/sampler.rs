//! Sampling of allocations: samples are those that hold a point of a Poisson process over bytes.

use std::cell::Cell;

/// A thread's place in its stream of bytes. Zeros are its beginning.
pub struct Sampler {
    number: Cell<u64>,
    /// Bytes to the next sample point, at least 1.
    until: Cell<u64>,
    random: Cell<u64>,
}

thread_local! {
    // Without a destructor: it can be used as long as the thread runs.
    static SAMPLER: Sampler = const {
        Sampler {
            number: Cell::new(0),
            until: Cell::new(0),
            random: Cell::new(0),
        }
    };
}

#[inline(always)]
pub(super) fn draws(number: u64, mean_bytes: u64, size: usize) -> bool {
    SAMPLER.with(|sampler| sampler.draws(number, mean_bytes, size))
}

impl Sampler {
    /// Returns whether the thread's next allocation is a sample. For another recorder, which has another number, it
    /// begins anew.
    #[inline(always)]
    pub fn draws(&self, number: u64, mean_bytes: u64, size: usize) -> bool {
        if self.number.get() != number {
            self.begin(number, mean_bytes);
        }
        let until = self.until.get();
        if (size as u64) < until {
            self.until.set(until - size as u64);
            return false;
        }
        // What is left of a distance has the same distribution as a whole one: so the next
        // allocation begins anew, and all are drawn independently.
        self.next(mean_bytes);
        true
    }

    #[cold]
    fn begin(&self, number: u64, mean_bytes: u64) {
        let place = std::ptr::from_ref(self).addr() as u64;
        let time = crate::clock::monotonic_ns();
        // Zero is the one state that stays what it is.
        self.random.set(mix(place ^ mix(time) ^ number).max(1));
        self.number.set(number);
        self.next(mean_bytes);
    }

    #[cold]
    fn next(&self, mean_bytes: u64) {
        let (random, until) = distance(self.random.get(), mean_bytes);
        self.random.set(random);
        self.until.set(until);
    }
}

/// The next random state, and the whole bytes to the next point: exponential, rounded up, so that s bytes contain
/// it with probability 1 − exp(−s / mean).
fn distance(random: u64, mean_bytes: u64) -> (u64, u64) {
    // Vigna: xorshift64*.
    let mut x = random;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    let bits = x.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11;
    // In (0, 1].
    let uniform = (bits + 1) as f64 / (1_u64 << 53) as f64;
    let bytes = -uniform.ln() * mean_bytes as f64;
    (x, (bytes.ceil() as u64).max(1))
}

/// The finaliser of splitmix64 (Steele, Lea and Flood).
fn mix(mut x: u64) -> u64 {
    x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

/// Gives the number of allocations of that size a sample stands for: 1 / (1 − exp(−bytes / mean)).
pub fn weight(bytes: u64, mean_bytes: u64) -> f64 {
    -1.0 / (-(bytes as f64) / mean_bytes as f64).exp_m1()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Weighted sums over samples are within five standard deviations of the sums over everything.
    #[test]
    fn weighted_sums_are_unbiased() {
        const MEAN: u64 = 1000;
        for (sizes, seed) in [
            (&[1_u64][..], 1),
            (&[16, 24, 48, 4096], 2),
            (&[999, 1000, 1001], 3),
            (&[20_000, 7], 4),
        ] {
            let (mut random, mut until) = distance(mix(seed), MEAN);
            let (mut count, mut bytes, mut variance) = (0.0, 0.0, [0.0; 2]);
            let (mut true_count, mut true_bytes) = (0.0, 0.0);
            for nth in 0..400_000 {
                let size = sizes[nth % sizes.len()];
                let weight = weight(size, MEAN);
                true_count += 1.0;
                true_bytes += size as f64;
                // A draw with p = 1 / weight, weighted: its variance is (1 − p) / p = weight − 1.
                variance[0] += weight - 1.0;
                variance[1] += (weight - 1.0) * (size * size) as f64;
                if size < until {
                    until -= size;
                } else {
                    (random, until) = distance(random, MEAN);
                    count += weight;
                    bytes += weight * size as f64;
                }
            }
            let off = [count - true_count, bytes - true_bytes];
            for (off, variance) in off.iter().zip(variance) {
                let deviations = off / f64::max(variance.sqrt(), 1e-9);
                assert!(deviations.abs() < 5.0, "{sizes:?}: {deviations} deviations");
            }
        }
    }

    #[test]
    fn a_weight_is_what_the_books_say() {
        assert!((weight(1, 1_000_000) - 1_000_000.5).abs() < 1e-3);
        assert!((weight(1000, 1000) - 1.0 / (1.0 - f64::exp(-1.0))).abs() < 1e-12);
        assert_eq!(weight(1 << 40, 1), 1.0);
    }
}
