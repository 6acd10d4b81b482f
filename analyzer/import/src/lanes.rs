//! Lanes of spans of which none is known: inferred, so that what overlaps stands side by side.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Lanes of one thread, or of a process whose spans name no thread. Spans must come by start, longer first.
#[derive(Debug, Default)]
pub struct Lanes {
    lanes: Vec<Lane>,
    /// Lanes by the end of their outermost span. May contain outdated entries.
    free_from: BinaryHeap<Reverse<(i64, usize)>>,
}

#[derive(Debug, Default)]
struct Lane {
    /// Ends of the open spans, innermost last.
    open: Vec<i64>,
    outermost_end_ns: i64,
}

impl Lanes {
    /// Picks the lane of a span: the preferred one if everything open there encloses it, else one where nothing
    /// is open.
    pub fn place(&mut self, start_ns: i64, end_ns: i64, preferred: Option<usize>) -> usize {
        if let Some(at) = preferred.filter(|at| *at < self.lanes.len()) {
            let open = &mut self.lanes[at].open;
            while open.last().is_some_and(|end| *end <= start_ns) {
                open.pop();
            }
            match open.last() {
                Some(end) if end_ns <= *end => {
                    open.push(end_ns);
                    return at;
                }
                Some(_) => {}
                None => return self.begin(at, end_ns),
            }
        }
        while let Some(Reverse((end, at))) = self.free_from.peek().copied() {
            if end == self.lanes[at].outermost_end_ns {
                if end <= start_ns {
                    self.free_from.pop();
                    return self.begin(at, end_ns);
                }
                break;
            }
            self.free_from.pop();
        }
        self.lanes.push(Lane::default());
        self.begin(self.lanes.len() - 1, end_ns)
    }

    fn begin(&mut self, at: usize, end_ns: i64) -> usize {
        self.lanes[at] = Lane {
            open: vec![end_ns],
            outermost_end_ns: end_ns,
        };
        self.free_from.push(Reverse((end_ns, at)));
        at
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Spans of a lane nest or do not overlap, and there are no more lanes than spans open at once.
        #[test]
        fn spans_of_a_lane_nest(spans in proptest::collection::vec((0_i64..60, 0_i64..30, 0_usize..40), 0..40)) {
            let mut spans: Vec<(i64, i64, usize)> =
                spans.into_iter().map(|(start, dur, parent)| (start, start + dur, parent)).collect();
            spans.sort_by_key(|(start, end, _)| (*start, -end));
            let mut lanes = Lanes::default();
            let mut placed: Vec<usize> = Vec::new();
            for (start, end, parent) in &spans {
                let preferred = placed.get(*parent).copied();
                placed.push(lanes.place(*start, *end, preferred));
            }
            for (at, (start, end, _)) in spans.iter().enumerate() {
                for (before, (from, until, _)) in spans[..at].iter().enumerate() {
                    let is_apart = until <= start || placed[before] != placed[at];
                    prop_assert!(is_apart || end <= until, "{from}..{until}, {start}..{end}");
                }
            }
            let open_at = |at: usize| {
                let start = spans[at].0;
                spans[..=at].iter().filter(|(from, until, _)| *until > start || *from == start).count()
            };
            let most = (0..spans.len()).map(open_at).max().unwrap_or(0);
            prop_assert!(placed.iter().all(|lane| *lane < most), "{placed:?}");
        }
    }
}
