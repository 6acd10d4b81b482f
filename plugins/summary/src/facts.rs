//! Figures of other plugins, as the sentence needs them.

use std::collections::BTreeMap;

use trueno_analysis::evidence::{Evidence, MIN_FEW};
use trueno_analysis::intervals::SaturatingSum;
use trueno_analysis::name_pattern;
use trueno_analysis::producer::Producer;
use trueno_analysis::vendors;
use trueno_analysis::window::Window;
use trueno_plugin::{Error, Result, Run, Table};

use crate::devices::{self, Device, Split};
use crate::host::{self, Host};
use crate::kernels::{self, Kernel};
use crate::limit::MIN_GAIN;
use crate::sampled::Sampled;
use crate::steps::Steps;
use crate::threads::{self, Thread};

#[derive(Clone, Debug, PartialEq)]
pub struct Bottleneck {
    pub class: String,
    pub code: String,
    /// Gain in nanoseconds and as a share of the wall time, if the finding is about time.
    pub gain: Option<(i64, f64)>,
    /// The observation and, after the last semicolon, the remedy.
    pub sentence: String,
    /// Its severity is high or critical.
    pub is_severe: bool,
}

/// A job of several ranks as re-timed by `stragglers`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Job {
    pub stages: u64,
    pub micro_batches: Option<u64>,
    /// Share of a step that ranks wait in the pipeline even if all are equally fast.
    pub bubble_share: Option<f64>,
    /// Length of a step over that with every operation at the mean of its kind, delays aside.
    pub slowdown: Option<f64>,
}

impl Job {
    fn read(table: &Table) -> Result<Option<Self>> {
        let (stages, micro_batches) = (table.u64("stages")?, table.u64("micro_batches")?);
        let (bubble, slowdown) = (table.f64("bubble_share")?, table.f64("slowdown")?);
        let job = |row: usize| {
            Some(Self {
                stages: stages.get(row)?,
                micro_batches: micro_batches.get(row),
                bubble_share: bubble.get(row),
                slowdown: slowdown.get(row),
            })
        };
        Ok((0..table.rows()).find_map(job))
    }
}

/// A prediction of `critical_path`: name and gain.
pub type Prediction = (String, i64);

