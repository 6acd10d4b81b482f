//! From the profiler of aprender-compute into a run, for programs that keep it (feature `aprender`).
//!
//! It keeps sums, and of its graph durations without starts: nothing tells when anything ran, so no row of `bricks`,
//! `kernels`, `transfers`, `tiles` or `edges` is made. Sums become `counters` with the names that
//! `trueno-analyze import` gives those of its JSON, unrounded; fingerprints, which cover 64 elements at most, and labels
//! become instants. All of them stand at the moment of the call, not of the work.
//!
//! ```
//! use trueno::brick::BrickProfiler;
//! use trueno_recorder::Recorder;
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("sums.run");
//! let mut profiler = BrickProfiler::enabled();
//! profiler.record_elapsed("RmsNorm", std::time::Duration::from_micros(25), 4096);
//! let rec = Recorder::create(path)?;
//! assert_eq!(trueno_brick_profiler::bridge::record(&profiler, &rec).bricks, 1);
//! rec.finish()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::collections::BTreeMap;

use trueno::brick::{
    BrickBottleneck, BrickCategory, BrickProfiler, BrickStats, ExecutionNode, KernelChecksum,
    TileStats, TransferDirection,
};
use trueno_recorder::{Name, Recorder, Source};

const SUMS: &str = "sums of a profiler of aprender-compute: nested bricks and tiles count twice in totals, and a \
                    deferred brick counts up to the wait that ended all of them; which ones were deferred is not recorded";

/// Counts of what was recorded, and of what no row tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Bridged {
    /// Bricks that were timed at least once.
    pub bricks: usize,
    /// Levels of tiles that were timed at least once.
    pub tile_levels: usize,
    /// Fingerprints.
    pub checksums: usize,
    /// Nodes of the graph that are in a sum.
    pub nodes: usize,
    /// Layers and functions, of which the graph has no figure.
    pub nodes_without_figures: usize,
    /// Edges of the graph: rows of `edges` link rows, and there are none.
    pub edges_left_out: usize,
    /// Deferred bricks that were not finalized, and are in no sum.
    pub pending: usize,
}

/// Records what a profiler holds, once: what is called again is recorded again.
pub fn record(profiler: &BrickProfiler, rec: &Recorder) -> Bridged {
    let sums = Sums { rec };
    let mut bridged = Bridged {
        pending: profiler.pending_count(),
        ..Bridged::default()
    };
    let mut bricks: Vec<&BrickStats> = profiler.all_brick_stats().collect();
    bricks.retain(|stats| stats.count > 0);
    bricks.sort_by(|a, b| a.name.cmp(&b.name));
    bridged.bricks = bricks.len();
    if !bricks.is_empty() {
        sums.totals(profiler);
    }
    for stats in bricks {
        sums.brick(stats);
    }
    for stats in profiler
        .all_tile_stats()
        .iter()
        .filter(|stats| stats.count > 0)
    {
        bridged.tile_levels += 1;
        sums.tiles(stats);
    }
    for checksum in profiler.get_checksums() {
        bridged.checksums += 1;
        sums.checksum(checksum);
    }
    let graph = profiler.execution_graph();
    bridged.nodes = sums.nodes(graph.nodes());
    bridged.nodes_without_figures = graph.num_nodes() - bridged.nodes;
    bridged.edges_left_out = graph.num_edges();
    sums.facts(profiler, &bridged);
    bridged
}

#[derive(Default)]
struct NodeSum {
    calls: u64,
    timed: u64,
    total_ns: u64,
    /// Elements for bricks, bytes for transfers.
    amount: u64,
    polls: u64,
    yields: u64,
}

struct Sums<'r> {
    rec: &'r Recorder,
}

