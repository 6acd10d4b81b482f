//! Figures of other plugins, as the sentence needs them.

use std::collections::BTreeMap;

use trueno_analysis::evidence::{Evidence, MIN_FEW};
use trueno_analysis::name_pattern;
use trueno_analysis::window::Window;
use trueno_plugin::{Result, Run, Table};

use crate::devices::{self, Device};
use crate::host::{self, Host};
use crate::kernels::{self, Kernel};
use crate::sampled::Sampled;
use crate::steps::Steps;

/// A finding of `bottleneck`.
#[derive(Clone, Debug, PartialEq)]
pub struct Bottleneck {
    pub class: String,
    /// The case within the class.
    pub code: String,
    /// Gain in time and as a share of the wall, where it is about time.
    pub gain: Option<(i64, f64)>,
    /// Observation and, behind the last semicolon, remedy.
    pub sentence: String,
}

/// A job of ranks as `stragglers` re-timed it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Job {
    pub stages: u64,
    pub micro_batches: Option<u64>,
    /// Share of a step that ranks wait in the pipeline even where all are alike.
    pub bubble_share: Option<f64>,
}

impl Job {
    fn read(table: &Table) -> Result<Option<Self>> {
        let (stages, micro_batches) = (table.u64("stages")?, table.u64("micro_batches")?);
        let bubble = table.f64("bubble_share")?;
        let job = |row: usize| {
            Some(Self {
                stages: stages.get(row)?,
                micro_batches: micro_batches.get(row),
                bubble_share: bubble.get(row),
            })
        };
        Ok((0..table.rows()).find_map(job))
    }
}

/// A prediction of `critical_path`: name and gain.
pub type Prediction = (String, i64);

/// Everything the tables are made of.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// Length of the run, or of the part that the report is about.
    pub wall_ns: Option<i64>,
    pub rows: u64,
    /// Ranks, where the run holds some.
    pub ranks: usize,
    /// Ranks whose recordings lack a part of the others', a sentence each.
    pub incomplete_ranks: Vec<String>,
    /// The job that `stragglers` re-timed.
    pub job: Option<Job>,
    /// Share of the time of several devices of one rank in which any of them worked.
    pub any_busy: Option<f64>,
    /// Devices that worked.
    pub devices: Vec<Device>,
    /// Time of devices by category, the most first.
    pub device_categories: Vec<(String, i64)>,
    /// Threads of the host.
    pub host: Host,
    /// Kernels of devices by name, the most time first.
    pub kernels: Vec<Kernel>,
    pub steps: Option<Steps>,
    /// Findings of `bottleneck`, most first.
    pub bottlenecks: Vec<Bottleneck>,
    /// False where `bottleneck` did not run: nothing then tells what bounds the run.
    pub is_judged: bool,
    /// Share of the critical path in which nothing was recorded.
    pub path_gap: Option<f64>,
    /// Share of the critical path in which device work was launched and neither ran nor was queued behind recorded work.
    pub path_held: f64,
    /// True if `critical_path` looked, and found that there is none to tell.
    pub has_no_path: bool,
    /// Work on the critical path, by name.
    pub path_work: Vec<(String, f64)>,
    /// Shares of the critical path by what holds it up; none without a path.
    pub path: Option<PathShares>,
    /// One call of a device that holds most of the run, and is like none of the others of its name.
    pub one_call: Option<OneCall>,
    /// `8 of 10`: launches of graphs without any of their kernels.
    pub empty_graphs: Option<String>,
    /// Names of iterations, where there are devices.
    pub iterations: Vec<String>,
    /// Gains of half the time of a name.
    pub halved: Vec<Prediction>,
    /// Gains of names at their roofs, the most first.
    pub at_roof: Vec<Prediction>,
    /// Calls of each name.
    pub evidence: BTreeMap<String, Evidence>,
    /// Names of operators.
    pub operators: Vec<String>,
    /// Mean efficiency of host work.
    pub roof_share: Option<f64>,
    /// Estimates from samples.
    pub sampled: Option<Sampled>,
    /// True if, beside samples, only waits and stretches in which threads ran were recorded.
    pub is_sampled_alone: bool,
    /// Calls of the operating system whose durations were not recorded.
    pub untimed_calls: u64,
}

