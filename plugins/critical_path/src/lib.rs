//! The chain of work and waits that explains the wall clock, and the slack beside it.
//!
//! Lanes are cut into [`segments`], the nodes of a [`graph`]; edges are the
//! order of a lane and the recorded [`dependencies`]. The path is found by
//! [walking](walk) back from the last end; its pieces add up to the window, to
//! the nanosecond. [`slack`] says by how much a row may begin later without
//! moving the last end.
//!
//! Known of the device so far: the order of each stream, and that a kernel
//! follows the call that launched it. A wait for a device is a `sync_wait`.

mod cutter;
pub mod dependencies;
pub mod edges;
pub mod findings;
pub mod fold;
pub mod graph;
// One reader of lanes for both plugins that need it.
#[path = "../../category/src/lanes/mod.rs"]
pub mod lanes;
pub mod order;
pub mod segments;
pub mod slack;
pub mod tables;
pub mod walk;
pub mod window;

use serde::Deserialize;
use trueno_plugin::{Chart, Finding, Input, Plugin, Result, Run, Severity, export};

/// The plugin.
pub struct CriticalPath;

/// What a user may set.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(default)]
pub struct Options {
    /// So many pieces of the path are listed one by one, the others in sums.
    pub path_rows: usize,
    /// So many rows of slack are listed, the least first.
    pub slack_rows: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            path_rows: 100_000,
            slack_rows: 100_000,
        }
    }
}

const INPUTS: [Input; lanes::INPUTS.len() + 4] = {
    let mut all = [edges::EDGES; lanes::INPUTS.len() + 4];
    let mut i = 0;
    while i < lanes::INPUTS.len() {
        all[i] = lanes::INPUTS[i];
        i += 1;
    }
    all[i + 1] = edges::TASKS;
    all[i + 2] = edges::KERNEL_LAUNCHES;
    all[i + 3] = edges::TRANSFER_LAUNCHES;
    all
};

impl Plugin for CriticalPath {
    const ID: &'static str = "critical_path";
    const SUMMARY: &'static str =
        "The chain of work and waits that explains the wall clock, and the slack beside it.";
    const INPUTS: &'static [Input] = &INPUTS;
    type Options = Options;

    fn run(run: &mut Run, options: Options) -> Result<()> {
        let mut lanes = lanes::load(run)?;
        let cut = window::cut(&mut lanes);
        let (edges, unknown_kinds) = edges::read(run)?;
        let mut dependencies = dependencies::dependencies(&lanes, &edges);
        let segments = segments::segments(&lanes, &dependencies.good);
        let graph = graph::Graph::new(&lanes, segments, &dependencies.good);
        run.check_cancelled()?;

        let path = walk::walk(&graph, lanes.wall_ns);
        run.emit(tables::by_kind(&path, lanes.wall_ns))?;
        run.emit(tables::by_name(&graph, &path))?;
        run.emit(tables::path(&graph, &path, options.path_rows))?;
        drop(path);
        let (slack, spans) = tables::slack(&graph, &slack::slack(&graph), options.slack_rows);
        run.emit(slack)?;

        let let_go = graph.let_go().to_vec();
        dependencies.contradict(&lanes, &let_go);
        for finding in findings::findings(&dependencies, unknown_kinds, cut, lanes.left_out) {
            run.finding(finding)?;
        }
        if spans > options.slack_rows {
            let title = format!(
                "slack lists the {} rows with the least of {spans}",
                options.slack_rows
            );
            run.finding(
                Finding::new("slack_cut", Severity::Info, title)
                    .suggestion("set the option slack_rows of critical_path to see more"),
            )?;
        }
        if lanes.wall_ns > 0 {
            run.chart(Chart::bar(
                "Critical path by kind",
                "by_kind",
                "kind",
                "dur_ns",
            ))?;
        }
        Ok(())
    }
}

export!(CriticalPath);
