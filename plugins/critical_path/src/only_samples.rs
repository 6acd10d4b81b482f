//! Runs of samples and waits alone, of which no path can be told.
//!
//! Samples say which functions ran at some moments, and waits when a thread did not run. Without work between them, and
//! without who ended a wait, a path would be a chain of gaps.

use trueno_analysis::lanes::{Class, Lanes};
use trueno_plugin::{Input, Result, Run};

use crate::graph::dependency_graph::Graph;
use crate::graph::segments::segments;
use crate::load::window::Cut;
use crate::path::path_sums::PathSums;
use crate::{findings, tables};

pub const SAMPLES: Input =
    Input::sql("samples", "SELECT COUNT(*) AS samples FROM samples").optional();

/// Returns whether the run has samples but no work.
///
/// # Errors
/// The input lacks its column or has it in another type.
pub fn only_samples(run: &mut Run, lanes: &Lanes) -> Result<bool> {
    let samples = run.table("samples")?;
    if samples.is_missing() {
        return Ok(false);
    }
    let samples = samples.i64("samples")?.iter().flatten().next();
    let is_wait =
        |span: &trueno_analysis::lanes::Span| lanes.labels.get(span.label).class == Class::Wait;
    let mut spans = lanes.lanes.iter().flat_map(|lane| &lane.spans);
    Ok(samples.unwrap_or(0) > 0 && spans.all(is_wait))
}

/// Emits only an empty table `by_kind`, because there is no path.
///
/// # Errors
/// The host does not take it.
pub fn not_measurable(run: &mut Run, mut lanes: Lanes, cut: Cut) -> Result<()> {
    let (left_out, is_part) = (lanes.left_out, lanes.is_part);
    lanes.lanes.clear();
    let graph = Graph::new(&lanes, segments(&lanes, &[]), &[]);
    run.emit(tables::by_kind(
        "by_kind",
        &PathSums::new(&graph),
        lanes.wall_ns,
    ))?;
    for finding in findings::of_samples(cut, left_out, is_part) {
        run.finding(finding)?;
    }
    Ok(())
}
