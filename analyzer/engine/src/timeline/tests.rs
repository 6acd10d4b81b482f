use proptest::prelude::*;

use super::levels::{keep_used_names, levels};
use super::read::{Interval, Lanes, OfLane};
use super::*;
use trueno_model::timeline::Frame;

fn lanes(intervals: &[(i64, i64, u32)]) -> Lanes {
    let intervals = intervals
        .iter()
        .enumerate()
        .map(|(id, (start_ns, dur_ns, name))| Interval {
            start_ns: *start_ns,
            end_ns: start_ns + dur_ns,
            id: id as i64,
            name: *name,
            table: 0,
        });
    let mut lane = OfLane {
        name: "thread 0".into(),
        is_device: false,
        pool: None,
        intervals: intervals.collect(),
    };
    lane.sort();
    Lanes {
        lanes: vec![lane],
        names: ["a", "b", "c"].map(str::to_owned).to_vec(),
        tables: vec!["bricks"],
    }
}

fn made(intervals: &[(i64, i64, u32)], spans: usize) -> Timeline {
    let all = lanes(intervals);
    let limits = Limits {
        spans,
        ..Limits::default()
    };
    let mut made = levels(&all, Some(1_000), limits);
    keep_used_names(&mut made, all.names);
    made
}

#[test]
fn threads_of_a_pool_share_lanes_and_are_one_stack() {
    let lane = |at: i64, start_ns, dur_ns, name| OfLane {
        name: format!("thread {at} worker-{at}"),
        is_device: false,
        pool: None,
        intervals: vec![Interval {
            start_ns,
            end_ns: start_ns + dur_ns,
            id: at,
            name,
            table: 0,
        }],
    };
    let mut all = Lanes {
        // Two at once, and one that is there all the time.
        lanes: (0..10)
            .map(|at| lane(at, at / 2 * 100, 60, 1))
            .chain([lane(99, 0, 500, 0)])
            .collect(),
        names: ["a", "b", "c"].map(str::to_owned).to_vec(),
        tables: vec!["bricks"],
    };
    let shared = super::pooled::share_lanes(&mut all);
    let lanes: Vec<(&str, usize)> = all
        .lanes
        .iter()
        .map(|lane| (lane.name.as_str(), lane.intervals.len()))
        .collect();
    assert_eq!(
        lanes,
        [
            ("worker-* ×10 (1 of 2)", 5),
            ("worker-* ×10 (2 of 2)", 5),
            ("thread 99 worker-99", 1),
        ]
    );
    assert_eq!(shared["thread 3 worker-3"], "worker-* ×10 (2 of 2)");
    let made = levels(&all, Some(1_000), Limits::default());
    assert_eq!((made.rows.len(), made.spans), (3, 11));
    let frames = super::stacks::frames(&all, 100);
    let lanes: Vec<(&str, i64)> = frames
        .iter()
        .filter(|frame| frame.depth == 0)
        .map(|frame| (frame.name.as_str(), frame.total_ns))
        .collect();
    assert_eq!(lanes, [("worker-* ×10", 600), ("thread 99 worker-99", 500)]);
}

#[test]
fn nested_intervals_lie_below_what_holds_them() {
    let made = made(&[(0, 100, 0), (10, 20, 1), (40, 20, 1), (45, 5, 2)], 100);
    let shown: Vec<(usize, i64, &str)> = made
        .rows
        .iter()
        .flat_map(|row| {
            row.spans
                .iter()
                .map(|s| (row.depth, s.start_ns, &*made.names[s.name as usize]))
        })
        .collect();
    assert_eq!(
        shown,
        [(0, 0, "a"), (1, 10, "b"), (1, 40, "b"), (2, 45, "c")]
    );
    assert_eq!((made.longer_than_ns, made.until_ns), (None, 1_000));
    assert!(made.rows.iter().all(|row| row.slices.is_empty()));
}

#[test]
fn a_chain_of_overlaps_stays_in_two_rows() {
    let chain: Vec<(i64, i64, u32)> = (0..90).map(|n| (n * 10, 15, 0)).collect();
    let made = made(&chain, 100);
    assert_eq!(made.rows.len(), 2);
    assert_eq!(
        made.rows.iter().map(|row| row.spans.len()).sum::<usize>(),
        90
    );
}

proptest! {
    /// However few intervals are kept, rows never overlap, and each instant at which something ran is in an
    /// interval or in a slice that is not empty.
    #[test]
    fn no_time_disappears(
        intervals in proptest::collection::vec((0..900_i64, 0..200_i64, 0..3_u32), 1..24),
        spans in 0..24_usize,
    ) {
        let made = made(&intervals, spans);
        prop_assert!(made.rows.iter().map(|row| row.spans.len()).sum::<usize>() <= spans);
        for row in &made.rows {
            for pair in row.spans.windows(2) {
                prop_assert!(pair[0].start_ns + pair[0].dur_ns <= pair[1].start_ns);
            }
        }
        let whole = made.until_ns - made.from_ns;
        for (start, dur, _) in &intervals {
            for time in *start..(start + dur) {
                let slice = (time * made.slices as i64 / whole) as usize;
                let shown = made.rows.iter().any(|row| {
                    row.spans.iter().any(|s| s.start_ns <= time && time < s.start_ns + s.dur_ns)
                        || row.slices.get(slice).is_some_and(|s| s.filled > 0)
                });
                prop_assert!(shown, "nothing is shown at {time}");
            }
        }
    }

    /// Compared with counting what is innermost at each nanosecond.
    #[test]
    fn self_times_of_stacks_add_up_to_busy_time(
        intervals in proptest::collection::vec((0..300_i64, 0..100_i64, 0..3_u32), 1..30),
    ) {
        let frames = stacks::frames(&lanes(&intervals), 10_000);
        let busy = (0..500).filter(|t| intervals.iter().any(|(s, d, _)| s <= t && *t < s + d)).count();
        prop_assert_eq!(frames.iter().map(|f| f.self_ns).sum::<i64>(), busy as i64);
        for frame in frames.iter().filter(|frame| frame.depth > 0) {
            let end_ns = frame.at_ns + frame.total_ns;
            let holds = |f: &&Frame| f.depth + 1 == frame.depth && f.at_ns <= frame.at_ns && end_ns <= f.at_ns + f.total_ns;
            prop_assert!(frames.iter().find(holds).is_some(), "{frame:?} lies in none");
        }
    }
}
