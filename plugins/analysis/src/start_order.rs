//! The order of a lane: by start, the longer first, then by id.
//!
//! A recorder writes an interval when it ends, so rows lie in the order of
//! ends, children before their parent. For intervals that nest, the order of
//! starts then follows in one pass with a stack, without comparing any two
//! strangers. What does not nest is sorted.

use std::cmp::Reverse;

/// An interval of a lane.
pub trait Interval: Copy {
    /// Start, end and id.
    fn times(&self) -> (i64, i64, u64);
}

impl Interval for (i64, i64, u64) {
    #[inline]
    fn times(&self) -> (i64, i64, u64) {
        *self
    }
}

/// The key that a lane is sorted by.
#[inline]
pub fn start_key(span: &impl Interval) -> (i64, Reverse<i64>, u64) {
    let (start_ns, end_ns, id) = span.times();
    (start_ns, Reverse(end_ns), id)
}

/// Sorts a lane.
pub fn sort_by_start<T: Interval>(spans: &mut Vec<T>) {
    if is_sorted(spans) {
        return;
    }
    // Rows of several tables follow each other here, each in order of ends:
    // a stable sort merges such runs in linear time.
    spans.sort_by_key(|span| span.times().1);
    nest_from_end_order(spans);
    if !is_sorted(spans) {
        spans.sort_unstable_by_key(|span| start_key(span));
    }
}

fn is_sorted<T: Interval>(spans: &[T]) -> bool {
    spans.is_sorted_by_key(|span| start_key(span))
}

/// Turns children-first order into parents-first order; exact for intervals that nest.
///
/// The stack holds subtrees as linked lists. A new interval becomes the head of
/// all lists on top of the stack that began no earlier than it.
pub(crate) fn nest_from_end_order<T: Interval>(spans: &mut Vec<T>) {
    const NONE: u32 = u32::MAX;
    let mut next = vec![NONE; spans.len()];
    let mut stack: Vec<(u32, u32)> = Vec::new(); // first and last of a list
    for (index, span) in spans.iter().enumerate() {
        let mut tail = NONE;
        let mut head = NONE;
        while let Some(&(first, last)) = stack.last() {
            if start_key(&spans[first as usize]) < start_key(span) {
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
