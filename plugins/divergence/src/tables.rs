//! Pairs, their summary, and what has no partner.

use trueno_plugin::{Table, TableBuilder};

use crate::align::Item;
use crate::judge::Verdict;
use crate::order::Place;
use crate::outcome::{Outcome, Shown};
use crate::rows::{NONE, Side, Tensor};
use crate::samples;
use crate::statistics::Statistics;

/// The columns that tell items apart.
fn placed<'a>(
    name: &str,
    all: &Outcome<'_>,
    items: impl Iterator<Item = (&'a Place, &'a Item)> + Clone,
) -> TableBuilder {
    let items = || items.clone();
    let table = Table::build(name)
        .text("name", items().map(|(_, item)| all.name(item)))
        .i64("layer", items().map(|(place, _)| place.layer))
        .u64("iteration", items().map(|(place, _)| place.iteration))
        .u64("position", items().map(|(place, _)| place.position))
        .u64(
            "occurrence",
            items().map(|(_, item)| u64::from(item.occurrence)),
        );
    if !all.has_ranks {
        return table;
    }
    table.u64("rank", items().map(|(place, _)| u64::from(place.rank)))
}

/// One row for each verdict: number of tensors, and share of all.
pub fn summary(all: &Outcome<'_>) -> TableBuilder {
    let counts = all.verdicts.map(|sums| sums.tensors);
    let total = all.tensors as f64;
    let worst = all.verdicts.map(|sums| sums.max_relative_error);
    let share = |count: &u64| (total > 0.0).then(|| *count as f64 / total);
    Table::build("summary")
        .text("verdict", Verdict::ALL.map(Verdict::name))
        .u64("tensors", counts)
        .f64("tensors_share", counts.iter().map(share))
        .f64("max_relative_error", worst)
}

/// The pairs to list in data-flow order.
pub fn pairs(all: &Outcome<'_>) -> TableBuilder {
    let chosen = || all.listed.iter();
    let judged = |shown: &Shown| shown.judged;
    let both = |column: &'static str, get: fn(&Statistics) -> Option<f64>| {
        [0, 1].map(|side| {
            let name = format!("{column}_{}", ["run", "baseline"][side]);
            let cells: Vec<_> = chosen().map(|shown| get(&shown.statistics[side])).collect();
            (name, cells)
        })
    };
    let tensor = |shown: &Shown, side: usize| -> Option<&Tensor> {
        Some(all.sides[side].tensor(shown.item.on(side)?))
    };
    let text = |shown: &Shown, side: usize, of: fn(&Tensor) -> u32| {
        all.texts.get(of(tensor(shown, side)?))
    };
    let either =
        |shown: &Shown, of: fn(&Tensor) -> u32| text(shown, 0, of).or_else(|| text(shown, 1, of));
    let paired = |shown: &Shown| !shown.item.rows.contains(&NONE);
    let number = |of: fn(&Side, usize) -> Option<u64>, side: usize| {
        chosen().map(move |shown| of(all.sides[side], shown.item.on(side)?))
    };
    let mut table = placed(
        "pairs",
        all,
        chosen().map(|shown| (&shown.place, &shown.item)),
    )
    .text(
        "verdict",
        chosen().map(|shown| judged(shown).verdict.name()),
    )
    .text("reason", chosen().map(|shown| judged(shown).reason.name()))
    .text("origin", chosen().map(|shown| judged(shown).origin.name()))
    .f64(
        "relative_error",
        chosen().map(|shown| judged(shown).relative_error),
    )
    .f64(
        "tolerance",
        chosen().map(|shown| paired(shown).then_some(shown.tolerance)),
    )
    .text(
        "tolerance_by",
        chosen().map(|shown| paired(shown).then(|| all.scale.by(shown.rule))),
    )
    .f64(
        "sample_cosine",
        chosen().map(|shown| {
            let [a, b] = [0, 1].map(|side| shown.item.on(side));
            samples::cosine(all.sides[0].samples(a?), all.sides[1].samples(b?))
        }),
    )
    .u64("steps", chosen().map(|shown| judged(shown).steps))
    .u64("stores", chosen().map(|shown| judged(shown).stores))
    .bool(
        "order_changed",
        chosen().map(|shown| judged(shown).order_changed),
    )
    .text("dtype", chosen().map(|shown| either(shown, |of| of.dtype)))
    .text("shape", chosen().map(|shown| either(shown, |of| of.shape)))
    .text("brick", chosen().map(|shown| either(shown, |of| of.brick)));
    for side in 0..2 {
        let which = ["run", "baseline"][side];
        table = table
            .text(
                &format!("backend_{which}"),
                chosen().map(|shown| text(shown, side, |of| of.backend)),
            )
            .u64(
                &format!("span_{which}"),
                number(|side, row| side.span.get(row), side),
            )
            .u64(
                &format!("hash_{which}"),
                number(|side, row| Some(side.hash[row]), side),
            );
    }
    for (name, cells) in both("l2", |of| of.l2)
        .into_iter()
        .chain(both("absmax", |of| of.absmax))
        .chain(both("mean", |of| of.mean))
    {
        table = table.f64(&name, cells);
    }
    for side in 0..2 {
        let which = ["run", "baseline"][side];
        let of_side = |get: fn(&Statistics) -> Option<u64>| {
            chosen().map(move |shown| get(&shown.statistics[side]))
        };
        table = table
            .u64(&format!("nan_count_{which}"), of_side(|of| of.nan_count))
            .u64(&format!("inf_count_{which}"), of_side(|of| of.inf_count));
    }
    if all.moved.is_some() {
        let error = |side: usize| chosen().map(move |shown| shown.against?.errors[side]);
        table = table
            .text(
                "moved",
                chosen().map(|shown| Some(shown.against?.moved.name())),
            )
            .f64("reference_error_run", error(0))
            .f64("reference_error_baseline", error(1));
    }
    table
}

pub fn only_in_one(all: &Outcome<'_>) -> TableBuilder {
    let items = all.alone.iter().map(|alone| (&alone.place, &alone.item));
    placed("only_in_one", all, items)
        .text(
            "side",
            all.alone
                .iter()
                .map(|alone| ["run", "baseline"][alone.item.row().0]),
        )
        .text(
            "verdict",
            all.alone.iter().map(|alone| alone.verdict.name()),
        )
        .u64(
            "span",
            all.alone.iter().map(|alone| {
                let (side, row) = alone.item.row();
                all.sides[side].span.get(row)
            }),
        )
}
