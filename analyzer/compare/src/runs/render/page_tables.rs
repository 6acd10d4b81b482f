//! The parts of a comparison as tables with exact values, for a page that sorts and filters them.

use trueno_model::units;
use trueno_plugin::Table;

use super::function_sheets::function_part;
use super::job_sheets::job_parts;
use super::operator_tables::operator_parts;
use super::signature_sheets::signature_part;
use super::wording::{COMMON, common_verdict, counts};
use crate::runs::{Compared, Comparison, MIN_SAMPLES, Verdict};

pub struct Part {
    pub id: &'static str,
    pub word: &'static str,
    pub heading: &'static str,
    pub lead: String,
    pub table: Table,
}

pub fn parts(comparison: &Comparison) -> Vec<Part> {
    let verdicts = [common(comparison), names(comparison)];
    let others = [
        undecided(comparison),
        totals(comparison),
        path(comparison),
        how_often(comparison),
        comparability(comparison),
    ];
    let all = verdicts.into_iter().flatten();
    let all = all.chain(function_part(comparison));
    let all = all.chain(job_parts(comparison));
    let all = all.chain(signature_part(comparison));
    let all = all.chain(operator_parts(comparison));
    let all = all.chain(others.into_iter().flatten());
    all.filter(|part| part.table.rows() > 0).collect()
}

fn common(comparison: &Comparison) -> Option<Part> {
    let each = || comparison.common.iter();
    let table = Table::build("common")
        .text("where", each().map(|row| row.place.word()))
        .u64("names", each().map(|row| row.names as u64))
        .f64("ratio", each().map(|row| row.ratio))
        .f64(
            "ratio_low",
            each().map(|row| row.interval.map(|ratio| ratio.low)),
        )
        .f64(
            "ratio_high",
            each().map(|row| row.interval.map(|ratio| ratio.high)),
        )
        .text("verdict", each().map(common_verdict))
        .finish();
    Some(Part {
        id: "common",
        word: "all names",
        heading: "Change common to all names",
        lead: COMMON.to_owned(),
        table: table.ok()?,
    })
}

fn names(comparison: &Comparison) -> Option<Part> {
    let options = &comparison.options;
    let lead = format!(
        "Changes of medians beyond {}; 95 % block bootstrap interval ({} draws, seed {}); Yuen's test on logarithms, at most {} false \
         discoveries (Benjamini-Hochberg), confirmed by Mann-Whitney U, both corrected for dependence; delta is Cliff's.{}",
        units::percent(options.threshold),
        options.resamples,
        options.seed,
        units::percent(options.alpha),
        match comparison.capped {
            0 => String::new(),
            n => format!(
                " {n} names have more than {} rows in a run; a random sample of that many was used.",
                options.cap
            ),
        }
    );
    let decided = |name: &&Compared| name.verdict != Verdict::CannotTell;
    Some(Part {
        id: "names",
        word: "names",
        heading: "What got slower or faster",
        lead,
        table: compared(
            "names",
            &comparison.names.iter().filter(decided).collect::<Vec<_>>(),
        )?,
    })
}

fn undecided(comparison: &Comparison) -> Option<Part> {
    let not = |name: &&Compared| name.verdict == Verdict::CannotTell;
    Some(Part {
        id: "undecided",
        word: "cannot tell",
        heading: "What is unclear",
        lead: format!(
            "Noise: the interval crosses the threshold; evidence: too weak for so many names; samples: fewer than {MIN_SAMPLES} per side."
        ),
        table: compared(
            "undecided",
            &comparison.names.iter().filter(not).collect::<Vec<_>>(),
        )?,
    })
}

