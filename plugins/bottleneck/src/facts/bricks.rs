//! Names of bricks and calls, what loads, and calls by size.

use std::collections::{BTreeMap, BTreeSet};

use trueno_analysis::intervals::{IntervalSet, IntervalSetBuilder};
use trueno_analysis::name_groups::NameGroups;
use trueno_analysis::name_pattern;
use trueno_analysis::producer::Producer;
use trueno_analysis::vendors::{self, Call, is_profiler_control};
use trueno_plugin::{Result, Run, rank};

use super::loader_names::is_loader;
use super::{Device, Window};

#[derive(Clone, Debug, PartialEq)]
pub struct Name {
    pub lane_kind: String,
    /// brick, function, kernel, call, …
    pub kind: String,
    pub name: String,
    pub calls: u64,
    pub inclusive_ns: Option<i64>,
    pub min_ns: Option<i64>,
    pub median_ns: Option<i64>,
    pub max_ns: Option<i64>,
}

impl Name {
    /// Whether a call took most of the time of all, and far longer than the usual one.
    fn is_unlike_others(&self, call_ns: i64) -> bool {
        let is_most = |all_ns: i64| call_ns.saturating_mul(2) >= all_ns;
        let is_unlike = |usual_ns: i64| usual_ns.saturating_mul(UNLIKE) <= call_ns;
        self.calls >= MIN_CALLS
            && self.inclusive_ns.is_some_and(is_most)
            && self.median_ns.is_some_and(is_unlike)
    }

    /// Called again, but too rarely to know what is usual.
    fn is_of_few(&self) -> bool {
        (2..MIN_CALLS).contains(&self.calls)
    }

    /// Whether a call took far longer than all others together, of a name with few.
    fn is_first_of_few(&self, call_ns: i64) -> bool {
        let others_ns = |all_ns: i64| all_ns.saturating_sub(call_ns).max(0);
        let is_unlike = |all_ns: i64| others_ns(all_ns).saturating_mul(UNLIKE) <= call_ns;
        self.is_of_few() && self.inclusive_ns.is_some_and(is_unlike)
    }
}

/// Calls of one name that declare the same work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    pub elements: u64,
    /// Floating-point operations per call; `None`: not declared.
    pub flops: Option<u64>,
    /// Bytes read and written per call; `None`: not declared.
    pub bytes: Option<u64>,
    pub calls: u64,
    pub median_ns: i64,
    pub dur_ns: i64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Load {
    pub name: String,
    /// Start and end, clipped to the window.
    pub range: (i64, i64),
    /// 0 if the run has no ranks.
    pub rank: i64,
    pub thread: Option<i64>,
}

/// The first call of a name of a device's API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FirstOfApi {
    pub name: String,
    pub times: (i64, i64),
    /// Mean of the later calls of the name; `None`: there are none.
    pub later_ns: Option<i64>,
}

impl FirstOfApi {
    fn needs_context(&self) -> bool {
        !WITHOUT_CONTEXT.iter().any(|part| self.name.contains(part))
    }

    pub fn dur_ns(&self) -> i64 {
        self.times.1.saturating_sub(self.times.0)
    }
}

/// With fewer calls of a name, it is not known that the first one is unlike the others.
const MIN_CALLS: u64 = 5;
/// A first round that sets something up does so in at least this many names.
const MIN_NAMES: usize = 3;
/// It takes at least this many times as long as all later rounds.
const UNLIKE_ROUND: i64 = 50;
/// A first call that sets something up takes at least this many times as long as the usual one.
const UNLIKE: i64 = 10;

/// Calls that processes make once, as they begin to use a device. The runtime of CUDA asks for the loading mode then.
const STARTS: [&str; 7] = [
    "cuInit",
    "hipInit",
    "cuModuleGetLoadingMode",
    "cuDevicePrimaryCtxRetain",
    "hipDevicePrimaryCtxRetain",
    "cuCtxCreate",
    "hipCtxCreate",
];

