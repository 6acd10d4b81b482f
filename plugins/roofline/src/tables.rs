//! The output tables, and how their columns are computed.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use trueno_analysis::interner::Texts;
use trueno_analysis::roofline::ceilings::Ceilings;
use trueno_plugin::{Table, TableBuilder};

use crate::backends::Entry;
use crate::not_measurable::Row;
use crate::operators::Operators;
use crate::points::Point;
use crate::rates::Rate;
use crate::summary::{AtRoof, LaneTotal, Summary, Total};

pub fn in_order<'a>(points: &'a [Point], texts: &Texts) -> Vec<&'a Point> {
    let mut out: Vec<&Point> = points.iter().filter(|point| point.sum.calls > 0).collect();
    out.sort_by_key(|point| {
        let label = &point.label;
        let backend = label.backend.map(|backend| texts.text(backend));
        (
            Reverse(point.sum.dur_ns),
            texts.text(label.name),
            label.source,
            backend,
            label.device,
            label.provenance,
            &point.precision,
        )
    });
    out
}

fn totals(table: TableBuilder, totals: &[Total]) -> TableBuilder {
    let rows = || totals.iter();
    let placed = |total: &Total, value: f64| (total.placed.calls > 0).then_some(value);
    table
        .u64("calls", rows().map(|t| t.figures.calls))
        .i64("figures_ns", rows().map(|t| t.figures.dur_ns))
        // Beside the efficiency on a narrow page: it is of this part only.
        .i64("placed_ns", rows().map(|t| t.placed.dur_ns))
        .f64("flops", rows().map(|t| t.figures.flops))
        .f64("bytes", rows().map(|t| t.figures.bytes))
        .f64(
            "flops_per_byte",
            rows().map(|t| (t.figures.bytes > 0.0).then(|| t.figures.flops / t.figures.bytes)),
        )
        .f64(
            "flops_per_s",
            rows().map(|t| {
                (t.figures.dur_ns > 0).then(|| t.figures.flops / (t.figures.dur_ns as f64 / 1e9))
            }),
        )
        .f64("at_roof_ns", rows().map(|t| placed(t, t.at_roof_ns)))
        .f64("efficiency_share", rows().map(Total::efficiency))
        .f64(
            "distance_share",
            rows().map(|t| t.efficiency().map(|share| 1.0 - share)),
        )
}

fn by(
    name: &str,
    column: &str,
    summary: &Summary,
    of: impl Fn(&crate::label::Group) -> Option<String>,
) -> TableBuilder {
    let mut sums: BTreeMap<Option<String>, Vec<Total>> = BTreeMap::new();
    for (group, total) in &summary.groups {
        sums.entry(of(group)).or_default().push(*total);
    }
    let mut rows: Vec<(Option<String>, Total)> = sums
        .into_iter()
        .map(|(name, totals)| (name, Total::sum(&totals)))
        .collect();
    rows.sort_by_key(|(name, total)| (Reverse(total.figures.dur_ns), name.clone()));
    let all: Vec<Total> = rows.iter().map(|(_, total)| *total).collect();
    totals(
        Table::build(name).text(column, rows.iter().map(|(name, _)| name.as_deref())),
        &all,
    )
}

/// Table `bricks`: innermost rows with work, by their brick (null: not recorded). `calls`, `figures_ns`, `flops`
/// and `bytes` are of rows with figures, `placed_ns` of those whose point has a ceiling and is not above it.
/// `at_roof_ns` = Σ time × efficiency of the point; `efficiency_share` = `at_roof_ns` / `placed_ns`.
pub fn bricks(summary: &Summary, texts: &Texts) -> TableBuilder {
    by("bricks", "name", summary, |group| {
        group.brick.map(|name| texts.text(name).to_owned())
    })
}

/// Table `categories`: like `bricks`, by category.
pub fn categories(summary: &Summary, texts: &Texts) -> TableBuilder {
    by("categories", "category", summary, |group| {
        Some(texts.text(group.category).to_owned())
    })
}

