//! The chain of work and waits that explains the wall clock, and slack beside it.
//!
//! Lanes are cut into [`segments`], the nodes of a [`graph`]; edges are the
//! order of a lane and the recorded [`dependencies`]. The path is found by
//! [walking](walk) back from the last end; its pieces add up to the window, to
//! the nanosecond. [`slack`] says by how much a row may begin later without
//! moving the last end.
//!
//! Device work is tied to the host by its launches and to other work by the order of streams, by
//! events, by waits and by copies that block ([`device`]). A wait that nothing recorded explains is a
//! `sync_wait`.
//!
//! [`schedule`] re-times the graph under other durations: what a user assumes ([`what_if`]), and what
//! less time of each name would buy ([`opportunity`]), also at its roof ([`at_roof`]). Predictions hold as far as the recorded
//! dependencies do; a dependency that did not bind has no lag, so a gain is rather too large than too small.

pub mod at_roof;
pub mod background;
pub mod blocking_calls;
pub mod chains;
pub mod clock_skew;
pub mod condense;
pub mod cut_off_waits;
mod cutter;
pub mod dependencies;
pub mod device;
pub mod drained_device;
pub mod edges;
pub mod ends;
pub mod findings;
pub mod full_queues;
pub mod graph;
pub mod held;
pub mod host_over_device;
pub mod host_waits;
pub mod inferred;
pub mod iterations;
mod lag_kind;
pub mod latencies;
mod least;
mod only_samples;
pub mod opportunity;
pub mod order;
pub mod ownership;
pub mod path_sums;
pub mod path_time_by_name;
mod predict;
pub mod rank_bitmap;
pub mod ranks;
pub mod row_index;
pub mod rule;
pub mod schedule;
pub mod segments;
pub mod serial_work;
pub mod shortcuts;
pub mod slack;
pub mod stream_follows;
pub mod streams;
pub mod stretches;
mod suggestions;
pub mod tables;
pub mod thread_waits;
pub mod times;
pub mod wait_functions;
pub mod waits;
pub mod walk;
pub mod what_if;
pub mod window;

use serde::Deserialize;
use trueno_analysis::lanes::{self, Lane, LaneKind, Lanes};
use trueno_plugin::{Chart, Input, Plugin, Result, Run, export};

use crate::clock_skew::Skew;
use crate::host_over_device::HostOverDevice;

pub struct CriticalPath;

/// Options of a user.
#[derive(Clone, Debug, Deserialize)]
#[serde(default)]
pub struct Options {
    /// Pieces of the path that are listed one by one; the others are summed.
    pub path_rows: usize,
    /// Rows of slack that are listed, the least slack first.
    pub slack_rows: usize,
    /// Names that gains are predicted for, those with the most time on the path. In large runs they are fewer,
    /// so that it takes no longer than the rest.
    pub opportunity_names: usize,
    /// Gives the time on the path of every row as well, in a table of ids.
    pub path_by_id: bool,
    /// Gives the slack of every row as well, in a table of ids.
    pub slack_by_id: bool,
    /// Assumptions, each as `TARGET=VALUE`; see [`rule`].
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
            what_if: Vec::new(),
        }
    }
}