/// Parts of the names of calls that need no context: they list devices, choose one, or make the context.
const WITHOUT_CONTEXT: [&str; 12] = [
    "ChooseDevice",
    "Ctx",
    "DeviceGet",
    "DriverGet",
    "GetDevice",
    "GetExportTable",
    "GetProcAddress",
    "Init",
    "LastError",
    "LoadingMode",
    "RuntimeGet",
    "SetDevice",
];

#[derive(Clone, Debug, Default)]
pub struct Bricks {
    pub names: Vec<Name>,
    pub loaders: Vec<Load>,
    pub loader_names: BTreeSet<String>,
    pub communication_names: BTreeSet<String>,
    pub first_step_ns: Option<i64>,
    /// Starts of bricks on threads that launch copies, sorted.
    pub other_starts_ns: Vec<i64>,
    pub threads: usize,
    has_device_lanes: bool,
    pub sizes: BTreeMap<String, Vec<Size>>,
    /// Total time of names whose last call ended before the first iteration.
    pub before_steps: BTreeMap<String, i64>,
    pub ends_ns: BTreeMap<String, i64>,
    pub categories: BTreeMap<String, String>,
    /// Names of the host whose first call took most of the time of all of them: name and time of that call.
    pub first_calls: Vec<(String, i64)>,
    /// The same of names with too few calls to know what is usual, where the first calls of all such names took nearly all of
    /// their time: a first round that is unlike the few later ones.
    pub first_round: Vec<(String, i64)>,
    /// When the first call began that processes make once, as they begin to use a device.
    pub device_started_ns: Option<i64>,
    /// Calls of a device's API whose first one took most of the time of all of them, and far longer than the others.
    pub unlike_calls: BTreeSet<String>,
    /// First starts and stops of a profiler, with all that is within them.
    pub profiler: IntervalSet<i64>,
    /// First calls of a device's API by name, in the order in which they began.
    pub first_of_api: Vec<FirstOfApi>,
    /// API calls: name, count, total time, longest call.
    pub calls: Vec<(String, u64, i64, i64)>,
    /// When the first call began that launches something on a device.
    pub first_launch_ns: Option<i64>,
    /// Busy time of host lanes, longest first.
    pub host_busy_ns: Vec<(String, i64)>,
    by_thread: BTreeMap<i64, IntervalSetBuilder<i64>>,
    /// Time in bricks on any thread by rank, without host waits; filled only for runs of several ranks.
    pub rank_busy_ns: BTreeMap<i64, i64>,
}

impl Bricks {
    /// True of the name of a run or an iteration, which frame work.
    pub fn is_frame(&self, name: &str) -> bool {
        let frames = self.names.iter();
        let mut frames = frames.filter(|row| matches!(row.kind.as_str(), "run" | "iteration"));
        // Either may be the name of a group, such as `step*`.
        frames.any(|row| {
            name_pattern::matches(name, &row.name) || name_pattern::matches(&row.name, name)
        })
    }

