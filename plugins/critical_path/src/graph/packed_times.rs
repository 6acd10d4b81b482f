//! Times that mostly rise, in half the memory of 64-bit numbers.
//!
//! Starts of neighbouring segments are near each other: a block has its first time, and each of its times is kept as the
//! distance from there. What is too far away, or before it, as where another lane begins, is kept apart.

use trueno_analysis::hash::FastMap;

#[derive(Clone, Debug, Default)]
pub struct Times {
    /// First time of each block of [`BLOCK`].
    firsts_ns: Vec<i64>,
    /// Offset of each time from the first of its block, or [`APART`].
    after_ns: Vec<u32>,
    apart_ns: FastMap<u32, i64>,
}

const BLOCK: usize = 64;
/// The offset does not fit: the time is in `apart_ns`.
const APART: u32 = u32::MAX;

impl Times {
    pub fn with_capacity(times: usize) -> Self {
        Self {
            firsts_ns: Vec::with_capacity(times.div_ceil(BLOCK)),
            after_ns: Vec::with_capacity(times),
            apart_ns: FastMap::default(),
        }
    }

    pub fn len(&self) -> usize {
        self.after_ns.len()
    }

    pub fn is_empty(&self) -> bool {
        self.after_ns.is_empty()
    }

    #[inline]
    pub fn get(&self, at: usize) -> i64 {
        match self.after_ns[at] {
            APART => self.apart_ns[&(at as u32)],
            after_ns => self.firsts_ns[at / BLOCK].wrapping_add(i64::from(after_ns)),
        }
    }

    #[inline]
    pub fn push(&mut self, time_ns: i64) {
        let at = self.after_ns.len();
        if at.is_multiple_of(BLOCK) {
            self.firsts_ns.push(time_ns);
        }
        let after_ns = time_ns.wrapping_sub(self.firsts_ns[at / BLOCK]);
        let after_ns = u32::try_from(after_ns).unwrap_or(APART);
        if after_ns == APART {
            self.apart_ns.insert(at as u32, time_ns);
        }
        self.after_ns.push(after_ns);
    }

    pub fn shrink_to_fit(&mut self) {
        self.firsts_ns.shrink_to_fit();
        self.after_ns.shrink_to_fit();
    }
}

impl FromIterator<i64> for Times {
    fn from_iter<I: IntoIterator<Item = i64>>(times_ns: I) -> Self {
        let mut out = Self::default();
        times_ns.into_iter().for_each(|time_ns| out.push(time_ns));
        out
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn times_are_those_that_were_given(
            steps in prop::collection::vec(prop_oneof![0..9_i64, -9..0_i64, any::<i64>(), Just(u32::MAX.into())], 0..300),
        ) {
            let times_ns = steps.iter().scan(0_i64, |now_ns, step| {
                *now_ns = now_ns.wrapping_add(*step);
                Some(*now_ns)
            });
            let times_ns: Vec<i64> = times_ns.collect();
            let kept: Times = times_ns.iter().copied().collect();
            let found: Vec<i64> = (0..kept.len()).map(|at| kept.get(at)).collect();
            prop_assert_eq!(found, times_ns);
        }
    }
}
