//! One place's rows in one pass, and what comes of them.

use std::rc::Rc;

use trueno_plugin::{Table, TableBuilder};

use crate::events::{Event, Events, Rows};
use crate::fragments::{Footprint, Fragments};
use crate::growth::{Ends, Growth};
use crate::initial_live::last_before;
use crate::ledger::{Applied, Block, Ledger, SHOWN, Suspect};
use crate::lifetimes::Lifetimes;
use crate::sample_weight::{blocks, number, variance};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    pub time_ns: i64,
    pub delta: i64,
    pub tag: u32,
}

/// Adds a change as one step, or as several if it does not fit into one.
fn push_step(steps: &mut Vec<Step>, time_ns: i64, tag: usize, mut delta: i128) {
    loop {
        let part = cell(delta);
        steps.push(Step {
            time_ns,
            delta: part,
            tag: tag as u32,
        });
        delta -= i128::from(part);
        if delta == 0 {
            return;
        }
    }
}

/// What the rows up to some moment leave behind.
#[derive(Clone, Debug, Default)]
struct State {
    rows: usize,
    ledger: Ledger,
    footprint: Footprint,
}

impl State {
    fn apply(&mut self, event: &Event) -> Applied {
        self.rows += 1;
        self.footprint.add(event);
        self.ledger.apply(event)
    }
}

/// States from which the state at the peak is reached in few rows.
struct Checkpoints {
    latest: Rc<State>,
    /// The latest one when live bytes were highest.
    before_peak: Rc<State>,
}

impl Checkpoints {
    const EVERY: usize = 1 << 17;

    fn new(state: &State) -> Self {
        let latest = Rc::new(state.clone());
        Self {
            before_peak: Rc::clone(&latest),
            latest,
        }
    }

    /// Copies a state now and then: the more that lives, the less often.
    fn note(&mut self, state: &State) {
        let every = Self::EVERY.max(8 * state.ledger.block_count());
        if state.rows >= self.latest.rows + every {
            self.latest = Rc::new(state.clone());
        }
    }

    fn note_peak(&mut self) {
        if !Rc::ptr_eq(&self.before_peak, &self.latest) {
            self.before_peak = Rc::clone(&self.latest);
        }
    }

    /// The state at the peak, after that many rows.
    fn at_peak(self, rows: &Rows, count: usize) -> State {
        drop(self.latest);
        let mut state = Rc::unwrap_or_clone(self.before_peak);
        for event in rows.range(state.rows..count) {
            state.apply(&event);
        }
        state
    }
}

/// The first moment with the most live bytes.
#[derive(Clone, Debug)]
pub struct Peak {
    /// Number of rows of the place up to and including the peak.
    pub rows: usize,
    pub time_ns: i64,
    pub bytes: i128,
    pub ledger: Ledger,
}

#[derive(Clone, Debug, Default)]
pub struct Pool {
    pub place: usize,
    pub rows: u64,
    /// Allocated blocks (see [`crate::sample_weight`]) and bytes.
    pub taken: (u128, i128),
    /// Released blocks and bytes; both are positive.
    pub given_back: (u128, i128),
    pub with_address: u128,
    /// Estimated variances of the allocated bytes and of the live bytes at the peak; 0 if everything was
    /// recorded.
    pub variances: (f64, f64),
    /// Every change of live bytes, sorted by time.
    pub steps: Vec<Step>,
    /// `None`: live bytes were never above 0.
    pub peak: Option<Peak>,
    pub end: Ledger,
    pub lifetimes: Lifetimes,
    /// At the peak and at the end; empty without addresses.
    pub fragments: Vec<(&'static str, Fragments)>,
    pub growth: Vec<Growth>,
    /// Number of suspect rows by index in [`Suspect::ALL`].
    pub counts: [u64; 5],
    /// The first suspect rows: reason and index of the row.
    pub suspects: Vec<(Suspect, usize)>,
}

impl Pool {
    fn add_row(&mut self, event: &Event) {
        let count = u128::from(event.stands_for);
        let sum = if event.bytes > 0 {
            self.with_address += if event.address.is_some() { count } else { 0 };
            self.variances.0 += variance(event.bytes, event.stands_for);
            &mut self.taken
        } else {
            &mut self.given_back
        };
        sum.0 += count;
        sum.1 += i128::from(event.bytes).abs();
    }

