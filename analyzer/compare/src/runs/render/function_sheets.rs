//! Functions of sampled runs, for people and as a table with exact values for a page.

use trueno_display_names::display_name;
use trueno_model::units;
use trueno_plugin::{Table, counted};
use trueno_render::style::Meaning;

use super::page_tables::Part;
use super::wording::signed;
use super::{Grid, Holds, Sheet};
use crate::runs::Comparison;
use crate::runs::functions::{Amount, FunctionRow, Functions};

const HEADING: &str = "Functions by samples";

fn lead(functions: &Functions) -> String {
    let what = match functions.amount {
        Amount::TimeNs => "CPU time",
        Amount::Share => "share of samples",
    };
    format!(
        "{what} in which a function itself ran, estimated from {} and {} of {}: means over the runs of a side, the largest \
         change first, with 95 % intervals for the errors of sampling",
        functions.base_samples,
        counted(functions.run_samples, "sample", "samples"),
        functions.event
    )
}

fn shown(amount: Amount, value: f64) -> String {
    match amount {
        Amount::TimeNs => units::duration(value),
        Amount::Share => units::percent(value),
    }
}

/// The function and its change, such as ``CPU time of `matmul` +70.0 ms``: the largest change that sampling errors do not
/// explain.
pub fn largest(functions: &Functions) -> Option<String> {
    let row = functions.rows.iter().find(|row| row.is_certain)?;
    let (what, change) = match functions.amount {
        Amount::TimeNs => ("CPU time", signed(row.change)),
        Amount::Share => ("samples", signed_points(row.change)),
    };
    let name = display_name(&row.function);
    Some(format!("{what} in `{name}` {change}, by samples"))
}

fn signed_points(share: f64) -> String {
    format!("{:+.1} points", share * 100.0)
}

fn changed(amount: Amount, change: f64) -> String {
    match amount {
        Amount::TimeNs => signed(change),
        Amount::Share => signed_points(change),
    }
}

/// The sheet with `top` rows; `None` if the runs have no samples of the same event.
pub fn function_sheet(comparison: &Comparison, top: usize) -> Option<Sheet> {
    let functions = comparison.functions.as_ref()?;
    let amount = functions.amount;
    let rows = functions.rows.iter().take(top).map(|row| {
        let meaning = match row.is_certain {
            true if row.change > 0.0 => Some(Meaning::Error),
            true => Some(Meaning::Good),
            false => None,
        };
        let cells = vec![
            display_name(&row.function),
            shown(amount, row.base),
            shown(amount, row.run),
            changed(amount, row.change),
            format!(
                "{} … {}",
                changed(amount, row.low),
                changed(amount, row.high)
            ),
        ];
        (cells, meaning)
    });
    Some(Sheet {
        heading: HEADING,
        lead: vec![lead(functions)],
        left_out: functions.rows.len().saturating_sub(top),
        grid: Grid {
            columns: vec![
                ("function", Holds::Names),
                ("base", Holds::Numbers),
                ("run", Holds::Numbers),
                ("change", Holds::Numbers),
                ("95 % interval", Holds::Numbers),
            ],
            rows: rows.collect(),
        },
    })
}

pub fn function_part(comparison: &Comparison) -> Option<Part> {
    let functions = comparison.functions.as_ref()?;
    let names = match functions.amount {
        Amount::TimeNs => ["base_ns", "run_ns", "change_ns", "low_ns", "high_ns"],
        Amount::Share => [
            "base_share",
            "run_share",
            "change_share",
            "low_share",
            "high_share",
        ],
    };
    let values: [fn(&FunctionRow) -> f64; 5] = [
        |row| row.base,
        |row| row.run,
        |row| row.change,
        |row| row.low,
        |row| row.high,
    ];
    let rows = || functions.rows.iter();
    let table = Table::build("functions")
        .text("function", rows().map(|row| row.function.as_str()))
        .text("module", rows().map(|row| row.module.as_deref()))
        .text(
            "certain",
            rows().map(|row| if row.is_certain { "yes" } else { "no" }),
        );
    let columns = names.into_iter().zip(values);
    let table = columns.fold(table, |table, (name, value)| {
        table.f64(name, rows().map(value))
    });
    Some(Part {
        id: "functions",
        word: "functions by samples",
        heading: HEADING,
        lead: lead(functions),
        table: table.finish().ok()?,
    })
}