    /// Reads the inputs about bricks.
    ///
    /// # Errors
    /// An input lacks a column or has it in another type.
    pub fn load(run: &mut Run, window: &Window, groups: &NameGroups) -> Result<Self> {
        let mut out = Self::default();
        let table = run.table("by_brick")?;
        let (lane_kind, kind, name) = (
            table.text("lane_kind")?,
            table.text("kind")?,
            table.text("name")?,
        );
        let category = table.text("category")?;
        let inclusive = table.i64("inclusive_ns")?;
        let (min, median) = (table.i64("min_ns")?, table.i64("median_ns")?);
        let max = table.i64("max_ns")?;
        for row in 0..table.rows() {
            let Some(name) = name.get(row) else { continue };
            if let Some(category) = category.get(row) {
                // A name has one category; where bricks of it were given several, the first.
                let of = out.categories.entry(name.to_owned());
                of.or_insert_with(|| category.to_owned());
            }
            out.names.push(Name {
                lane_kind: lane_kind.value(row).to_owned(),
                kind: kind.get(row).unwrap_or_default().to_owned(),
                name: name.to_owned(),
                calls: count(&table, "calls", row)?,
                inclusive_ns: inclusive.get(row),
                min_ns: min.get(row),
                median_ns: median.get(row),
                max_ns: max.get(row),
            });
        }
        let table = run.table("by_lane")?;
        let (lane, kind, busy) = (
            table.text("lane")?,
            table.text("lane_kind")?,
            table.i64("busy_ns")?,
        );
        out.has_device_lanes = kind.iter().flatten().any(|kind| kind != "host");
        for row in (0..table.rows()).filter(|row| kind.get(*row) == Some("host")) {
            if let (Some(lane), Some(busy)) = (lane.get(row), busy.get(row)) {
                out.host_busy_ns.push((lane.to_owned(), busy));
            }
        }
        out.threads = out.host_busy_ns.len();
        out.host_busy_ns
            .sort_by_key(|(lane, busy)| (std::cmp::Reverse(*busy), lane.clone()));
        out.loaders(run, window, groups)?;
        out.first_calls(run, window, groups)?;
        let table = run.table("sizes")?;
        let name = table.text("name")?;
        let (median, dur) = (number(&table, "median_ns")?, table.i64("dur_ns")?);
        for (row, median_ns) in median.into_iter().enumerate() {
            let (Some(name), Some(median_ns), Some(dur_ns)) =
                (name.get(row), median_ns, dur.get(row))
            else {
                continue;
            };
            let size = Size {
                elements: count(&table, "elements", row)?,
                flops: Some(count(&table, "flops", row)?).filter(|flops| *flops > 0),
                bytes: Some(count(&table, "bytes", row)?).filter(|bytes| *bytes > 0),
                calls: count(&table, "calls", row)?,
                median_ns,
                dur_ns,
            };
            match out.sizes.get_mut(name) {
                Some(sizes) => sizes.push(size),
                None => _ = out.sizes.insert(name.to_owned(), vec![size]),
            }
        }
        let table = run.table("call_names")?;
        let (name, dur, longest) = (
            table.text("name")?,
            table.i64("dur_ns")?,
            table.i64("longest_ns")?,
        );
        let (first, first_end) = (table.i64("first_ns")?, table.i64("first_end_ns")?);
        let mut firsts: BTreeMap<&str, (i64, i64)> = BTreeMap::new();
        let launches = |row: &usize| name.get(*row).and_then(vendors::call) == Some(Call::Launch);
        let launches = (0..table.rows()).filter(launches);
        out.first_launch_ns = launches.filter_map(|row| first.get(row)).min();
        let starts = |row: &usize| {
            let name = name.get(*row).unwrap_or_default();
            STARTS.iter().any(|start| name.starts_with(start))
        };
        let starts = (0..table.rows()).filter(starts);
        out.device_started_ns = starts.filter_map(|row| first.get(row)).min();
        let mut calls: BTreeMap<&str, (u64, i64, i64)> = BTreeMap::new();
        for row in 0..table.rows() {
            if let (Some(name), Some(dur), Some(longest)) =
                (name.get(row), dur.get(row), longest.get(row))
            {
                let sum = calls.entry(groups.group(name)).or_default();
                sum.0 = sum.0.saturating_add(count(&table, "calls", row)?);
                sum.1 = sum.1.saturating_add(dur);
                sum.2 = sum.2.max(longest);
                if let Some(times) = first.get(row).zip(first_end.get(row)) {
                    let earliest = firsts.entry(groups.group(name)).or_insert(times);
                    *earliest = times.min(*earliest);
                }
            }
        }
        for (name, (from_ns, until_ns)) in firsts {
            let (count, all_ns, _) = calls[name];
            let first_ns = until_ns.saturating_sub(from_ns);
            if vendors::call(name).is_none() {
                continue;
            }
            if is_first_unlike(count, all_ns, first_ns) {
                out.unlike_calls.insert(name.to_owned());
            }
            let later = i64::try_from(count.saturating_sub(1)).unwrap_or(i64::MAX);
            out.first_of_api.push(FirstOfApi {
                name: name.to_owned(),
                times: (from_ns, until_ns),
                later_ns: all_ns.saturating_sub(first_ns).max(0).checked_div(later),
            });
        }
        out.first_of_api.sort_by_key(|first| first.times);
        let calls = calls.into_iter();
        let calls =
            calls.map(|(name, (calls, dur, longest))| (name.to_owned(), calls, dur, longest));
        out.calls.extend(calls);
        Ok(out)
    }

