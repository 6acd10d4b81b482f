//! The output tables, and the findings.

use trueno_plugin::{Finding, Severity as Level, Table, TableBuilder};

use crate::facts::{Cause, Facts, Idle};
use crate::verdict::{Bottleneck, Severity, Verdicts};

fn findings(name: &str, rank: Vec<u64>, rows: &[&Bottleneck]) -> TableBuilder {
    let rows = || rows.iter();
    Table::build(name)
        .u64("rank", rank)
        .text("class", rows().map(|row| row.class.name()))
        .text("scope_kind", rows().map(|row| row.scope_kind))
        .text("scope", rows().map(|row| &row.scope))
        .text("severity", rows().map(|row| row.severity.name()))
        .i64("gain_ns", rows().map(|row| row.gain_ns))
        .f64("gain_share", rows().map(|row| row.gain_share))
        .text("confidence", rows().map(|row| row.confidence.0.name()))
        .text("sentence", rows().map(|row| &row.sentence))
        .text("code", rows().map(|row| row.code))
}

/// Table `top`: the leader of each group of findings, at most as many as option `findings`. `rank` counts from 1.
/// `scope_kind` and `scope` say what the finding is about. `gain_ns` and `gain_share` are by how much the window
/// would be shorter, null if the finding is not about time; gains do not add up. `sentence` is one line for people,
/// `code` the case within the class.
pub fn top(verdicts: &Verdicts, top: &[usize]) -> TableBuilder {
    let rows: Vec<&Bottleneck> = top.iter().map(|at| &verdicts.findings[*at]).collect();
    findings("top", (1..=rows.len() as u64).collect(), &rows)
}

/// Table `bottlenecks`: all findings, with the columns of `top`. Findings with the same `group` explain one
/// another. `evidence` is a query for the rows, `assumption` is that of the gain, `considered` lists other
/// explanations.
pub fn bottlenecks(verdicts: &Verdicts) -> TableBuilder {
    let rows: Vec<&Bottleneck> = verdicts.findings.iter().collect();
    findings("bottlenecks", (1..=rows.len() as u64).collect(), &rows)
        .u64("group", rows.iter().map(|row| row.group))
        .text("confidence_why", rows.iter().map(|row| &row.confidence.1))
        .text("evidence", rows.iter().map(|row| &row.evidence))
        .text("assumption", rows.iter().map(|row| &row.assumption))
        .text("considered", rows.iter().map(|row| &row.considered))
        .text("suggestion", rows.iter().map(|row| &row.suggestion))
}

/// Table `not_measurable`: each `class` that could not be judged for `scope`, the `missing` measurement, and `how`
/// to record it.
pub fn not_measurable(verdicts: &Verdicts) -> TableBuilder {
    let rows = &verdicts.not_measurable;
    Table::build("not_measurable")
        .text("class", rows.iter().map(|row| row.class.name()))
        .text("scope", rows.iter().map(|row| &row.scope))
        .text("missing", rows.iter().map(|row| &row.missing))
        .text("how", rows.iter().map(|row| &row.how))
}

/// Table `idle`: why each device was idle between its first and its last work. `idle_share` is relative to that
/// time.
pub fn idle(facts: &Facts) -> TableBuilder {
    let mut rows = Vec::new();
    for (device, first, last, _) in &facts.idle.spans {
        for cause in Cause::ALL {
            let of = facts.idle.of(*device).iter();
            let of = of.filter(|gap| gap.cause == cause);
            let longest = of.map(|gap| gap.dur_ns()).max();
            let (n, ns) = facts.idle.total(*device, cause);
            if let Some(longest) = longest {
                let share = (last > first).then(|| ns as f64 / last.saturating_sub(*first) as f64);
                rows.push((Idle::device_name(*device), cause, n, ns, share, longest));
            }
        }
    }
    Table::build("idle")
        .text("device", rows.iter().map(|row| &row.0))
        .text("cause", rows.iter().map(|row| row.1.name()))
        .u64("gaps", rows.iter().map(|row| row.2))
        .i64("idle_ns", rows.iter().map(|row| row.3))
        .f64("idle_share", rows.iter().map(|row| row.4))
        .i64("longest_ns", rows.iter().map(|row| row.5))
}

pub fn finding(one: &Bottleneck) -> Finding {
    let level = match one.severity {
        Severity::Low => Level::Info,
        Severity::Medium | Severity::High | Severity::Critical => Level::Warning,
    };
    let assumption = match one.assumption.strip_prefix("none: ") {
        Some(reason) => capital(reason),
        None => format!("Assumes: {}", one.assumption),
    };
    Finding::new(one.class.name(), level, &one.sentence)
        .detail(format!(
            "{}. {assumption}. Confidence {}: {}.",
            capital(&one.considered),
            one.confidence.0.name(),
            one.confidence.1
        ))
        .suggestion(&one.suggestion)
        .evidence(one.evidence.as_str())
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| {
        first.to_uppercase().chain(letters).collect()
    })
}
