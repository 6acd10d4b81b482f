//! Ownership: the interval that every interval belongs to, which is the one it began in, or what launched or
//! spawned it.
//!
//! A change of an interval's duration is one of all that belongs to it: a brick's nested bricks,
//! the kernels it launched, the tasks it spawned. A call that launched work and returned had no part in it: faster
//! launches are no faster kernels. The work belongs to what the call lies in; that of a call that blocked until
//! the work had ended, to the call.

use trueno_analysis::hash::FastSet;
use trueno_analysis::lanes::{Class, Lanes};
use trueno_analysis::sweep::OpenIntervals;

use crate::load::dependencies::{Dependency, SpanAt};
use crate::load::edges::DependencyKind;

pub const NONE: u32 = u32::MAX;

/// The owner of every interval. Intervals are numbered across all lanes.
pub struct Ownership {
    /// Number of the first interval of each lane, then the number of all.
    first: Vec<u32>,
    /// Owner by interval number; [`NONE`] if there is none.
    owners: Vec<u32>,
}

impl Ownership {
    pub fn new(run: &Lanes, dependencies: &[Dependency]) -> Self {
        let mut first = vec![0];
        for lane in &run.lanes {
            first.push(first[first.len() - 1] + lane.spans.len() as u32);
        }
        let mut out = Self {
            owners: vec![NONE; first[first.len() - 1] as usize],
            first,
        };
        for lane in 0..run.lanes.len() {
            out.nest(run, lane);
        }
        out.launched(run, dependencies);
        out
    }

    fn nest(&mut self, run: &Lanes, lane: usize) {
        let spans = &run.lanes[lane].spans;
        let base = self.first[lane];
        let class = |index: u32| run.labels.get(spans[index as usize].label).class;
        let mut open: OpenIntervals<u32> = OpenIntervals::default();
        for (index, span) in (0..).zip(spans) {
            open.advance(span.start_ns, |_, _, _| {});
            // An interval that outlasts another only overlaps it: a faster request is no faster for those that come
            // after it.
            let mut owner = open.innermost();
            while let Some(outlasted) = owner.filter(|of| spans[*of as usize].end_ns < span.end_ns)
            {
                let above = self.owners[(base + outlasted) as usize];
                owner = (above != NONE).then(|| above - base);
            }
            // Work taken up while waiting belongs to others.
            if let Some(owner) = owner
                && !(class(owner) == Class::Wait && class(index) == Class::Task)
            {
                self.owners[(base + index) as usize] = base + owner;
            }
            open.open(span.end_ns, index);
        }
    }

    /// If several calls launched an interval, the last to begin owns it, which is the innermost. If that call
    /// had already returned, whatever encloses the call owns it.
    fn launched(&mut self, run: &Lanes, dependencies: &[Dependency]) {
        let blocks: FastSet<(SpanAt, SpanAt)> = dependencies
            .iter()
            .filter(|d| matches!(d.kind, DependencyKind::Blocks | DependencyKind::Awaits))
            .map(|d| (d.to, d.from))
            .collect();
        let begins = |number: u32| {
            let at = self.place(number);
            run.lanes[at.lane as usize].spans[at.index as usize].start_ns
        };
        let mut links: Vec<(u32, i64, u32)> = dependencies
            .iter()
            .filter(|d| matches!(d.kind, DependencyKind::Launches | DependencyKind::Spawns))
            .filter(|d| d.from.lane != d.to.lane)
            .map(|d| {
                let from = self.number(d.from);
                (self.number(d.to), begins(from), from)
            })
            .collect();
        links.sort_unstable();
        for (to, _, from) in links {
            let work = self.place(to);
            let is_handed_over = |number: u32| {
                let at = self.place(number);
                let span = &run.lanes[at.lane as usize].spans[at.index as usize];
                run.labels.get(span.label).class == Class::Call && !blocks.contains(&(at, work))
            };
            let mut owner = from;
            while owner != NONE && is_handed_over(owner) {
                owner = self.owners[owner as usize];
            }
            self.owners[to as usize] = owner;
        }
    }

    pub fn len(&self) -> usize {
        self.owners.len()
    }

    pub fn is_empty(&self) -> bool {
        self.owners.is_empty()
    }

    pub fn number(&self, at: SpanAt) -> u32 {
        self.first[at.lane as usize] + at.index
    }

    pub fn first(&self, lane: usize) -> u32 {
        self.first[lane]
    }

    pub fn place(&self, number: u32) -> SpanAt {
        let lane = self.first.partition_point(|first| *first <= number) - 1;
        SpanAt {
            lane: lane as u32,
            index: number - self.first[lane],
        }
    }

    pub fn owner(&self, number: u32) -> Option<u32> {
        Some(self.owners[number as usize]).filter(|owner| *owner != NONE)
    }

    /// Computes a value for every interval: its own, else that of its owner, else `none`. `own` returns the
    /// interval's own value and whether it may inherit.
    pub fn inherit<T: Copy>(&self, none: T, own: impl Fn(u32) -> Own<T>) -> Vec<T> {
        let mut out = vec![none; self.len()];
        let mut is_done = vec![false; self.len()];
        let mut chain: Vec<(u32, Option<T>)> = Vec::new();
        for number in 0..self.len() as u32 {
            let mut at = number;
            let mut value = loop {
                if is_done[at as usize] {
                    break match chain.iter().position(|(member, _)| *member == at) {
                        None => out[at as usize],
                        // A circle of spawns at one instant: its members have what any of them has.
                        Some(first) => chain[first..]
                            .iter()
                            .find_map(|(_, own)| *own)
                            .unwrap_or(none),
                    };
                }
                is_done[at as usize] = true;
                match own(at) {
                    Own::Has(value) => chain.push((at, Some(value))),
                    Own::Inherits => chain.push((at, None)),
                    Own::Alone => break none,
                }
                match self.owner(at) {
                    Some(owner) => at = owner,
                    None => break none,
                }
            };
            while let Some((at, own)) = chain.pop() {
                value = own.unwrap_or(value);
                out[at as usize] = value;
            }
        }
        out
    }
}

pub enum Own<T> {
    Has(T),
    /// No value, and it must not inherit one.
    Alone,
    /// No value of its own: takes its owner's.
    Inherits,
}
