//! Pairs, their summary, and what has no partner.

use trueno_analysis::interner::Texts;
use trueno_plugin::{Table, TableBuilder};

use crate::align::Item;
use crate::judge::{Judged, Verdict};
use crate::order::{Groups, Place};
use crate::reference::Against;
use crate::rows::{NONE, Side};
use crate::samples;
use crate::tolerance::{Rule, Tolerance};

pub struct All<'a> {
    /// The run under test, then the baseline.
    pub sides: [&'a Side; 2],
    pub groups: &'a Groups,
    pub items: &'a [Item],
    pub judged: &'a [Judged],
    pub texts: &'a Texts,
    /// Distance of each item from the third run, and how many rows it shares with the two; `None` without a
    /// third run.
    pub third: Option<(&'a [Option<Against>], usize)>,
    pub scale: &'a Tolerance,
    pub rules: &'a [Rule],
}

impl All<'_> {
    /// The side that describes an item, and the item's row there.
    pub fn row(&self, at: usize) -> (&Side, usize) {
        let item = &self.items[at];
        let side = usize::from(item.rows[0] == NONE);
        (self.sides[side], item.rows[side] as usize)
    }

    pub fn on(&self, at: usize, side: usize) -> Option<usize> {
        Some(self.items[at].rows[side])
            .filter(|row| *row != NONE)
            .map(|row| row as usize)
    }

    pub fn name(&self, at: usize) -> &str {
        let (side, row) = self.row(at);
        self.texts.get(side.name[row]).unwrap_or("")
    }

    /// Index of the `by_name` tolerance that applies to the item.
    pub fn rule(&self, at: usize) -> Rule {
        let (side, row) = self.row(at);
        self.rules.get(side.name[row] as usize).copied().flatten()
    }

    pub fn against(&self, at: usize) -> Option<Against> {
        self.third?.0[at]
    }

    pub fn place(&self, at: usize) -> &Place {
        &self.groups.places[self.items[at].group as usize]
    }

    pub fn count(&self, verdict: Verdict) -> u64 {
        self.judged
            .iter()
            .filter(|judged| judged.verdict == verdict)
            .count() as u64
    }

    pub fn shares_anything(&self) -> bool {
        self.items.iter().any(|item| item.shared)
    }

    /// The first item, in data-flow order, that satisfies `is`.
    pub fn first(&self, is: impl Fn(&Judged) -> bool) -> Option<usize> {
        self.judged.iter().position(is)
    }

    fn placed(&self, name: &str, chosen: &[usize]) -> TableBuilder {
        let table = Table::build(name)
            .text("name", chosen.iter().map(|at| self.name(*at)))
            .i64("layer", chosen.iter().map(|at| self.place(*at).layer))
            .u64(
                "iteration",
                chosen.iter().map(|at| self.place(*at).iteration),
            )
            .u64("position", chosen.iter().map(|at| self.place(*at).position))
            .u64(
                "occurrence",
                chosen
                    .iter()
                    .map(|at| u64::from(self.items[*at].occurrence)),
            );
        if !self.groups.places.iter().any(|place| place.rank > 0) {
            return table;
        }
        table.u64(
            "rank",
            chosen.iter().map(|at| u64::from(self.place(*at).rank)),
        )
    }
}

/// One row for each verdict: number of tensors, and share of all.
pub fn summary(all: &All) -> TableBuilder {
    let counts = Verdict::ALL.map(|verdict| all.count(verdict));
    let total = all.items.len() as f64;
    let worst = Verdict::ALL.map(|verdict| {
        let of = all.judged.iter().filter(|judged| judged.verdict == verdict);
        of.filter_map(|judged| judged.relative_error)
            .reduce(f64::max)
    });
    let share = |count: &u64| (total > 0.0).then(|| *count as f64 / total);
    Table::build("summary")
        .text("verdict", Verdict::ALL.map(Verdict::name))
        .u64("tensors", counts)
        .f64("tensors_share", counts.iter().map(share))
        .f64("max_relative_error", worst)
}

