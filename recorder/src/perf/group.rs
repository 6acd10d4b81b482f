//! Readings of a group of perf events, and the counts between two of them.
//!
//! The layout is that of `PERF_FORMAT_GROUP | TOTAL_TIME_ENABLED | TOTAL_TIME_RUNNING` (`man 2 perf_event_open`): number
//! of events, time enabled, time running, then a value for each event, the leader's first.

/// `PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING | PERF_FORMAT_GROUP`.
pub const READ_FORMAT: u64 = 1 | 2 | 8;
/// Events in a group at most.
pub const MAX: usize = 4;
/// Words of such a read at most.
pub const WORDS: usize = 3 + MAX;

/// One read of a group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// Time since the group was made in which its thread ran, in nanoseconds.
    pub enabled_ns: u64,
    /// Of that, how long the group was on the CPU's counters.
    pub running_ns: u64,
    /// In the order in which the events were opened.
    pub values: [u64; MAX],
}

impl Reading {
    /// Decodes `words`, which a read of a group of `events` has filled. `None`: it says something else.
    pub fn decode(words: &[u64], events: usize) -> Option<Self> {
        let [count, enabled_ns, running_ns, values @ ..] = words else {
            return None;
        };
        if *count != events as u64 || events > MAX || values.len() < events {
            return None;
        }
        let mut reading = Self {
            enabled_ns: *enabled_ns,
            running_ns: *running_ns,
            ..Self::default()
        };
        reading.values[..events].copy_from_slice(&values[..events]);
        Some(reading)
    }
}

/// Count between two readings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Counted {
    /// The counter ran all the time.
    Exactly(f64),
    /// The counter was shared with other groups: counts × time enabled / time running.
    Scaled(f64),
    /// Not counted, because the group was never on a counter.
    Not,
}

/// Σ weight × counts of the events `first..` of a group between two readings.
pub fn between(from: &Reading, to: &Reading, first: usize, weights: &[u32]) -> Counted {
    let times = to
        .enabled_ns
        .checked_sub(from.enabled_ns)
        .zip(to.running_ns.checked_sub(from.running_ns));
    let Some((enabled_ns, running_ns)) = times else {
        return Counted::Not;
    };
    let mut sum = 0.0;
    for (at, weight) in (first..).zip(weights) {
        match to.values[at].checked_sub(from.values[at]) {
            Some(count) => sum += count as f64 * f64::from(*weight),
            None => return Counted::Not,
        }
    }
    if enabled_ns == running_ns {
        Counted::Exactly(sum)
    } else if running_ns == 0 {
        Counted::Not
    } else {
        Counted::Scaled(sum * enabled_ns as f64 / running_ns as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(enabled_ns: u64, running_ns: u64, values: [u64; MAX]) -> Reading {
        Reading {
            enabled_ns,
            running_ns,
            values,
        }
    }

    #[test]
    fn a_group_is_decoded_in_the_order_of_its_events() {
        let read = [3, 1000, 900, 7, 8, 9, 77];
        assert_eq!(
            Reading::decode(&read, 3),
            Some(reading(1000, 900, [7, 8, 9, 0]))
        );
    }

    #[test]
    fn a_read_of_something_else_is_refused() {
        assert_eq!(Reading::decode(&[2, 1, 1, 5, 6], 3), None, "other number");
        assert_eq!(Reading::decode(&[3, 1, 1, 5, 6], 3), None, "cut short");
        assert_eq!(Reading::decode(&[1, 1], 1), None, "no times");
        assert_eq!(Reading::decode(&[9; 12], 9), None, "more than there can be");
    }

    #[test]
    fn a_counter_that_ran_all_the_time_is_exact() {
        let from = reading(100, 100, [10, 20, 0, 0]);
        let to = reading(300, 300, [15, 60, 0, 0]);
        assert_eq!(between(&from, &to, 0, &[1]), Counted::Exactly(5.0));
        assert_eq!(between(&from, &to, 1, &[1]), Counted::Exactly(40.0));
        // FLOPs: instructions by width, times the lanes of each.
        assert_eq!(between(&from, &to, 0, &[1, 8]), Counted::Exactly(325.0));
    }

    #[test]
    fn what_was_before_does_not_matter() {
        // Multiplexed before the brick, not in it.
        let from = reading(1000, 400, [10, 0, 0, 0]);
        let to = reading(1100, 500, [13, 0, 0, 0]);
        assert_eq!(between(&from, &to, 0, &[1]), Counted::Exactly(3.0));
    }

    #[test]
    fn a_shared_counter_is_scaled_and_said_so() {
        let to = reading(400, 100, [30, 0, 0, 0]);
        let from = Reading::default();
        assert_eq!(between(&from, &to, 0, &[1]), Counted::Scaled(120.0));
        assert_eq!(between(&from, &to, 0, &[4]), Counted::Scaled(480.0));
    }

    #[test]
    fn what_never_ran_is_not_zero() {
        let from = reading(100, 50, [9, 0, 0, 0]);
        let to = reading(200, 50, [9, 0, 0, 0]);
        assert_eq!(between(&from, &to, 0, &[1]), Counted::Not);
    }

    #[test]
    fn what_runs_backwards_is_not_counted() {
        let from = reading(100, 100, [9, 0, 0, 0]);
        let times = reading(90, 90, [10, 0, 0, 0]);
        assert_eq!(between(&from, &times, 0, &[1]), Counted::Not);
        let values = reading(110, 110, [8, 0, 0, 0]);
        assert_eq!(between(&from, &values, 0, &[1]), Counted::Not);
    }
}
