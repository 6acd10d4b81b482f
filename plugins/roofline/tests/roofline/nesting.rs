//! Innermost rows against every pair.

use proptest::prelude::*;
use trueno_plugin_roofline::nest::{Standing, nest, union_ns};
use trueno_plugin_roofline::place::Reason;
use trueno_plugin_roofline::rows::{Lane, NONE, Rows, WorkRow};

fn row(id: u64, start_ns: i64, dur_ns: i64) -> WorkRow {
    WorkRow {
        start_ns,
        end_ns: start_ns + dur_ns,
        id,
        flops: 1.0,
        bytes: 1.0,
        label: 0,
        counted: NONE,
        group: 0,
    }
}

proptest! {
    #[test]
    fn a_row_is_outer_when_another_begins_in_it(
        spans in prop::collection::vec((0_i64..60, 1_i64..30), 0..40),
        refused in prop::collection::btree_set(0_u64..40, 0..4),
    ) {
        let rows: Vec<WorkRow> = spans.iter().zip(0..).map(|((start, dur), id)| row(id, *start, *dur)).collect();
        let mut all = Rows::default();
        all.several_threads.extend(refused.iter().copied());
        all.lanes.insert((-1, 0), Lane { work: rows, top: Vec::new() });
        let standing = nest(&mut all).remove(0);
        let sorted = &all.lanes[&(-1, 0)].work;
        for (at, found) in standing.iter().enumerate() {
            let later = |other: &usize| sorted[*other].start_ns < sorted[at].end_ns;
            let begins_in: Vec<usize> = (at + 1..sorted.len()).filter(later).collect();
            let is_refused = refused.contains(&sorted[at].id)
                || begins_in.iter().any(|other| refused.contains(&sorted[*other].id));
            let expected = if is_refused {
                Standing::Refused(Reason::SeveralThreads)
            } else if begins_in.is_empty() {
                Standing::Innermost
            } else {
                Standing::Outer
            };
            prop_assert_eq!(*found, expected, "row {} of {:?}", at, sorted);
        }
    }

    #[test]
    fn a_union_is_what_paint_covers(spans in prop::collection::vec((0_i64..60, 0_i64..30), 0..20)) {
        let mut intervals: Vec<(i64, i64)> = spans.iter().map(|(start, dur)| (*start, start + dur)).collect();
        let painted = (0..100).filter(|t| intervals.iter().any(|(start, end)| start <= t && t < end)).count();
        prop_assert_eq!(union_ns(&mut intervals), painted as i64);
    }
}
