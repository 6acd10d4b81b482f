//! Lanes of spans that name no thread: inferred, so that what overlaps stands side by side.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Lanes of one process. Spans come by start, the longer first.
#[derive(Debug, Default)]
pub struct Lanes {
    /// Ends of the open spans of each lane, the innermost last.
    open: Vec<Vec<i64>>,
    /// Lanes by the end of their outermost span.
    free_from: BinaryHeap<Reverse<(i64, usize)>>,
}

impl Lanes {
    /// The lane of a span: its parent's where it lies within all that is open there, else one where nothing is open.
    pub fn place(&mut self, start_ns: i64, end_ns: i64, parent: Option<usize>) -> usize {
        if let Some(lane) = parent {
            let open = &mut self.open[lane];
            while open.last().is_some_and(|end| *end <= start_ns) {
                open.pop();
            }
            if open.last().is_some_and(|end| end_ns <= *end) {
                open.push(end_ns);
                return lane;
            }
        }
        let free = self.free_from.peek().copied();
        let lane = match free {
            Some(Reverse((end, lane))) if end <= start_ns => {
                self.free_from.pop();
                lane
            }
            _ => {
                self.open.push(Vec::new());
                self.open.len() - 1
            }
        };
        self.open[lane] = vec![end_ns];
        self.free_from.push(Reverse((end_ns, lane)));
        lane
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// On no lane do two spans overlap without nesting.
        #[test]
        fn spans_of_a_lane_nest(spans in proptest::collection::vec((0_i64..60, 0_i64..30, 0_usize..40), 0..40)) {
            let mut spans: Vec<(i64, i64, usize)> =
                spans.into_iter().map(|(start, dur, parent)| (start, start + dur, parent)).collect();
            spans.sort_by_key(|(start, end, _)| (*start, -end));
            let mut lanes = Lanes::default();
            let mut placed: Vec<usize> = Vec::new();
            for (start, end, parent) in &spans {
                let parent = placed.get(*parent).copied();
                placed.push(lanes.place(*start, *end, parent));
            }
            for (at, (start, end, _)) in spans.iter().enumerate() {
                for (before, (from, until, _)) in spans[..at].iter().enumerate() {
                    let is_apart = until <= start || placed[before] != placed[at];
                    prop_assert!(is_apart || end <= until, "{from}..{until}, {start}..{end}");
                }
            }
        }
    }
}