/// All pairs in data-flow order. If there are more than `most`, those that are not alike are kept first.
pub fn pairs(all: &All, most: usize) -> TableBuilder {
    let alike = |at: &usize| {
        matches!(
            all.judged[*at].verdict,
            Verdict::Identical | Verdict::Within
        )
    };
    let mut chosen: Vec<usize> = (0..all.items.len()).collect();
    if chosen.len() > most {
        let (equal, other): (Vec<_>, Vec<_>) = chosen.into_iter().partition(alike);
        chosen = other.into_iter().chain(equal).take(most).collect();
        chosen.sort_unstable();
    }
    let judged = |at: &usize| &all.judged[*at];
    let both = |column: &'static str, get: fn(&Side, usize) -> Option<f64>| {
        [0, 1].map(|side| {
            let name = format!("{column}_{}", ["run", "baseline"][side]);
            let cells: Vec<_> = chosen
                .iter()
                .map(|at| get(all.sides[side], all.on(*at, side)?))
                .collect();
            (name, cells)
        })
    };
    let text = |at: &usize, side: usize, of: fn(&Side) -> &Vec<u32>| {
        let row = all.on(*at, side)?;
        all.texts.get(of(all.sides[side])[row])
    };
    let paired = |at: &usize| !all.items[*at].rows.contains(&NONE);
    let mut table = all
        .placed("pairs", &chosen)
        .text("verdict", chosen.iter().map(|at| judged(at).verdict.name()))
        .text("reason", chosen.iter().map(|at| judged(at).reason.name()))
        .text("origin", chosen.iter().map(|at| judged(at).origin.name()))
        .f64(
            "relative_error",
            chosen.iter().map(|at| judged(at).relative_error),
        )
        .f64(
            "tolerance",
            chosen
                .iter()
                .map(|at| paired(at).then_some(judged(at).tolerance)),
        )
        .text(
            "tolerance_by",
            chosen
                .iter()
                .map(|at| paired(at).then(|| all.scale.by(all.rule(*at)))),
        )
        .f64(
            "sample_cosine",
            chosen.iter().map(|at| {
                let [a, b] = [0, 1].map(|side| all.on(*at, side));
                samples::cosine(all.sides[0].samples(a?), all.sides[1].samples(b?))
            }),
        )
        .u64("steps", chosen.iter().map(|at| judged(at).steps))
        .u64("stores", chosen.iter().map(|at| judged(at).stores))
        .bool(
            "order_changed",
            chosen.iter().map(|at| judged(at).order_changed),
        )
        .text(
            "dtype",
            chosen
                .iter()
                .map(|at| text(at, 0, |s| &s.dtype).or(text(at, 1, |s| &s.dtype))),
        )
        .text(
            "shape",
            chosen
                .iter()
                .map(|at| text(at, 0, |s| &s.shape).or(text(at, 1, |s| &s.shape))),
        )
        .text(
            "brick",
            chosen
                .iter()
                .map(|at| text(at, 0, |s| &s.brick).or(text(at, 1, |s| &s.brick))),
        );
    for side in 0..2 {
        let which = ["run", "baseline"][side];
        table = table
            .text(
                &format!("backend_{which}"),
                chosen.iter().map(|at| text(at, side, |s| &s.backend)),
            )
            .u64(
                &format!("span_{which}"),
                chosen
                    .iter()
                    .map(|at| all.sides[side].span.get(all.on(*at, side)?)),
            )
            .u64(
                &format!("hash_{which}"),
                chosen
                    .iter()
                    .map(|at| Some(all.sides[side].hash[all.on(*at, side)?])),
            );
    }
    for (name, cells) in both("l2", |side, row| side.l2(row))
        .into_iter()
        .chain(both("absmax", |side, row| side.absmax(row)))
        .chain(both("mean", |side, row| side.mean(row)))
    {
        table = table.f64(&name, cells);
    }
    for side in 0..2 {
        let nan = chosen
            .iter()
            .map(|at| all.sides[side].nan_count(all.on(*at, side)?));
        table = table.u64(&format!("nan_count_{}", ["run", "baseline"][side]), nan);
        let inf = chosen
            .iter()
            .map(|at| all.sides[side].inf_count(all.on(*at, side)?));
        table = table.u64(&format!("inf_count_{}", ["run", "baseline"][side]), inf);
    }
    if all.third.is_some() {
        let of = |at: &usize| all.against(*at);
        let error = |side: usize| chosen.iter().map(move |at| of(at)?.errors[side]);
        table = table
            .text("moved", chosen.iter().map(|at| Some(of(at)?.moved.name())))
            .f64("reference_error_run", error(0))
            .f64("reference_error_baseline", error(1));
    }
    table
}

pub fn only_in_one(all: &All, most: usize) -> TableBuilder {
    let alone = |at: &usize| all.items[*at].rows.contains(&NONE);
    let chosen: Vec<usize> = (0..all.items.len()).filter(alone).take(most).collect();
    let side = |at: &usize| {
        if all.items[*at].rows[0] == NONE {
            "baseline"
        } else {
            "run"
        }
    };
    all.placed("only_in_one", &chosen)
        .text("side", chosen.iter().map(side))
        .text(
            "verdict",
            chosen.iter().map(|at| all.judged[*at].verdict.name()),
        )
        .u64(
            "span",
            chosen.iter().map(|at| {
                let (side, row) = all.row(*at);
                side.span.get(row)
            }),
        )
}