impl Facts {
    /// Reads all inputs but the owners of kernels.
    ///
    /// # Errors
    /// An input lacks a column or has it in another type.
    pub fn load(run: &mut Run) -> Result<Self> {
        let window = Window::read(run)?;
        let table = run.table("run")?;
        let wall_ns = match window {
            Some(window) => Some(window.length_ns()),
            None => table.i64("wall_ns")?.iter().flatten().next(),
        };
        let categories = run.table("by_category")?;
        let (bricks, lanes) = (run.table("by_brick")?, run.table("by_lane")?);
        let path_kinds = run.table("path_kinds")?;
        let has_no_path = !path_kinds.is_missing() && path_kinds.is_empty();
        let path_kinds = pairs(&path_kinds, "kind", "wall_share")?;
        let (devices, any) = devices::read(run)?;
        let ranks = run.table("ranks")?.rows();
        let incomplete_ranks = texts(&run.table("incomplete_ranks")?, "detail")?;
        let iterations = if devices.is_empty() {
            Vec::new()
        } else {
            texts(&run.table("iteration_names")?, "name")?
        };
        let steps = Steps::read(&run.table("series")?, &run.table("iterations")?)?;
        let host = Host::read(&categories, &bricks, &lanes)?;
        let sampled = Sampled::read(
            &run.table("sampled_functions")?,
            &run.table("sampled_threads")?,
            &run.table("sampled_scheduling")?,
        )?;
        let judged = run.table("bottlenecks")?;
        let kernels = kernels::read(&run.table("launches")?)?;
        let path_names = run.table("path_names")?;
        let path_work = path_work(&path_names)?;
        let is_iteration = |name: &str| is_any_of(&iterations, name);
        let path = PathShares::read(&path_names, &path_kinds, &kernels, is_iteration)?;
        let graphs = run.table("graph_launches")?;
        // Rows of a device may be counted as those of threads: nothing can be said of the host then.
        let has_unclear_devices = !run.table("unclear_devices")?.is_empty();
        Ok(Self {
            path: path.filter(|_| !has_no_path),
            one_call: OneCall::read(&bricks, wall_ns)?,
            empty_graphs: texts(&graphs, "found")?.pop(),
            any_busy: any.filter(|_| ranks < 2 && devices.len() > 1),
            wall_ns: wall_ns.filter(|ns| *ns > 0),
            rows: table.u64("rows")?.iter().flatten().next().unwrap_or(0),
            ranks,
            incomplete_ranks,
            job: Job::read(&run.table("retimed_job")?)?,
            steps: steps.map(|steps| steps.beside(&devices)),
            is_sampled_alone: sampled.is_some() && devices.is_empty() && host.only_ran(),
            devices,
            device_categories: sums(&categories, "device")?,
            host,
            kernels,
            is_judged: !judged.is_missing() && !has_unclear_devices,
            bottlenecks: if has_unclear_devices {
                Vec::new()
            } else {
                bottlenecks(&judged)?
            },
            has_no_path,
            path_gap: path_kinds
                .iter()
                .find(|(kind, _)| kind == "gap")
                .map(|gap| gap.1),
            path_held: path_kinds
                .iter()
                .filter(|(kind, _)| ["launch_delay", "queue"].contains(&kind.as_str()))
                .map(|(_, share)| share)
                .sum(),
            path_work,
            iterations,
            halved: predictions(&run.table("opportunity")?, "gain_50pct_ns")?,
            at_roof: predictions(&run.table("at_roof")?, "gain_ns")?,
            evidence: evidence(&bricks)?,
            operators: texts(&run.table("operators")?, "name")?,
            roof_share: host::roof_share(&run.table("points")?)?,
            untimed_calls: untimed_calls(&run.table("untimed_calls")?)?,
            sampled,
        })
    }

    /// A share of the wall.
    pub fn share(&self, ns: i64) -> Option<f64> {
        trueno_analysis::share(ns, self.wall_ns?)
    }

    /// A finding that the recording itself made the run what it is.
    pub fn recording_fault(&self) -> Option<&Bottleneck> {
        let is_fault = |one: &&Bottleneck| {
            matches!(one.code.as_str(), "serialised_launches" | "no_kernel_times")
        };
        self.bottlenecks.iter().find(is_fault)
    }

    /// True if enough calls of a name were recorded to predict from. One call of a host that is most of the run tells nothing
    /// of the next: it may have loaded code or taken memory for the first time.
    pub fn is_enough(&self, name: &str) -> bool {
        let is_kernel = || self.kernels.iter().any(|kernel| kernel.name == name);
        let evidence = self.evidence.get(name).zip(self.wall_ns);
        evidence.is_none_or(|(evidence, wall_ns)| {
            let recurs = evidence.instances >= MIN_FEW || is_kernel();
            recurs && evidence.is_enough(wall_ns)
        })
    }