/// Table `summary`: one row each for host and device lanes, which are never added up. Like `bricks`, with
/// `busy_ns`: the union of bricks and kernels, summed over lanes. `coverage_share` is the share of it with figures,
/// `placed_share` with a place. For operators, sums of what counts once replace unions.
pub fn summary(summary: &Summary, operators: &Operators) -> TableBuilder {
    let rows: Vec<(&str, LaneTotal)> = ["host", "device"]
        .into_iter()
        .zip(summary.lanes)
        .filter_map(|(name, lane)| Some((name, lane?)))
        .chain(operators.lane(&summary.lanes))
        .collect();
    let share = |part: i64, whole: i64| (whole > 0).then(|| part as f64 / whole as f64);
    let all: Vec<Total> = rows.iter().map(|(_, lane)| lane.total).collect();
    let table = Table::build("summary")
        .text("lane_kind", rows.iter().map(|(name, _)| *name))
        .i64("busy_ns", rows.iter().map(|(_, lane)| lane.busy_ns))
        .f64(
            "coverage_share",
            rows.iter()
                .map(|(_, lane)| share(lane.figures_ns, lane.busy_ns)),
        )
        .f64(
            "placed_share",
            rows.iter()
                .map(|(_, lane)| share(lane.placed_ns, lane.busy_ns)),
        );
    totals(table, &all)
}

/// Table `not_measurable`: rows without an efficiency, by table and reason. `dur_ns` sums their durations, nested
/// ones too, and is null if their time means nothing. `example` is the name with the most time.
pub fn not_measurable(rows: &[Row]) -> TableBuilder {
    Table::build("not_measurable")
        .text("source", rows.iter().map(|row| row.source.name()))
        .text("reason", rows.iter().map(|row| row.reason.as_str()))
        .u64("calls", rows.iter().map(|row| row.calls))
        .i64("dur_ns", rows.iter().map(|row| row.dur_ns))
        .u64("names", rows.iter().map(|row| row.names))
        .text("example", rows.iter().map(|row| row.example.as_str()))
}

/// Table `rates`: names whose rows have only FLOPs or only bytes, or one of them as zero, and therefore no
/// intensity and no roof. A rate is null if its figure is missing or zero. Rows whose time is not that of their
/// work are left out.
pub fn rates(rates: &[Rate], texts: &Texts) -> TableBuilder {
    let rows = || rates.iter();
    Table::build("rates")
        .text("source", rows().map(|row| row.of.source.name()))
        .text("name", rows().map(|row| texts.text(row.of.name)))
        .f64("flops_per_s", rows().map(|row| row.per_s(row.flops())))
        .f64("bytes_per_s", rows().map(|row| row.per_s(row.bytes())))
        .u64("calls", rows().map(|row| row.sum.calls))
        .i64("dur_ns", rows().map(|row| row.sum.dur_ns))
        .text("reason", rows().map(|row| row.of.reason.to_string()))
        .text(
            "backend",
            rows().map(|row| row.of.backend.map(|backend| texts.text(backend))),
        )
        .text(
            "device",
            rows().map(|row| match row.of.device {
                Some(device) => format!("gpu:{device}"),
                None => "cpu".to_owned(),
            }),
        )
        .text("provenance", rows().map(|row| row.of.provenance.name()))
        .f64("flops", rows().map(Rate::flops))
        .f64("bytes", rows().map(Rate::bytes))
}