#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// Length of the run, or of the report's window.
    pub wall_ns: Option<i64>,
    /// Why no time of the run means anything.
    pub meaningless: Option<Meaningless>,
    /// Rows that only bound their work.
    pub bound_rows: u64,
    /// True if this is about the whole of one run.
    pub is_whole: bool,
    /// The part of the run that the path and its gains are about, if it is not the whole.
    pub part: Option<Part>,
    pub rows: u64,
    /// Number of ranks; 0 if the run has none.
    pub ranks: usize,
    /// Ranks with an incomplete recording, one sentence each.
    pub incomplete_ranks: Vec<String>,
    pub job: Option<Job>,
    /// Time in which any device worked, if there are several.
    pub any_busy: Option<Split>,
    pub devices: Vec<Device>,
    /// Self time of kernels by category, largest first.
    pub device_categories: Vec<(String, i64)>,
    pub host: Host,
    /// Host threads, most work first. None where rows of a device may be counted as theirs.
    pub threads: Vec<Thread>,
    /// What a lane of the host is called.
    pub host_lane: &'static str,
    /// Device kernels by name, largest time first.
    pub kernels: Vec<Kernel>,
    pub steps: Option<Steps>,
    /// Findings of `bottleneck`, largest gain first.
    pub bottlenecks: Vec<Bottleneck>,
    /// All findings of `bottleneck` with a gain, also those that another finding explains.
    pub with_gain: Vec<Bottleneck>,
    /// False if `bottleneck` did not run. Then nothing says what bounds the run.
    pub is_judged: bool,
    /// Share of the critical path in which nothing was recorded.
    /// Without the time in which the recorder was paused.
    pub path_gap: Option<f64>,
    /// At least this share of the wall has recorded work on some lane: beside a gap of the path, other threads may work.
    pub covered: f64,
    /// The share of the wall with any row, if it was computed.
    pub coverage: Option<f64>,
    /// Time in which the recorder was paused.
    pub paused_ns: i64,
    /// Share of the critical path in which device work was launched but neither ran nor was queued behind
    /// recorded work.
    pub path_held: f64,
    /// True if `critical_path` ran but found no path.
    pub has_no_path: bool,
    pub path_work: Vec<(String, f64)>,
    /// Rows on the path that only wait, by name, longest first, as shares of the wall.
    pub path_waits: Vec<(String, f64)>,
    /// What other threads did while a thread on the path waited, longest first, as shares of the wall.
    pub beside_waits: Vec<(String, f64)>,
    /// Loading of input on the path, by name, as shares of the wall.
    pub path_loading: Vec<(String, f64)>,
    /// Shares of the critical path; `None` without a path.
    pub path: Option<PathShares>,
    /// A single device call that makes up most of the run and is unlike the other calls of its name.
    pub one_call: Option<OneCall>,
    /// Launches of graphs without any of their kernels, as text: `8 of 10`.
    pub empty_graphs: Option<String>,
    /// Names of iterations, if the run has devices.
    pub iterations: Vec<String>,
    /// The host's rows are steps, and nothing was recorded in them.
    pub has_only_steps: bool,
    pub halved: Vec<Prediction>,
    /// Gains from bringing a name to its roof, largest first.
    pub at_roof: Vec<Prediction>,
    /// How many calls each name has, and their time.
    pub evidence: BTreeMap<String, Evidence>,
    pub operators: Vec<String>,
    pub roof_share: Option<f64>,
    pub sampled: Option<Sampled>,
    /// The longest time that one thread ran, measured by its context switches.
    pub ran_ns: Option<i64>,
    /// True if only samples, waits and `running` rows were recorded.
    pub is_sampled_alone: bool,
    pub untimed_calls: u64,
    /// Collectives that did not complete, one sentence each, the cause first.
    pub incomplete_collectives: Vec<String>,
    /// Ranks and operations in dumps of PyTorch's Flight Recorder.
    pub flight_dumps: Option<(u64, u64)>,
    /// The first request that the allocator of a device could not meet, in words.
    pub out_of_memory: Option<String>,
    /// The place with the highest peak, if allocations were recorded.
    pub peak: Option<Peak>,
    /// Readings and names of counters.
    pub counters: (u64, u64),
    /// What the allocator of a device held at the only moment at which it was read.
    pub allocator: Option<Allocator>,
    /// Summed times by name of a file without events, largest first.
    pub sums: Vec<(String, i64)>,
}

/// Code of a finding: the profiler ran kernels one by one, and the time between them is its own.
pub const ONE_BY_ONE: &str = "kernels_one_by_one";

/// A check of `sanity` that failed, after which no time means anything.
#[derive(Clone, Debug, PartialEq)]
pub enum Meaningless {
    /// What holes without records there are, such as `1 hole, 100.00 % of wall`.
    TwoClocks(String),
    /// How many rows last how long.
    OneDuration(String),
}

impl Meaningless {
    /// The holes of a run need not lie in a part of it.
    fn read(checks: &Table, is_part: bool) -> Result<Option<Self>> {
        let rows = checks.text("check")?.iter();
        let rows = rows.zip(checks.text("found")?.iter());
        let of = |(check, found): (Option<&str>, Option<&str>)| {
            let found = found.unwrap_or_default().to_owned();
            match check? {
                "durations_differ" => Some(Self::OneDuration(found)),
                "one_timeline" if !is_part => Some(Self::TwoClocks(found)),
                _ => None,
            }
        };
        Ok(rows.filter_map(of).next())
    }
}

/// A part of the run, such as `iteration 3`.
#[derive(Clone, Debug)]
pub struct Part {
    pub name: String,
    pub length_ns: i64,
}