/// Segments re-timed for the gains of names; at least [`MIN_NAMES`] names get a gain.
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
    const SUMMARY: &'static str =
        "The chain of work and waits that explains the wall clock, and slack beside it.";
    const INPUTS: &'static [Input] = &INPUTS;
    type Options = Options;

    fn run(run: &mut Run, options: Options) -> Result<()> {
        let rules = options.what_if.iter().map(|text| rule::Rule::parse(text));
        let rules = rules.collect::<Result<Vec<_>>>()?;
        let mut lanes = lanes::load(run)?;
        let only_samples = only_samples::only_samples(run, &lanes)?;
        let cut = window::cut(&mut lanes);
        if only_samples {
            return only_samples::not_measurable(run, lanes, cut);
        }
        window::waits_inside(&mut lanes);
        let mut read = edges::read(run, &lanes)?;
        let waits = waits::Waits::read(run, &lanes, !read.edges.is_empty())?;
        let waits::Waits {
            waits,
            recorded,
            legacy,
            launched,
        } = waits;
        let joined = waits::joined(&mut read.edges, &recorded);
        let events = device::Events {
            recorded: &recorded,
            joined: &joined,
        };
        let (mut device, skews) =
            of_devices(&mut lanes, &read, &launched, &waits, &events, &legacy);
        let ranks = ranks::Collectives::read(run, &lanes)?.connect(&mut lanes, &mut device);
        read.add(&device.edges);
        let mut dependencies = dependencies::dependencies(&lanes, &read.edges);
        let unknown_kinds = read.unknown_kinds;
        drop(read);
        let segments = segments::segments(&lanes, &dependencies.good);
        let mut graph = graph::Graph::new(&lanes, segments, &dependencies.good);
        graph.mark_inferred(&dependencies.good, &device.inferred);
        let let_go = graph.let_go().to_vec();
        dependencies.contradict(&lanes, &let_go);
        run.check_cancelled()?;

        let wall_ns = lanes.wall_ns;
        let ownership = ownership::Ownership::new(&lanes, &dependencies.good);
        dependencies.good = Vec::new();
        let named = at_roof::read(run)?;
        let roofs = at_roof::Roofs::new(&graph, &named);
        if !rules.is_empty() {
            predict::predict(run, &graph, &ownership, &roofs, &rules)?;
        }
        let chains = chains::Chains::new(&lanes, &ownership);
        drop(ownership);
        let path = walk::walk(&graph, wall_ns);
        let mut sums = path_sums::PathSums::new(&graph);
        let mut times = path_time_by_name::PathTimes::new(&graph, &chains);
        let mut rows = condense::Condenser::new(options.path_rows);
        let mut iterations = iterations::Iterations::new(&lanes);
        let mut by_id = options.path_by_id.then(tables::PathById::default);
        let is_one = lanes.lanes.len() < 2;
        let mut serial = (!is_one).then(|| serial_work::SerialWork::new(&graph));
        let mut over_device = HostOverDevice::new(&graph);
        path.each(|piece| {
            sums.add(&piece);
            times.add(&piece);
            rows.add(&piece);
            iterations.add(&piece);
            if let Some(by_id) = &mut by_id {
                by_id.add(&graph, &piece);
            }
            if let Some(serial) = &mut serial {
                serial.add(&piece);
            }
            if let Some(over_device) = &mut over_device {
                over_device.add(&piece);
            }
        });
        run.emit(tables::by_kind("by_kind", &sums, wall_ns))?;
        run.emit(tables::by_name("by_name", &graph, &sums, wall_ns))?;
        run.emit(tables::by_category(&graph, &sums, wall_ns))?;
        let names = RETIMED_SEGMENTS / graph.segments.len().max(1);
        let names = options.opportunity_names.min(names.max(MIN_NAMES));
        let by_name = times.by_name();
        let shortcuts = shortcuts::Shortcuts::new(&graph, &chains);
        let opportunities =
            opportunity::opportunities(&graph, &chains, &shortcuts, &sums, by_name, names);
        run.emit(tables::opportunity(&opportunities, wall_ns))?;
        if !named.is_empty() {
            let gains = at_roof::gains(&graph, &chains, &named, &roofs, &opportunities, names);
            run.emit(tables::at_roof(&gains, wall_ns))?;
        }
        drop((chains, shortcuts));
        run.check_cancelled()?;
        let iterations = iterations.finish();
        if !iterations.is_empty() {
            run.emit(tables::by_iteration(&graph, &iterations))?;
        }
        if let Some(serial) = serial {
            run.emit(tables::serial_work(&graph, &serial.finish()))?;
        }
        let over_device = over_device.and_then(HostOverDevice::finish);
        let off_path = background::off_path(&graph, &sums.lanes);
        if !off_path.is_empty() {
            run.emit(tables::off_path(&graph, &off_path))?;
        }
        let path_inferred = sums.inferred_ns;
        run.emit(tables::path(&graph, &rows.into_rows()))?;
        if let Some(by_id) = by_id {
            run.emit(by_id.into_table())?;
        }
        drop(path);
        let background = background::background(&graph);
        let least = slack::least_of_spans(&graph);
        drop(graph);
        let (rows, is_by_id) = (options.slack_rows, options.slack_by_id);
        let (slack, by_name, by_id, spans) = tables::slack(&lanes, least, rows, is_by_id);
        run.emit(by_name)?;
        if let Some(by_id) = by_id {
            run.emit(by_id)?;
        }
        run.emit(slack)?;

        let facts = findings::Facts {
            dependencies: &dependencies,
            unknown_kinds,
            cut,
            left_out: lanes.left_out,
            device: &device,
            skews: &skews,
            ranks,
            path: &path_inferred,
            opportunities: &opportunities,
            background,
            over_device,
            predicted_names: names,
            slack_rows: (options.slack_rows, spans),
            is_part: lanes.is_part,
            wall_ns,
        };
        for finding in findings::findings(&facts) {
            run.finding(finding)?;
        }
        if wall_ns > 0 {
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
            )?;
        }
        Ok(())
    }
}

/// Dependencies of device work, and the skews of clocks that were corrected for them.
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
    let mut streams = streams::Streams::new(lanes, &rows, &read.launches(), launched);
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