    pub fn from_rows(events: &Events, place: usize, ends: &Ends) -> Self {
        let rows = &events.rows[place];
        let begin = events.begin(place);
        let mut pool = Self {
            place,
            rows: (rows.len() - begin) as u64,
            steps: Vec::with_capacity(rows.len() - begin),
            ..Self::default()
        };
        let before = events.initial_row(place);
        let mut state = State {
            ledger: Ledger::starting_with(before.as_ref()),
            ..State::default()
        };
        let mut peak: Option<(usize, i128)> = None;
        let from_ns = match (&before, events.window) {
            (_, Some(window)) => window.from_ns,
            (Some(before), None) => before.time_ns,
            (None, None) => i64::MIN,
        };
        if begin > 0 || before.is_some() {
            for event in rows.range(0..begin) {
                state.apply(&event);
            }
            let before = state.ledger.by_tag().iter();
            for (tag, live) in before.filter(|(_, live)| **live != 0) {
                push_step(&mut pool.steps, from_ns, *tag, *live);
            }
            if state.ledger.total() > 0 {
                peak = Some((begin, state.ledger.total()));
            }
        }
        let mut checkpoints = Checkpoints::new(&state);
        for (row, event) in rows.range(begin..rows.len()).enumerate() {
            let row = begin + row;
            pool.add_row(&event);
            checkpoints.note(&state);
            let applied = state.apply(&event);
            push_step(&mut pool.steps, event.time_ns, applied.tag, applied.delta);
            if let Some(block) = applied.released {
                pool.lifetimes.add(&block, event.time_ns);
            }
            for suspect in applied.suspects {
                let count = &mut pool.counts[suspect as usize];
                *count += 1;
                if *count <= SHOWN as u64 {
                    pool.suspects.push((suspect, row));
                }
            }
            if state.ledger.total() > peak.map_or(0, |(_, bytes)| bytes) {
                peak = Some((row + 1, state.ledger.total()));
                checkpoints.note_peak();
            }
        }
        let is_estimated = events.places[place].sample_bytes().is_some();
        let has_blocks = state.ledger.has_blocks() || pool.with_address > 0;
        // Of most blocks samples know no address.
        let has_fragments = has_blocks && !is_estimated;
        pool.end = state.ledger;
        if let Some((count, bytes)) = peak {
            let State {
                ledger, footprint, ..
            } = checkpoints.at_peak(rows, count);
            let last = count.checked_sub(1).map(|last| rows.get(last).time_ns);
            if has_fragments {
                let at_ns = last.unwrap_or(from_ns);
                let until_ns = at_ns.saturating_add(1);
                let allocator = &events.allocators[place];
                let reserved = last_before(&allocator.reserved, until_ns);
                let segments = allocator.segments(at_ns..until_ns);
                let fragments = Fragments::at(footprint, &ledger, reserved, segments);
                pool.fragments.push(("peak", fragments));
            }
            pool.peak = Some(Peak {
                rows: count,
                time_ns: last.map_or(from_ns, |time_ns| time_ns.max(from_ns)),
                bytes,
                ledger,
            });
        }
        if is_estimated && let Some(peak) = &pool.peak {
            pool.variances.1 = peak.ledger.blocks().map(Block::variance).sum();
        }
        if has_fragments {
            let until_ns = events.window.map_or(i64::MAX, |window| window.until_ns);
            let allocator = &events.allocators[place];
            let reserved = last_before(&allocator.reserved, until_ns);
            let last = rows.len().checked_sub(1).map(|last| rows.get(last).time_ns);
            let segments = last.and_then(|last_ns| allocator.segments(last_ns..until_ns));
            let fragments = Fragments::at(state.footprint, &pool.end, reserved, segments);
            pool.fragments.push(("end", fragments));
        }
        pool.growth = crate::growth::growth_by_tag(events, &pool, ends);
        pool
    }

