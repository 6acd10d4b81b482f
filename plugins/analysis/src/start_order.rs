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

/// Lanes with more runs than this are first sorted by end.
const MAX_RUNS: usize = 16;

/// Sorts a lane.
///
/// Rows of several tables follow each other in a lane, each table in the order of ends. Such a run is
/// nested on its own and merged with those behind it where it stands, so that of a large lane only the
/// runs but the last are copied.
pub fn sort_by_start<T: Interval>(lane: &mut [T]) {
    if is_sorted(lane) {
        return;
    }
    let mut runs = run_starts(lane);
    if runs.len() > MAX_RUNS {
        lane.sort_by_key(|span| span.times().1);
        runs = vec![0];
    }
    let mut end = lane.len();
    for &start in runs.iter().rev() {
        merge_run(&mut lane[start..], end - start);
        end = start;
    }
}

fn is_sorted<T: Interval>(lane: &[T]) -> bool {
    lane.is_sorted_by_key(|span| start_key(span))
}

/// Starts of the runs of intervals that are sorted by end; at most [`MAX_RUNS`] + 1 of them.
fn run_starts<T: Interval>(lane: &[T]) -> Vec<usize> {
    let breaks = lane.windows(2).enumerate();
    let breaks = breaks.filter(|(_, pair)| pair[1].times().1 < pair[0].times().1);
    let starts = std::iter::once(0).chain(breaks.map(|(at, _)| at + 1));
    starts.take(MAX_RUNS + 1).collect()
}

/// Sorts a lane whose first `length` intervals are sorted by end and whose rest is already sorted by start.
fn merge_run<T: Interval>(lane: &mut [T], length: usize) {
    let (run, rest) = lane.split_at(length);
    let is_last = rest.is_empty();
    let run = match is_sorted(run) {
        true if is_last => return,
        true => run.to_vec(),
        false => nested(run),
    };
    // The gap between what is merged and the rest is as long as what is left of the run.
    let (mut to, mut next) = (0, length);
    for span in run {
        let key = start_key(&span);
        while let Some(other) = lane.get(next).filter(|other| start_key(*other) < key) {
            lane[to] = *other;
            (to, next) = (to + 1, next + 1);
        }
        lane[to] = span;
        to += 1;
    }
}

/// Sorts intervals that are ordered by end so that parents come before their children. The stack holds subtrees as
/// linked lists. A new interval becomes the head of all lists on top of the stack that began no earlier. For nested
/// intervals that is the order of starts; others are sorted afterwards.
pub(crate) fn nested<T: Interval>(run: &[T]) -> Vec<T> {
    const NONE: u32 = u32::MAX;
    let mut next = vec![NONE; run.len()];
    let mut stack: Vec<(u32, u32)> = Vec::new(); // first and last of a list
    for (index, span) in run.iter().enumerate() {
        let mut tail = NONE;
        let mut head = NONE;
        let key = start_key(span);
        while let Some(&(first, last)) = stack.last() {
            if start_key(&run[first as usize]) < key {
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
    let mut out: Vec<T> = Vec::with_capacity(run.len());
    for &(first, _) in &stack {
        let mut at = first;
        while at != NONE {
            out.push(run[at as usize]);
            at = next[at as usize];
        }
    }
    if !is_sorted(&out) {
        out.sort_unstable_by_key(|span| start_key(span));
    }
    out
}
