//! The parts of a comparison, in the order in which they are read.

use std::collections::{BTreeMap, BTreeSet};

use trueno_model::units::{self, NOT_MEASURED};
use trueno_plugin::counted;
use trueno_render::style::Meaning;
use trueno_statistics::Ratio;

use super::function_sheets::function_sheet;
use super::job_sheets::job_sheets;
use super::operator_sheets::operator_sheets;
use super::signature_sheets::signature_sheet;
use super::wording::{
    COMMON, between, change, common_verdict, counts, interval, one_run, signed, time,
};
use super::{Grid, Holds, Sheet};
use crate::runs::comparability::{Aspect, Standing};
use crate::runs::{Compared, Comparison, MIN_SAMPLES, Verdict};

/// The sheets, with `top` rows of each table. In full, they include aspects that another one summarizes.
pub fn sheets(comparison: &Comparison, top: usize, is_full: bool) -> Vec<Sheet> {
    let whole = [
        Some(comparability(comparison, is_full)),
        totals(comparison),
        path(comparison, top),
        common(comparison),
        Some(names(comparison, top, is_full)),
    ];
    let rest = [
        undecided(comparison, top, is_full),
        count_rows(comparison, top),
    ];
    let all = whole.into_iter().flatten();
    all.chain(function_sheet(comparison, top))
        .chain(job_sheets(comparison, top))
        .chain(signature_sheet(comparison, top))
        .chain(operator_sheets(comparison, top))
        .chain(rest.into_iter().flatten())
        .collect()
}

fn comparability(comparison: &Comparison, is_full: bool) -> Sheet {
    let same = comparison.comparability.iter();
    let same: Vec<&str> = same
        .filter(|aspect| aspect.standing == Standing::Same)
        .map(|aspect| aspect.aspect.as_str())
        .collect();
    let mut lead = vec![format!(
        "base {}; run {}",
        comparison.base.join(", "),
        comparison.run.join(", ")
    )];
    if !same.is_empty() {
        lead.push(format!("as expected: {}", same.join(", ")));
    }
    let details = comparison.all_doubts().filter(|aspect| aspect.is_detail);
    let details = details.count() as u64;
    if details > 0 && !is_full {
        let details = counted(details, "property", "properties");
        lead.push(format!("{details} of devices that differ: -v lists them"));
    }
    let doubts = comparison.all_doubts();
    let (told, folded): (Vec<&Aspect>, Vec<&Aspect>) = doubts
        .filter(|aspect| is_full || !aspect.is_detail)
        .partition(|aspect| is_full || aspect.standing == Standing::Differs);
    if !folded.is_empty() {
        let folded: Vec<&str> = folded.iter().map(|aspect| aspect.aspect.as_str()).collect();
        lead.push(format!("not known: {} (-v says why)", folded.join(", ")));
    }
    let rows = told.into_iter().map(|aspect| {
        let differs = aspect.standing == Standing::Differs;
        let cells = vec![
            aspect.aspect.clone(),
            aspect.standing.word().to_owned(),
            aspect.base.clone(),
            aspect.run.clone(),
        ];
        (cells, differs.then_some(Meaning::Warning))
    });
    Sheet {
        heading: "Can they be compared?",
        lead,
        grid: Grid {
            columns: vec![
                ("aspect", Holds::Names),
                ("standing", Holds::Names),
                ("base", Holds::Sentences),
                ("run", Holds::Sentences),
            ],
            rows: rows.collect(),
        },
        left_out: 0,
    }
}

fn common(comparison: &Comparison) -> Option<Sheet> {
    let rows = comparison.common.iter().map(|common| {
        let meaning = match common.verdict {
            Verdict::Slower => Some(Meaning::Error),
            Verdict::Faster => Some(Meaning::Good),
            Verdict::CannotTell if comparison.is_beyond(common.ratio) => Some(Meaning::Warning),
            _ => None,
        };
        let cells = vec![
            common.place.word().to_owned(),
            common.names.to_string(),
            change(common.ratio),
            common.interval.map_or(NOT_MEASURED.to_owned(), interval),
            common_verdict(common),
        ];
        (cells, meaning)
    });
    let rows: Vec<_> = rows.collect();
    (!rows.is_empty()).then(|| Sheet {
        heading: "Change common to all names",
        lead: vec![COMMON.to_owned()],
        left_out: 0,
        grid: Grid {
            columns: vec![
                ("where", Holds::Names),
                ("names", Holds::Numbers),
                ("change", Holds::Numbers),
                ("95 % interval", Holds::Numbers),
                ("verdict", Holds::Sentences),
            ],
            rows,
        },
    })
}

