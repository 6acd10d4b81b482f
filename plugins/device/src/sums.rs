//! Figures of devices, of one rank or of several.
//!
//! A device belongs to one rank, so that most rows of several ranks are the rows of each. Over ranks go counts, sums by
//! name with their lists of latencies, the longest gaps and the first iterations, which all merge exactly.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use trueno_analysis::steps::{self, Step};
use trueno_plugin::{Result, Run};

use crate::Options;
use crate::exposure::{Copies, Scope, SpanTimes, copies, scopes};
use crate::idle::{Gap, IdleParts, PlaceTimes, places};
use crate::kernels::{self, Kernels};
use crate::launch::{NameKey, NameTotals, by_name};
use crate::operations::Loaded;

/// A device and its stream; `None` for the whole device.
pub type PlaceKey = (i64, Option<i64>);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub operations: u64,
    /// Rows that are only bounds, invalid, or have impossible times.
    pub left_out: u64,
    pub before_call: u64,
    pub not_linked: u64,
    /// Iterations of ranks with device work.
    pub steps: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LongGap {
    pub device: i64,
    pub start_ns: i64,
    pub dur_ns: i64,
    pub parts: IdleParts,
    /// Name of the operation that ended last before the gap.
    pub after: String,
    pub next: String,
    pub id: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepTimes {
    pub step: Step,
    /// Number among the iterations of its rank, in order of start.
    pub number: u64,
    /// All devices of its rank (`None`), then each device.
    pub scopes: Vec<(Option<i64>, SpanTimes)>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sums {
    pub counts: Counts,
    /// Times by kind of work: for `None` all devices of each rank together, summed over ranks; then each
    /// device.
    pub scopes: BTreeMap<Option<i64>, SpanTimes>,
    pub places: BTreeMap<PlaceKey, PlaceTimes>,
    pub names: BTreeMap<NameKey, NameTotals>,
    pub kernels: Kernels,
    pub gaps: Vec<LongGap>,
    pub copies: BTreeMap<(i64, String), Copies>,
    pub steps: Vec<StepTimes>,
}

impl Sums {
    /// Reads rows of events.
    ///
    /// # Errors
    /// An input lacks a column or has it in another type; the user wants to stop.
    pub fn from_rows(run: &mut Run, options: &Options) -> Result<Self> {
        let loaded = Loaded::load(run)?;
        run.check_cancelled()?;
        let is_any = loaded.operations.iter().any(|of| of.shape.is_some());
        let models = is_any.then(|| kernels::models(run)).transpose()?;
        let scopes = scopes(&loaded);
        let (steps, all_steps) = first_steps(run, &loaded, &scopes, options)?;
        let mut out = Self {
            counts: Counts {
                operations: loaded.operations.len() as u64,
                left_out: loaded.left_out,
                before_call: loaded.before_call,
                not_linked: loaded.not_linked,
                steps: all_steps,
            },
            names: by_name(&loaded),
            kernels: kernels::by_launch(&loaded, &models.unwrap_or_default()),
            copies: copies(&loaded),
            steps,
            ..Self::default()
        };
        for scope in &scopes {
            out.add_scope(scope.device, &scope.exposure.whole());
        }
        let places = places(&loaded);
        let devices = places.iter().filter(|place| place.times.stream.is_none());
        let mut gaps: Vec<(i64, &Gap)> = devices
            .flat_map(|place| place.gaps.iter().map(|gap| (place.times.device, gap)))
            .collect();
        gaps.sort_by_key(|(device, gap)| (Reverse(gap.dur_ns()), *device, gap.start_ns));
        gaps.truncate(options.gap_rows);
        let name = |number: u32| loaded.names[number as usize].text.clone();
        let named = gaps.into_iter().map(|(device, gap)| LongGap {
            device,
            start_ns: gap.start_ns,
            dur_ns: gap.dur_ns(),
            parts: gap.parts,
            after: name(gap.after.name),
            next: name(gap.next.name),
            id: gap.next.id,
        });
        out.gaps = named.collect();
        let times = places.into_iter().map(|place| place.times);
        out.places = times
            .map(|place| ((place.device, place.stream), place))
            .collect();
        Ok(out)
    }

    /// True for a run without any device rows.
    pub fn is_empty(&self) -> bool {
        self.counts.operations == 0 && self.counts.left_out == 0
    }

    pub fn add_scope(&mut self, device: Option<i64>, times: &SpanTimes) {
        match self.scopes.get_mut(&device) {
            Some(sum) => sum.add(times),
            None => {
                self.scopes.insert(device, *times);
            }
        }
    }

    /// Sorts the gaps and iterations of all parts, and truncates them to what the tables show.
    pub fn keep_first(&mut self, options: &Options) {
        self.gaps
            .sort_by_key(|gap| (Reverse(gap.dur_ns), gap.device, gap.start_ns));
        self.gaps.truncate(options.gap_rows);
        self.steps
            .sort_by(|a, b| by_start(&a.step, &b.step).then(a.number.cmp(&b.number)));
        self.steps.truncate(options.steps);
    }
}

/// Order of iterations by start. Equal ones of a rank stay in place, if the sort is stable.
fn by_start(a: &Step, b: &Step) -> std::cmp::Ordering {
    let key = |step: &Step| (step.start_ns, step.end_ns);
    let names = || a.name.cmp(&b.name);
    key(a)
        .cmp(&key(b))
        .then_with(names)
        .then(a.rank.cmp(&b.rank))
}

/// Times of the first iterations, and the number of all iterations. Iterations of ranks without device work are
/// skipped.
fn first_steps(
    run: &mut Run,
    loaded: &Loaded,
    scopes: &[Scope],
    options: &Options,
) -> Result<(Vec<StepTimes>, u64)> {
    let mut by_rank: BTreeMap<i64, Vec<&Scope>> = BTreeMap::new();
    for scope in scopes {
        by_rank.entry(scope.rank).or_default().push(scope);
    }
    let mut steps = steps::read(run, loaded.window)?;
    steps.retain(|step| by_rank.contains_key(&step.rank));
    steps.sort_by(by_start);
    let all = steps.len() as u64;
    let mut numbers: BTreeMap<i64, u64> = BTreeMap::new();
    let first = steps.into_iter().take(options.steps).map(|step| {
        let next = numbers.entry(step.rank).or_default();
        let number = *next;
        *next += 1;
        let within = |scope: &&Scope| {
            let times = scope.exposure.within(step.start_ns, step.end_ns);
            (scope.device, times)
        };
        let of_rank = by_rank.get(&step.rank).into_iter().flatten();
        StepTimes {
            number,
            scopes: of_rank.map(within).collect(),
            step,
        }
    });
    Ok((first.collect(), all))
}