    fn first_calls(&mut self, run: &mut Run, window: &Window, groups: &NameGroups) -> Result<()> {
        // Operators of a framework have one name for work of any size, and a part of a run need not begin with the first.
        let is_of_kinds = matches!(window.producer, Producer::PyTorch | Producer::Timeline);
        let has_rounds = !window.is_part && !is_of_kinds;
        // Most runs have none, and then their rows are not read.
        let is_any = |name: &Name| {
            let is_unlike = |max_ns| {
                name.is_unlike_others(max_ns) || (has_rounds && name.is_first_of_few(max_ns))
            };
            name.max_ns.is_some_and(is_unlike)
        };
        let has_profiler = self.categories.keys().any(|name| is_profiler_control(name));
        if !has_profiler && !self.names.iter().any(is_any) {
            return Ok(());
        }
        let mut profiler = IntervalSetBuilder::default();
        let table = run.table("first_rows")?;
        let (start, end) = (table.i64("start_ns")?, table.i64("end_ns")?);
        let mut first_ns: BTreeMap<&str, (i64, i64)> = BTreeMap::new();
        for (row, name) in table.text("name")?.iter().enumerate() {
            let (Some(name), Some(start_ns), Some(end_ns)) = (name, start.get(row), end.get(row))
            else {
                continue;
            };
            let first = first_ns
                .entry(groups.group(name))
                .or_insert((start_ns, end_ns));
            *first = (first.0.min(start_ns), first.1.min(end_ns));
        }
        // Of the names with few calls: all first ones, and all others.
        let (mut firsts_ns, mut others_ns) = (0_i64, 0_i64);
        for (name, (start_ns, end_ns)) in first_ns {
            // Of calls side by side another one may have ended first, which makes this less than the call took.
            let dur_ns = end_ns.saturating_sub(start_ns);
            let Some((from_ns, until_ns)) = window.row(Some(start_ns), Some(dur_ns)) else {
                continue;
            };
            let dur_ns = until_ns.saturating_sub(from_ns);
            if is_profiler_control(name) {
                profiler.add(from_ns, until_ns);
            }
            if self
                .host(name)
                .is_some_and(|of| of.is_unlike_others(dur_ns))
            {
                self.first_calls.push((name.to_owned(), dur_ns));
            }
            let few = self.host(name).filter(|of| has_rounds && of.is_of_few());
            if let Some(all_ns) = few.and_then(|of| of.inclusive_ns) {
                firsts_ns = firsts_ns.saturating_add(dur_ns);
                others_ns = others_ns.saturating_add(all_ns.saturating_sub(dur_ns).max(0));
                if few.is_some_and(|of| of.is_first_of_few(dur_ns)) {
                    self.first_round.push((name.to_owned(), dur_ns));
                }
            }
        }
        if self.first_round.len() < MIN_NAMES || others_ns.saturating_mul(UNLIKE_ROUND) > firsts_ns
        {
            self.first_round.clear();
        }
        self.profiler = profiler.finish();
        Ok(())
    }