fn names(comparison: &Comparison, top: usize, is_full: bool) -> Sheet {
    let count = |verdict| comparison.with(verdict);
    let options = &comparison.options;
    let mut lead = vec![
        format!(
            "{} slower, {} faster, {} same, {} unclear",
            count(Verdict::Slower),
            count(Verdict::Faster),
            count(Verdict::Same),
            count(Verdict::CannotTell)
        ),
        if is_full {
            format!(
                "changes of medians beyond {}; 95 % block bootstrap interval ({} draws, seed {}); Yuen's test on logarithms, at most {} false \
             discoveries (Benjamini-Hochberg), confirmed by Mann-Whitney U, both corrected for dependence; delta: Cliff's",
                units::percent(options.threshold),
                options.resamples,
                options.seed,
                units::percent(options.alpha),
            )
        } else {
            format!(
                "changes of medians beyond {}, with 95 % intervals (-v names the tests)",
                units::percent(options.threshold)
            )
        },
    ];
    if comparison.runs_a_side() < 2 {
        lead.push(one_run(comparison).to_owned());
    }
    if comparison.capped > 0 {
        lead.push(format!(
            "{} names have more than {} rows in a run; a random sample of that many was used",
            comparison.capped, options.cap
        ));
    }
    let told = comparison.names.iter();
    let told: Vec<&Compared> = told
        .filter(|name| name.verdict != Verdict::CannotTell)
        .collect();
    let rows = told.iter().take(top).map(|name| {
        let meaning = match name.verdict {
            Verdict::Slower => Some(Meaning::Error),
            Verdict::Faster => Some(Meaning::Good),
            _ => None,
        };
        let mut cells = name_cells(name);
        cells.extend(beside(comparison, name));
        (cells, meaning)
    });
    // Where all names changed, a name's own change is the rest of it.
    let all_changed = comparison
        .common
        .iter()
        .any(|common| comparison.is_beyond(common.ratio));
    let mut columns = vec![
        ("verdict", Holds::Names),
        ("kind", Holds::Names),
        ("name", Holds::Names),
        ("base", Holds::Numbers),
        ("run", Holds::Numbers),
        ("change", Holds::Numbers),
        ("95 % interval", Holds::Numbers),
        ("delta", Holds::MoreNumbers),
        ("samples", Holds::MoreNumbers),
    ];
    if !comparison.common.is_empty() {
        let own = if all_changed {
            Holds::Numbers
        } else {
            Holds::MoreNumbers
        };
        columns.push(("beside all", own));
    }
    if has_means(comparison) {
        columns.push(("mean", Holds::MoreNumbers));
    }
    Sheet {
        heading: "What got slower or faster",
        lead,
        grid: Grid {
            columns,
            rows: rows.collect(),
        },
        left_out: told.len().saturating_sub(top),
    }
}

fn name_cells(name: &Compared) -> Vec<String> {
    vec![
        match &name.why {
            Some(why) => format!("{} {why}", name.verdict.word()),
            None => name.verdict.word().to_owned(),
        },
        name.name.kind.word().to_owned(),
        name.name.name.clone(),
        time(name.base_median_ns),
        time(name.run_median_ns),
        name.ratio
            .map_or(NOT_MEASURED.to_owned(), |ratio| change(ratio.value)),
        name.ratio.map_or(NOT_MEASURED.to_owned(), interval),
        name.delta
            .map_or(NOT_MEASURED.to_owned(), |delta| format!("{delta:+.2}")),
        format!("{}+{}", name.base_samples, name.run_samples),
    ]
}

fn has_means(comparison: &Comparison) -> bool {
    comparison
        .names
        .iter()
        .any(|name| name.mean_ratio.is_some())
}

fn beside(comparison: &Comparison, name: &Compared) -> Vec<String> {
    let shown =
        |ratio: Option<Ratio>| ratio.map_or(NOT_MEASURED.to_owned(), |ratio| change(ratio.value));
    let own = (!comparison.common.is_empty()).then(|| shown(name.own_ratio));
    let mean = has_means(comparison).then(|| shown(name.mean_ratio));
    own.into_iter().chain(mean).collect()
}

