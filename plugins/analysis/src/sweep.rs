//! The innermost interval of a lane at every instant.
//!
//! Of the intervals open at an instant that is the last in the order of
//! [`start_order`](crate::start_order): the latest started; of two that started together the shorter;
//! of two of equal times the higher id. Where intervals nest this is the usual notion of self time.
//! Where they overlap without nesting it still gives every busy instant to exactly one interval, so
//! that self times add up to busy time, whatever the data.
//!
//! ```
//! use trueno_analysis::sweep::self_times;
//!
//! // A layer with two bricks: start, end, id.
//! let lane = [(0, 100, 1), (10, 40, 2), (40, 90, 3)];
//! let mut self_ns = [0; 4];
//! self_times(&lane, |&(_, _, id), start_ns, end_ns| self_ns[id as usize] += end_ns - start_ns);
//! assert_eq!(self_ns, [0, 20, 30, 50]);
//! ```

use crate::start_order::Interval;

/// Walks one lane in the order of starts, in one linear pass, and tells every stretch of time and the
/// interval that was the innermost in it.
pub fn self_times<T: Interval>(lane: &[T], mut ran: impl FnMut(&T, i64, i64)) {
    let mut open = OpenIntervals::default();
    let mut ran = |open: &[Open<u32>], start_ns, end_ns| {
        if let Some(innermost) = open.last() {
            ran(&lane[innermost.item as usize], start_ns, end_ns);
        }
    };
    for (index, interval) in lane.iter().enumerate() {
        let (start_ns, end_ns, _) = interval.times();
        open.advance(start_ns, &mut ran);
        open.open(end_ns, index as u32);
    }
    open.advance(i64::MAX, &mut ran);
}

/// An interval that has begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Open<T> {
    /// Its end.
    pub end_ns: i64,
    /// The interval, as the caller knows it.
    pub item: T,
}

/// One step of [`OpenIntervals::step`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step<T> {
    /// The innermost interval ran from `start_ns` to `end_ns`, which is always later.
    Ran {
        /// Start of that time.
        start_ns: i64,
        /// End of that time.
        end_ns: i64,
    },
    /// The innermost interval ended and was removed from the stack.
    Ended(T),
}

/// The intervals of one lane that are open as time goes on, for analyses that need more than
/// [`self_times`]: what encloses an interval, stacks of names, several lanes at once.
///
/// ```
/// use trueno_analysis::sweep::OpenIntervals;
///
/// let mut open = OpenIntervals::default();
/// let mut parents = Vec::new();
/// for (start_ns, end_ns, name) in [(0, 100, "layer"), (10, 40, "norm"), (100, 130, "head")] {
///     open.advance(start_ns, |_, _, _| {});
///     parents.push((name, open.innermost()));
///     open.open(end_ns, name);
/// }
/// assert_eq!(parents, [("layer", None), ("norm", Some("layer")), ("head", None)]);
/// ```
#[derive(Clone, Debug)]
pub struct OpenIntervals<T> {
    stack: Vec<Open<T>>,
    now_ns: i64,
}

impl<T> Default for OpenIntervals<T> {
    fn default() -> Self {
        Self {
            stack: Vec::new(),
            now_ns: i64::MIN,
        }
    }
}

impl<T: Copy> OpenIntervals<T> {
    /// Goes on to an instant and tells `ran` every stretch on the way: the stack, whose last interval
    /// was the innermost, and from when to when. Others of the stack are those it began within; where
    /// intervals cross, they may have ended before.
    #[inline]
    pub fn advance(&mut self, until_ns: i64, mut ran: impl FnMut(&[Open<T>], i64, i64)) {
        while let Some(step) = self.step(until_ns) {
            if let Step::Ran { start_ns, end_ns } = step {
                ran(&self.stack, start_ns, end_ns);
            }
        }
    }

    /// The next thing that happens on the way to an instant; `None`: it is reached.
    #[inline]
    pub fn step(&mut self, until_ns: i64) -> Option<Step<T>> {
        if let Some(&Open { end_ns, item }) = self.stack.last() {
            let to_ns = end_ns.min(until_ns);
            if self.now_ns < to_ns {
                let start_ns = std::mem::replace(&mut self.now_ns, to_ns);
                let end_ns = to_ns;
                return Some(Step::Ran { start_ns, end_ns });
            }
            if end_ns <= until_ns {
                self.stack.pop();
                return Some(Step::Ended(item));
            }
        }
        self.now_ns = until_ns;
        None
    }

    /// Begins an interval at the instant that was last gone on to.
    #[inline]
    pub fn open(&mut self, end_ns: i64, item: T) {
        self.stack.push(Open { end_ns, item });
    }

    /// All that are open, the innermost last. Where intervals cross, some below it may have ended.
    #[inline]
    pub fn stack(&self) -> &[Open<T>] {
        &self.stack
    }

    /// The last that was opened of those that have not ended.
    #[inline]
    pub fn innermost(&self) -> Option<T> {
        self.stack.last().map(|open| open.item)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::start_order::{sort_by_start, start_key};

    proptest! {
        /// Reference implementation: assigns to every instant the last interval, in the order of starts,
        /// that covers it.
        #[test]
        fn every_busy_instant_belongs_to_the_innermost(rows in prop::collection::vec((0..40_i64, 0..15_i64), 0..20)) {
            let mut lane: Vec<(i64, i64, u64)> =
                rows.iter().zip(0..).map(|((start, dur), id)| (*start, start + dur, id)).collect();
            sort_by_start(&mut lane);
            let covers = |row: &&(i64, i64, u64), now| row.0 <= now && now < row.1;
            let painted: Vec<(u64, i64)> = (0..60)
                .filter_map(|now| {
                    let open = lane.iter().filter(|row| covers(row, now));
                    open.max_by_key(|row| start_key(*row)).map(|row| (row.2, now))
                })
                .collect();
            let mut found = Vec::new();
            self_times(&lane, |row, start_ns, end_ns| found.extend((start_ns..end_ns).map(|now| (row.2, now))));
            prop_assert_eq!(found, painted);
        }
    }
}