impl Part {
    fn read(part: &Table) -> Result<Option<Self>> {
        let Some(name) = texts(part, "name")?.pop() else {
            return Ok(None);
        };
        let first = |column: &str| Ok::<_, Error>(part.i64(column)?.iter().flatten().next());
        let (from_ns, until_ns) = (first("from_ns")?, first("until_ns")?);
        let length_ns = until_ns
            .zip(from_ns)
            .map(|(until, from)| until.saturating_sub(from));
        Ok(length_ns.map(|length_ns| Self { name, length_ns }))
    }
}

/// Memory of a place at its peak.
#[derive(Clone, Debug, PartialEq)]
pub struct Peak {
    pub place: String,
    pub bytes: i64,
    /// What holds most of it, and its share.
    pub owner: Option<(String, f64)>,
}

impl Peak {
    fn read(places: &Table, owners: &Table) -> Result<Option<Self>> {
        let (place, bytes) = (places.text("place")?, places.i64("peak_bytes")?);
        let rows = place.iter().zip(bytes.iter());
        let rows = rows.filter_map(|(place, bytes)| Some((place?, bytes.filter(|of| *of > 0)?)));
        let Some((place, bytes)) = rows.max_by_key(|row| row.1) else {
            return Ok(None);
        };
        let (of, tag, name) = (
            owners.text("place")?,
            owners.text("tag")?,
            owners.text("name")?,
        );
        let share = owners.f64("peak_share")?;
        // The largest comes first.
        let owner = (0..owners.rows().min(1))
            .filter(|row| of.get(*row) == Some(place))
            .find_map(|row| {
                // Memory that no brick and no tag owns has no holder to name.
                let is_named = |name: &&str| !matches!(*name, "outside bricks" | "unknown row");
                let name = tag.get(row).or(name.get(row).filter(is_named))?;
                Some((name.to_owned(), share.get(row)?))
            });
        Ok(Some(Self {
            place: place.to_owned(),
            bytes,
            owner,
        }))
    }
}

/// Memory of the device with the most reserved.
#[derive(Clone, Debug, PartialEq)]
pub struct Allocator {
    pub place: String,
    pub allocated: f64,
    pub reserved: f64,
}

impl Allocator {
    fn read(counters: &Table) -> Result<Option<Self>> {
        let (names, least) = (counters.text("name")?, counters.f64("least")?);
        let rows = names
            .iter()
            .zip(least.iter().zip(counters.f64("most")?.iter()));
        let once = rows.filter_map(|(name, (least, most))| {
            Some((name?, least.filter(|least| Some(*least) == most)?))
        });
        let once: BTreeMap<&str, f64> = once.collect();
        let of_device = |(name, reserved): (&&str, &f64)| {
            let place = name.strip_suffix(" reserved")?;
            place.strip_prefix("gpu")?.parse::<u32>().ok()?;
            Some(Self {
                place: place.to_owned(),
                allocated: *once.get(&*format!("{place} allocated"))?,
                reserved: *reserved,
            })
        };
        let devices = once.iter().filter_map(of_device);
        let devices = devices.filter(|of| of.reserved > 0.0);
        Ok(devices.max_by(|a, b| a.reserved.total_cmp(&b.reserved)))
    }
}

