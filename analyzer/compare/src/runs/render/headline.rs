//! One sentence on a comparison: how much, how sure, and where most of it is.

use trueno_display_names::display_name;
use trueno_model::units;
use trueno_plugin::counted;
use trueno_statistics::{Kind, Ratio, Verdict};

use super::wording::{change, interval, signed};
use crate::runs::totals::Total;
use crate::runs::{Comparison, PathRow, TotalRow};

/// Share of the difference from which on a part of the path is told.
const MIN_PART: f64 = 0.1;

/// What makes it doubtful before all, then the end-to-end difference, then its uncertainty, then its largest part on the critical path.
pub fn headline(comparison: &Comparison) -> String {
    let wall = comparison
        .totals
        .iter()
        .find(|row| row.total == Total::Wall);
    let wall = wall.and_then(|row| Some((row, row.base?, row.run?)));
    let mut parts: Vec<String> = Vec::new();
    if let Some(first) = comparison.incomplete.first() {
        let others = match comparison.incomplete.len() - 1 {
            0 => String::new(),
            others => format!(
                ", and {}",
                counted(others as u64, "other run", "other runs")
            ),
        };
        parts.push(format!("INCOMPLETE {first}{others}"));
    }
    parts.extend(match wall {
        Some((row, base, run)) => {
            let mut parts = vec![of_wall(comparison, row, base, run)];
            parts.extend(largest_part(comparison, run - base));
            parts
        }
        None => vec!["wall time not measured on both sides".to_owned()],
    });
    parts.extend(iterations(comparison));
    parts.extend(names(comparison));
    parts.join("; ")
}

fn of_wall(comparison: &Comparison, row: &TotalRow, base: f64, run: f64) -> String {
    let times = format!("wall {} → {}", units::duration(base), units::duration(run));
    if base <= 0.0 || run <= 0.0 {
        return format!("{times}, no ratio");
    }
    let by = change_in_words(run / base);
    let sure = match (row.ratio, row.verdict) {
        (Some(ratio), _) => format!("95 % interval {}", interval(ratio)),
        (None, _) if comparison.runs_a_side() < 2 => {
            "one run each, so this may be noise".to_owned()
        }
        (None, _) => "no interval".to_owned(),
    };
    match row.verdict {
        Some(Verdict::Slower | Verdict::Faster) => format!("run takes {by}: {times} ({sure})"),
        Some(Verdict::Same) => format!("no significant difference: {times}, {by} ({sure})"),
        _ => format!("{times}, {by} ({sure})"),
    }
}

fn change_in_words(ratio: f64) -> String {
    if ratio == 1.0 {
        return "no change".to_owned();
    }
    let change = change(ratio);
    match change.strip_prefix('-') {
        Some(less) => format!("{less} less time"),
        None => format!("{} more time", change.trim_start_matches('+')),
    }
}

/// Says "mostly" of a part from half of the difference on.
fn largest_part(comparison: &Comparison, difference_ns: f64) -> Option<String> {
    let share = |part: &PathRow| part.change_ns() / difference_ns;
    let mut parts = comparison.path.iter();
    let part = parts.find(|part| share(part) >= MIN_PART)?;
    let word = if share(part) >= 0.5 {
        "mostly"
    } else {
        "most in one"
    };
    let what = match (part.kind.as_str(), part.name.as_str()) {
        ("gap", _) => "nothing recorded".to_owned(),
        (kind, "") => kind.replace('_', " "),
        (kind, name) => format!("{} of `{}`", kind.replace('_', " "), display_name(name)),
    };
    let change = signed(part.change_ns());
    Some(format!("{word}: {what} on the critical path {change}"))
}

/// Steps tell more than the whole run: there are many of them, so that their scatter is known.
fn iterations(comparison: &Comparison) -> Option<String> {
    let mut steps = comparison.names.iter();
    let steps = steps.find(|name| name.name.kind == Kind::Iteration && name.ratio.is_some())?;
    let (base, run) = (steps.base_median_ns?, steps.run_median_ns?);
    let within = |ratio: Ratio| match comparison.runs_a_side() {
        1 => format!("95 % interval within these two runs {}", interval(ratio)),
        _ => format!("95 % interval {}", interval(ratio)),
    };
    let ratio = steps.ratio?;
    Some(format!(
        "iteration {} → {}, {} ({})",
        units::duration(base),
        units::duration(run),
        change_in_words(ratio.value),
        within(ratio)
    ))
}

fn names(comparison: &Comparison) -> Option<String> {
    let (slower, faster) = (
        comparison.with(Verdict::Slower),
        comparison.with(Verdict::Faster),
    );
    let names = counted(slower as u64, "name", "names");
    (slower + faster > 0).then(|| format!("{names} slower, {faster} faster"))
}
