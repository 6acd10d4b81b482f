//! What was left out of the graph, and why.

use trueno_plugin::{Finding, Severity};

use crate::dependencies::Dependencies;
use crate::edges::Edge;
use crate::lanes::LeftOut;
use crate::window::Cut;

/// More cycles than this are counted, not named.
const NAMED_CYCLES: usize = 10;
/// More ids or edges than this are cut short in a text.
const NAMED_IDS: usize = 20;

/// Everything that kept a row or an edge out, the worst first.
pub fn findings(
    dependencies: &Dependencies,
    unknown_kinds: u64,
    cut: Cut,
    left_out: LeftOut,
) -> Vec<Finding> {
    let mut out = Vec::new();
    for cycle in dependencies.cycles.iter().take(NAMED_CYCLES) {
        let ids = list(cycle.iter().map(u64::to_string));
        out.push(
            Finding::new("dependency_cycle", Severity::Error, format!("{} rows wait for each other: {ids}", cycle.len()))
                .detail("an edge of the circle that the times contradict is not part of the path")
                .suggestion("look at where the program records these dependencies: one of them points the wrong way")
                .evidence(cycle.clone()),
        );
    }
    if dependencies.cycles.len() > NAMED_CYCLES {
        let title = format!(
            "{} more circles of rows that wait for each other",
            dependencies.cycles.len() - NAMED_CYCLES
        );
        out.push(Finding::new("dependency_cycles", Severity::Error, title));
    }
    out.extend(edges(
        "edge_contradicts_times",
        &dependencies.contradicted,
        "dependencies contradict the measured times and are left out",
        "the later of the two began before the earlier had ended (spawns, launches: before it had begun; joins: the wait ended first)",
    ));
    out.extend(edges(
        "edge_to_unknown_row",
        &dependencies.unknown,
        "dependencies name a row that is not there, and are left out",
        "the row was not recorded, was dropped, lies outside the window, or has no times that can be trusted",
    ));
    out.extend(edges(
        "join_of_no_wait",
        &dependencies.not_waits,
        "dependencies of kind joins lead to a row that is no wait, and are left out",
        "joins leads to a row of syncs",
    ));
    if unknown_kinds > 0 {
        out.push(
            Finding::new(
                "edge_kind_unknown",
                Severity::Info,
                format!("{unknown_kinds} edges have a kind not used here"),
            )
            .detail("used are depends_on, joins, launches and spawns")
            .evidence("SELECT kind, COUNT(*) AS edges FROM edges GROUP BY kind ORDER BY kind"),
        );
    }
    if cut.outside + cut.shortened > 0 {
        let title = format!(
            "{} rows lie outside the window, {} in part",
            cut.outside, cut.shortened
        );
        out.push(
            Finding::new("outside_window", Severity::Warning, title)
                .detail("the path takes of every row what lies between the start of the recording and its end"),
        );
    }
    let rows = left_out.bound + left_out.invalid + left_out.impossible;
    if rows > 0 {
        let title = format!("{rows} rows have no times to build on and are left out");
        let detail = format!(
            "{} bound rows, whose times only contain the work; {} kernels marked not valid; {} rows with an impossible duration",
            left_out.bound, left_out.invalid, left_out.impossible
        );
        out.push(Finding::new("left_out", Severity::Info, title).detail(detail));
    }
    out
}

fn edges(code: &str, edges: &[Edge], title: &str, why: &str) -> Option<Finding> {
    let (first, count) = (edges.first()?, edges.len());
    let examples = list(
        edges
            .iter()
            .map(|edge| format!("{} -> {}", edge.from, edge.to)),
    );
    let sql = format!(
        "SELECT \"from\", \"to\", kind FROM edges WHERE \"from\" = {} AND \"to\" = {}",
        first.from, first.to
    );
    let implied = edges.iter().filter(|edge| edge.implied).count();
    let implied = if implied > 0 {
        format!("; {implied} of them follow from a parent or a correlation")
    } else {
        String::new()
    };
    Some(
        Finding::new(code, Severity::Warning, format!("{count} {title}"))
            .detail(format!("{why}{implied}: {examples}"))
            .suggestion("run with `sanity` for what else is wrong with the rows")
            .evidence(sql),
    )
}

fn list(parts: impl ExactSizeIterator<Item = String>) -> String {
    let more = parts.len().saturating_sub(NAMED_IDS);
    let mut text = parts.take(NAMED_IDS).collect::<Vec<_>>().join(", ");
    if more > 0 {
        text.push_str(&format!(" and {more} more"));
    }
    text
}
