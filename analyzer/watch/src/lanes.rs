//! Threads: how long they have been there, and how long they have been silent.

use std::collections::BTreeMap;

use trueno_analysis::hash::FastMap;
use trueno_format::observe::{Event, ObservedThread};

/// Rows that a thread must have ended before its silence means anything.
const MIN_ENDS: u64 = 20;
/// A thread is silent if nothing ended for this many times its longest pause.
const PAUSES: i64 = 10;
const MIN_SILENCE_NS: i64 = 2_000_000_000;
/// Pauses are tracked over intervals of this length. The last two count.
const STRETCH_NS: i64 = 30_000_000_000;

#[derive(Clone, Copy, Debug, Default)]
struct Lane {
    start_ns: i64,
    latest_ns: i64,
    ends: u64,
    /// Longest pauses between ends in the current interval and the one before.
    pauses_ns: [i64; 2],
    stretch: i64,
    has_ring: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Silence {
    pub thread: u32,
    pub since_ns: i64,
    /// Its longest pause in the last half minute of its rows.
    pub pause_ns: i64,
}

#[derive(Default)]
pub struct Lanes {
    lanes: FastMap<u32, Lane>,
    latest_ns: Option<i64>,
}

impl Lanes {
    pub fn add(&mut self, event: &Event) {
        self.latest_ns = self.latest_ns.max(Some(event.end_ns));
        if !event.kind.is_on_thread() {
            return;
        }
        let lane = self.lanes.entry(event.thread).or_insert(Lane {
            start_ns: event.start_ns,
            latest_ns: event.end_ns,
            ..Lane::default()
        });
        let stretch = event.end_ns.div_euclid(STRETCH_NS);
        if stretch != lane.stretch {
            let before = if lane.stretch + 1 == stretch {
                lane.pauses_ns[0]
            } else {
                0
            };
            (lane.pauses_ns, lane.stretch) = ([0, before], stretch);
        }
        let pause_ns = event.end_ns - lane.latest_ns;
        lane.pauses_ns[0] = lane.pauses_ns[0].max(pause_ns);
        lane.start_ns = lane.start_ns.min(event.start_ns);
        lane.latest_ns = lane.latest_ns.max(event.end_ns);
        lane.ends += 1;
    }

    /// Updates the threads that may still record. Forgets threads that ended before `forget_before_ns`.
    pub fn update(&mut self, threads: &[ObservedThread], forget_before_ns: i64) {
        self.lanes
            .values_mut()
            .for_each(|lane| lane.has_ring = false);
        for thread in threads {
            let lane = self.lanes.entry(thread.thread).or_insert(Lane {
                start_ns: thread.start_ns,
                latest_ns: thread.start_ns,
                ..Lane::default()
            });
            lane.has_ring = true;
            lane.start_ns = lane.start_ns.min(thread.start_ns);
        }
        self.lanes
            .retain(|_, lane| lane.has_ring || lane.latest_ns >= forget_before_ns);
    }

    /// Sum of the time that threads existed within a window. Threads with a ring exist until its end, others
    /// until their last row ended.
    pub fn time_ns(&self, from_ns: i64, to_ns: i64) -> u64 {
        let of_lane = |lane: &Lane| {
            let end_ns = if lane.has_ring { to_ns } else { lane.latest_ns };
            (end_ns.min(to_ns) - lane.start_ns.max(from_ns)).max(0) as u64
        };
        self.lanes.values().map(of_lane).sum()
    }

    pub fn latest_ns(&self) -> Option<i64> {
        self.latest_ns
    }

    pub fn silences(&self, now_ns: i64) -> Vec<Silence> {
        let of_lane = |(thread, lane): (&u32, &Lane)| {
            let since_ns = now_ns - lane.latest_ns;
            let pause_ns = lane.pauses_ns[0].max(lane.pauses_ns[1]);
            let is_silent = lane.has_ring
                && lane.ends >= MIN_ENDS
                && since_ns > MIN_SILENCE_NS.max(PAUSES * pause_ns);
            is_silent.then_some((
                *thread,
                Silence {
                    thread: *thread,
                    since_ns,
                    pause_ns,
                },
            ))
        };
        let found: BTreeMap<u32, Silence> = self.lanes.iter().filter_map(of_lane).collect();
        found.into_values().collect()
    }
}

#[cfg(test)]
mod tests {
    use trueno_format::observe::EventKind;

    use super::*;

    const SECOND: i64 = 1_000_000_000;

    fn row(thread: u32, start_ns: i64, end_ns: i64) -> Event {
        Event {
            kind: EventKind::Brick,
            thread,
            id: 1,
            parent: None,
            name: 1,
            category: 0,
            backend: 0,
            start_ns,
            end_ns,
            number: 0,
            device: None,
            flops: None,
            bytes: None,
            value: 0.0,
            is_detached: false,
        }
    }

    fn thread(thread: u32, start_ns: i64) -> ObservedThread {
        ObservedThread {
            thread,
            name: None,
            os_id: 0,
            start_ns,
            capacity: 4096,
            unread: 0,
            tail: 0,
            full_rings: 0,
        }
    }

    #[test]
    fn a_thread_that_was_regular_and_stops_is_silent() {
        let mut lanes = Lanes::default();
        for at in 0..40 {
            lanes.add(&row(3, at * SECOND / 10, (at + 1) * SECOND / 10));
            lanes.add(&row(4, at * SECOND / 10, (at + 1) * SECOND / 10));
        }
        lanes.add(&row(5, 0, SECOND));
        lanes.update(&[thread(3, 0), thread(5, 0)], 0);
        assert_eq!(lanes.silences(5 * SECOND), [], "a second is nothing");
        let silence = Silence {
            thread: 3,
            since_ns: 4 * SECOND,
            pause_ns: SECOND / 10,
        };
        // Thread 4 has ended, and thread 5 was never regular.
        assert_eq!(lanes.silences(8 * SECOND), [silence]);
        assert_eq!(lanes.latest_ns(), Some(4 * SECOND));
    }

    #[test]
    fn long_pauses_are_no_silence_and_old_ones_are_forgotten() {
        let mut lanes = Lanes::default();
        for at in 0..30 {
            lanes.add(&row(1, at * SECOND, (at + 1) * SECOND));
        }
        lanes.update(&[thread(1, 0)], 0);
        assert_eq!(lanes.silences(39 * SECOND), []);
        for at in 0..700 {
            lanes.add(&row(1, 30 * SECOND, 30 * SECOND + at * SECOND / 10));
        }
        lanes.update(&[thread(1, 0)], 0);
        assert_eq!(lanes.silences(105 * SECOND).len(), 1);
    }

    #[test]
    fn time_of_threads_is_that_in_which_they_were_there() {
        let mut lanes = Lanes::default();
        lanes.add(&row(1, 0, SECOND));
        lanes.add(&row(2, 2 * SECOND, 3 * SECOND));
        lanes.update(&[thread(1, 0)], 0);
        assert_eq!(lanes.time_ns(0, 4 * SECOND), 5 * SECOND as u64);
        assert_eq!(lanes.time_ns(2 * SECOND, 4 * SECOND), 3 * SECOND as u64);
        lanes.update(&[thread(1, 0)], 4 * SECOND);
        assert_eq!(lanes.time_ns(2 * SECOND, 4 * SECOND), 2 * SECOND as u64);
    }
}
