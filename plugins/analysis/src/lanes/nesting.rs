//! Intervals around each interval of a lane, and what each took of the time itself.

use super::span::{Class, Span};
use crate::sweep::OpenIntervals;

/// In [`Nesting::parents`] and [`Nesting::bricks`]: there is none.
pub const NO_INTERVAL: u32 = u32::MAX;

/// A lane's intervals, each within the one that was the innermost when it began.
///
/// Columns have a value for each interval, in the order of the lane.
///
/// ```
/// use trueno_analysis::lanes::{NO_INTERVAL, Nesting, Span};
///
/// let span = |start_ns, end_ns| Span { start_ns, end_ns, id: 0, label: 0, elements: 0 };
/// // A layer of 100 ns with a brick of 30 ns.
/// let spans = [span(0, 100), span(10, 40)];
/// let nesting = Nesting::new(&spans, |_| true, (0, 100));
/// assert_eq!(nesting.parents, [NO_INTERVAL, 0]);
/// assert_eq!(nesting.self_ns, [70, 30]);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Nesting {
    /// The interval that was the innermost at the start of this one.
    pub parents: Vec<u32>,
    /// The number of intervals from this one's parent upwards.
    pub depths: Vec<u32>,
    /// The time in which it was the innermost.
    pub self_ns: Vec<i64>,
    /// The brick it lies in, itself included.
    pub bricks: Vec<u32>,
}

impl Nesting {
    /// Of a sorted lane; self times are those between the two `ends_ns`, and `is_brick` tells of a label.
    pub fn new(
        spans: &[Span],
        is_brick: impl Fn(u32) -> bool,
        (from_ns, until_ns): (i64, i64),
    ) -> Self {
        let mut out = Self {
            parents: Vec::with_capacity(spans.len()),
            depths: Vec::with_capacity(spans.len()),
            self_ns: vec![0; spans.len()],
            bricks: Vec::with_capacity(spans.len()),
        };
        let mut open: OpenIntervals<u32> = OpenIntervals::default();
        for (index, span) in (0..).zip(spans) {
            out.advance(&mut open, span.start_ns, (from_ns, until_ns));
            let parent = open.innermost();
            let of = |column: &[u32]| parent.map(|parent| column[parent as usize]);
            let depth = of(&out.depths).map_or(0, |depth| depth + 1);
            let brick = if is_brick(span.label) {
                index
            } else {
                of(&out.bricks).unwrap_or(NO_INTERVAL)
            };
            out.parents.push(parent.unwrap_or(NO_INTERVAL));
            out.depths.push(depth);
            out.bricks.push(brick);
            open.open(span.end_ns, index);
        }
        out.advance(&mut open, i64::MAX, (from_ns, until_ns));
        out
    }

    #[inline]
    fn advance(
        &mut self,
        open: &mut OpenIntervals<u32>,
        to_ns: i64,
        (from_ns, until_ns): (i64, i64),
    ) {
        open.advance(to_ns, |stack, start_ns, end_ns| {
            if let Some(innermost) = stack.last() {
                let inside_ns = end_ns.min(until_ns) - start_ns.max(from_ns);
                self.self_ns[innermost.item as usize] += inside_ns.max(0);
            }
        });
    }
}

impl Class {
    /// True of rows of the table `bricks`.
    pub fn is_brick(self) -> bool {
        matches!(self, Self::Scope | Self::Brick | Self::Task)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::start_order::{sort_by_start, start_key};

    proptest! {
        /// Reference implementation: looks at every interval for each instant and each start.
        #[test]
        fn an_interval_lies_in_the_innermost_and_has_what_it_leaves(
            rows in prop::collection::vec((-5..40_i64, 0..15_i64, 0..2_u32), 0..20),
            until_ns in 0..50_i64,
        ) {
            let mut spans: Vec<Span> = (0..)
                .zip(&rows)
                .map(|(id, (start_ns, dur_ns, label))| Span {
                    start_ns: *start_ns,
                    end_ns: start_ns + dur_ns,
                    id,
                    label: *label,
                    elements: 0,
                })
                .collect();
            sort_by_start(&mut spans);
            let found = Nesting::new(&spans, |label| label == 1, (0, until_ns));
            let innermost = |among: &[Span], at_ns| {
                let open = among.iter().enumerate();
                let open = open.filter(|(_, span)| span.start_ns <= at_ns && at_ns < span.end_ns);
                let last = open.max_by_key(|(_, span)| start_key(*span));
                last.map(|(index, _)| index)
            };
            for (index, span) in spans.iter().enumerate() {
                let ran = (0..until_ns).filter(|now| innermost(&spans, *now) == Some(index));
                prop_assert_eq!(found.self_ns[index], ran.count() as i64);
                let parent = |index: usize| innermost(&spans[..index], spans[index].start_ns);
                let around = |index: usize| std::iter::successors(Some(index), |at| parent(*at));
                prop_assert_eq!(found.depths[index] as usize, around(index).count() - 1);
                let number = |index: Option<usize>| index.map_or(NO_INTERVAL, |index| index as u32);
                prop_assert_eq!(found.parents[index], number(parent(index)));
                let brick = around(index).find(|at| spans[*at].label == 1);
                prop_assert_eq!(found.bricks[index], number(brick), "{:?}", span);
            }
        }
    }
}
