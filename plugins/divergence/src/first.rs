//! The first divergence in data-flow order, with all that is known of both sides.

use trueno_plugin::{Table, TableBuilder};

use crate::outcome::{Outcome, Shown};
use crate::rows::{Side, Tensor};
use crate::statistics::Statistics;

type Row = (&'static str, [Option<String>; 2]);

/// One row for each property; no rows if nothing diverges.
pub fn table(all: &Outcome<'_>) -> TableBuilder {
    let first = all.first_diverged.as_ref();
    let rows = first.map(|first| rows(all, first)).unwrap_or_default();
    Table::build("first")
        .text("property", rows.iter().map(|row| row.0))
        .text("run", rows.iter().map(|row| row.1[0].clone()))
        .text("baseline", rows.iter().map(|row| row.1[1].clone()))
}

fn rows(all: &Outcome<'_>, first: &Shown) -> Vec<Row> {
    let (judged, place) = (&first.judged, &first.place);
    let same = |value: Option<String>| [value.clone(), value];
    let number = |value: Option<u64>| value.map(|value| value.to_string());
    let each = |get: &dyn Fn(&Side, usize) -> Option<String>| {
        [0, 1].map(|side| get(all.sides[side], first.item.on(side)?))
    };
    let text = |of: fn(&Tensor) -> u32| {
        each(&|side, row| all.texts.get(of(side.tensor(row))).map(str::to_owned))
    };
    let count =
        |of: fn(&Statistics) -> Option<u64>| [0, 1].map(|side| number(of(&first.statistics[side])));
    let real = |of: fn(&Statistics) -> Option<f64>| {
        [0, 1].map(|side| of(&first.statistics[side]).map(|value| value.to_string()))
    };
    let dtype = text(|of| of.dtype)[0].clone().unwrap_or_default();
    let formula = all
        .scale
        .formula(first.rule, &dtype, judged.steps, judged.stores);
    let mut rows = vec![
        ("name", same(Some(all.name(&first.item).to_owned()))),
        ("layer", same(place.layer.map(|layer| layer.to_string()))),
        ("iteration", same(number(place.iteration))),
        ("position", same(number(place.position))),
        (
            "occurrence",
            same(number(Some(u64::from(first.item.occurrence)))),
        ),
        ("origin", same(judged.origin.name().map(str::to_owned))),
        ("reason", same(Some(judged.reason.name().to_owned()))),
        (
            "relative_error",
            same(judged.relative_error.map(|error| format!("{error:.3e}"))),
        ),
        ("tolerance", same(Some(format!("{:.3e}", first.tolerance)))),
        ("tolerance_from", same(Some(formula))),
        ("brick", text(|of| of.brick)),
        ("span", each(&|side, row| number(side.span.get(row)))),
        (
            "kernels",
            each(&|side, row| side.kernels(row, place.layer, all.texts)),
        ),
        ("ptx_hash", text(|of| of.ptx)),
        ("backend", text(|of| of.backend)),
        (
            "thread",
            each(&|side, row| Some(side.tensor(row).thread.to_string())),
        ),
        (
            "time_ns",
            each(&|side, row| Some(side.time_ns(row).to_string())),
        ),
        ("dtype", text(|of| of.dtype)),
        ("shape", text(|of| of.shape)),
        (
            "hash",
            each(&|side, row| Some(format!("{:016x}", side.hash[row]))),
        ),
        ("nan_count", count(|of| of.nan_count)),
        ("inf_count", count(|of| of.inf_count)),
        ("zero_count", count(|of| of.zero_count)),
        ("min", real(|of| of.min)),
        ("max", real(|of| of.max)),
        ("absmax", real(|of| of.absmax)),
        ("mean", real(|of| of.mean)),
        ("l2", real(|of| of.l2)),
    ];
    if let Some(against) = first.against {
        let error = against
            .errors
            .map(|error| error.map(|e| format!("{e:.3e}")));
        let moved = Some(against.moved.name().to_owned());
        let at = rows.iter().position(|row| row.0 == "brick").unwrap_or(0);
        rows.insert(at, ("moved", same(moved)));
        rows.insert(at + 1, ("reference_error", error));
    }
    rows
}