    /// True of the name of iterations, or of a group of such.
    pub fn is_iteration(&self, name: &str) -> bool {
        is_any_of(&self.iterations, name)
    }
}

fn is_any_of(names: &[String], name: &str) -> bool {
    names.iter().any(|of| name_pattern::matches(name, of))
}

/// Category of what a profiler does for itself.
pub const PROFILER: &str = "profiler";

/// Shares of the wall on the critical path.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PathShares {
    /// Kernels of devices that compute.
    pub computation: f64,
    /// Kernels of devices that communicate.
    pub communication: f64,
    /// Copies, and calls that copy.
    pub copy: f64,
    /// Recorded work of hosts.
    pub host: f64,
    /// Waits of hosts that nothing recorded explains.
    pub waits: f64,
    /// What the profiler did for itself.
    pub profiler: f64,
    /// Nothing was recorded: gaps, and what iterations have outside all that is recorded in them.
    pub not_recorded: f64,
}

impl PathShares {
    fn read(
        names: &Table,
        kinds: &[(String, f64)],
        kernels: &[Kernel],
        is_iteration: impl Fn(&str) -> bool,
    ) -> Result<Option<Self>> {
        if names.is_empty() {
            return Ok(None);
        }
        let kind = |name: &str| {
            let of = kinds.iter().find(|(kind, _)| kind == name);
            of.map_or(0.0, |of| of.1)
        };
        let mut out = Self {
            copy: kind("transfer"),
            waits: kind("sync_wait"),
            not_recorded: kind("gap"),
            ..Self::default()
        };
        let of_devices: std::collections::BTreeSet<&str> =
            kernels.iter().map(|kernel| kernel.name.as_str()).collect();
        let rows = names
            .text("name")?
            .iter()
            .zip(names.text("category")?.iter());
        for ((name, category), share) in rows.zip(names.f64("wall_share")?.iter()) {
            let (Some(name), Some(share)) = (name, share) else {
                continue;
            };
            let part = match of_devices.contains(name) {
                true if category == Some("communication") => &mut out.communication,
                true => &mut out.computation,
                false if category == Some(PROFILER) => &mut out.profiler,
                false if category == Some("waiting") => &mut out.waits,
                false if is_iteration(name) => &mut out.not_recorded,
                false if name.to_ascii_lowercase().contains("memcpy") => &mut out.copy,
                false => &mut out.host,
            };
            *part += share;
        }
        Ok(Some(out))
    }

    /// Work of devices.
    pub fn devices(&self) -> f64 {
        self.computation + self.communication + self.copy
    }
}

/// Of the run, the part from which on one call is the run.
const MIN_OF_RUN: f64 = 0.2;
/// So many calls of a name tell what is usual.
const MIN_CALLS: u64 = 8;
/// All others together have no more than one part in so many.
const OTHERS_PART: i64 = 10;

/// A call that is no pattern.
#[derive(Clone, Debug, PartialEq)]
pub struct OneCall {
    pub name: String,
    pub calls: u64,
    pub dur_ns: i64,
    pub is_communication: bool,
}

impl OneCall {
    fn read(bricks: &Table, wall_ns: Option<i64>) -> Result<Option<Self>> {
        let (kinds, names) = (bricks.text("lane_kind")?, bricks.text("name")?);
        let categories = bricks.text("category")?;
        let (calls, all, max) = (
            bricks.u64("calls")?,
            bricks.i64("inclusive_ns")?,
            bricks.i64("max_ns")?,
        );
        let row = |row: usize| {
            let (all_ns, dur_ns) = (all.get(row)?, max.get(row)?);
            let others_ns = all_ns.saturating_sub(dur_ns).max(0);
            let calls = calls.get(row).filter(|calls| *calls >= MIN_CALLS)?;
            let share = trueno_analysis::share(dur_ns, wall_ns?)?;
            let is_single = share >= MIN_OF_RUN && others_ns.saturating_mul(OTHERS_PART) < dur_ns;
            (kinds.get(row) == Some("device") && is_single).then(|| Self {
                name: names.get(row).unwrap_or_default().to_owned(),
                calls,
                dur_ns,
                is_communication: categories.get(row) == Some("communication"),
            })
        };
        Ok((0..bricks.rows())
            .filter_map(row)
            .max_by_key(|one| one.dur_ns))
    }
}