    fn loaders(&mut self, run: &mut Run, window: &Window, groups: &NameGroups) -> Result<()> {
        let mut ruled = BTreeSet::new();
        let rules = run.table("category_rules")?;
        let rules = rules
            .text("name")?
            .iter()
            .zip(rules.text("category")?.iter());
        for (name, category) in rules {
            match (name, category) {
                (Some(name), Some("communication")) => {
                    self.communication_names.insert(name.to_owned());
                }
                (Some(name), _) => {
                    ruled.insert(name.to_owned());
                }
                (None, _) => {}
            }
        }
        let table = run.table("brick_names")?;
        let (id, name, category) = (
            table.i64("name_id")?,
            table.text("name")?,
            table.text("category")?,
        );
        let (kind, dur, end) = (
            table.text("kind")?,
            table.i64("dur_ns")?,
            table.i64("end_ns")?,
        );
        let first = run.table("first_step")?;
        let first_ns = first.i64("first_ns")?.iter().flatten().next();
        self.first_step_ns = first_ns;
        // Any program fetches and reads something. Names say that it is input where rows are those of a framework that works
        // on it: of a producer that records such programs, or with steps, operators or devices.
        let has_operators = kind.iter().flatten().any(|kind| kind == "brick");
        let names_count = window.producer != Producer::Other
            || first_ns.is_some()
            || has_operators
            || self.has_device_lanes;
        let mut later = BTreeSet::new();
        let mut numbers = BTreeMap::new();
        for row in 0..table.rows() {
            let (Some(text), Some(id)) = (name.get(row), id.get(row)) else {
                continue;
            };
            let text = groups.group(text);
            if let Some(end_ns) = end.get(row) {
                let last_ns = self.ends_ns.entry(text.to_owned()).or_insert(end_ns);
                *last_ns = end_ns.max(*last_ns);
            }
            let of_program = !matches!(kind.get(row), Some("run" | "iteration" | "layer"));
            if let (true, Some(first_ns), Some(end_ns)) = (of_program, first_ns, end.get(row)) {
                if end_ns <= first_ns {
                    let sum = self.before_steps.entry(text.to_owned()).or_default();
                    *sum = sum.saturating_add(dur.get(row).unwrap_or(0));
                } else {
                    later.insert(text.to_owned());
                }
            }
            let is_loader = match category.get(row) {
                Some(category) => category == "data loading",
                None => ruled.contains(text) || (names_count && is_loader(text)),
            };
            if is_loader {
                numbers.insert(id, text.to_owned());
                self.loader_names.insert(text.to_owned());
            }
        }
        self.before_steps.retain(|name, _| !later.contains(name));
        let table = run.table("loader_rows")?;
        let (id, thread) = (table.i64("name_id")?, table.i64("thread")?);
        let (start, dur) = (table.i64("start_ns")?, table.i64("dur_ns")?);
        for row in 0..table.rows() {
            let name = id.get(row).and_then(|id| numbers.get(&id));
            if let (Some(name), Some(range)) = (name, window.row(start.get(row), dur.get(row))) {
                self.loaders.push(Load {
                    name: name.clone(),
                    range,
                    rank: rank::of_place(thread.get(row).unwrap_or(0)).0,
                    thread: thread.get(row),
                });
            }
        }
        self.other_starts_ns = run
            .table("copying_rows")?
            .i64("start_ns")?
            .iter()
            .flatten()
            .collect();
        self.other_starts_ns.sort_unstable();
        let table = run.table("rank_rows")?;
        let (thread, start, dur) = (
            table.i64("thread")?,
            table.i64("start_ns")?,
            table.i64("dur_ns")?,
        );
        for row in 0..table.rows() {
            let range = window.row(start.get(row), dur.get(row));
            if let (Some(thread), Some(range)) = (thread.get(row), range) {
                self.by_thread
                    .entry(thread)
                    .or_default()
                    .add(range.0, range.1);
            }
        }
        Ok(())
    }