impl Facts {
    /// Loads all inputs except the owners of kernels.
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
        let memory = run.table("memory")?;
        let (devices, any) = devices::read(run, &memory, &lanes)?;
        let ranks = run.table("ranks")?.rows();
        let incomplete_ranks = texts(&run.table("incomplete_ranks")?, "detail")?;
        let iteration_names = texts(&run.table("iteration_names")?, "name")?;
        let steps = Steps::read(&run.table("series")?, &run.table("iterations")?)?;
        let host = Host::read(&categories, &bricks, &lanes, wall_ns)?;
        let is_only_steps = |rows: &[(String, i64)]| {
            let mut names = rows.iter().map(|row| &row.0);
            !rows.is_empty() && names.all(|name| is_any_of(&iteration_names, name))
        };
        let has_only_steps =
            devices.is_empty() && host.waits.is_empty() && is_only_steps(&host.bricks);
        let iterations = if devices.is_empty() {
            Vec::new()
        } else {
            iteration_names
        };
        let scheduling = run.table("sampled_scheduling")?;
        let sampled = Sampled::read(
            &run.table("sampled_functions")?,
            &run.table("sampled_threads")?,
            &run.table("sampled_waits")?,
            &scheduling,
        )?;
        // Rows of a device may be counted as those of threads: nothing can be said of the host then.
        let has_unclear_devices = !run.table("unclear_devices")?.is_empty();
        let judged = run.table("bottlenecks")?;
        let found = if has_unclear_devices {
            Vec::new()
        } else {
            bottlenecks(&judged)?
        };
        let read = run.table("counters")?;
        let kernels = kernels::read(&run.table("launches")?, &run.table("occupancy")?)?;
        let path_names = run.table("path_names")?;
        let path_work = path_rows(&path_names, |category| category != Some(PROFILER))?;
        let is_iteration = |name: &str| is_any_of(&iterations, name);
        let path = PathShares::read(&path_names, &path_kinds, &kernels, wall_ns, is_iteration)?;
        let graphs = run.table("graph_launches")?;
        let coverage = texts(&run.table("coverage")?, "found")?.pop();
        let part = Part::read(&run.table("part")?)?;
        // Of several ranks it is a mean, and of the whole run beside a part.
        let is_whole = window.is_none() && part.is_none() && ranks < 2;
        let coverage: Option<f64> = coverage
            .filter(|_| is_whole)
            .and_then(|found| found.parse().ok());
        let waits = host.waits.iter().map(|row| row.1);
        let waits_ns = waits.fold(0, i64::saturating_add);
        let paused_ns = match ranks {
            0 | 1 => paused_ns(&run.table("pauses")?, window)?,
            _ => 0,
        };
        let paused_share = wall_ns.and_then(|wall_ns| trueno_analysis::share(paused_ns, wall_ns));
        let paused_share = paused_share.unwrap_or(0.0);
        let threads = if has_unclear_devices || host.only_ran() {
            Vec::new()
        } else {
            threads::read(&lanes)?
        };
        let bound = run.table("open_intervals")?;
        let bound = bound.u64("bound_calls")?.iter().flatten();
        Ok(Self {
            meaningless: Meaningless::read(&run.table("meaningless")?, window.is_some())?,
            bound_rows: bound.fold(0, u64::saturating_add),
            path: path.filter(|_| !has_no_path),
            one_call: OneCall::read(&bricks, &found, wall_ns)?,
            empty_graphs: texts(&graphs, "found")?.pop(),
            has_only_steps,
            any_busy: any.filter(|_| ranks < 2 && devices.len() > 1),
            wall_ns: wall_ns.filter(|ns| *ns > 0),
            covered: covered(coverage, &host, wall_ns),
            coverage,
            is_whole,
            part,
            rows: table.u64("rows")?.iter().flatten().next().unwrap_or(0),
            ranks,
            incomplete_ranks,
            job: Job::read(&run.table("retimed_job")?)?,
            steps: steps.map(|steps| steps.beside(&devices, window.is_some(), waits_ns)),
            is_sampled_alone: sampled.is_some() && devices.is_empty() && host.only_ran(),
            devices,
            device_categories: without_copies(
                sums(&categories, "device")?,
                &run.table("device_copies")?,
            )?,
            host,
            host_lane: Producer::of_run(&table).host_lane(),
            kernels,
            threads,
            is_judged: !judged.is_missing() && !has_unclear_devices,
            bottlenecks: found,
            with_gain: if has_unclear_devices {
                Vec::new()
            } else {
                bottlenecks(&run.table("all_bottlenecks")?)?
            },
            has_no_path,
            path_gap: path_kinds
                .iter()
                .find(|(kind, _)| kind == "gap")
                .map(|gap| (gap.1 - paused_share).max(0.0)),
            paused_ns,
            path_held: path_kinds
                .iter()
                .filter(|(kind, _)| ["launch_delay", "queue"].contains(&kind.as_str()))
                .map(|(_, share)| share)
                .sum(),
            path_work,
            path_waits: path_rows(&path_names, |category| category == Some("waiting"))?,
            beside_waits: pairs(&run.table("beside_waits")?, "name", "wall_share")?,
            path_loading: path_rows(&path_names, |category| category == Some("data loading"))?,
            iterations,
            halved: predictions(&run.table("opportunity")?, "gain_50pct_ns")?,
            at_roof: predictions(&run.table("at_roof")?, "gain_ns")?,
            evidence: evidence(&bricks)?,
            operators: texts(&run.table("operators")?, "name")?,
            roof_share: host::roof_share(&run.table("points")?)?,
            untimed_calls: untimed_calls(&run.table("untimed_calls")?)?,
            incomplete_collectives: texts(&run.table("incomplete_collectives")?, "sentence")?,
            flight_dumps: flight_dumps(&run.table("flight_dumps")?)?,
            out_of_memory: texts(&run.table("out_of_memory")?, "sentence")?
                .into_iter()
                .next(),
            peak: Peak::read(&memory, &run.table("memory_owners")?)?,
            counters: counters(&read)?,
            allocator: Allocator::read(&read)?,
            sums: named_sums(&run.table("sums")?)?,
            sampled,
            ran_ns: scheduling.i64("on_cpu_ns")?.iter().flatten().max(),
        })
    }

    pub fn share(&self, ns: i64) -> Option<f64> {
        trueno_analysis::share(ns, self.wall_ns?)
    }

    /// What shares of the path are shares of.
    pub fn path_whole(&self) -> &str {
        self.part.as_ref().map_or("the wall", |part| &part.name)
    }

    /// True if a list of threads says more than the sum over them. Those of several ranks would be too many.
    pub fn tells_threads_apart(&self) -> bool {
        let working = self.threads.iter().filter(|of| of.work_ns() > 0).count();
        let least = if self.devices.is_empty() { 2 } else { 1 };
        self.ranks < 2 && self.meaningless.is_none() && working >= least
    }

    /// A gain as a share of the part that the path is about.
    pub fn gain_share(&self, ns: i64) -> Option<f64> {
        match &self.part {
            Some(part) => trueno_analysis::share(ns, part.length_ns),
            None => self.share(ns),
        }
    }

    /// What the devices of the run are called.
    pub fn accelerator(&self) -> &'static str {
        let kernels = || self.kernels.iter().map(|kernel| kernel.name.as_str());
        let model = self
            .devices
            .first()
            .and_then(|device| device.model.as_deref());
        vendors::accelerator(model, kernels())
    }

    /// The finding that the profiler ran kernels one by one. Nothing then shows what bounds the program.
    pub fn one_by_one(&self) -> Option<&Bottleneck> {
        self.bottlenecks.iter().find(|one| one.code == ONE_BY_ONE)
    }

    /// A finding that the recording itself distorted the run.
    pub fn recording_fault(&self) -> Option<&Bottleneck> {
        let is_fault = |one: &&Bottleneck| {
            matches!(
                one.code.as_str(),
                "serialised_launches" | "no_kernel_times" | "no_device_work" | ONE_BY_ONE
            )
        };
        let fault = self.bottlenecks.iter().find(is_fault)?;
        // Where no call of a device was recorded, what the host does once does not depend on one.
        let is_set_up = |one: &Bottleneck| {
            one.class == "set_up" && one.gain.is_some_and(|(_, share)| share >= MIN_GAIN)
        };
        let mut names = self.host.bricks.iter().chain(&self.host.waits);
        let holds_anyway = fault.code == "no_device_work"
            && names.all(|row| vendors::call(&row.0).is_none())
            && self.bottlenecks.iter().any(is_set_up);
        (!holds_anyway).then_some(fault)
    }

    /// True if enough calls of a name were recorded for a prediction. A single host call that is most of the
    /// run says nothing about the next: it may have loaded code or allocated memory for the first time.
    pub fn is_enough(&self, name: &str) -> bool {
        let is_kernel = || self.kernels.iter().any(|kernel| kernel.name == name);
        let evidence = self.evidence.get(name).zip(self.wall_ns);
        evidence.is_none_or(|(evidence, wall_ns)| {
            let recurs = evidence.instances >= MIN_FEW || is_kernel();
            recurs && evidence.is_enough(wall_ns)
        })
    }

    /// The part of a path without records in which no other lane worked either.
    pub fn not_recorded(&self, path: &PathShares) -> f64 {
        path.not_recorded.min(1.0 - self.covered)
    }

    /// True for the name of an iteration, or of a group that contains one.
    pub fn is_iteration(&self, name: &str) -> bool {
        is_any_of(&self.iterations, name)
    }
}

