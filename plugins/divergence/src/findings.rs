//! Findings from the verdicts.

use trueno_plugin::{Finding, Severity, agreeing, counted};

use crate::Options;
use crate::judge::Verdict;
use crate::outcome::{Outcome, Shown, WIDE};
use crate::reference::Moved;
use crate::statistics::Statistics;

pub fn findings(all: &Outcome<'_>, options: &Options) -> Vec<Finding> {
    let [subject, baseline] = all.sides.map(|side| side.len);
    if subject == 0 && baseline == 0 {
        let title = "neither run has checksums, so nothing was compared";
        let hint = "record tensors with Recorder::checksum";
        return vec![Finding::new("not_comparable", Severity::Error, title).suggestion(hint)];
    }
    if !all.shares_any {
        let title = format!(
            "the runs share no tensor ({subject} in the run, {baseline} in the baseline), so nothing was compared"
        );
        let detail =
            "tensors are matched by name, layer, iteration and position; see the table only_in_one";
        return vec![Finding::new("not_comparable", Severity::Error, title).detail(detail)];
    }
    let mut found: Vec<Finding> = [
        diverged(all),
        non_finite(all),
        other_form(all),
        alone(all),
        duplicated(all),
    ]
    .into_iter()
    .flatten()
    .collect();
    let (equal, within) = (
        all.count_of(Verdict::Identical),
        all.count_of(Verdict::Within),
    );
    if found.is_empty() {
        let title = format!(
            "{}: {equal} bit for bit, {within} within tolerance",
            match equal + within {
                1 => "the one tensor agrees".to_owned(),
                all => format!("all {all} tensors agree"),
            }
        );
        found.push(Finding::new("alike", Severity::Info, title));
    }
    found.extend(moved(all));
    let moved = all.order_changed;
    if moved > 0 {
        let title = counted(
            moved,
            "tensor was recorded in a different order",
            "tensors were recorded in a different order",
        );
        found.push(Finding::new("order_changed", Severity::Info, title));
    }
    let unclear = all.only_bits_differ;
    if unclear > 0 {
        let title = counted(
            unclear,
            "tensor has different bits but equal statistics",
            "tensors have different bits but equal statistics",
        );
        let detail = "statistics cannot distinguish signs of zeros, NaN payloads, or elements that swapped places";
        found.push(Finding::new("only_bits_differ", Severity::Warning, title).detail(detail));
    }
    let repeated = all.repeated;
    if repeated > 0 {
        let title = format!(
            "{} name, layer, iteration and position with another of {} run",
            counted(repeated, "tensor shares", "tensors share"),
            agreeing(repeated, "its", "their")
        );
        let detail = "they are matched by the order of recording";
        found.push(Finding::new("keys_repeat", Severity::Info, title).detail(detail));
    }
    let wide = all.wide;
    if wide > 0 {
        let title = counted(
            wide,
            &format!("tensor agrees only because of a tolerance above {WIDE}"),
            &format!("tensors agree only because of a tolerance above {WIDE}"),
        );
        let hint = "set rtol, or record with a wider type";
        found.push(Finding::new("tolerance_wide", Severity::Warning, title).suggestion(hint));
    }
    if all.tensors > options.pair_rows {
        let title = format!(
            "table pairs lists {} of {}",
            options.pair_rows,
            counted(all.tensors, "tensor", "tensors")
        );
        found.push(
            Finding::new("pairs_cut", Severity::Info, title).detail("those that differ come first"),
        );
    }
    found
}

fn words(all: &Outcome<'_>, shown: &Shown) -> String {
    let place = shown.place;
    let mut words = all.name(&shown.item).to_owned();
    for (what, number) in [
        ("layer", place.layer.map(|layer| layer.to_string())),
        (
            "iteration",
            place.iteration.map(|number| number.to_string()),
        ),
        ("position", place.position.map(|number| number.to_string())),
    ] {
        if let Some(number) = number {
            words.push_str(&format!(", {what} {number}"));
        }
    }
    words
}

