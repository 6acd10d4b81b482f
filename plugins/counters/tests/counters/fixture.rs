//! Counts by hand.

use trueno_plugin::testing::{Output, run};
use trueno_plugin::{Table, TableBuilder};
use trueno_plugin_counters::Counters;
use trueno_plugin_counters::sums::{COUNTED, COUNTS};

/// A call of a brick, with what was counted: in the order of `COUNTS`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Call {
    pub name: &'static str,
    pub start_ns: i64,
    pub dur_ns: i64,
    pub elements: Option<u64>,
    pub is_estimated: bool,
    pub counted: [Option<f64>; COUNTED],
}

#[derive(Clone, Copy, Debug)]
pub struct Reading {
    pub time_ns: i64,
    pub name: &'static str,
    pub unit: Option<&'static str>,
    pub source: &'static str,
    pub value: f64,
}

/// A reading in no unit that was measured.
pub fn reading(name: &'static str, time_ns: i64, value: f64) -> Reading {
    Reading {
        time_ns,
        name,
        unit: None,
        source: "measured",
        value,
    }
}

#[derive(Clone, Debug, Default)]
pub struct Fixture {
    pub calls: Vec<Call>,
    pub readings: Vec<Reading>,
    pub window: Option<(i64, i64)>,
}

impl Fixture {
    pub fn analyse(&self) -> Output {
        run::<Counters>(self.inputs(), "{}").unwrap()
    }

    /// Inputs of the plugin.
    pub fn inputs(&self) -> Vec<TableBuilder> {
        let calls = || self.calls.iter();
        let mut bricks = Table::build("bricks")
            .text("name", calls().map(|call| call.name))
            .i64("start_ns", calls().map(|call| call.start_ns))
            .i64("dur_ns", calls().map(|call| call.dur_ns))
            .u64("elements", calls().map(|call| call.elements))
            .i64(
                "is_estimated",
                calls().map(|call| i64::from(call.is_estimated)),
            );
        for (at, count) in COUNTS[..COUNTED].iter().enumerate() {
            bricks = bricks.f64(count, calls().map(|call| call.counted[at]));
        }
        let of = || self.readings.iter();
        let readings = Table::build("readings")
            .i64("time_ns", of().map(|row| row.time_ns))
            .text("name", of().map(|row| row.name))
            .text("unit", of().map(|row| row.unit))
            .text("source", of().map(|row| row.source))
            .f64("value", of().map(|row| row.value));
        let mut inputs = vec![bricks, readings];
        if let Some((from_ns, until_ns)) = self.window {
            let window = Table::build("report_window");
            inputs.push(window.i64("from_ns", [from_ns]).i64("until_ns", [until_ns]));
        }
        inputs
    }
}

/// Rows of a table as `a | b | c`; null is `-`, doubles have four digits.
pub fn lines(table: &Table, columns: &[&str]) -> Vec<String> {
    let cell = |column: &str, row: usize| {
        let text = table.column(column).unwrap().cell_text(row);
        match (table.f64(column), text) {
            (_, None) => "-".to_owned(),
            (Ok(values), Some(_)) => format!("{:.4}", values.value(row)),
            (Err(_), Some(text)) => text,
        }
    };
    (0..table.rows())
        .map(|row| {
            let cells: Vec<String> = columns.iter().map(|column| cell(column, row)).collect();
            cells.join(" | ")
        })
        .collect()
}