impl Sums<'_> {
    fn sum(&self, of: &str, what: &str, value: f64, unit: &str, source: Source) {
        let name = Name::new(&format!("sum: {of} {what}"));
        self.rec.counter(name, value, Name::new(unit), source);
    }

    fn count(&self, of: &str, what: &str, value: u64, unit: &str, source: Source) {
        self.sum(of, what, value as f64, unit, source);
    }

    /// Records a declared count, unless it is 0, which means that the program declared none.
    fn stated(&self, of: &str, what: &str, value: u64, unit: &str) {
        if value > 0 {
            self.count(of, what, value, unit, Source::Declared);
        }
    }

    fn times(&self, of: &str, (calls, total_ns): (u64, u64), (min_ns, max_ns): (u64, u64)) {
        self.count(of, "calls", calls, "calls", Source::Measured);
        self.count(of, "total_time", total_ns, "ns", Source::Computed);
        let mean_ns = total_ns as f64 / calls as f64;
        self.sum(of, "avg_time", mean_ns, "ns", Source::Computed);
        // The original begins with a minimum above all; it stays where sums were set by hand.
        if min_ns <= max_ns {
            self.count(of, "min_time", min_ns, "ns", Source::Measured);
            self.count(of, "max_time", max_ns, "ns", Source::Measured);
        }
    }

    fn totals(&self, profiler: &BrickProfiler) {
        let of = "all bricks";
        self.count(
            of,
            "total_time",
            profiler.total_ns(),
            "ns",
            Source::Computed,
        );
        self.stated(of, "elements", profiler.total_tokens(), "elements");
        for (category, stats) in BrickCategory::ALL.iter().zip(profiler.category_stats()) {
            if stats.count > 0 {
                let of = format!("category {}", category.name());
                self.count(&of, "calls", stats.count, "calls", Source::Computed);
                self.count(&of, "total_time", stats.total_ns, "ns", Source::Computed);
                self.stated(&of, "elements", stats.total_elements, "elements");
            }
        }
    }

    fn brick(&self, stats: &BrickStats) {
        let of = &stats.name;
        let extremes = (stats.min_ns, stats.max_ns);
        self.times(of, (stats.count, stats.total_ns), extremes);
        self.stated(of, "elements", stats.total_elements, "elements");
        self.stated(of, "bytes", stats.total_bytes, "byte");
        self.stated(of, "compressed_bytes", stats.total_compressed_bytes, "byte");
        self.stated(of, "ticks", stats.total_cycles, "ticks");
        let label = match stats.bottleneck {
            BrickBottleneck::Unknown => return,
            bottleneck => bottleneck.to_string(),
        };
        let arguments = [
            ("brick", of.as_str().into()),
            ("bottleneck", label.as_str().into()),
            ("source", "declared".into()),
        ];
        self.rec.instant_with("bottleneck", &arguments);
    }

    fn tiles(&self, stats: &TileStats) {
        let of = format!("{} tiles", stats.level.name());
        let extremes = (stats.min_ns, stats.max_ns);
        self.times(&of, (stats.count, stats.total_ns), extremes);
        self.stated(&of, "elements", stats.total_elements, "elements");
        self.stated(&of, "flops", stats.total_flops, "flop");
    }

    fn checksum(&self, checksum: &KernelChecksum) {
        let hash = format!("{:016x}", checksum.checksum);
        let arguments = [
            ("name", checksum.name.as_str().into()),
            ("layer", checksum.layer_idx.into()),
            ("position", u64::from(checksum.position).into()),
            ("hash_fnv64", hash.as_str().into()),
        ];
        self.rec.instant_with("checksum of 64 elements", &arguments);
    }

    /// Sums by kind and name. Returns the number of nodes that are in one.
    fn nodes(&self, nodes: &[ExecutionNode]) -> usize {
        let mut sums: BTreeMap<String, NodeSum> = BTreeMap::new();
        let mut count = 0;
        for node in nodes {
            let (of, amount, (polls, yields)) = match node {
                ExecutionNode::Brick { elements, .. } => ("brick node", *elements, (0, 0)),
                ExecutionNode::Kernel { .. } => ("kernel node", 0, (0, 0)),
                ExecutionNode::Transfer { bytes, .. } => ("transfer node", *bytes, (0, 0)),
                ExecutionNode::AsyncTask {
                    poll_count,
                    yield_count,
                    ..
                } => ("task node", 0, (*poll_count, *yield_count)),
                ExecutionNode::Function { .. } | ExecutionNode::Layer { .. } => continue,
            };
            let timing_ns = match node {
                ExecutionNode::AsyncTask { total_poll_ns, .. } => Some(*total_poll_ns),
                node => node.timing_ns(),
            };
            let name = match node {
                ExecutionNode::Transfer { direction, .. } => direction_word(*direction).to_owned(),
                node => node.name(),
            };
            count += 1;
            let sum = sums.entry(format!("{of} {name}")).or_default();
            sum.calls += 1;
            sum.timed += u64::from(timing_ns.is_some());
            sum.total_ns = sum.total_ns.saturating_add(timing_ns.unwrap_or(0));
            sum.amount = sum.amount.saturating_add(amount);
            sum.polls = sum.polls.saturating_add(polls);
            sum.yields = sum.yields.saturating_add(yields);
        }
        for (of, sum) in &sums {
            self.count(of, "calls", sum.calls, "calls", Source::Declared);
            if sum.timed > 0 {
                self.count(of, "timed_calls", sum.timed, "calls", Source::Declared);
                self.count(of, "total_time", sum.total_ns, "ns", Source::Declared);
            }
            let (what, unit) = if of.starts_with("transfer") {
                ("bytes", "byte")
            } else {
                ("elements", "elements")
            };
            self.stated(of, what, sum.amount, unit);
            self.stated(of, "polls", sum.polls, "polls");
            self.stated(of, "yields", sum.yields, "yields");
        }
        count
    }

    fn facts(&self, profiler: &BrickProfiler, bridged: &Bridged) {
        let value = |key: &str, value: String| {
            self.rec.value(format!("brick_profiler.{key}"), value);
        };
        value("sync_mode", format!("{:?}", profiler.sync_mode()));
        value("zero_copy", profiler.is_zero_copy().to_string());
        if let Some(rate) = profiler.l2_cache_hit_rate() {
            let rate = f64::from(rate);
            self.sum("L2", "hit_rate", rate, "ratio", Source::Declared);
        }
        if bridged.bricks + bridged.tile_levels > 0 {
            self.rec.problem(SUMS.to_owned());
        }
        if bridged.pending > 0 {
            let pending = bridged.pending;
            self.rec.problem(format!(
                "{pending} deferred bricks were not finalized: they are in no sum of the profiler"
            ));
        }
        if bridged.edges_left_out + bridged.nodes_without_figures > 0 {
            let (nodes, edges) = (bridged.nodes_without_figures, bridged.edges_left_out);
            let text = format!("{nodes} nodes without figures and {edges} edges are in no row");
            value("graph", text);
        }
    }
}

fn direction_word(direction: TransferDirection) -> &'static str {
    match direction {
        TransferDirection::H2D => "h2d",
        TransferDirection::D2H => "d2h",
        TransferDirection::D2D => "d2d",
    }
}
