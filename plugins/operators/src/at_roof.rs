//! Time at the roof by name, for predictions end to end.

use std::collections::BTreeMap;

use trueno_plugin::{Table, TableBuilder};

use crate::groups::TimedOn;
use crate::rows::Row;

/// Table `at_roof`, with the columns of `roofline.at_roof`. `source` is `kernel`, or `brick` in a run without
/// devices. `name` is a kernel launched by operators with a place below the roof, or such an operator. `dur_ns` is
/// its time within those operators, `at_roof_ns` that time if each of them reached its roof.
pub fn at_roof(rows: &[Row], on: TimedOn) -> TableBuilder {
    let mut sums: BTreeMap<&str, (i64, f64)> = BTreeMap::new();
    for row in rows {
        let Some(place) = row.placed() else { continue };
        let mut add = |name, dur_ns: i64| {
            let (sum_ns, at_roof_ns) = sums.entry(name).or_default();
            *sum_ns = sum_ns.saturating_add(dur_ns);
            *at_roof_ns += dur_ns as f64 * place.efficiency;
        };
        match on {
            TimedOn::Device => {
                let kernels = row.kernels.iter();
                kernels.for_each(|(kernel, dur_ns)| add(kernel, *dur_ns));
            }
            TimedOn::Host if row.sums.counted_ns > 0 => add(&row.name, row.sums.host_ns),
            TimedOn::Host => {}
        }
    }
    let source = match on {
        TimedOn::Device => "kernel",
        TimedOn::Host => "brick",
    };
    Table::build("at_roof")
        .text("source", sums.iter().map(|_| source))
        .text("name", sums.keys().copied())
        .i64("dur_ns", sums.values().map(|sum| sum.0))
        .i64("at_roof_ns", sums.values().map(|sum| sum.1.round() as i64))
}
