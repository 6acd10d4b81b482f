//! Findings: what slows the job down, and what its pipeline costs by itself.

use trueno_analysis::wording::figures;
use trueno_plugin::{Finding, Severity, percent};

use crate::causes::Cause;
use crate::job::Job;
use crate::what_if::{Scope, WhatIf};

/// From this share of a step on, the finding of a cause is a warning.
const MUCH: f64 = 0.03;
const SHOWN: usize = 3;
/// A pipeline bubble is a finding from this share on.
const MIN_BUBBLE: f64 = 0.05;
/// If re-timing the recorded durations misses the recorded step length by more than this, there is a finding.
const MAX_ERROR: f64 = 0.05;

pub fn findings(job: &Job, what_if: &WhatIf, causes: &[Cause]) -> Vec<Finding> {
    let evidence = "SELECT * FROM stragglers.what_if ORDER BY gain_ns DESC";
    let mut out: Vec<Finding> = causes
        .iter()
        .take(SHOWN)
        .map(|cause| {
            let severity = if cause.gain_share >= MUCH || cause.kind == "recording" {
                Severity::Warning
            } else {
                Severity::Info
            };
            let code = match cause.kind {
                "stage" => "stage_imbalance",
                "rank" => "slow_rank",
                "host" => "slow_host",
                "link" => "slow_link",
                "delays" => "delays",
                "recording" => "incomplete_rank",
                _ => "sequence_lengths",
            };
            let finding = Finding::new(code, severity, cause.sentence(job.steps.len()));
            finding.suggestion(cause.suggestion).evidence(evidence)
        })
        .collect();
    // A rank that was not recorded in full is no delay.
    let first_delay = causes.iter().position(|cause| cause.kind != "recording");
    let first_delay = first_delay.and_then(|at| out.get_mut(at));
    if let (Some(first), Some(slowdown)) = (first_delay, what_if.slowdown()) {
        // Ranks without peers were not compared.
        let mut compared = what_if
            .rows
            .iter()
            .filter(|row| matches!(row.scope, Scope::Rank(_)))
            .peekable();
        let ranks = if compared.peek().is_none() || compared.any(|row| row.stands_out) {
            ""
        } else {
            "; no single rank stands out from its stage"
        };
        *first = std::mem::replace(first, Finding::new("", Severity::Info, "")).detail(format!(
            "without delays, steps take {} × as long as with every operation at the mean of its kind{ranks}",
            figures(slowdown)
        ));
    }
    out.extend(pipeline(job, what_if));
    let error = (what_if.retimed_ns / what_if.recorded_ns.max(1.0) - 1.0).abs();
    if error > MAX_ERROR {
        let title = format!(
            "re-timing the recorded operations misses the recorded steps by {}: gains are as uncertain",
            percent(error)
        );
        out.push(Finding::new("retiming_error", Severity::Info, title));
    }
    out
}

/// The matched collectives are in an order that is impossible in any job.
pub fn no_order() -> Finding {
    let title = "what slows the job down is not measurable: its collectives and sends were matched in a circle";
    Finding::new("no_order", Severity::Info, title).suggestion(
        "record all ranks over the same steps; `collectives.unmatched` says what did not match",
    )
}

/// The waits that the pipeline causes even if all ranks are equally fast.
fn pipeline(job: &Job, what_if: &WhatIf) -> Option<Finding> {
    let share = what_if.bubble_share.filter(|share| *share >= MIN_BUBBLE)?;
    let mut title = format!(
        "the pipeline itself makes ranks wait {} of a step: {} stages",
        percent(share),
        job.stages()
    );
    let schedule = &job.schedule;
    if let Some(micro_batches) = schedule.micro_batches {
        title += &format!(", {micro_batches} micro batches");
    }
    if let Some(name) = schedule.name {
        title += &format!(", {name}");
    }
    let mut finding = Finding::new("bubble", Severity::Info, title);
    let bubble = |times| schedule.bubble(job.stages(), times);
    if let Some((formula, doubled)) = bubble(1).zip(bubble(2)) {
        let chunks = match schedule.chunks {
            Some(chunks) if chunks > 1 => format!("{chunks} chunks × "),
            _ => String::new(),
        };
        finding = finding
            .detail(format!(
                "with equal stages: (stages − 1) / ({chunks}micro batches + stages − 1) = {}",
                percent(formula)
            ))
            .suggestion(format!(
                "with twice as many micro batches of half the size it would be {}",
                percent(doubled)
            ));
    }
    Some(finding.evidence("SELECT * FROM stragglers.job"))
}