/// Rows that only wait are recorded, but no work: however they lie, they take no more of the coverage than their sum.
fn covered(coverage: Option<f64>, host: &Host, wall_ns: Option<i64>) -> f64 {
    let waits = host.waits.iter().map(|row| row.1);
    let waits = wall_ns.and_then(|wall_ns| trueno_analysis::share(waits.saturating_sum(), wall_ns));
    (coverage.unwrap_or(0.0) - waits.unwrap_or(0.0)).max(0.0)
}

/// Pauses do not overlap.
fn paused_ns(pauses: &Table, window: Option<Window>) -> Result<i64> {
    let (starts, lengths) = (pauses.i64("time_ns")?, pauses.i64("dur_ns")?);
    let pauses = starts.iter().zip(lengths.iter());
    let pauses = pauses.filter_map(|(start, dur_ns)| {
        let (start, end) = (start?, start?.saturating_add(dur_ns?));
        match window {
            Some(window) => window.clip(start, end),
            None => Some((start, end)),
        }
    });
    let lengths = pauses.map(|(start, end)| end.saturating_sub(start).max(0));
    Ok(lengths.fold(0, i64::saturating_add))
}

fn is_any_of(names: &[String], name: &str) -> bool {
    names.iter().any(|of| name_pattern::matches(name, of))
}

