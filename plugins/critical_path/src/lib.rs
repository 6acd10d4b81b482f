//! The chain of work and waits that explains the wall clock, and slack beside it.
//!
//! [`load`] reads rows and dependencies, and adds what the runtime promises. `infer` adds what only the times show. Lanes
//! are cut into segments, the nodes of the [`graph`]; the path is found by walking back from the last end, and its pieces
//! add up to the window, to the nanosecond. [`path`] sums them. [`predict`] re-times the graph under other durations: what a
//! user assumes, what less time of each name would save, also at its roof. Predictions hold as far as the recorded
//! dependencies do; a dependency that did not bind has no lag, so a gain is rather too large than too small.

pub mod findings;
pub mod graph;
mod infer;
pub mod load;
mod only_samples;
pub mod path;
pub mod predict;
mod tables;

use std::collections::BTreeMap;

use serde::Deserialize;
use trueno_analysis::lanes::{self, Lane, LaneKind, Lanes};
use trueno_plugin::{Chart, Input, Plugin, Result, Run, export};

use crate::graph::chains::Chains;
use crate::graph::dependency_graph::Graph;
use crate::graph::ownership::Ownership;
use crate::graph::segments::segments;
use crate::graph::walk;
use crate::infer::clock_skew::{self, Skew};
use crate::infer::{
    blocking_calls, cut_off_waits, drained_device, full_queues, host_waits, ranks, stream_follows,
    thread_waits,
};
use crate::load::dependencies::{Dependencies, dependencies};
use crate::load::window::Cut;
use crate::load::{device, edges, row_index, streams, waits, window};
use crate::path::background;
use crate::path::beside_waits::BesideWaits;
use crate::path::condense::{Condenser, Row};
use crate::path::host_over_device::{HostOverDevice, HostTime};
use crate::path::iterations::{Iteration, Iterations};
use crate::path::path_sums::PathSums;
use crate::path::path_time_by_name::{PathTime, PathTimes};
use crate::path::serial_work::{Alone, SerialWork};
use crate::predict::fusing::{Sequence, Sequences};
use crate::predict::opportunity::{Opportunity, opportunities};
use crate::predict::shortcuts::Shortcuts;
use crate::predict::what_if_rule::Rule;
use crate::predict::{at_roof, predictions, slack, without};

pub struct CriticalPath;

#[derive(Clone, Debug, Deserialize)]
#[serde(default)]
pub struct Options {
    /// Number of pieces listed one by one; the others are summed.
    pub path_rows: usize,
    /// Number of slack rows listed, smallest slack first.
    pub slack_rows: usize,
    /// Number of names with predicted gains: those with the most time on the path. Large runs get fewer, so
    /// that predictions take no longer than the rest.
    pub opportunity_names: usize,
    /// Also emits the time of every row on the path.
    pub path_by_id: bool,
    /// Also emits the slack of every row.
    pub slack_by_id: bool,
    /// Computes only the path and its sums: no gains, slack or findings. Table `path_by_id` then has one row
    /// for each row on the path, in no order.
    pub path_only: bool,
    /// What-if rules, each as `TARGET=VALUE`; see [`predict::what_if_rule`].
    pub what_if: Vec<String>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            path_rows: 100_000,
            slack_rows: 100_000,
            opportunity_names: 20,
            path_by_id: false,
            slack_by_id: false,
            path_only: false,
            what_if: Vec::new(),
        }
    }
}

/// Limit of re-timed segments over all names. At least [`MIN_NAMES`] names get a gain anyway.
const RETIMED_SEGMENTS: usize = 40_000_000;
const MIN_NAMES: usize = 3;

const OWN_INPUTS: [Input; 15] = [
    ranks::STAYS,
    ranks::CLOCKS,
    at_roof::AT_ROOF,
    at_roof::OPERATORS_AT_ROOF,
    edges::EDGES,
    edges::TASKS,
    edges::KERNEL_LAUNCHES,
    edges::TRANSFER_LAUNCHES,
    edges::BLOCKING,
    waits::WAITS,
    waits::RECORDED,
    waits::STREAMS,
    waits::UNLAUNCHED,
    waits::FIRST_CALLS,
    only_samples::SAMPLES,
];

