//! Device time by operator, as tables with exact values for a page.

use trueno_plugin::Table;

use super::operator_sheets::{ONE_SIDED, all_on_one_side, heading, place, remarks};
use super::page_tables::Part;
use crate::runs::Comparison;
use crate::runs::operators::OperatorRow;

pub fn operator_parts(comparison: &Comparison) -> Vec<Part> {
    let parts = [differences(comparison), one_sided(comparison)];
    parts.into_iter().flatten().collect()
}

fn differences(comparison: &Comparison) -> Option<Part> {
    let operators = comparison.operators.as_ref()?;
    let different = operators.rows.iter().filter(|row| row.is_different());
    let rows: Vec<&OperatorRow> = different.collect();
    let each = || rows.iter();
    let mut table = Table::build("operators")
        .text("operator", each().map(|row| place(row).0))
        .text("in", each().map(|row| place(row).1))
        .u64("base_calls", each().map(|row| row.base_calls))
        .u64("run_calls", each().map(|row| row.run_calls))
        .f64("base_device_ns", each().map(|row| row.base_device_ns))
        .f64("run_device_ns", each().map(|row| row.run_device_ns))
        .f64("change_ns", each().map(|row| row.change_ns))
        .f64("share", each().map(|row| row.share));
    if operators.pairs > 1 {
        let end = |at: usize| move |row: &&OperatorRow| row.change_range_ns.map(|range| range[at]);
        table = table
            .i64("change_low_ns", each().map(end(0)))
            .i64("change_high_ns", each().map(end(1)));
    }
    let table = table
        .f64("base_host_self_ns", each().map(|row| row.base_host_self_ns))
        .f64("run_host_self_ns", each().map(|row| row.run_host_self_ns))
        .f64("host_change_ns", each().map(|row| row.host_change_ns()))
        .finish();
    Some(Part {
        id: "operators",
        word: "operators",
        heading: heading(operators),
        lead: remarks(operators).join("; "),
        table: table.ok()?,
    })
}

fn one_sided(comparison: &Comparison) -> Option<Part> {
    let all = all_on_one_side(comparison.operators.as_ref()?);
    let each = || all.iter();
    let path = |row: &OperatorRow| row.path.join(" / ");
    let table = Table::build("one_sided")
        .text("side", each().map(|one| one.side))
        .text("kind", each().map(|one| one.kind))
        .text("name", each().map(|one| one.name))
        .text("in", each().map(|one| path(one.row)))
        .u64("calls", each().map(|one| one.calls))
        .f64("device_ns", each().map(|one| one.device_ns))
        .f64("host_self_ns", each().map(|one| one.host_self_ns))
        .finish();
    Some(Part {
        id: "one-sided",
        word: "one side only",
        heading: "What only one side has, by operator",
        lead: ONE_SIDED.to_owned(),
        table: table.ok()?,
    })
}