pub const PROFILER: &str = "profiler";

/// Shares of the wall time on the critical path.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PathShares {
    /// Computing kernels on devices.
    pub computation: f64,
    /// Communicating kernels on devices.
    pub communication: f64,
    /// Copies, and calls that copy.
    pub copy: f64,
    pub host: f64,
    /// Host waits that nothing recorded explains.
    pub waits: f64,
    /// The profiler's own work.
    pub profiler: f64,
    /// Time without records: gaps, and time in iterations outside everything recorded in them.
    pub not_recorded: f64,
}

impl PathShares {
    fn read(
        names: &Table,
        kinds: &[(String, f64)],
        kernels: &[Kernel],
        wall_ns: Option<i64>,
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
        let of_devices: BTreeMap<&str, i64> = kernels
            .iter()
            .map(|kernel| (kernel.name.as_str(), kernel.dur_ns))
            .collect();
        let rows = names
            .text("name")?
            .iter()
            .zip(names.text("category")?.iter());
        for ((name, category), share) in rows.zip(names.f64("wall_share")?.iter()) {
            let (Some(name), Some(share)) = (name, share) else {
                continue;
            };
            let of_kernels = of_devices
                .get(name)
                .map(|dur_ns| of_kernels(*dur_ns, share, wall_ns));
            if let Some(of_kernels) = of_kernels {
                match category {
                    Some("communication") => out.communication += of_kernels,
                    _ => out.computation += of_kernels,
                }
            }
            let rest = share - of_kernels.unwrap_or(0.0);
            let part = match category {
                Some(PROFILER) => &mut out.profiler,
                Some("waiting") => &mut out.waits,
                _ if is_iteration(name) => &mut out.not_recorded,
                _ if name.to_ascii_lowercase().contains("memcpy") => &mut out.copy,
                _ => &mut out.host,
            };
            *part += rest;
        }
        Ok(Some(out))
    }