fn evidence(bricks: &Table) -> Result<BTreeMap<String, Evidence>> {
    let (names, calls) = (bricks.text("name")?, bricks.u64("calls")?);
    let times = bricks.i64("inclusive_ns")?;
    let mut out: BTreeMap<String, Evidence> = BTreeMap::new();
    for row in 0..bricks.rows() {
        let (Some(name), Some(calls)) = (names.get(row), calls.get(row)) else {
            continue;
        };
        let ns = times.get(row).unwrap_or(0);
        let of = out.entry(name.to_owned()).or_insert(Evidence::new(0, 0));
        of.instances = of.instances.saturating_add(calls);
        of.time_ns = of.time_ns.saturating_add(ns);
    }
    Ok(out)
}

fn untimed_calls(table: &Table) -> Result<u64> {
    let calls = table.i64("calls")?.iter().flatten().next().unwrap_or(0);
    Ok(calls.max(0).cast_unsigned())
}

/// Texts of a column that are there.
pub fn texts(table: &Table, column: &str) -> Result<Vec<String>> {
    let column = table.text(column)?;
    Ok(column.iter().flatten().map(str::to_owned).collect())
}

fn pairs(table: &Table, name: &str, share: &str) -> Result<Vec<(String, f64)>> {
    let rows = table.text(name)?.iter().zip(table.f64(share)?.iter());
    Ok(rows
        .filter_map(|(name, share)| Some((name?.to_owned(), share?)))
        .collect())
}

/// Names of work with their shares, the most first; the profiler's own is none of the program.
fn path_work(table: &Table) -> Result<Vec<(String, f64)>> {
    let rows = table.text("name")?.iter();
    let rows = rows.zip(table.text("category")?.iter());
    let rows = rows.zip(table.f64("wall_share")?.iter());
    let mut sums: BTreeMap<&str, f64> = BTreeMap::new();
    for ((name, category), share) in rows {
        if let (Some(name), Some(share)) = (name, share.filter(|_| category != Some(PROFILER))) {
            *sums.entry(name).or_default() += share;
        }
    }
    let mut sums: Vec<(String, f64)> = sums
        .into_iter()
        .map(|(name, share)| (name.to_owned(), share))
        .collect();
    sums.sort_by(|a, b| b.1.total_cmp(&a.1));
    Ok(sums)
}

fn predictions(table: &Table, gain: &str) -> Result<Vec<Prediction>> {
    let rows = table.text("name")?.iter().zip(table.i64(gain)?.iter());
    Ok(rows
        .filter_map(|(name, ns)| Some((name?.to_owned(), ns?)))
        .collect())
}

fn bottlenecks(table: &Table) -> Result<Vec<Bottleneck>> {
    let (class, code) = (table.text("class")?, table.text("code")?);
    let sentence = table.text("sentence")?;
    let (ns, share) = (table.i64("gain_ns")?, table.f64("gain_share")?);
    let row = |row: usize| {
        Some(Bottleneck {
            class: class.get(row)?.to_owned(),
            code: code.get(row).unwrap_or_default().to_owned(),
            gain: ns.get(row).zip(share.get(row)),
            sentence: sentence.get(row)?.to_owned(),
        })
    };
    Ok((0..table.rows()).filter_map(row).collect())
}

/// Self time of what was called, by category of a kind of lanes, the most first.
pub fn sums(table: &Table, lane_kind: &str) -> Result<Vec<(String, i64)>> {
    let (kinds, categories) = (table.text("lane_kind")?, table.text("category")?);
    let (calls, self_ns) = (table.u64("calls")?, table.i64("self_ns")?);
    let rows = kinds.iter().zip(categories.iter());
    let rows = rows.zip(calls.iter().zip(self_ns.iter()));
    let mut sums: BTreeMap<&str, i64> = BTreeMap::new();
    for ((kind, category), (calls, ns)) in rows {
        if let (true, Some(_), Some(category), Some(ns)) =
            (kind == Some(lane_kind), calls, category, ns)
        {
            *sums.entry(category).or_default() += ns;
        }
    }
    Ok(descending(sums))
}

/// Sums, the largest first.
pub fn descending(sums: BTreeMap<&str, i64>) -> Vec<(String, i64)> {
    let mut rows: Vec<_> = sums.into_iter().filter(|row| row.1 > 0).collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.1));
    rows.into_iter()
        .map(|(name, ns)| (name.to_owned(), ns))
        .collect()
}