const INPUTS: [Input; lanes::INPUTS.len() + OWN_INPUTS.len()] = {
    let mut all = [edges::EDGES; lanes::INPUTS.len() + OWN_INPUTS.len()];
    let mut i = 0;
    while i < lanes::INPUTS.len() {
        all[i] = lanes::INPUTS[i];
        i += 1;
    }
    let mut i = 0;
    while i < OWN_INPUTS.len() {
        all[lanes::INPUTS.len() + i] = OWN_INPUTS[i];
        i += 1;
    }
    all
};

impl Plugin for CriticalPath {
    const ID: &'static str = "critical_path";
    const SUMMARY: &'static str = "The chain of work and waits that determines the wall clock, and the slack of everything else.";
    const INPUTS: &'static [Input] = &INPUTS;
    type Options = Options;

    fn run(run: &mut Run, options: Options) -> Result<()> {
        let rules = options.what_if.iter().map(|text| Rule::parse(text));
        let rules = rules.collect::<Result<Vec<_>>>()?;
        let mut lanes = lanes::load(run)?;
        let only_samples = only_samples::only_samples(run, &lanes)?;
        let cut = window::cut(&mut lanes);
        if only_samples {
            return only_samples::not_measurable(run, lanes, cut);
        }
        let mut loaded = Loaded::new(run, lanes, cut)?;
        let lanes = &loaded.lanes;
        let cut_into_segments = segments(lanes, &loaded.dependencies.good);
        let mut graph = Graph::new(lanes, cut_into_segments, &loaded.dependencies.good);
        graph.mark_inferred(&loaded.dependencies.good, &loaded.device.inferred);
        if options.path_only {
            return emit_path_only(run, &graph, &options);
        }
        loaded.dependencies.contradict(lanes, graph.let_go());
        run.check_cancelled()?;

        let ownership = Ownership::new(lanes, &loaded.dependencies.good);
        let sequences = Sequences::new(lanes, &loaded.dependencies.good);
        loaded.dependencies.good = Vec::new();
        let named = at_roof::read(run)?;
        let roofs = at_roof::Roofs::new(&graph, &named);
        if !rules.is_empty() {
            predictions::predict(run, &graph, &ownership, &roofs, &rules)?;
        }
        let chains = Chains::new(lanes, &ownership);
        drop(ownership);
        let mut walked = WalkedPath::new(&graph, &chains, &options);
        let wall_ns = lanes.wall_ns;
        run.emit(tables::by_kind("by_kind", &walked.sums, wall_ns))?;
        run.emit(tables::by_name("by_name", &graph, &walked.sums, wall_ns))?;
        run.emit(tables::by_category(&graph, &walked.sums, wall_ns))?;
        let predicted_names = predicted_names(&options, &graph);
        let shortcuts = Shortcuts::new(&graph, &chains);
        let by_name = std::mem::take(&mut walked.by_name);
        let opportunities = opportunities(
            &graph,
            &chains,
            &shortcuts,
            &walked.sums,
            by_name,
            predicted_names,
        );
        run.emit(tables::opportunity(&opportunities, wall_ns))?;
        let without = without::without(&graph, &chains, &shortcuts);
        if !without.is_empty() {
            run.emit(tables::without(&without, wall_ns))?;
        }
        let sequences = sequences.with_gains(&graph);
        if !sequences.is_empty() {
            run.emit(tables::sequences(&sequences, wall_ns))?;
        }
        if !named.is_empty() {
            let gains = at_roof::gains(
                &graph,
                &chains,
                &named,
                &roofs,
                &opportunities,
                predicted_names,
            );
            run.emit(tables::at_roof(&gains, wall_ns))?;
        }
        drop((shortcuts, named));
        run.check_cancelled()?;
        walked.emit_details(run, &graph)?;
        let facts = Predicted {
            opportunities,
            sequences,
            predicted_names,
            background: background::background(&graph),
            over_device: walked.over_device,
            inferred_ns: walked.sums.inferred_ns,
        };
        let least = slack::least_of_spans(&graph);
        drop(graph);
        let with_slack = emit_slack(run, lanes, least, &options)?;
        emit_findings(run, &loaded, facts, (options.slack_rows, with_slack))?;
        emit_charts(run, wall_ns)
    }
}
struct Loaded {
    lanes: Lanes,
    dependencies: Dependencies,
    device: device::Found,
    skews: Vec<Skew>,
    ranks: ranks::Ranks,
    cut: Cut,
    unknown_kinds: u64,
}