    pub fn devices(&self) -> f64 {
        self.computation + self.communication + self.copy
    }
}

/// The part of a name's share of the path that kernels of the name can have taken. Operators of the host have the
/// names of their kernels in TensorFlow's timelines: the rest is theirs.
pub fn of_kernels(dur_ns: i64, share: f64, wall_ns: Option<i64>) -> f64 {
    let most = wall_ns.and_then(|wall_ns| trueno_analysis::share(dur_ns, wall_ns));
    share.min(most.unwrap_or(share))
}

/// A single call must be at least this share of the run.
const MIN_OF_RUN: f64 = 0.2;
/// This many calls of a name are enough to know what is usual.
const MIN_CALLS: u64 = 8;
/// All other calls of the name together must be at most one part in this many.
const OTHERS_PART: i64 = 10;

/// Code of a finding: the first collective takes longer than all others together.
const FIRST_COLLECTIVE: &str = "first_collective";

/// A single call that is unlike the others of its name.
#[derive(Clone, Debug, PartialEq)]
pub struct OneCall {
    pub name: String,
    pub calls: u64,
    pub dur_ns: i64,
    pub is_communication: bool,
    /// `bottleneck` found that it is the first collective, and longer than all others together; `calls` counts all of them.
    pub is_first: bool,
}

impl OneCall {
    fn read(bricks: &Table, found: &[Bottleneck], wall_ns: Option<i64>) -> Result<Option<Self>> {
        let is_first = found.iter().any(|one| one.code == FIRST_COLLECTIVE);
        let first = is_first.then(|| Self::first(bricks, wall_ns)).transpose()?;
        match first.flatten() {
            Some(first) => Ok(Some(first)),
            None => Self::of_name(bricks, wall_ns),
        }
    }

    /// The longest collective, if it is longer than all others.
    fn first(bricks: &Table, wall_ns: Option<i64>) -> Result<Option<Self>> {
        let (kinds, names) = (bricks.text("lane_kind")?, bricks.text("name")?);
        let (categories, calls) = (bricks.text("category")?, bricks.u64("calls")?);
        let (all, max) = (bricks.i64("inclusive_ns")?, bricks.i64("max_ns")?);
        let communicates = |row: &usize| {
            kinds.get(*row) == Some("device") && categories.get(*row) == Some("communication")
        };
        let rows: Vec<usize> = (0..bricks.rows()).filter(communicates).collect();
        let all_ns = rows.iter().filter_map(|row| all.get(*row)).saturating_sum();
        let count = rows
            .iter()
            .filter_map(|row| calls.get(*row))
            .fold(0, u64::saturating_add);
        let longest = rows
            .iter()
            .max_by_key(|row| (max.get(**row), std::cmp::Reverse(**row)));
        let one = longest.and_then(|row| {
            let dur_ns = max.get(*row)?;
            let share = trueno_analysis::share(dur_ns, wall_ns?)?;
            let is_most = all_ns.saturating_sub(dur_ns) < dur_ns;
            (share >= MIN_OF_RUN && is_most).then(|| Self {
                name: names.get(*row).unwrap_or_default().to_owned(),
                calls: count,
                dur_ns,
                is_communication: true,
                is_first: true,
            })
        });
        Ok(one)
    }

