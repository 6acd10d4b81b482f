//! Recorded dependencies that are no part of the graph, and why.

use trueno_plugin::{Finding, Severity, agreeing, counted};

use super::Facts;
use crate::load::edges::Edge;

const NAMED_CYCLES: usize = 10;
const NAMED_IDS: usize = 20;

/// Reports cycles, then edges that the times contradict, that have no interval at one end, or that have an
/// unsupported kind.
pub fn dependencies(facts: &Facts<'_>) -> Vec<Finding> {
    let &Facts {
        dependencies,
        unknown_kinds,
        ..
    } = facts;
    let mut out = Vec::new();
    for cycle in dependencies.cycles.iter().take(NAMED_CYCLES) {
        let ids = list(cycle.iter().map(u64::to_string));
        out.push(
            Finding::new("dependency_cycle", Severity::Error, format!("{}: {ids}", counted(cycle.len(), "row waits for itself", "rows wait for each other")))
                .detail("an edge of the cycle that contradicts the times is not part of the path")
                .suggestion("check where the program records these dependencies: one of them points the wrong way")
                .evidence(cycle.clone()),
        );
    }
    if dependencies.cycles.len() > NAMED_CYCLES {
        let title = format!(
            "{} of rows that wait for each other",
            counted(
                dependencies.cycles.len() - NAMED_CYCLES,
                "more circle",
                "more circles"
            )
        );
        out.push(Finding::new("dependency_cycles", Severity::Error, title));
    }
    out.extend(edges(
        "edge_contradicts_times",
        &dependencies.contradicted,
        (
            "dependency contradicts the measured times and is left out",
            "dependencies contradict the measured times and are left out",
        ),
        "the later of the two began before the earlier had ended (spawns, launches: before it had begun; joins: the wait ended first; wakes: it ended before the other began)",
    ));
    if facts.is_part && !dependencies.unknown.is_empty() {
        let title = format!(
            "{} a row that does not exist",
            counted(
                dependencies.unknown.len(),
                "dependency leads out of the window, or names",
                "dependencies lead out of the window, or name"
            )
        );
        out.push(Finding::new("edge_out_of_window", Severity::Info, title));
    } else {
        out.extend(edges(
            "edge_to_unknown_row",
            &dependencies.unknown,
            (
                "dependency names a row that does not exist, and is left out",
                "dependencies name a row that does not exist, and are left out",
            ),
            "the row was not recorded, was dropped, or has no valid times",
        ));
    }
    out.extend(edges(
        "join_of_no_wait",
        &dependencies.not_waits,
        (
            "dependency of kind joins or wakes leads to a row that is not a wait, and is left out",
            "dependencies of kind joins or wakes lead to a row that is not a wait, and are left out",
        ),
        "joins and wakes lead to a row of syncs",
    ));
    if unknown_kinds > 0 {
        out.push(
            Finding::new(
                "edge_kind_unknown",
                Severity::Info,
                counted(
                    unknown_kinds,
                    "edge has a kind that this analysis does not use",
                    "edges have a kind that this analysis does not use",
                ),
            )
            .detail("it uses depends_on, joins, launches, spawns and wakes")
            .evidence("SELECT kind, COUNT(*) AS edges FROM edges GROUP BY kind ORDER BY kind"),
        );
    }
    out
}

fn edges(code: &str, edges: &[Edge], (one, more): (&str, &str), why: &str) -> Option<Finding> {
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
        format!(
            "; {implied} of them {} from a parent or a correlation",
            agreeing(implied, "follows", "follow")
        )
    } else {
        String::new()
    };
    Some(
        Finding::new(code, Severity::Warning, counted(count, one, more))
            .detail(format!("{why}{implied}: {examples}"))
            .suggestion("see the section `sanity` for other problems with the rows")
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
