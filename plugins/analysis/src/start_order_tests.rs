use proptest::prelude::*;

use super::start_order::{nested, sort_by_start, start_key};

fn rows(times: &[(i64, i64)]) -> Vec<(i64, i64, u64)> {
    let row = |(id, &(start_ns, dur_ns)): (u64, &(i64, i64))| (start_ns, start_ns + dur_ns, id);
    (0..).zip(times).map(row).collect()
}

/// A tree of intervals with children before parents, as a recorder writes them. Ids are in the order of starts.
fn tree(
    depth: u32,
    fan_out: i64,
    start_ns: i64,
    step_ns: i64,
    out: &mut Vec<(i64, i64, u64)>,
    id: &mut u64,
) -> i64 {
    let own = *id;
    *id += 1;
    let mut now_ns = start_ns;
    for _ in 0..if depth == 0 { 0 } else { fan_out } {
        now_ns = tree(depth - 1, fan_out, now_ns, step_ns, out, id);
    }
    let end_ns = now_ns + step_ns;
    out.push((start_ns, end_ns, own));
    end_ns
}

#[test]
fn children_first_becomes_parents_first_without_sorting() {
    // With step 0 all times are equal, and ids alone tell parent from child.
    for step_ns in [0, 3] {
        let mut lane = Vec::new();
        tree(4, 3, 0, step_ns, &mut lane, &mut 0);
        let ids: Vec<u64> = nested(&lane).iter().map(|row| row.2).collect();
        assert_eq!(ids, (0..lane.len() as u64).collect::<Vec<_>>());
    }
}

proptest! {
    #[test]
    fn tables_after_each_other_are_merged(
        tables in prop::collection::vec(prop::collection::vec((0..20_i64, 0..10_i64), 0..20), 0..25),
    ) {
        let mut found = Vec::new();
        for (table, times) in (0..).zip(&tables) {
            let mut table: Vec<_> =
                rows(times).into_iter().map(|(start, end, id)| (start, end, 100 * table + id)).collect();
            table.sort_by_key(|row| row.1);
            found.append(&mut table);
        }
        let mut expected = found.clone();
        sort_by_start(&mut found);
        expected.sort_by_key(start_key);
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn any_order_is_sorted(times in prop::collection::vec((0..20_i64, 0..10_i64), 0..40)) {
        let mut found = rows(&times);
        let mut expected = found.clone();
        sort_by_start(&mut found);
        expected.sort_by_key(start_key);
        prop_assert_eq!(found, expected);
    }
}
