//! One thread's counters, and the bricks open on it that are counted.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use super::PerfEvent;
use super::cpu::{Cpu, GroupOf, Part};
use super::group::{Counted, Reading, between};
use super::open::Group;
use super::status::PerfShared;
use crate::lock::lock;
use crate::names::Name;
use trueno_format::Source;

/// Maximum number of groups per thread: hardware, software, two caches, FLOPs of three kinds.
const GROUPS: usize = 7;
const ROUNDS: u32 = 5;
const BRICKS: u32 = 100;

pub(crate) type Readings = [Option<Reading>; GROUPS];

struct Place {
    /// Index into [`PerfShared::events`].
    event: usize,
    group: usize,
    first: usize,
    weights: Vec<u32>,
    name: u32,
    unit: u32,
}

/// The counters of one thread. They are closed on drop.
pub(crate) struct Counting {
    groups: Vec<Group>,
    places: Vec<Place>,
    /// Open bricks by sequence number, with the readings at their begin.
    open: Vec<(u32, Readings)>,
}

/// Opens the `wanted` events on the calling thread. Calls `refused` for those that are not available.
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
    for (number, group) in counting.groups.iter().enumerate() {
        if let Err(why) = group.enable() {
            let of_group = |place: &&Place| place.group == number;
            let places = counting.places.iter().filter(of_group);
            places.for_each(|place| refused(place.event, why.clone()));
            counting.places.retain(|place| place.group != number);
        }
    }
    counting
}

/// Opens all events on the calling thread and measures their cost.
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

/// Cost of a begin and an end without their rows: the best of a few rounds.
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
    pub(crate) fn open(shared: &PerfShared) -> Self {
        let events = shared.events.iter().enumerate();
        let wanted: Vec<_> = events
            .filter(|(_, status)| status.refused.is_none())
            .map(|(at, status)| (at, status.event))
            .collect();
        open(&wanted, |at, why| {
            lock(&shared.events[at].refused_on_threads).get_or_insert(why);
        })
    }

    pub(crate) fn read(&self) -> Readings {
        let mut readings = [None; GROUPS];
        for (reading, group) in readings.iter_mut().zip(&self.groups) {
            *reading = group.read();
        }
        readings
    }

    pub(crate) fn begin(&mut self, seq: u32) {
        self.open.reserve(1);
        let readings = self.read();
        self.open.push((seq, readings));
    }

    /// Returns the counts of brick `seq`, which ended with the readings `to`: names, values, units.
    pub(crate) fn end(
        &mut self,
        seq: u32,
        to: &Readings,
        perf: &PerfShared,
        mut row: impl FnMut(u32, f64, u32, Source),
    ) {
        let Some(from) = self.close(seq) else {
            return;
        };
        for place in &self.places {
            let status = &perf.events[place.event];
            let counted = match (&from[place.group], &to[place.group]) {
                (Some(from), Some(to)) => between(from, to, place.first, &place.weights),
                _ => Counted::Not,
            };
            let (value, source, count) = match counted {
                Counted::Exactly(value) => (value, Source::Measured, &status.exact),
                Counted::Scaled(value) => (value, Source::Computed, &status.scaled),
                Counted::Not => {
                    add(&status.not_counted);
                    continue;
                }
            };
            add(count);
            row(place.name, value, place.unit, source);
        }
    }

    pub(crate) fn close(&mut self, seq: u32) -> Option<Readings> {
        let at = self.open.iter().rposition(|(of, _)| *of == seq)?;
        Some(self.open.remove(at).1)
    }
}

fn add(count: &AtomicU64) {
    count.fetch_add(1, Ordering::Relaxed);
}
