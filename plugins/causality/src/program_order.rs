//! Program order: what the times of a lane say about its own events.
//!
//! Of two rows of a lane, in the order of starts, the longer first, then by id:
//!
//! | rows | order |
//! | --- | --- |
//! | the first ended when the second began, or before | end of the first → begin of the second |
//! | the first holds the second | begin of the first → begin of the second, end of the second → end of the first |
//! | neither | none |
//!
//! A row that *crosses* another, so that each has a time of its own, is no frame: rows that lie in it are not ordered
//! with its begin and end. Then the rows that hold others nest, and a few predecessors of each event stand for the
//! whole order:
//!
//! - of a begin, the last end before it, or the begin of the row around it if that came later;
//! - of an end, the last end before it if the row holds that, or else its begin.
//!
//! The ends of rows that cross come in no order. Where one ends, a *gate* follows it and the end before: no event, but
//! the latest of the two.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use trueno_analysis::lanes::{Lane, LaneKey, Span};

use crate::events::{Event, Events, NONE, begin, end};

pub struct ProgramOrder {
    predecessors: Vec<Event>,
    /// Predecessors of the gates, which are numbered after the events.
    gates: Vec<[Event; 2]>,
}

impl ProgramOrder {
    pub fn new(events: &Events<'_>) -> Self {
        let mut order = Self {
            predecessors: vec![NONE; 2 * events.rows()],
            gates: Vec::new(),
        };
        for (first, lane) in events.lanes() {
            if is_recorded(lane) {
                order.add_lane(first, &lane.spans);
            } else {
                let rows = first..first + lane.spans.len() as u32;
                rows.for_each(|row| order.set(end(row), begin(row)));
            }
        }
        order
    }

    pub fn nodes(&self) -> u32 {
        (self.predecessors.len() + self.gates.len()) as u32
    }

    #[inline]
    pub fn is_gate(&self, node: u32) -> bool {
        node as usize >= self.predecessors.len()
    }

    #[inline]
    pub fn of(&self, node: u32) -> &[u32] {
        match self.predecessors.get(node as usize) {
            Some(predecessor) if *predecessor == NONE => &[],
            Some(predecessor) => std::slice::from_ref(predecessor),
            None => &self.gates[node as usize - self.predecessors.len()],
        }
    }

    fn set(&mut self, event: Event, predecessor: Event) {
        self.predecessors[event as usize] = predecessor;
    }

    /// Adds a lane whose rows are sorted by start.
    fn add_lane(&mut self, first: u32, spans: &[Span]) {
        let crossing = crossing(spans);
        let crosses = |index: u32| crossing.as_ref().is_some_and(|all| all[index as usize]);
        let mut walk = Walk::default();
        for (index, span) in (0_u32..).zip(spans) {
            walk.end_until(span.start_ns, first, crosses, self);
            let row = first + index;
            let holder = walk.holder(span.start_ns);
            self.set(begin(row), Place::later(walk.last, holder));
            let at = walk.place(begin(row));
            if !crosses(index) {
                walk.holders.push((span.end_ns, at));
            }
            walk.open.push(Open {
                end: Reverse(span.end_ns),
                index,
                begin: at,
            });
        }
        walk.end_until(i64::MAX, first, crosses, self);
    }
}

/// False for the lane of rows without a recorded thread or stream: they may belong to several.
pub fn is_recorded(lane: &Lane) -> bool {
    match lane.key {
        LaneKey::Thread(thread) => thread.is_some(),
        LaneKey::ThreadOfRank(_) => false,
        LaneKey::Stream(_, stream) => stream.is_some(),
    }
}

/// A node, and its position in the walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    at: u32,
    node: u32,
}

impl Place {
    fn later(a: Option<Self>, b: Option<Self>) -> Event {
        a.max(b).map_or(NONE, |place| place.node)
    }
}

/// An open row. The first to end compares greatest; among equal ends, the last to begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Open {
    end: Reverse<i64>,
    index: u32,
    begin: Place,
}

/// Walks the begins and ends of a lane in time order.
#[derive(Default)]
struct Walk {
    open: BinaryHeap<Open>,
    /// End time and begin of the open rows that cross no other, each nested in the one before.
    holders: Vec<(i64, Place)>,
    last: Option<Place>,
    at: u32,
}

impl Walk {
    fn place(&mut self, node: u32) -> Place {
        self.at += 1;
        Place { at: self.at, node }
    }

    /// The begin of the innermost row around one that begins now.
    fn holder(&mut self, now_ns: i64) -> Option<Place> {
        while self
            .holders
            .pop_if(|(end_ns, _)| *end_ns <= now_ns)
            .is_some()
        {}
        self.holders.last().map(|(_, begin)| *begin)
    }

    fn end_until(
        &mut self,
        now_ns: i64,
        first: u32,
        crosses: impl Fn(u32) -> bool,
        order: &mut ProgramOrder,
    ) {
        while let Some(open) = self
            .open
            .peek()
            .filter(|open| open.end.0 <= now_ns)
            .copied()
        {
            self.open.pop();
            let event = end(first + open.index);
            let within = self.last.filter(|last| *last > open.begin);
            if !crosses(open.index) {
                order.set(event, Place::later(within, Some(open.begin)));
                self.last = Some(self.place(event));
                continue;
            }
            order.set(event, open.begin.node);
            let place = self.place(event);
            self.last = Some(match within {
                // What ended before it began came before it.
                None => place,
                Some(within) => {
                    let gate = order.nodes();
                    order.gates.push([within.node, event]);
                    Place {
                        node: gate,
                        ..place
                    }
                }
            });
        }
    }
}

/// Marks the rows of a lane, sorted by start, that cross another; `None` if there are none.
fn crossing(spans: &[Span]) -> Option<Vec<bool>> {
    if nests(spans) {
        return None;
    }
    let mut crossing = vec![false; spans.len()];
    let mut open: BinaryHeap<Reverse<i64>> = BinaryHeap::new();
    let mut unmarked: BinaryHeap<Reverse<(i64, usize)>> = BinaryHeap::new();
    for (index, span) in spans.iter().enumerate() {
        while open.peek().is_some_and(|end| end.0 <= span.start_ns) {
            open.pop();
        }
        crossing[index] = open.peek().is_some_and(|end| end.0 < span.end_ns);
        while let Some(Reverse((end_ns, other))) = unmarked.peek().copied()
            && end_ns < span.end_ns
        {
            unmarked.pop();
            crossing[other] |= end_ns > span.start_ns;
        }
        open.push(Reverse(span.end_ns));
        unmarked.push(Reverse((span.end_ns, index)));
    }
    Some(crossing)
}

fn nests(spans: &[Span]) -> bool {
    let mut open: Vec<i64> = Vec::new();
    spans.iter().all(|span| {
        while open.pop_if(|end_ns| *end_ns <= span.start_ns).is_some() {}
        let is_inside = open.last().is_none_or(|end_ns| *end_ns >= span.end_ns);
        open.push(span.end_ns);
        is_inside
    })
}
