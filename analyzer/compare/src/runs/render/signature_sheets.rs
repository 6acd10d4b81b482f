//! Operators by shapes, for people and as a table with exact values for a page.

use trueno_model::units::{self, NOT_MEASURED, Unit};
use trueno_model::{Cell, shapes};
use trueno_plugin::Table;

use super::page_tables::Part;
use super::wording::signed;
use super::{Grid, Holds, Sheet};
use crate::runs::Comparison;
use crate::runs::signatures::{Figures, SignatureRow};

const HEADING: &str = "Operators by shape";
const LEAD: &str = "device time (of runs without a device host time) of operators with the same name, dimensions and types; \
                    means over the runs of a side, the largest change first";

type Side = fn(&SignatureRow) -> Option<Figures>;

/// The sheet with `top` rows; `None` if a side has no shapes.
pub fn signature_sheet(comparison: &Comparison, top: usize) -> Option<Sheet> {
    let all = comparison.signatures.as_ref()?;
    let rows = all.iter().take(top).map(|row| {
        let dims = shapes::short(&row.input_dims).unwrap_or_else(|| row.input_dims.clone());
        let of = |side: &Option<Figures>, show: fn(&Figures) -> Option<String>| {
            let shown = side.as_ref().and_then(show);
            shown.unwrap_or_else(|| NOT_MEASURED.to_owned())
        };
        let time = |figures: &Figures| Some(units::duration(figures.counted_ns));
        let share = |figures: &Figures| figures.efficiency_share.map(units::percent);
        let rate = |figures: &Figures| {
            let flops = figures.flops_per_s.filter(|rate| *rate > 0.0);
            let show = |rate, column| units::show(Cell::F64(rate), Unit::from_column(column));
            match (flops, figures.bytes_per_s) {
                (Some(rate), _) => Some(show(rate, "flops_per_s")),
                (None, rate) => rate.map(|rate| show(rate, "bytes_per_s")),
            }
        };
        let pair = |show: fn(&Figures) -> Option<String>| {
            format!("{} → {}", of(&row.base, show), of(&row.run, show))
        };
        let cells = vec![
            row.name.clone(),
            dims,
            of(&row.base, time),
            of(&row.run, time),
            signed(row.change_ns()),
            pair(share),
            pair(rate),
        ];
        (cells, None)
    });
    Some(Sheet {
        heading: HEADING,
        lead: vec![LEAD.to_owned()],
        left_out: all.len().saturating_sub(top),
        grid: Grid {
            columns: vec![
                ("operator", Holds::Names),
                ("operands", Holds::Names),
                ("base", Holds::Numbers),
                ("run", Holds::Numbers),
                ("change", Holds::Numbers),
                ("of the roof", Holds::MoreNumbers),
                ("rate", Holds::MoreNumbers),
            ],
            rows: rows.collect(),
        },
    })
}

pub fn signature_part(comparison: &Comparison) -> Option<Part> {
    let rows = comparison.signatures.as_ref()?;
    let each = || rows.iter();
    let of = |side: Side, value: fn(&Figures) -> Option<f64>| {
        let values = each().map(move |row| side(row).as_ref().and_then(value));
        values.collect::<Vec<_>>()
    };
    let base: Side = |row| row.base;
    let run: Side = |row| row.run;
    let table = Table::build("signatures")
        .text("name", each().map(|row| row.name.as_str()))
        .text("input_dims", each().map(|row| row.input_dims.as_str()))
        .text("input_types", each().map(|row| row.input_types.as_str()))
        .f64("base_counted_ns", of(base, |side| Some(side.counted_ns)))
        .f64("run_counted_ns", of(run, |side| Some(side.counted_ns)))
        .f64("change_ns", each().map(SignatureRow::change_ns))
        .f64("base_calls", of(base, |side| Some(side.calls)))
        .f64("run_calls", of(run, |side| Some(side.calls)))
        .f64("base_flops_per_s", of(base, |side| side.flops_per_s))
        .f64("run_flops_per_s", of(run, |side| side.flops_per_s))
        .f64("base_bytes_per_s", of(base, |side| side.bytes_per_s))
        .f64("run_bytes_per_s", of(run, |side| side.bytes_per_s))
        .f64(
            "base_efficiency_share",
            of(base, |side| side.efficiency_share),
        )
        .f64(
            "run_efficiency_share",
            of(run, |side| side.efficiency_share),
        )
        .finish();
    Some(Part {
        id: "signatures",
        word: "operators by shape",
        heading: HEADING,
        lead: LEAD.to_owned(),
        table: table.ok()?,
    })
}
