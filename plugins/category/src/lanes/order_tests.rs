use proptest::prelude::*;

use super::order::{by_start, from_end_order, key};
use super::span::{NO_ELEMENTS, Span};

fn spans(times: &[(i64, i64)]) -> Vec<Span> {
    let span = |(id, &(start_ns, dur_ns)): (usize, &(i64, i64))| Span {
        start_ns,
        end_ns: start_ns + dur_ns,
        id: id as u64,
        label: 0,
        elements: NO_ELEMENTS,
    };
    times.iter().enumerate().map(span).collect()
}

/// A tree of intervals, children first, as a recorder writes them; ids in the order of starts.
fn tree(
    depth: u32,
    fan_out: i64,
    start_ns: i64,
    step_ns: i64,
    out: &mut Vec<Span>,
    id: &mut u64,
) -> i64 {
    let own = *id;
    *id += 1;
    let mut now_ns = start_ns;
    for _ in 0..if depth == 0 { 0 } else { fan_out } {
        now_ns = tree(depth - 1, fan_out, now_ns, step_ns, out, id);
    }
    let end_ns = now_ns + step_ns;
    out.push(Span {
        start_ns,
        end_ns,
        id: own,
        label: 0,
        elements: NO_ELEMENTS,
    });
    end_ns
}

#[test]
fn children_first_becomes_parents_first_without_sorting() {
    // With step 0 all times are equal, and ids alone tell parent from child.
    for step_ns in [0, 3] {
        let mut spans = Vec::new();
        tree(4, 3, 0, step_ns, &mut spans, &mut 0);
        from_end_order(&mut spans);
        let ids: Vec<u64> = spans.iter().map(|span| span.id).collect();
        assert_eq!(ids, (0..spans.len() as u64).collect::<Vec<_>>());
    }
}

proptest! {
    #[test]
    fn any_order_is_sorted(times in prop::collection::vec((0..20_i64, 0..10_i64), 0..40)) {
        let mut found = spans(&times);
        let mut expected = found.clone();
        by_start(&mut found);
        expected.sort_by_key(key);
        prop_assert_eq!(found, expected);
    }
}
