//! The first divergence in data-flow order, with all that is known of both sides.

use trueno_plugin::{Table, TableBuilder};

use crate::judge::Verdict;
use crate::rows::Side;
use crate::tables::All;

type Row = (&'static str, [Option<String>; 2]);

/// One row for each property; no rows if nothing diverges.
pub fn table(all: &All) -> TableBuilder {
    let first = all.first(|judged| judged.verdict == Verdict::Diverged);
    let rows = first.map(|at| rows(all, at)).unwrap_or_default();
    Table::build("first")
        .text("property", rows.iter().map(|row| row.0))
        .text("run", rows.iter().map(|row| row.1[0].clone()))
        .text("baseline", rows.iter().map(|row| row.1[1].clone()))
}

fn rows(all: &All, at: usize) -> Vec<Row> {
    let (judged, place) = (&all.judged[at], all.place(at));
    let same = |value: Option<String>| [value.clone(), value];
    let number = |value: Option<u64>| value.map(|value| value.to_string());
    let text = |of: fn(&Side) -> &Vec<u32>| {
        [0, 1].map(|side| {
            all.texts
                .get(of(all.sides[side])[all.on(at, side)?])
                .map(str::to_owned)
        })
    };
    let each = |get: &dyn Fn(&Side, usize) -> Option<String>| {
        [0, 1].map(|side| get(all.sides[side], all.on(at, side)?))
    };
    let count = |of: fn(&Side, usize) -> Option<u64>| {
        each(&|side, row| of(side, row).map(|v| v.to_string()))
    };
    let real = |of: fn(&Side, usize) -> Option<f64>| {
        each(&|side, row| of(side, row).map(|v| v.to_string()))
    };
    let dtype = text(|side| &side.dtype)[0].clone().unwrap_or_default();
    let formula = all
        .scale
        .formula(all.rule(at), &dtype, judged.steps, judged.stores);
    let mut rows = vec![
        ("name", same(Some(all.name(at).to_owned()))),
        ("layer", same(place.layer.map(|layer| layer.to_string()))),
        ("iteration", same(number(place.iteration))),
        ("position", same(number(place.position))),
        (
            "occurrence",
            same(number(Some(u64::from(all.items[at].occurrence)))),
        ),
        ("origin", same(judged.origin.name().map(str::to_owned))),
        ("reason", same(Some(judged.reason.name().to_owned()))),
        (
            "relative_error",
            same(judged.relative_error.map(|error| format!("{error:.3e}"))),
        ),
        ("tolerance", same(Some(format!("{:.3e}", judged.tolerance)))),
        ("tolerance_from", same(Some(formula))),
        ("brick", text(|side| &side.brick)),
        ("span", count(|side, row| side.span.get(row))),
        ("kernels", each(&|side, row| side.kernels(row, all.texts))),
        ("ptx_hash", text(|side| &side.ptx)),
        ("backend", text(|side| &side.backend)),
        (
            "thread",
            each(&|side, row| Some(side.thread[row].to_string())),
        ),
        (
            "time_ns",
            each(&|side, row| Some(side.time_ns[row].to_string())),
        ),
        ("dtype", text(|side| &side.dtype)),
        ("shape", text(|side| &side.shape)),
        (
            "hash",
            each(&|side, row| Some(format!("{:016x}", side.hash[row]))),
        ),
        ("nan_count", count(Side::nan_count)),
        ("inf_count", count(Side::inf_count)),
        ("zero_count", count(Side::zero_count)),
        ("min", real(Side::min)),
        ("max", real(Side::max)),
        ("absmax", real(Side::absmax)),
        ("mean", real(Side::mean)),
        ("l2", real(Side::l2)),
    ];
    if let Some(against) = all.against(at) {
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