    pub fn busy_by_rank(&mut self, device: &Device, window: &Window) {
        let mut of_ranks: BTreeMap<i64, IntervalSetBuilder<i64>> = BTreeMap::new();
        for (thread, ranges) in std::mem::take(&mut self.by_thread) {
            let waits = device
                .waits
                .iter()
                .filter(|wait| wait.thread == Some(thread));
            let waits = waits.filter_map(|wait| window.cut(wait.start_ns, wait.end_ns));
            let busy = ranges.finish().difference(&waits.collect());
            let of_rank = of_ranks.entry(thread >> 16).or_default();
            for (from_ns, until_ns) in busy.ranges() {
                of_rank.add(*from_ns, *until_ns);
            }
        }
        let of_ranks = of_ranks.into_iter();
        self.rank_busy_ns = of_ranks
            .map(|(rank, times)| (rank, times.finish().total_ns()))
            .collect();
    }

    /// The call in which the process began to use a device: of its calls of a device's API before `until_ns`, the first that
    /// took `least_ns`, if that is far longer than what is usual: later calls of its name, or without any, calls of other names.
    /// `None` if a shorter one before it needed a context: then there was one.
    pub fn starting_call(&self, least_ns: i64, until_ns: i64) -> Option<&FirstOfApi> {
        let mut firsts = self.first_of_api.iter();
        let is_long = |first: &FirstOfApi| first.dur_ns() >= least_ns.max(1);
        let first = firsts.find(|first| is_long(first) || first.needs_context())?;
        if !is_long(first) {
            return None;
        }
        let others = self.first_of_api.iter();
        let others = others.filter(|other| other.name != first.name);
        let mut usual: Vec<i64> = others
            .map(|other| other.later_ns.unwrap_or(other.dur_ns()))
            .collect();
        usual.sort_unstable();
        // With few calls it is not known what is usual.
        let is_known = usual.len() as u64 >= MIN_CALLS;
        let of_others = usual.get(usual.len() / 2).filter(|_| is_known).copied();
        let usual_ns = first.later_ns.or(of_others)?;
        let is_unlike = first.dur_ns() >= usual_ns.max(1).saturating_mul(UNLIKE);
        (is_unlike && first.times.1 <= until_ns).then_some(first)
    }

    pub fn is_before_steps(&self, name: &str) -> bool {
        self.before_steps.contains_key(name)
    }

    pub fn host(&self, name: &str) -> Option<&Name> {
        let rows = self
            .names
            .iter()
            .filter(|row| row.name == name && row.lane_kind == "host");
        rows.max_by_key(|row| (row.inclusive_ns, row.calls))
    }
}

/// Whether the first of `count` calls took most of the time of all, and far longer than the mean of the others.
fn is_first_unlike(count: u64, all_ns: i64, first_ns: i64) -> bool {
    let others = i64::try_from(count.saturating_sub(1)).unwrap_or(i64::MAX);
    let others_ns = all_ns.saturating_sub(first_ns).saturating_mul(UNLIKE);
    count >= MIN_CALLS
        && first_ns.saturating_mul(2) >= all_ns
        && others_ns <= first_ns.saturating_mul(others)
}

/// Reads a count that engines return as `u64` or `i64`.
pub fn count(table: &trueno_plugin::Table, column: &str, row: usize) -> Result<u64> {
    match table.u64(column) {
        Ok(column) => Ok(column.get(row).unwrap_or(0)),
        Err(_) => Ok(table.i64(column)?.get(row).unwrap_or(0).max(0) as u64),
    }
}

/// Reads a column of nanoseconds that may be floating-point, such as a median of two values.
fn number(table: &trueno_plugin::Table, column: &str) -> Result<Vec<Option<i64>>> {
    match table.f64(column) {
        Ok(column) => Ok(column
            .iter()
            .map(|value| value.map(|value| value as i64))
            .collect()),
        Err(_) => Ok(table.i64(column)?.iter().collect()),
    }
}