impl Loaded {
    fn new(run: &mut Run, mut lanes: Lanes, cut: Cut) -> Result<Self> {
        window::waits_inside(&mut lanes);
        let mut read = edges::read(run, &lanes)?;
        let has_edges = !read.edges.is_empty();
        let waits::Waits {
            waits,
            recorded,
            legacy,
            launched,
        } = waits::Waits::read(run, &lanes, has_edges)?;
        let joined = waits::joined(&mut read.edges, &recorded);
        let events = device::Events {
            recorded: &recorded,
            joined: &joined,
        };
        let (mut device, skews) =
            of_devices(&mut lanes, &read, &launched, &waits, &events, &legacy);
        let ranks = ranks::Collectives::read(run, &lanes)?.connect(&mut lanes, &mut device);
        read.add(&device.edges);
        Ok(Self {
            dependencies: dependencies(&lanes, &read.edges),
            unknown_kinds: read.unknown_kinds,
            lanes,
            device,
            skews,
            ranks,
            cut,
        })
    }
}

struct WalkedPath<'g> {
    sums: PathSums<'g>,
    by_name: Vec<PathTime>,
    rows: Vec<Row>,
    iterations: Vec<Iteration>,
    by_id: Option<tables::PathById>,
    serial: Option<BTreeMap<u32, Alone>>,
    beside_waits: Vec<(&'g str, i64)>,
    over_device: Option<HostTime>,
}

impl<'g> WalkedPath<'g> {
    fn new(graph: &'g Graph<'g>, chains: &'g Chains, options: &Options) -> Self {
        let lanes = graph.run;
        let mut sums = PathSums::new(graph);
        let mut times = PathTimes::new(graph, chains);
        let mut rows = Condenser::new(options.path_rows);
        let mut iterations = Iterations::new(lanes);
        let mut by_id = options.path_by_id.then(tables::PathById::default);
        let is_one = lanes.lanes.len() < 2;
        let mut serial = (!is_one).then(|| SerialWork::new(graph));
        let mut beside_waits = (!is_one).then(|| BesideWaits::new(graph));
        let mut over_device = HostOverDevice::new(graph);
        walk::walk(graph, lanes.wall_ns).each(|piece| {
            sums.add(&piece);
            times.add(&piece);
            rows.add(&piece);
            iterations.add(&piece);
            if let Some(by_id) = &mut by_id {
                by_id.add(graph, &piece);
            }
            if let Some(serial) = &mut serial {
                serial.add(&piece);
            }
            if let Some(beside_waits) = &mut beside_waits {
                beside_waits.add(&piece);
            }
            if let Some(over_device) = &mut over_device {
                over_device.add(&piece);
            }
        });
        Self {
            sums,
            by_name: times.by_name(),
            rows: rows.into_rows(),
            iterations: iterations.finish(),
            by_id,
            serial: serial.map(SerialWork::finish),
            beside_waits: beside_waits.map(BesideWaits::finish).unwrap_or_default(),
            over_device: over_device.and_then(HostOverDevice::finish),
        }
    }

    fn emit_details(&mut self, run: &mut Run, graph: &Graph<'_>) -> Result<()> {
        if !self.iterations.is_empty() {
            run.emit(tables::by_iteration(graph, &self.iterations))?;
        }
        if let Some(serial) = &self.serial {
            run.emit(tables::serial_work(graph, serial))?;
        }
        if !self.beside_waits.is_empty() {
            let wall_ns = graph.run.wall_ns;
            run.emit(tables::beside_waits(&self.beside_waits, wall_ns))?;
        }
        let off_path = background::off_path(graph, &self.sums.lanes);
        if !off_path.is_empty() {
            run.emit(tables::off_path(graph, &off_path))?;
        }
        run.emit(tables::path(graph, &std::mem::take(&mut self.rows)))?;
        match self.by_id.take() {
            Some(by_id) => run.emit(by_id.into_table()),
            None => Ok(()),
        }
    }
}

fn emit_path_only(run: &mut Run, graph: &Graph<'_>, options: &Options) -> Result<()> {
    let wall_ns = graph.run.wall_ns;
    let mut sums = PathSums::new(graph);
    let mut rows = Condenser::new(options.path_rows);
    let mut by_row = options.path_by_id.then(|| tables::PathByRow::new(graph));
    walk::walk(graph, wall_ns).each(|piece| {
        sums.add(&piece);
        rows.add(&piece);
        if let Some(by_row) = &mut by_row {
            by_row.add(&piece);
        }
    });
    run.emit(tables::by_kind("by_kind", &sums, wall_ns))?;
    run.emit(tables::by_name("by_name", graph, &sums, wall_ns))?;
    run.emit(tables::by_category(graph, &sums, wall_ns))?;
    run.emit(tables::path(graph, &rows.into_rows()))?;
    by_row.map_or(Ok(()), |by_row| run.emit(by_row.table()))
}