fn diverged(all: &Outcome<'_>) -> Option<Finding> {
    let first = all.first_diverged.as_ref()?;
    let judged = &first.judged;
    let apart = match judged.relative_error {
        Some(error) => format!(
            "relative error {error:.1e}, tolerance {:.1e}",
            first.tolerance
        ),
        None => judged.reason.name().to_owned(),
    };
    let origin = judged.origin.name().unwrap_or("").replace('_', " ");
    let count = all.count_of(Verdict::Diverged);
    let title = format!(
        "{count} of {} {}, first {} ({apart}; {origin})",
        counted(all.tensors, "tensor", "tensors"),
        agreeing(count, "diverges", "diverge"),
        words(all, first)
    );
    let (side, row) = first.item.row();
    let side = all.sides[side];
    let kernels = side.kernels(row, first.place.layer, all.texts);
    let by = kernels
        .map(|kernels| format!("; its kernels: {kernels}"))
        .unwrap_or_default();
    let right = match first.against.map(|against| against.moved) {
        None => "which side is right is not known",
        Some(Moved::Run) => "compared with the reference, the run moved",
        Some(Moved::Baseline) => "compared with the reference, the baseline moved",
        Some(Moved::Both) => "compared with the reference, both sides moved",
        Some(Moved::Neither) => "both sides are within tolerance of the reference",
    };
    let detail = format!("{right}{by}; see the table first");
    let finding = Finding::new("diverged", Severity::Error, title).detail(detail);
    Some(match side.span.get(row) {
        Some(span) => finding.evidence([span]),
        None => finding,
    })
}

/// Which side moved away from the reference. If no tensor is shared with it, the finding says so.
fn moved(all: &Outcome<'_>) -> Option<Finding> {
    let (known, moved) = all.moved?;
    if known == 0 {
        let title = "the reference shares no tensor with the runs, so it was not used";
        return Some(Finding::new("no_reference", Severity::Warning, title));
    }
    let diverged = all.count_of(Verdict::Diverged);
    if diverged == 0 {
        return None;
    }
    let counts = Moved::ALL.map(|of| (of.name(), moved[of as usize]));
    let some = counts.iter().filter(|(_, count)| *count > 0);
    let some: Vec<String> = some
        .map(|(name, count)| format!("{name} {count}"))
        .collect();
    let known: usize = moved.iter().sum();
    let title = format!(
        "moved from the reference, of {}: {}{}",
        counted(diverged, "that diverges", "that diverge"),
        some.join(", "),
        match diverged as usize - known {
            0 => String::new(),
            unknown => format!(
                "{}no counterpart {unknown}",
                if known > 0 { ", " } else { "" }
            ),
        }
    );
    Some(Finding::new("moved", Severity::Info, title))
}

fn non_finite(all: &Outcome<'_>) -> Option<Finding> {
    let first = all.first_non_finite.as_ref()?;
    let count = all.non_finite;
    let counts = first
        .statistics
        .map(|of: Statistics| match (of.nan_count, of.inf_count) {
            (None, None) => "not counted".to_owned(),
            (Some(nan), Some(inf)) => format!("{nan} NaN and {inf} infinite"),
            (Some(nan), None) => format!("{nan} NaN"),
            (None, Some(inf)) => format!("{inf} infinite"),
        });
    let title = format!(
        "the number of NaN or infinite elements differs in {}, first {}: {} in the run, {} in the baseline",
        counted(count, "tensor", "tensors"),
        words(all, first),
        counts[0],
        counts[1]
    );
    Some(Finding::new("non_finite", Severity::Error, title))
}

fn other_form(all: &Outcome<'_>) -> Option<Finding> {
    let first = all.first_other_form.as_ref()?;
    let count = all.count_of(Verdict::NotComparable);
    let what = first.judged.reason.name();
    let title = format!(
        "{} a different dtype or shape, first {} ({what})",
        counted(count, "tensor has", "tensors have"),
        words(all, first)
    );
    Some(Finding::new("other_form", Severity::Warning, title))
}

fn alone(all: &Outcome<'_>) -> Option<Finding> {
    let first = all.first_only_in_one.as_ref()?;
    let counts = all.only_in;
    let title = format!(
        "{} in the run only, {} in the baseline only, first {}",
        counted(counts[0], "tensor is", "tensors are"),
        counts[1],
        words(all, first)
    );
    Some(Finding::new("only_in_one", Severity::Warning, title))
}

fn duplicated(all: &Outcome<'_>) -> Option<Finding> {
    let first = all.first_duplicated.as_ref()?;
    let count = all.count_of(Verdict::Duplicated);
    let title = format!(
        "{} recorded more often than on the other side, first {}",
        counted(count, "tensor was", "tensors were"),
        words(all, first)
    );
    Some(Finding::new("duplicated", Severity::Warning, title))
}
