//! Work that another thread launches, in no range of its own.
//!
//! Ranges go by thread, and autograd of PyTorch launches the backward pass from threads of its own. Such a call is counted
//! to the innermost range of the one other thread that encloses it in time: the step that waits for it. That is inferred
//! and not stated, so each row of work says so (attribute `brick_inferred`), and calls keep their null. Where several
//! threads have such a range, or the launching thread states ranges itself, nothing is inferred.
//!
//! Between its calls a thread of autograd works on the backward pass: a row around those calls says so. It is inferred, too,
//! and marked (attribute `row_inferred`).
//!
//! Ranges of operators that state a sequence number (`torch.autograd.profiler.emit_nvtx()`) are joined by it: an edge
//! leads from the forward operator to the backward one, as in traces of PyTorch.

use std::collections::{BTreeMap, BTreeSet};

use trueno_format::schema::{BrickRow, SyncRow};

use super::build::{Build, Interval};
use crate::Error;
use crate::cuda::iterations::Iterations;
use crate::cuda::open_ranges::OpenRanges;

/// How PyTorch names the threads of its backward pass.
const AUTOGRAD: &str = "pt_autograd";
/// Name of the attribute, and its value.
const KEY: &str = "brick_inferred";
const BY_TIME: &str = "range of another thread that encloses the launch in time";
const PASS_KEY: &str = "row_inferred";
const BY_CALLS: &str = "from the first to the last call of a thread of autograd within one range of the thread that waits for it";

/// A range that became a row.
#[derive(Clone, Copy, Debug)]
pub struct OwnRange {
    pub thread: u32,
    pub start: i64,
    pub end: i64,
    pub id: u64,
    /// Number of a node of autograd.
    pub sequence: Option<u64>,
}

/// A call in no range.
#[derive(Clone, Copy, Debug)]
pub struct Orphan {
    pub thread: u32,
    pub start: i64,
    pub end: i64,
    pub correlation: u32,
}

/// Enclosing ranges by correlation id, and what could not be told.
#[derive(Debug, Default)]
pub struct Inferred {
    pub bricks: BTreeMap<u32, u64>,
    /// Calls that ranges of several threads enclose.
    pub ambiguous: u64,
    /// Rows of backward passes.
    pub passes: u64,
}

/// The calls of a thread.
#[derive(Debug)]
struct CallTimes {
    /// In order.
    starts: Vec<i64>,
    /// The last end of each call and all before it.
    last_ends: Vec<i64>,
}

impl CallTimes {
    fn new(mut calls: Vec<(i64, i64)>) -> Self {
        calls.sort_unstable();
        let ends = calls.iter().scan(i64::MIN, |last, call| {
            *last = call.1.max(*last);
            Some(*last)
        });
        let last_ends = ends.collect();
        Self {
            starts: calls.into_iter().map(|call| call.0).collect(),
            last_ends,
        }
    }

    fn is_any_within(&self, start: i64, end: i64) -> bool {
        let begun = self.starts.partition_point(|of_call| *of_call < end);
        let last = begun.checked_sub(1).map(|at| self.last_ends[at]);
        last.is_some_and(|last| last > start)
    }
}

/// `ranges` in order of thread and start.
fn infer(ranges: &[OwnRange], mut orphans: Vec<Orphan>) -> Inferred {
    orphans.sort_by_key(|orphan| orphan.start);
    let mut found: Vec<(Option<u64>, bool)> = vec![(None, false); orphans.len()];
    for of_thread in ranges.chunk_by(|a, b| a.thread == b.thread) {
        let mut open = OpenRanges::default();
        let mut next = of_thread.iter().peekable();
        for (orphan, found) in orphans.iter().zip(&mut found) {
            while let Some(range) = next.next_if(|range| range.start <= orphan.start) {
                open.around(range.start, range.end);
                open.push(range.id, range.end);
            }
            if let Some(id) = open.around(orphan.start, orphan.end) {
                found.1 = found.0.is_some();
                found.0 = Some(id);
            }
        }
    }
    let mut inferred = Inferred::default();
    for (orphan, (brick, is_ambiguous)) in orphans.iter().zip(found) {
        match brick {
            Some(_) if is_ambiguous => inferred.ambiguous += 1,
            Some(brick) => {
                inferred.bricks.insert(orphan.correlation, brick);
            }
            None => {}
        }
    }
    inferred
}

/// Number of a node of autograd in the text of a range.
pub fn sequence(text: &str) -> Option<u64> {
    let (_, behind) = text.split_once(", seq = ")?;
    behind.split(',').next()?.trim().parse().ok()
}

impl Build {
    fn is_autograd(&self, thread: u32) -> bool {
        let name = self.from.threads.get(&thread);
        name.is_some_and(|name| name.starts_with(AUTOGRAD))
    }