    pub fn count(&self, suspect: Suspect) -> u64 {
        self.counts[suspect as usize]
    }
}

/// Saturates to the range of a column.
pub fn cell(bytes: i128) -> i64 {
    i64::try_from(bytes).unwrap_or(if bytes < 0 { i64::MIN } else { i64::MAX })
}

/// Table `places`: the host first, then the heap, then devices. If the name of a place says `estimated`, all its
/// numbers are estimates from samples ([`crate::sample_weight`]); table `measures` has their errors. `peak_bytes`,
/// `peak_ns`: the most live bytes and their first moment, null if they were never above 0. `before_bytes`: what was
/// live before the first row; null: unknown, and all live bytes are net changes since the recording began.
/// `end_bytes`: live after the last row. `end_blocks`: the number of live blocks with an address, null if no
/// allocation has one. `allocations_per_s`, `allocated_bytes_per_s`: relative to the length of the run or window,
/// null if that is unknown.
pub fn table(events: &Events, pools: &[Pool], wall_ns: Option<i64>) -> TableBuilder {
    let wall_s = wall_ns
        .filter(|wall| *wall > 0)
        .map(|wall| wall as f64 / 1e9);
    let peak = |pool: &Pool| {
        pool.peak
            .as_ref()
            .map(|peak| (cell(peak.bytes), peak.time_ns))
    };
    let end_blocks = |pool: &Pool| {
        let live = pool.end.blocks().map(|block| u128::from(block.stands_for));
        let live: u128 = live.sum();
        (live > 0 || pool.with_address > 0).then(|| blocks(live))
    };
    let taken_per_s = |pool: &Pool| wall_s.map(|s| number(pool.taken.0) / s);
    let bytes_per_s = |pool: &Pool| wall_s.map(|s| pool.taken.1 as f64 / s);
    Table::build("places")
        .text(
            "place",
            pools.iter().map(|pool| events.places[pool.place].name()),
        )
        .i64(
            "peak_bytes",
            pools.iter().map(|pool| peak(pool).map(|peak| peak.0)),
        )
        .i64(
            "peak_ns",
            pools.iter().map(|pool| peak(pool).map(|peak| peak.1)),
        )
        .i64(
            "before_bytes",
            pools
                .iter()
                .map(|pool| events.initial_live[pool.place].map(|before| before.bytes)),
        )
        .i64("end_bytes", pools.iter().map(|pool| cell(pool.end.total())))
        .u64("end_blocks", pools.iter().map(end_blocks))
        .u64("allocations", pools.iter().map(|pool| blocks(pool.taken.0)))
        .i64(
            "allocated_bytes",
            pools.iter().map(|pool| cell(pool.taken.1)),
        )
        .u64(
            "releases",
            pools.iter().map(|pool| blocks(pool.given_back.0)),
        )
        .i64(
            "released_bytes",
            pools.iter().map(|pool| cell(pool.given_back.1)),
        )
        .f64("allocations_per_s", pools.iter().map(taken_per_s))
        .f64("allocated_bytes_per_s", pools.iter().map(bytes_per_s))
}

/// Table `problems`: the number of suspect rows by place and reason ([`Suspect`]), without zeros.
pub fn problems(events: &Events, pools: &[Pool]) -> TableBuilder {
    let rows: Vec<(String, &str, u64)> = pools
        .iter()
        .flat_map(|pool| {
            let place = events.places[pool.place].name();
            let found = Suspect::ALL.into_iter().filter(|why| pool.count(*why) > 0);
            found.map(move |why| (place.clone(), why.name(), pool.count(why)))
        })
        .collect();
    Table::build("problems")
        .text("place", rows.iter().map(|row| &row.0))
        .text("reason", rows.iter().map(|row| row.1))
        .u64("rows", rows.iter().map(|row| row.2))
}
