//! Counts by hand.

pub use trueno_analysis::testing::lines_rounded as lines;
use trueno_plugin::testing::{Output, run};
use trueno_plugin::{Table, TableBuilder};
use trueno_plugin_counters::Counters;
use trueno_plugin_counters::sums::{COUNTED, COUNTS};

/// A call of a brick, with its counts in the order of `COUNTS`.
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

/// A measured reading without a unit.
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

    pub fn inputs(&self) -> Vec<TableBuilder> {
        // The counts of a call come one by one, all calls' first, then all calls' second.
        let rows = || {
            (0..COUNTED).flat_map(|place| {
                let calls = self.calls.iter().zip(1_u64..);
                calls.filter_map(move |(call, id)| Some((call, id, place, call.counted[place]?)))
            })
        };
        let counted = Table::build("counted")
            .u64("id", rows().map(|row| row.1))
            .text("name", rows().map(|row| row.0.name))
            .i64("start_ns", rows().map(|row| row.0.start_ns))
            .i64("dur_ns", rows().map(|row| row.0.dur_ns))
            .u64("elements", rows().map(|row| row.0.elements))
            .text("count", rows().map(|row| COUNTS[row.2]))
            .f64("value", rows().map(|row| row.3))
            .bool("is_estimated", rows().map(|row| row.0.is_estimated));
        let of = || self.readings.iter();
        let readings = Table::build("readings")
            .i64("time_ns", of().map(|row| row.time_ns))
            .text("name", of().map(|row| row.name))
            .text("unit", of().map(|row| row.unit))
            .text("source", of().map(|row| row.source))
            .f64("value", of().map(|row| row.value));
        let mut inputs = vec![counted, readings];
        if let Some((from_ns, until_ns)) = self.window {
            let window = Table::build("report_window");
            inputs.push(window.i64("from_ns", [from_ns]).i64("until_ns", [until_ns]));
        }
        inputs
    }
}