    /// Ranges in order of thread and start; calls that launch work.
    pub(super) fn infer_ranges(
        &mut self,
        ranges: &[OwnRange],
        orphans: Vec<Orphan>,
        iterations: &Iterations,
    ) -> Result<(), Error> {
        let with_ranges: BTreeSet<u32> = ranges.iter().map(|range| range.thread).collect();
        let helpers = orphans.into_iter().filter(|orphan| {
            !with_ranges.contains(&orphan.thread) || self.is_autograd(orphan.thread)
        });
        let helpers: Vec<Orphan> = helpers.collect();
        let unranged = helpers.iter().filter(|orphan| {
            !with_ranges.contains(&orphan.thread) && self.is_autograd(orphan.thread)
        });
        let unranged: Vec<Orphan> = unranged.copied().collect();
        // A helper's own ranges enclose none of its orphans, and another helper's say nothing.
        let of_others: Vec<OwnRange> = ranges
            .iter()
            .filter(|range| !self.is_autograd(range.thread))
            .copied()
            .collect();
        self.inferred = infer(&of_others, helpers);
        self.backward_passes(&of_others, unranged, iterations)?;
        self.join_sequences(ranges)
    }

    /// Writes a row around the calls that a thread of autograd makes within one range of another thread: what it does between
    /// them is the backward pass, of which nothing else is recorded. The other thread waits for it meanwhile, if it makes no
    /// call itself.
    fn backward_passes(
        &mut self,
        ranges: &[OwnRange],
        calls: Vec<Orphan>,
        iterations: &Iterations,
    ) -> Result<(), Error> {
        // First start, last end and number of calls, by range and thread.
        let mut passes: BTreeMap<(u64, u32), (i64, i64, usize)> = BTreeMap::new();
        for call in calls {
            if let Some(range) = self.inferred.bricks.get(&call.correlation) {
                let pass = passes.entry((*range, call.thread));
                let pass = pass.or_insert((call.start, call.end, 0));
                *pass = (pass.0.min(call.start), pass.1.max(call.end), pass.2 + 1);
            }
        }
        passes.retain(|_, pass| pass.2 > 1);
        let by_id: BTreeMap<u64, &OwnRange> =
            ranges.iter().map(|range| (range.id, range)).collect();
        let waiting = passes.keys().filter_map(|(range, _)| by_id.get(range));
        let waiting: BTreeSet<u32> = waiting.map(|range| range.thread).collect();
        let busy = self.call_times(&waiting);
        // By waiting thread: start and end, the range, and the row of the pass.
        let mut awaited: BTreeMap<u32, Vec<(i64, i64, u64, u64)>> = BTreeMap::new();
        for ((range, thread), (start, end, _)) in passes {
            let pass = self.backward_pass(thread, start, end, iterations)?;
            let waits = by_id.get(&range).and_then(|range| {
                let calls = busy.get(&range.thread)?;
                (!calls.is_any_within(start, end)).then_some(range.thread)
            });
            if let Some(waits) = waits {
                awaited
                    .entry(waits)
                    .or_default()
                    .push((start, end, range, pass));
            }
        }
        for (thread, mut passes) in awaited {
            passes.sort_unstable();
            // One wait for passes side by side.
            while let Some(&(start, first_end, ..)) = passes.first() {
                let mut end = first_end;
                let together = passes.iter().take_while(|pass| {
                    let is_beside = pass.0 <= end;
                    end = if is_beside { end.max(pass.1) } else { end };
                    is_beside
                });
                let count = together.count();
                let together: Vec<_> = passes.drain(..count).collect();
                self.wait_for_passes(thread, start, end, &together)?;
            }
        }
        Ok(())
    }

    fn backward_pass(
        &mut self,
        thread: u32,
        start: i64,
        end: i64,
        iterations: &Iterations,
    ) -> Result<u64, Error> {
        let id = self.id();
        let interval = Interval {
            start: self.own_time(start),
            dur: end - start,
        };
        let row = BrickRow {
            id,
            kind: self.text("function"),
            name: self.text("backward pass"),
            thread: self.thread(thread),
            iteration: iterations.number(start, end),
            start_ns: interval.start,
            dur_ns: interval.dur,
            timing: self.text("host"),
            ..BrickRow::default()
        };
        self.reach(interval);
        self.add(&row)?;
        self.inferred.passes += 1;
        self.attribute(id, PASS_KEY, BY_CALLS)?;
        Ok(id)
    }

    /// `passes`: start, end, range of the waiting thread, and row of each.
    fn wait_for_passes(
        &mut self,
        thread: u32,
        start: i64,
        end: i64,
        passes: &[(i64, i64, u64, u64)],
    ) -> Result<(), Error> {
        let id = self.id();
        let row = SyncRow {
            id,
            kind: self.text("join"),
            name: Some(self.text("wait for the backward pass")),
            thread: Some(self.thread(thread)),
            start_ns: self.own_time(start),
            dur_ns: end - start,
            ..SyncRow::default()
        };
        self.add(&row)?;
        self.attribute(id, PASS_KEY, BY_CALLS)?;
        for (_, _, range, pass) in passes {
            self.edge(*range, *pass, "spawns")?;
            self.edge(*pass, id, "joins")?;
        }
        Ok(())
    }

