//! Findings from the verdicts.

use trueno_plugin::{Finding, Severity, agreeing, counted};

use crate::Options;
use crate::judge::{Reason, Verdict};
use crate::reference::Moved;
use crate::rows::Side;
use crate::tables::All;

pub fn findings(all: &All, options: &Options) -> Vec<Finding> {
    let [subject, baseline] = all.sides.map(|side| side.len);
    if subject == 0 && baseline == 0 {
        let title = "neither run has checksums, so nothing was compared";
        let hint = "record tensors with Recorder::checksum";
        return vec![Finding::new("not_comparable", Severity::Error, title).suggestion(hint)];
    }
    if !all.shares_anything() {
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
    let (equal, within) = (all.count(Verdict::Identical), all.count(Verdict::Within));
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
    let moved = all
        .judged
        .iter()
        .filter(|judged| judged.order_changed)
        .count();
    if moved > 0 {
        let title = counted(
            moved,
            "tensor was recorded in a different order",
            "tensors were recorded in a different order",
        );
        found.push(Finding::new("order_changed", Severity::Info, title));
    }
    let unclear = all
        .judged
        .iter()
        .filter(|judged| judged.reason == Reason::OnlyBits)
        .count();
    if unclear > 0 {
        let title = counted(
            unclear,
            "tensor has different bits but equal statistics",
            "tensors have different bits but equal statistics",
        );
        let detail = "statistics cannot distinguish signs of zeros, NaN payloads, or elements that swapped places";
        found.push(Finding::new("only_bits_differ", Severity::Warning, title).detail(detail));
    }
    let repeated = all.items.iter().filter(|item| item.repeated).count();
    if repeated > 0 {
        let title = format!(
            "{} name, layer, iteration and position with another of {} run",
            counted(repeated, "tensor shares", "tensors share"),
            agreeing(repeated, "its", "their")
        );
        let detail = "they are matched by the order of recording";
        found.push(Finding::new("keys_repeat", Severity::Info, title).detail(detail));
    }
    let wide = all
        .judged
        .iter()
        .filter(|judged| judged.verdict == Verdict::Within && judged.tolerance > 0.1);
    let wide = wide.count();
    if wide > 0 {
        let title = counted(
            wide,
            "tensor agrees only because of a tolerance above 0.1",
            "tensors agree only because of a tolerance above 0.1",
        );
        let hint = "set rtol, or record with a wider type";
        found.push(Finding::new("tolerance_wide", Severity::Warning, title).suggestion(hint));
    }
    if all.items.len() > options.pair_rows {
        let title = format!(
            "table pairs lists {} of {}",
            options.pair_rows,
            counted(all.items.len(), "tensor", "tensors")
        );
        found.push(
            Finding::new("pairs_cut", Severity::Info, title).detail("those that differ come first"),
        );
    }
    found
}

fn words(all: &All, at: usize) -> String {
    let place = all.place(at);
    let mut words = all.name(at).to_owned();
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

fn diverged(all: &All) -> Option<Finding> {
    let at = all.first(|judged| judged.verdict == Verdict::Diverged)?;
    let judged = &all.judged[at];
    let apart = match judged.relative_error {
        Some(error) => format!(
            "relative error {error:.1e}, tolerance {:.1e}",
            judged.tolerance
        ),
        None => judged.reason.name().to_owned(),
    };
    let origin = judged.origin.name().unwrap_or("").replace('_', " ");
    let count = all.count(Verdict::Diverged);
    let title = format!(
        "{count} of {} {}, first {} ({apart}; {origin})",
        counted(all.items.len(), "tensor", "tensors"),
        agreeing(count, "diverges", "diverge"),
        words(all, at)
    );
    let (side, row) = all.row(at);
    let kernels = side.kernels(row, all.texts);
    let by = kernels
        .map(|kernels| format!("; its kernels: {kernels}"))
        .unwrap_or_default();
    let right = match all.against(at).map(|against| against.moved) {
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
fn moved(all: &All) -> Option<Finding> {
    let (third, known) = all.third?;
    if known == 0 {
        let title = "the reference shares no tensor with the runs, so it was not used";
        return Some(Finding::new("no_reference", Severity::Warning, title));
    }
    let diverged = all.count(Verdict::Diverged);
    if diverged == 0 {
        return None;
    }
    let count = |moved| {
        third
            .iter()
            .flatten()
            .filter(|of| of.moved == moved)
            .count()
    };
    let counts = Moved::ALL.map(|moved| (moved.name(), count(moved)));
    let some = counts.iter().filter(|(_, count)| *count > 0);
    let some: Vec<String> = some
        .map(|(name, count)| format!("{name} {count}"))
        .collect();
    let known = third.iter().flatten().count();
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

fn non_finite(all: &All) -> Option<Finding> {
    let at = all.first(|judged| judged.reason == Reason::NonFinite)?;
    let count = all
        .judged
        .iter()
        .filter(|judged| judged.reason == Reason::NonFinite)
        .count();
    let counts = [0, 1].map(|side| {
        let row = all.on(at, side);
        let of = |count: fn(&Side, usize) -> Option<u64>| count(all.sides[side], row?);
        match (of(Side::nan_count), of(Side::inf_count)) {
            (None, None) => "not counted".to_owned(),
            (Some(nan), Some(inf)) => format!("{nan} NaN and {inf} infinite"),
            (Some(nan), None) => format!("{nan} NaN"),
            (None, Some(inf)) => format!("{inf} infinite"),
        }
    });
    let title = format!(
        "the number of NaN or infinite elements differs in {}, first {}: {} in the run, {} in the baseline",
        counted(count, "tensor", "tensors"),
        words(all, at),
        counts[0],
        counts[1]
    );
    Some(Finding::new("non_finite", Severity::Error, title))
}

fn other_form(all: &All) -> Option<Finding> {
    let at = all.first(|judged| judged.verdict == Verdict::NotComparable)?;
    let count = all.count(Verdict::NotComparable);
    let what = all.judged[at].reason.name();
    let title = format!(
        "{} a different dtype or shape, first {} ({what})",
        counted(count, "tensor has", "tensors have"),
        words(all, at)
    );
    Some(Finding::new("other_form", Severity::Warning, title))
}

fn alone(all: &All) -> Option<Finding> {
    let at = all.first(|judged| judged.verdict == Verdict::OnlyInOne)?;
    let mut counts = [0u64; 2];
    for (item, judged) in all.items.iter().zip(all.judged) {
        if judged.verdict == Verdict::OnlyInOne {
            counts[usize::from(item.rows[0] == crate::rows::NONE)] += 1;
        }
    }
    let title = format!(
        "{} in the run only, {} in the baseline only, first {}",
        counted(counts[0], "tensor is", "tensors are"),
        counts[1],
        words(all, at)
    );
    Some(Finding::new("only_in_one", Severity::Warning, title))
}

fn duplicated(all: &All) -> Option<Finding> {
    let at = all.first(|judged| judged.verdict == Verdict::Duplicated)?;
    let count = all.count(Verdict::Duplicated);
    let title = format!(
        "{} recorded more often than on the other side, first {}",
        counted(count, "tensor was", "tensors were"),
        words(all, at)
    );
    Some(Finding::new("duplicated", Severity::Warning, title))
}
