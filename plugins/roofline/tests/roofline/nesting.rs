//! Innermost rows against every pair.

use proptest::prelude::*;
use trueno_analysis::roofline::model::Reason;
use trueno_plugin_roofline::nesting::{Standing, nesting};
use trueno_plugin_roofline::rows::{DeclaredWork, Lane, NONE, Rows, WorkRow};

fn row(id: u64, start_ns: i64, dur_ns: i64) -> WorkRow {
    WorkRow {
        start_ns,
        end_ns: start_ns + dur_ns,
        id,
        declared: 0,
        counted: NONE,
    }
}

proptest! {
    #[test]
    fn a_row_is_outer_when_another_begins_in_it(
        spans in prop::collection::vec((0_i64..60, 1_i64..30), 0..40),
        excluded in prop::collection::btree_set(0_u64..40, 0..4),
    ) {
        let rows: Vec<WorkRow> = spans.iter().zip(0..).map(|((start, dur), id)| row(id, *start, *dur)).collect();
        let mut all = Rows::default();
        all.declared.push(DeclaredWork { flops: 1, bytes: 1, label: 0, group: 0 });
        all.several_threads.extend(excluded.iter().copied());
        all.lanes.insert((-1, 0), Lane { work: rows, ..Lane::default() });
        let standing = nesting(&mut all).remove(0);
        let sorted = &all.lanes[&(-1, 0)].work;
        for (at, found) in standing.iter().enumerate() {
            let later = |other: &usize| sorted[*other].start_ns < sorted[at].end_ns;
            let begins_in: Vec<usize> = (at + 1..sorted.len()).filter(later).collect();
            let is_excluded = excluded.contains(&sorted[at].id)
                || begins_in.iter().any(|other| excluded.contains(&sorted[*other].id));
            let expected = if is_excluded {
                Standing::Excluded(Reason::SeveralThreads)
            } else if begins_in.is_empty() {
                Standing::Innermost
            } else {
                Standing::Outer
            };
            prop_assert_eq!(*found, expected, "row {} of {:?}", at, sorted);
        }
        // So the sum of those that are innermost is the length of their union.
        let rows = sorted.iter().zip(&standing);
        let innermost: Vec<_> = rows.filter(|(_, standing)| **standing == Standing::Innermost).collect();
        prop_assert!(innermost.windows(2).all(|pair| pair[0].0.end_ns <= pair[1].0.start_ns));
    }
}
