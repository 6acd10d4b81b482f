//! The order of a lane: by start, the longer first, then by id.
//!
//! A recorder writes an interval when it ends, so rows lie in the order of
//! ends, children before their parent. For intervals that nest, the order of
//! starts then follows in one pass with a stack, without comparing any two
//! strangers. What does not nest is sorted.

use std::cmp::Reverse;

use super::span::Span;

/// What a lane is sorted by.
#[inline]
pub fn key(span: &Span) -> (i64, Reverse<i64>, u64) {
    (span.start_ns, Reverse(span.end_ns), span.id)
}

/// Sorts a lane.
pub fn by_start(spans: &mut Vec<Span>) {
    if spans.is_sorted_by_key(key) {
        return;
    }
    // Rows of several tables follow each other here, each in order of ends:
    // a stable sort merges such runs in linear time.
    spans.sort_by_key(|span| span.end_ns);
    from_end_order(spans);
    if !spans.is_sorted_by_key(key) {
        spans.sort_unstable_by_key(key);
    }
}

/// Turns children-first order into parents-first order; exact for intervals that nest.
///
/// The stack holds subtrees as linked lists. A new interval becomes the head of
/// all lists on top of the stack that began no earlier than it.
fn from_end_order(spans: &mut Vec<Span>) {
    const NONE: u32 = u32::MAX;
    let mut next = vec![NONE; spans.len()];
    let mut stack: Vec<(u32, u32)> = Vec::new(); // first and last of a list
    for (index, span) in spans.iter().enumerate() {
        let mut tail = NONE;
        let mut head = NONE;
        while let Some(&(first, last)) = stack.last() {
            if key(&spans[first as usize]) < key(span) {
                break;
            }
            stack.pop();
            if head == NONE {
                tail = last;
            } else {
                next[last as usize] = head;
            }
            head = first;
        }
        let index = index as u32;
        next[index as usize] = head;
        stack.push((index, if tail == NONE { index } else { tail }));
    }
    let mut sorted = Vec::with_capacity(spans.len());
    for &(first, _) in &stack {
        let mut at = first;
        while at != NONE {
            sorted.push(spans[at as usize]);
            at = next[at as usize];
        }
    }
    *spans = sorted;
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::lanes::NO_ELEMENTS;

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
}