    fn of_name(bricks: &Table, wall_ns: Option<i64>) -> Result<Option<Self>> {
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
                is_first: false,
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

/// The number of readings, and of names.
fn counters(table: &Table) -> Result<(u64, u64)> {
    let (names, readings) = (table.text("name")?, table.i64("readings")?);
    let readings = readings.iter().flatten().saturating_sum();
    let names = names.iter().flatten().count() as u64;
    Ok((readings.max(0).cast_unsigned(), names))
}

fn named_sums(table: &Table) -> Result<Vec<(String, i64)>> {
    let plain = |name: &str| {
        let name = name.strip_prefix("sum: ").unwrap_or(name);
        // A call path of Proton ends in the kernel, and says of which device.
        if let Some(path) = name.strip_suffix(" time (ns)") {
            let path = path.rsplit_once(" (gpu ").map_or(path, |(path, _)| path);
            return path.rsplit('/').next().unwrap_or(path).to_owned();
        }
        let ends = [" total [ns]", " total"];
        let plain = ends.iter().find_map(|end| name.strip_suffix(end));
        plain.unwrap_or(name).to_owned()
    };
    let rows = table.text("name")?.iter().zip(table.f64("value")?.iter());
    let rows = rows.filter_map(|(name, value)| Some((plain(name?), value.filter(|ns| *ns > 0.0)?)));
    Ok(rows.map(|(name, ns)| (name, ns as i64)).collect())
}

fn flight_dumps(table: &Table) -> Result<Option<(u64, u64)>> {
    if table.is_empty() {
        return Ok(None);
    }
    let (ranks, operations) = (table.u64("ranks")?, table.u64("operations")?);
    Ok(ranks.get(0).zip(operations.get(0)))
}

fn untimed_calls(table: &Table) -> Result<u64> {
    let calls = table.i64("calls")?.iter().flatten().next().unwrap_or(0);
    Ok(calls.max(0).cast_unsigned())
}

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

/// Names of work with their shares, largest first, without the profiler's own work.
fn path_rows(table: &Table, counts: impl Fn(Option<&str>) -> bool) -> Result<Vec<(String, f64)>> {
    let rows = table.text("name")?.iter();
    let rows = rows.zip(table.text("category")?.iter());
    let rows = rows.zip(table.f64("wall_share")?.iter());
    let mut sums: BTreeMap<&str, f64> = BTreeMap::new();
    for ((name, category), share) in rows {
        if let (Some(name), Some(share)) = (name, share.filter(|_| counts(category))) {
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
    let severity = table.has("severity").then(|| table.text("severity"));
    let severity = severity.transpose()?;
    let is_severe = |row: usize| {
        let of = severity.and_then(|severity| severity.get(row));
        of.is_some_and(|of| ["high", "critical"].contains(&of))
    };
    let row = |row: usize| {
        Some(Bottleneck {
            is_severe: is_severe(row),
            class: class.get(row)?.to_owned(),
            code: code.get(row).unwrap_or_default().to_owned(),
            gain: ns.get(row).zip(share.get(row)),
            sentence: sentence.get(row)?.to_owned(),
        })
    };
    Ok((0..table.rows()).filter_map(row).collect())
}

/// Self time by category on lanes of one kind, largest first. Only rows that have calls count.
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

/// `rows` less the time of copies.
fn without_copies(mut rows: Vec<(String, i64)>, copies: &Table) -> Result<Vec<(String, i64)>> {
    for (category, copied_ns) in copies
        .text("category")?
        .iter()
        .zip(copies.i64("self_ns")?.iter())
    {
        let row = rows.iter_mut().find(|row| Some(row.0.as_str()) == category);
        if let (Some(row), Some(copied_ns)) = (row, copied_ns) {
            row.1 = row.1.saturating_sub(copied_ns);
        }
    }
    rows.retain(|row| row.1 > 0);
    rows.sort_by_key(|row| std::cmp::Reverse(row.1));
    Ok(rows)
}

pub fn descending(sums: BTreeMap<&str, i64>) -> Vec<(String, i64)> {
    let mut rows: Vec<_> = sums.into_iter().filter(|row| row.1 > 0).collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.1));
    rows.into_iter()
        .map(|(name, ns)| (name.to_owned(), ns))
        .collect()
}