fn predicted_names(options: &Options, graph: &Graph<'_>) -> usize {
    let affordable = RETIMED_SEGMENTS / graph.segments.len().max(1);
    options.opportunity_names.min(affordable.max(MIN_NAMES))
}

struct Predicted {
    opportunities: Vec<Opportunity>,
    sequences: Vec<Sequence>,
    predicted_names: usize,
    background: Option<background::Background>,
    over_device: Option<HostTime>,
    inferred_ns: [i64; load::inferred::Rule::ALL.len()],
}

/// Emits the slack tables; returns how many rows have slack.
fn emit_slack(
    run: &mut Run,
    lanes: &Lanes,
    least: Vec<Vec<i64>>,
    options: &Options,
) -> Result<usize> {
    let (slack, by_name, by_id, spans) =
        tables::slack(lanes, least, options.slack_rows, options.slack_by_id);
    run.emit(by_name)?;
    if let Some(by_id) = by_id {
        run.emit(by_id)?;
    }
    run.emit(slack)?;
    Ok(spans)
}

fn emit_findings(
    run: &mut Run,
    loaded: &Loaded,
    predicted: Predicted,
    slack_rows: (usize, usize),
) -> Result<()> {
    let facts = findings::Facts {
        dependencies: &loaded.dependencies,
        unknown_kinds: loaded.unknown_kinds,
        cut: loaded.cut,
        left_out: loaded.lanes.left_out,
        device: &loaded.device,
        skews: &loaded.skews,
        ranks: loaded.ranks,
        path: &predicted.inferred_ns,
        opportunities: &predicted.opportunities,
        sequences: &predicted.sequences,
        background: predicted.background,
        over_device: predicted.over_device,
        predicted_names: predicted.predicted_names,
        slack_rows,
        is_part: loaded.lanes.is_part,
        wall_ns: loaded.lanes.wall_ns,
    };
    for finding in findings::findings(&facts) {
        run.finding(finding)?;
    }
    Ok(())
}

fn emit_charts(run: &mut Run, wall_ns: i64) -> Result<()> {
    if wall_ns <= 0 {
        return Ok(());
    }
    run.chart(Chart::bar(
        "Critical path by kind",
        "by_kind",
        "kind",
        "dur_ns",
    ))?;
    run.chart(
        Chart::gantt(
            "Critical path over lanes",
            "path",
            "lane",
            "start_ns",
            "dur_ns",
        )
        .series("kind")
        .label("name")
        .axes("time", "lane"),
    )
}

fn of_devices(
    lanes: &mut Lanes,
    read: &edges::Read,
    launched: &waits::Launched,
    waits: &[waits::Wait],
    events: &device::Events<'_>,
    legacy: &device::Legacy,
) -> (device::Found, Vec<Skew>) {
    let is_host = |lane: &&Lane| lane.kind == LaneKind::Host;
    if lanes.lanes.iter().filter(is_host).count() < 2
        && lanes.lanes.iter().all(|lane| is_host(&lane))
    {
        return Default::default();
    }
    let rows = row_index::row_index(lanes);
    let launches = read.of_kind(edges::DependencyKind::Launches);
    let spawns = read.of_kind(edges::DependencyKind::Spawns);
    let mut streams = streams::Streams::new(lanes, &rows, &launches, &spawns, launched);
    let skews = clock_skew::correct(lanes, &rows, &mut streams, waits, &read.blocking);
    let mut found = device::device(lanes, &rows, &streams, waits, events, legacy);
    blocking_calls::blocking_calls(lanes, &rows, &streams, &read.blocking, &mut found);
    full_queues::full_queues(lanes, &streams, &mut found);
    stream_follows::stream_follows(lanes, &streams, &mut found);
    let mut host_waits = thread_waits::thread_waits(lanes, &streams);
    host_waits.extend(drained_device::drained_device(lanes, &streams));
    host_waits.extend(cut_off_waits::cut_off_waits(lanes, &streams));
    host_waits::insert(lanes, &host_waits, &mut found);
    (found, skews)
}

export!(CriticalPath, as trueno_plugin_v1_critical_path);