fn compared(title: &str, rows: &[&Compared]) -> Option<Table> {
    let each = || rows.iter();
    Table::build(title)
        .text("verdict", each().map(|row| row.verdict.word()))
        .text("why", each().map(|row| row.why.as_deref()))
        .text("kind", each().map(|row| row.name.kind.word()))
        .text("name", each().map(|row| row.name.name.as_str()))
        .f64("base_median_ns", each().map(|row| row.base_median_ns))
        .f64("run_median_ns", each().map(|row| row.run_median_ns))
        .f64(
            "ratio",
            each().map(|row| row.ratio.map(|ratio| ratio.value)),
        )
        .f64(
            "ratio_low",
            each().map(|row| row.ratio.map(|ratio| ratio.low)),
        )
        .f64(
            "ratio_high",
            each().map(|row| row.ratio.map(|ratio| ratio.high)),
        )
        .f64(
            "own_ratio",
            each().map(|row| row.own_ratio.map(|ratio| ratio.value)),
        )
        .f64(
            "mean_ratio",
            each().map(|row| row.mean_ratio.map(|ratio| ratio.value)),
        )
        .f64(
            "change_in_all_ns",
            each().map(|row| row.run_total_ns - row.base_total_ns),
        )
        .f64("delta", each().map(|row| row.delta))
        .f64("q", each().map(|row| row.q))
        .u64("base_samples", each().map(|row| row.base_samples as u64))
        .u64("run_samples", each().map(|row| row.run_samples as u64))
        .finish()
        .ok()
}

fn totals(comparison: &Comparison) -> Option<Part> {
    let each = || comparison.totals.iter();
    let show = |value: Option<f64>, row: &crate::runs::TotalRow| value.map(|value| row.show(value));
    let table = Table::build("totals")
        .text("what", each().map(|row| row.what.as_str()))
        .text("base", each().map(|row| show(row.base, row)))
        .text("run", each().map(|row| show(row.run, row)))
        .f64(
            "ratio",
            each().map(|row| Some(row.run? / row.base.filter(|base| *base > 0.0)?)),
        )
        .text("verdict", each().map(|row| row.verdict.map(Verdict::word)))
        .text("why", each().map(|row| row.why.as_deref()))
        .finish();
    Some(Part {
        id: "totals",
        word: "whole run",
        heading: "The whole run",
        lead: String::new(),
        table: table.ok()?,
    })
}

fn path(comparison: &Comparison) -> Option<Part> {
    let changed: Vec<_> = comparison
        .path
        .iter()
        .filter(|row| row.change_ns() != 0.0)
        .collect();
    let each = || changed.iter();
    let table = Table::build("path")
        .text("kind", each().map(|row| row.kind.as_str()))
        .text("name", each().map(|row| row.name.as_str()))
        .f64("base_ns", each().map(|row| row.base_ns))
        .f64("run_ns", each().map(|row| row.run_ns))
        .f64("change_ns", each().map(|row| row.change_ns()))
        .finish();
    Some(Part {
        id: "path",
        word: "critical path",
        heading: "Where the critical path changed",
        lead: String::new(),
        table: table.ok()?,
    })
}

fn how_often(comparison: &Comparison) -> Option<Part> {
    let each = || comparison.counts.iter();
    let table = Table::build("counts")
        .text("change", each().map(|row| row.change.word()))
        .text("kind", each().map(|row| row.name.kind.word()))
        .text("name", each().map(|row| row.name.name.as_str()))
        .text("base", each().map(|row| counts(&row.base)))
        .text("run", each().map(|row| counts(&row.run)))
        .finish();
    Some(Part {
        id: "counts",
        word: "how often",
        heading: "What ran more or less often",
        lead: String::new(),
        table: table.ok()?,
    })
}

fn comparability(comparison: &Comparison) -> Option<Part> {
    let each = || comparison.comparability.iter();
    let table = Table::build("comparability")
        .text("aspect", each().map(|row| row.aspect.as_str()))
        .text("standing", each().map(|row| row.standing.word()))
        .text("base", each().map(|row| row.base.as_str()))
        .text("run", each().map(|row| row.run.as_str()))
        .finish();
    Some(Part {
        id: "comparability",
        word: "comparable?",
        heading: "Can they be compared?",
        lead: format!(
            "Base: {}; run: {}",
            comparison.base.join(", "),
            comparison.run.join(", ")
        ),
        table: table.ok()?,
    })
}
