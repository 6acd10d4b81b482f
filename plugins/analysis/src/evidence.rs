//! How much a statement about a run rests on.
//!
//! What was seen once may be chance: a first call loads code, a clock is still low, another program had the machine. So a
//! statement needs repetition: [`MIN_INSTANCES`] rows of any length, or [`MIN_FEW`] that together last [`MIN_TIME_NS`]. One row is
//! enough where it *is* the run: half of its time, and no shorter than that.

/// So many rows are a pattern, whatever their length: the chance that all of them are slow for a reason of their own is small.
pub const MIN_INSTANCES: u64 = 10;
/// So many are one if they are long.
pub const MIN_FEW: u64 = 3;
/// Fewer rows last so long together: first launches, page faults and time stamps cost up to some
/// hundred microseconds on any machine, and of a shorter time they may be all.
pub const MIN_TIME_NS: i64 = 500_000;

/// The rows that a statement is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Evidence {
    pub instances: u64,
    pub time_ns: i64,
    pub pattern: Pattern,
}

/// How instances lie in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    Recurs,
    /// Nearly all of them are in one of several iterations, so they count as one.
    InOneIteration,
    /// It happens only once by its nature, such as set-up: it must be long but need not recur.
    Once,
}

impl Evidence {
    pub fn new(instances: u64, time_ns: i64) -> Self {
        Self {
            instances,
            time_ns,
            pattern: Pattern::Recurs,
        }
    }

    pub fn once(time_ns: i64) -> Self {
        Self {
            pattern: Pattern::Once,
            ..Self::new(1, time_ns)
        }
    }

    /// True if it is enough to predict from, in a window of this length.
    pub fn is_enough(&self, window_ns: i64) -> bool {
        let (are_many, are_few) = match self.pattern {
            Pattern::Recurs => (self.instances >= MIN_INSTANCES, self.instances >= MIN_FEW),
            Pattern::InOneIteration => (false, false),
            Pattern::Once => (false, true),
        };
        let is_the_run = self.instances > 0 && self.time_ns >= window_ns / 2;
        are_many || (self.time_ns >= MIN_TIME_NS && (are_few || is_the_run))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_rows_are_enough_only_if_they_are_long_or_the_run() {
        let is_enough =
            |instances, time_ns| Evidence::new(instances, time_ns).is_enough(10 * MIN_TIME_NS);
        assert!(is_enough(10, 1));
        assert!(is_enough(3, MIN_TIME_NS) && !is_enough(9, MIN_TIME_NS - 1));
        assert!(is_enough(1, 5 * MIN_TIME_NS) && !is_enough(2, 4 * MIN_TIME_NS));
        // All of a run that lasts 2 µs.
        assert!(!Evidence::new(1, 2_000).is_enough(2_000));
        let once = |time_ns| Evidence::once(time_ns).is_enough(10 * MIN_TIME_NS);
        assert!(once(MIN_TIME_NS) && !once(MIN_TIME_NS - 1));
        let of_one_iteration = |time_ns| Evidence {
            pattern: Pattern::InOneIteration,
            ..Evidence::new(40, time_ns)
        };
        assert!(!of_one_iteration(4 * MIN_TIME_NS).is_enough(10 * MIN_TIME_NS));
        assert!(of_one_iteration(5 * MIN_TIME_NS).is_enough(10 * MIN_TIME_NS));
    }
}
