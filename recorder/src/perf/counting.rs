//! One thread's counters, and the bricks open on it that are counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use super::PerfEvent;
use super::cpu::{Cpu, GroupOf, Part};
use super::group::{Counted, Reading, between};
use super::open::Group;
use super::status::PerfShared;
use crate::lane::Lane;
use crate::names::Name;
use crate::reentrancy::ReentrancyGuard;
use crate::session_state::{SessionState, lock};
use trueno_format::Source;
use trueno_format::record::{Record, kind};
use trueno_format::schema::TableId;

/// Groups of a thread at most: hardware, software, FLOPs of three kinds.
const GROUPS: usize = 5;
/// Rounds of the measurement of what it costs, and bricks in each.
const ROUNDS: u32 = 5;
const BRICKS: u32 = 100;

type Readings = [Option<Reading>; GROUPS];

/// Where an event is read.
struct Place {
    /// Index into [`PerfShared::events`].
    event: usize,
    group: usize,
    first: usize,
    weights: Vec<u32>,
    name: u32,
    unit: u32,
}

/// The counters of one thread. They are closed when it is dropped.
pub(crate) struct Counting {
    groups: Vec<Group>,
    places: Vec<Place>,
    /// Bricks by sequence number, with what the counters said when they began.
    open: Vec<(u32, Readings)>,
}

/// Opens what `wanted` lists on the calling thread; `refused` hears of what is not to be had.
fn open(wanted: &[(usize, PerfEvent)], mut refused: impl FnMut(usize, String)) -> Counting {
    let cpu = Cpu::here();
    let mut of: Vec<GroupOf> = Vec::new();
    let mut counting = Counting {
        groups: Vec::new(),
        places: Vec::new(),
        open: Vec::with_capacity(16),
    };
    for (at, event) in wanted {
        let (group_of, parts) = match cpu.parts(*event) {
            Ok(found) => found,
            Err(why) => {
                refused(*at, why);
                continue;
            }
        };
        let known = of.iter().position(|other| *other == group_of);
        let group = known.unwrap_or(of.len());
        let mut fresh = Group::default();
        let into = counting.groups.get_mut(group).unwrap_or(&mut fresh);
        match into.add(&parts) {
            Ok(first) => {
                if known.is_none() {
                    of.push(group_of);
                    counting.groups.push(fresh);
                }
                counting.places.push(Place {
                    event: *at,
                    group,
                    first,
                    weights: parts.iter().map(|part: &Part| part.weight).collect(),
                    name: Name::new(event.name()).number(),
                    unit: Name::new(event.unit()).number(),
                });
            }
            Err(why) => refused(*at, why),
        }
    }
    counting
}

/// Asks for all events on the calling thread, and measures what they cost.
pub(super) fn probe(events: &[PerfEvent]) -> PerfShared {
    let wanted: Vec<_> = events.iter().copied().enumerate().collect();
    let mut reasons = vec![None; events.len()];
    let mut counting = open(&wanted, |at, why| reasons[at] = Some(why));
    let mut reasons = reasons.into_iter();
    let shared = PerfShared::with(events, |_| reasons.next().flatten());
    if shared.counts() {
        let _ = shared.cost_ns_per_brick.set(cost_ns(&mut counting));
    }
    shared
}

/// Of a begin and an end without their rows: the best of a few rounds.
fn cost_ns(counting: &mut Counting) -> f64 {
    let round = |_| {
        let start = Instant::now();
        for _ in 0..BRICKS {
            let from = counting.read();
            let to = counting.read();
            std::hint::black_box((from, to));
        }
        start.elapsed().as_nanos() as f64 / f64::from(BRICKS)
    };
    (0..ROUNDS).map(round).fold(f64::INFINITY, f64::min)
}

impl Counting {
    /// Of the calling thread.
    fn open(shared: &PerfShared) -> Self {
        let events = shared.events.iter().enumerate();
        let wanted: Vec<_> = events
            .filter(|(_, status)| status.refused.is_none())
            .map(|(at, status)| (at, status.event))
            .collect();
        open(&wanted, |at, why| {
            lock(&shared.events[at].refused_on_threads).get_or_insert(why);
        })
    }

    fn read(&self) -> Readings {
        let mut readings = [None; GROUPS];
        for (reading, group) in readings.iter_mut().zip(&self.groups) {
            *reading = group.read();
        }
        readings
    }

    /// The readings at the beginning of brick `seq`, which is open no more.
    fn close(&mut self, seq: u32) -> Option<Readings> {
        let at = self.open.iter().rposition(|(of, _)| *of == seq)?;
        Some(self.open.remove(at).1)
    }
}

/// Brick `seq` begins: called as late as can be.
#[cold]
#[inline(never)]
pub(crate) fn begin(lane: &mut Lane, seq: u32) {
    let _reentrancy = ReentrancyGuard::enter();
    if lane.perf.is_none() {
        let shared: Arc<SessionState> = lane.shared().clone();
        let Some(perf) = shared.perf.get() else {
            return;
        };
        lane.perf = Some(Box::new(Counting::open(perf)));
    }
    if let Some(counting) = &mut lane.perf {
        counting.open.reserve(1);
        let readings = counting.read();
        counting.open.push((seq, readings));
    }
}

/// Brick `seq` has ended at `ticks`: its counts become rows.
#[cold]
#[inline(never)]
pub(crate) fn end(lane: &mut Lane, seq: u32, ticks: u64) {
    let Some(mut counting) = lane.perf.take() else {
        return;
    };
    let to = counting.read();
    let shared: Arc<SessionState> = lane.shared().clone();
    if let (Some(from), Some(perf)) = (counting.close(seq), shared.perf.get()) {
        for place in &counting.places {
            let status = &perf.events[place.event];
            let counted = match (&from[place.group], &to[place.group]) {
                (Some(from), Some(to)) => between(from, to, place.first, &place.weights),
                _ => Counted::Not,
            };
            let (value, source) = match counted {
                Counted::Exactly(value) => (value, Source::Measured),
                Counted::Scaled(value) => (value, Source::Computed),
                Counted::Not => {
                    add(&status.not_counted);
                    continue;
                }
            };
            add(match source {
                Source::Measured => &status.exact,
                _ => &status.scaled,
            });
            let record = Record {
                start: ticks,
                parent: seq,
                name: place.name,
                kind: kind::COUNTER,
                m: [value.to_bits(), u64::from(place.unit), source as u64, 0],
                ..Record::default()
            };
            lane.push_group(TableId::Counters, 1, &[record]);
        }
    }
    lane.perf = Some(counting);
}

/// Brick `seq` will end elsewhere, where these counters say nothing of it.
#[cold]
pub(crate) fn forget(lane: &mut Lane, seq: u32) {
    if let Some(counting) = &mut lane.perf {
        counting.close(seq);
    }
}

fn add(count: &AtomicU64) {
    count.fetch_add(1, Ordering::Relaxed);
}