/// Names without a verdict, by reason. In full, each of them.
fn undecided(comparison: &Comparison, top: usize, is_full: bool) -> Option<Sheet> {
    let names = comparison.names.iter();
    let names: Vec<&Compared> = names
        .filter(|name| name.verdict == Verdict::CannotTell)
        .collect();
    let top = if is_full { top } else { 0 };
    let mut reasons: BTreeMap<&str, u64> = BTreeMap::new();
    for name in &names {
        // Numbers of samples differ from name to name.
        let why = name.why.as_deref().unwrap_or_default();
        let why = match why.split_once(": ") {
            Some((few @ "too few samples", _)) => few,
            _ => why,
        };
        *reasons.entry(why).or_default() += 1;
    }
    let reasons: Vec<String> = reasons
        .iter()
        .map(|(why, count)| format!("{}: {why}", counted(*count, "name", "names")))
        .collect();
    let rows = names.iter().take(top).map(|name| {
        let cells = vec![
            name.name.kind.word().to_owned(),
            name.name.name.clone(),
            time(name.base_median_ns),
            time(name.run_median_ns),
            name.ratio.map_or(NOT_MEASURED.to_owned(), interval),
            name.why.clone().unwrap_or_default(),
        ];
        (cells, None)
    });
    (!names.is_empty()).then(|| Sheet {
        heading: "What is unclear",
        lead: vec![
            reasons.join("; "),
            format!("noise: the interval crosses the threshold; evidence: too weak for so many names; samples: fewer than {MIN_SAMPLES} per side"),
        ],
        left_out: if is_full { names.len().saturating_sub(top) } else { 0 },
        grid: Grid {
            columns: vec![
                ("kind", Holds::Names),
                ("name", Holds::Names),
                ("base", Holds::Numbers),
                ("run", Holds::Numbers),
                ("95 % interval", Holds::Numbers),
                ("why", Holds::Sentences),
            ],
            rows: rows.collect(),
        },
    })
}

fn totals(comparison: &Comparison) -> Option<Sheet> {
    // One reason for all is said once, above the table.
    let whys: BTreeSet<&str> = comparison
        .totals
        .iter()
        .filter_map(|row| row.why.as_deref())
        .collect();
    let lead: Vec<String> = match whys.len() {
        1 => whys
            .iter()
            .map(|why| format!("{}: {why}", Verdict::CannotTell.word()))
            .collect(),
        _ => Vec::new(),
    };
    let rows = comparison.totals.iter().map(|row| {
        let show =
            |value: Option<f64>| value.map_or(NOT_MEASURED.to_owned(), |v| row.total.show(v));
        let verdict = match (row.verdict, &row.why) {
            (Some(verdict), Some(why)) if lead.is_empty() => format!("{}: {why}", verdict.word()),
            (Some(verdict), _) => verdict.word().to_owned(),
            (None, _) => String::new(),
        };
        let meaning = match row.verdict {
            Some(Verdict::Slower) => Some(Meaning::Error),
            Some(Verdict::Faster) => Some(Meaning::Good),
            _ => None,
        };
        let cells = vec![
            row.what.clone(),
            show(row.base),
            show(row.run),
            between(row.base, row.run),
            verdict,
        ];
        (cells, meaning)
    });
    (!comparison.totals.is_empty()).then(|| Sheet {
        heading: "The whole run",
        lead: lead.clone(),
        left_out: 0,
        grid: Grid {
            columns: vec![
                ("what", Holds::Names),
                ("base", Holds::Numbers),
                ("run", Holds::Numbers),
                ("change", Holds::Numbers),
                ("verdict", Holds::Sentences),
            ],
            rows: rows.collect(),
        },
    })
}

fn path(comparison: &Comparison, top: usize) -> Option<Sheet> {
    let changed: Vec<_> = comparison
        .path
        .iter()
        .filter(|row| row.change_ns() != 0.0)
        .collect();
    let rows = changed.iter().take(top).map(|row| {
        let cells = vec![
            row.kind.clone(),
            row.name.clone(),
            units::duration(row.base_ns),
            units::duration(row.run_ns),
            signed(row.change_ns()),
        ];
        (cells, None)
    });
    (!changed.is_empty()).then(|| Sheet {
        heading: "Where the critical path changed",
        lead: Vec::new(),
        left_out: changed.len().saturating_sub(top),
        grid: Grid {
            columns: vec![
                ("kind", Holds::Names),
                ("name", Holds::Names),
                ("base", Holds::Numbers),
                ("run", Holds::Numbers),
                ("change", Holds::Numbers),
            ],
            rows: rows.collect(),
        },
    })
}

fn count_rows(comparison: &Comparison, top: usize) -> Option<Sheet> {
    let rows = comparison.counts.iter().take(top).map(|row| {
        let cells = vec![
            row.change.word().to_owned(),
            row.name.kind.word().to_owned(),
            row.name.name.clone(),
            counts(&row.base),
            counts(&row.run),
        ];
        (cells, None)
    });
    (!comparison.counts.is_empty()).then(|| Sheet {
        heading: "What ran more or less often",
        lead: Vec::new(),
        left_out: comparison.counts.len().saturating_sub(top),
        grid: Grid {
            columns: vec![
                ("change", Holds::Names),
                ("kind", Holds::Names),
                ("name", Holds::Names),
                ("base", Holds::Numbers),
                ("run", Holds::Numbers),
            ],
            rows: rows.collect(),
        },
    })
}