/// Table `ceilings_used`: every ceiling with points, with their number and time. `earlier` is the result of the
/// previous measurement; `doubt` says why the ceiling may be off by more than a tenth.
pub fn ceilings_used(points: &[&Point], ceilings: &Ceilings) -> TableBuilder {
    let used = |at: usize| {
        points
            .iter()
            .filter(move |point| {
                let choice = point.choice.as_ref();
                choice.is_ok_and(|choice| choice.compute == at || choice.bandwidth == at)
            })
            .map(|point| point.sum.dur_ns)
    };
    let at: Vec<usize> = (0..ceilings.rows.len())
        .filter(|at| used(*at).next().is_some())
        .collect();
    let rows = || at.iter().map(|at| &ceilings.rows[*at]);
    Table::build("ceilings_used")
        .text("device", rows().map(|row| row.device.as_str()))
        .text("kind", rows().map(|row| row.kind.as_str()))
        .text("level", rows().map(|row| row.level.as_deref()))
        .text("precision", rows().map(|row| row.precision.as_deref()))
        .i64("threads", rows().map(|row| row.threads))
        .f64("value", rows().map(|row| row.value))
        .text("unit", rows().map(|row| row.unit.as_str()))
        .text("source", rows().map(|row| row.source.as_str()))
        .text("operation", rows().map(|row| row.operation.as_deref()))
        .bool("settled", rows().map(|row| row.settled))
        .f64("spread", rows().map(|row| row.spread))
        .f64("earlier", rows().map(|row| row.earlier))
        .text("doubt", rows().map(|row| row.doubt()))
        .u64("points", at.iter().map(|at| used(*at).count() as u64))
        .i64(
            "dur_ns",
            at.iter().map(|at| used(*at).fold(0, i64::saturating_add)),
        )
}

/// Table `backends`: names that ran with several backends, or both here and in the baseline. `median_ns` is by
/// nearest rank. `efficiency_share` is relative to the entry's own ceilings. `speed_up` is over the narrowest
/// instruction set of the name: by medians if a call is the same work (FLOPs within 1 %), else by FLOP/s
/// (`compared_by`). `gain` is the same over the fastest narrower set, null for fewer than 5 calls or medians below
/// 200 ns. `pays`: whether the gain is at least a tenth.
pub fn backends(entries: &[Entry]) -> TableBuilder {
    let rows = || entries.iter();
    let run = |is_baseline: bool| if is_baseline { "baseline" } else { "run" };
    Table::build("backends")
        .text("source", rows().map(|row| row.source.name()))
        .text("name", rows().map(|row| row.name.as_str()))
        .text("backend", rows().map(|row| row.backend.as_deref()))
        .text("run", rows().map(|row| run(row.is_baseline)))
        .i64("median_ns", rows().map(|row| row.median_ns))
        .f64("speed_up", rows().map(|row| row.speed_up))
        .f64(
            "gain",
            rows().map(|row| row.gain.as_ref().map(|(gain, _)| *gain)),
        )
        .bool("pays", rows().map(|row| row.pays))
        .f64("flops_per_s", rows().map(|row| row.flops_per_s))
        .f64("efficiency_share", rows().map(|row| row.efficiency))
        .u64("calls", rows().map(|row| row.calls))
        .i64("dur_ns", rows().map(|row| row.dur_ns))
        .text(
            "against",
            rows().map(|row| {
                let (backend, is_baseline) = row.reference.as_ref()?;
                Some(format!(
                    "{} ({})",
                    backend.as_deref().unwrap_or("?"),
                    run(*is_baseline)
                ))
            }),
        )
        .text(
            "compared_by",
            rows().map(|row| row.reference.is_some().then_some(row.compared_by)),
        )
}

/// Table `at_roof`: how long the rows of a name would take if they reached their roofs. Rows without a place and
/// points above the roof are left out.
pub fn at_roof(rows: &[AtRoof], texts: &Texts) -> TableBuilder {
    let mut rows: Vec<&AtRoof> = rows.iter().collect();
    rows.sort_by_key(|row| (Reverse(row.dur_ns), texts.text(row.name), row.source));
    let rows = || rows.iter();
    Table::build("at_roof")
        .text("source", rows().map(|row| row.source.name()))
        .text("name", rows().map(|row| texts.text(row.name)))
        .u64("calls", rows().map(|row| row.calls))
        .i64("dur_ns", rows().map(|row| row.dur_ns))
        .i64("at_roof_ns", rows().map(|row| row.at_roof_ns))
}