    fn call_times(&self, threads: &BTreeSet<u32>) -> BTreeMap<u32, CallTimes> {
        let mut all: BTreeMap<u32, Vec<(i64, i64)>> =
            threads.iter().map(|thread| (*thread, Vec::new())).collect();
        for (_, call) in &self.from.calls {
            if let Some(of_thread) = all.get_mut(&call.thread) {
                let [start, end] =
                    [call.start, call.end].map(|time| i64::try_from(time).unwrap_or(i64::MAX));
                of_thread.push((start, end));
            }
        }
        let all = all.into_iter();
        all.map(|(thread, calls)| (thread, CallTimes::new(calls)))
            .collect()
    }

    /// An edge from each forward operator to the backward one of its node.
    fn join_sequences(&mut self, ranges: &[OwnRange]) -> Result<(), Error> {
        #[derive(Default)]
        struct Node {
            forward: Option<OwnRange>,
            is_ambiguous: bool,
            backward: Option<OwnRange>,
        }
        let mut nodes: BTreeMap<u64, Node> = BTreeMap::new();
        for range in ranges {
            let Some(sequence) = range.sequence else {
                continue;
            };
            let is_backward = self.is_autograd(range.thread);
            let node = nodes.entry(sequence).or_default();
            // The last to begin is the innermost.
            let place = if is_backward {
                &mut node.backward
            } else {
                let other = node.forward.filter(|of| of.thread != range.thread);
                node.is_ambiguous |= other.is_some();
                &mut node.forward
            };
            if place.is_none_or(|before| before.start <= range.start) {
                *place = Some(*range);
            }
        }
        for node in nodes.into_values() {
            if let (Some(forward), Some(backward)) = (node.forward, node.backward)
                && !node.is_ambiguous
                && forward.end <= backward.start
            {
                self.edge(forward.id, backward.id, "depends_on")?;
            }
        }
        Ok(())
    }

    /// Range of a row of work. Marked if it is inferred.
    pub(super) fn brick_of(
        &mut self,
        stated: Option<u64>,
        correlation: u32,
        row: u64,
    ) -> Result<Option<u64>, Error> {
        if stated.is_some() {
            return Ok(stated);
        }
        let Some(brick) = self.inferred.bricks.get(&correlation).copied() else {
            return Ok(None);
        };
        self.inferred_rows += 1;
        self.attribute(row, KEY, BY_TIME)?;
        Ok(Some(brick))
    }

    /// Says in `run.json` how much was inferred.
    pub(super) fn say_inferred(&mut self) {
        let (rows, ambiguous) = (self.inferred_rows, self.inferred.ambiguous);
        let passes = self.inferred.passes;
        if rows == 0 && ambiguous == 0 && passes == 0 {
            return;
        }
        let said = format!(
            "{rows} rows of work launched by threads without ranges, by the range of another thread around the launch; \
             {ambiguous} launches in ranges of several threads were left without one; {passes} rows `backward pass` around \
             the calls of threads of autograd"
        );
        self.into
            .run()
            .values
            .insert("ranges.inferred".to_owned(), said);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(thread: u32, start: i64, end: i64, id: u64) -> OwnRange {
        OwnRange {
            thread,
            start,
            end,
            id,
            sequence: None,
        }
    }

    fn orphan(start: i64, end: i64, correlation: u32) -> Orphan {
        Orphan {
            thread: 9,
            start,
            end,
            correlation,
        }
    }

    #[test]
    fn calls_within_an_interval_are_found_also_behind_longer_ones() {
        let calls = [(0, 100), (10, 20), (200, 210)];
        let times = CallTimes::new(calls.to_vec());
        for start in 0..230 {
            for end in start..230 {
                let any = calls.iter().any(|call| call.0 < end && call.1 > start);
                assert_eq!(times.is_any_within(start, end), any, "{start} to {end}");
            }
        }
        assert!(!CallTimes::new(Vec::new()).is_any_within(0, 1));
    }

    #[test]
    fn the_one_thread_that_encloses_a_call_has_the_range_for_it() {
        let ranges = [
            range(1, 0, 100, 11),
            range(1, 10, 50, 12),
            range(1, 200, 300, 13),
            range(2, 220, 260, 21),
        ];
        let orphans = vec![
            orphan(20, 30, 1),
            orphan(40, 60, 2),
            orphan(150, 160, 3),
            orphan(230, 240, 4),
            orphan(270, 280, 5),
            orphan(290, 310, 6),
        ];
        let found = infer(&ranges, orphans);
        let bricks: Vec<_> = found.bricks.into_iter().collect();
        // 3 lies in none, 4 in ranges of two threads, 6 ends after all of them.
        assert_eq!(bricks, [(1, 12), (2, 11), (5, 13)]);
        assert_eq!(found.ambiguous, 1);
    }

    #[test]
    fn a_sequence_number_stands_behind_the_operator() {
        assert_eq!(sequence("aten::mm, seq = 12, op_id = 34"), Some(12));
        assert_eq!(sequence("MmBackward0, seq = 7"), Some(7));
        assert_eq!(sequence("aten::mm, op_id = 34"), None);
    }
}
