//! The roofline of operators: points and roofs, for a chart.

use std::collections::BTreeMap;

use trueno_analysis::roofline::ceilings::{Ceiling, Ceilings};
use trueno_plugin::{Chart, Scale, Table, TableBuilder};

use crate::groups::TimedOn;
use crate::rows::{Row, Total};

/// Table `points`: rows of `by_shape` with a place below the roof, FLOPs and counted time; `None` if there are
/// none.
pub fn points(rows: &[Row], on: TimedOn) -> Option<TableBuilder> {
    let points: Vec<(&Row, Total)> = drawn(rows, on).collect();
    let all = || points.iter();
    (!points.is_empty()).then(|| {
        Table::build("points")
            .text("name", all().map(|(row, _)| row.name.as_str()))
            .text(
                "category",
                all().map(|(row, _)| row.work.as_ref().ok().map(|work| work.family.as_str())),
            )
            .text(
                "input_dims",
                all().map(|(row, _)| row.recorded.dims.as_deref()),
            )
            .f64("flops_per_byte", all().map(|(_, total)| total.intensity()))
            .f64(
                "flops_per_s",
                all().map(|(_, total)| total.per_s(total.flops)),
            )
            .i64("counted_ns", all().map(|(row, _)| row.sums.counted_ns))
    })
}

/// Table `roofs`: corners of each roof that has points, from a tenth of the lowest intensity to ten times the
/// highest.
pub fn roofs(rows: &[Row], ceilings: &Ceilings, on: TimedOn) -> TableBuilder {
    let mut reach: BTreeMap<(usize, usize), (f64, f64)> = BTreeMap::new();
    for (row, total) in drawn(rows, on) {
        let (Some((Some(compute), memory)), Some(x)) =
            (row.placed().map(|place| place.ceilings), total.intensity())
        else {
            continue;
        };
        let ridge = ceilings.rows[compute].value / ceilings.rows[memory].value;
        let (left, right) = reach.entry((compute, memory)).or_insert((ridge, ridge));
        *left = left.min(x).min(ridge);
        *right = right.max(x).max(ridge);
    }
    let mut corners: Vec<(String, f64, f64)> = Vec::new();
    for ((compute, memory), (left, right)) in reach {
        let (compute, memory) = (&ceilings.rows[compute], &ceilings.rows[memory]);
        for x in [left / 10.0, compute.value / memory.value, right * 10.0] {
            corners.push((
                name(compute, memory),
                x,
                (x * memory.value).min(compute.value),
            ));
        }
    }
    Table::build("roofs")
        .text("roof", corners.iter().map(|corner| corner.0.as_str()))
        .f64("flops_per_byte", corners.iter().map(|corner| corner.1))
        .f64("flops_per_s", corners.iter().map(|corner| corner.2))
}

pub fn roofline() -> Chart {
    Chart::scatter(
        "Roofline of operators",
        "points",
        "flops_per_byte",
        "flops_per_s",
    )
    .series("category")
    .label("name")
    .size("counted_ns")
    .lines("roofs", "flops_per_byte", "flops_per_s", Some("roof"))
    .axes("FLOP/byte", "FLOP/s")
    .scales(Scale::Log, Scale::Log)
}

/// Rows for the chart: those with a place, counted time, FLOPs and bytes.
fn drawn(rows: &[Row], on: TimedOn) -> impl Iterator<Item = (&Row, Total)> {
    rows.iter().filter_map(move |row| {
        row.placed()?;
        let total = row
            .total(on)
            .filter(|total| total.flops > 0.0 && total.bytes > 0.0)?;
        (row.sums.counted_ns > 0).then_some((row, total))
    })
}

fn name(compute: &Ceiling, memory: &Ceiling) -> String {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let source = if compute.source == memory.source {
        compute.source.clone()
    } else {
        format!("{} and {}", compute.source, memory.source)
    };
    format!(
        "{} {} {}, {}, {source}",
        compute.device,
        text(&compute.level),
        text(&compute.precision),
        text(&memory.level)
    )
}
