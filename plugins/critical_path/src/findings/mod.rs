//! Findings: the best lever, and what was left out of the graph, with the reasons.

mod dependencies;
mod device;
mod gains;
mod rows;

use trueno_analysis::lanes::LeftOut;
use trueno_plugin::{Finding, Severity, counted};

use crate::infer::clock_skew::Skew;
use crate::infer::ranks::Ranks;
use crate::load::dependencies::Dependencies;
use crate::load::device::Found;
use crate::load::window::Cut;
use crate::path::background::Background;
use crate::path::host_over_device::HostTime;
use crate::predict::fusing::Sequence;
use crate::predict::opportunity::Opportunity;

pub struct Facts<'a> {
    pub dependencies: &'a Dependencies,
    pub unknown_kinds: u64,
    pub cut: Cut,
    pub left_out: LeftOut,
    pub device: &'a Found,
    /// Clock skews of devices, already corrected.
    pub skews: &'a [Skew],
    pub ranks: Ranks,
    /// Time on the path by inference rule, in the order of `Rule::ALL`.
    pub path: &'a [i64],
    pub opportunities: &'a [Opportunity],
    pub sequences: &'a [Sequence],
    /// The busiest lane that no dependency connects with the path.
    pub background: Option<Background>,
    pub over_device: Option<HostTime>,
    pub predicted_names: usize,
    pub slack_rows: (usize, usize),
    pub is_part: bool,
    pub wall_ns: i64,
}

impl Facts<'_> {
    fn window(&self) -> &'static str {
        if self.is_part { "window" } else { "run" }
    }
}

/// The largest opportunity first, then what kept rows or edges out of the graph, worst first.
pub fn findings(facts: &Facts<'_>) -> Vec<Finding> {
    let mut out = dependencies::dependencies(facts);
    out.extend(rows::outside(facts.cut, facts.is_part));
    out.extend(rows::left_out(facts.left_out));
    out.extend(facts.skews.iter().map(rows::skew));
    out.extend(rows::ranks(&facts.ranks));
    out.extend(device::device(facts.device));
    out.extend(device::inferred(facts));
    out.extend(gains::lever(facts));
    out.extend(gains::sequence(facts));
    out.extend(gains::bounded(facts));
    out.extend(device::over_device(facts));
    out.extend(gains::cut(facts.opportunities));
    out.extend(slack_cut(facts.slack_rows));
    out
}

/// Findings for a run of only samples and waits, whose path cannot be determined.
pub fn of_samples(cut: Cut, left_out: LeftOut, is_part: bool) -> Vec<Finding> {
    let title =
        "the critical path is not measurable from samples alone: who ended a wait was not recorded";
    let not_measurable = Finding::new("not_measurable", Severity::Warning, title)
        .detail(
            "nothing was recorded between samples and waits: unexplained gaps and waits have no path, \
             no slack, and no gain",
        )
        .suggestion(
            "record calls as well (`trueno-record run --calls`), or let the kernel report who ends waits \
             (`trueno-record doctor` says how)",
        );
    let mut out = vec![not_measurable];
    out.extend(rows::outside(cut, is_part));
    out.extend(rows::left_out(left_out));
    out
}

fn slack_cut((listed, all): (usize, usize)) -> Option<Finding> {
    (all > listed).then(|| {
        let title = format!(
            "slack lists the {} with the least slack, out of {all}",
            counted(listed, "row", "rows")
        );
        Finding::new("slack_cut", Severity::Info, title)
            .suggestion("raise the option slack_rows of critical_path to see more")
    })
}
