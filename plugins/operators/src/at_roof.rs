//! Time at the roof by name, for predictions end to end.

use std::collections::BTreeMap;

use trueno_plugin::{Table, TableBuilder};

use crate::calls::Calls;
use crate::device_time::DeviceTime;
use crate::groups::{Shape, TimedOn};
use crate::operations::Operations;
use crate::rows::Row;

/// Table `at_roof`: `source`: `kernel`, or `brick` in a run without devices; `name`: of a kernel that operators with a
/// place below the roof began, or of those operators; `dur_ns`: its time within them; `at_roof_ns`: that time if each
/// of them reached its roof. As `roofline.at_roof`.
pub fn at_roof(
    rows: &[Row],
    calls: &Calls,
    operations: &Operations,
    device: &DeviceTime,
    on: TimedOn,
) -> TableBuilder {
    let places = rows
        .iter()
        .filter_map(|row| Some((row.shape, row.placed()?.efficiency)));
    let places: BTreeMap<Shape, f64> = places.collect();
    let mut sums: BTreeMap<&str, (i64, f64)> = BTreeMap::new();
    let mut add = |name, dur_ns: i64, efficiency: f64| {
        let (sum_ns, at_roof_ns) = sums.entry(name).or_default();
        *sum_ns = sum_ns.saturating_add(dur_ns);
        *at_roof_ns += dur_ns as f64 * efficiency;
    };
    match on {
        TimedOn::Device => {
            for ((kernel, shape), dur_ns) in &device.of_kernels {
                if let Some(efficiency) = places.get(shape) {
                    add(operations.kernel_names.text(*kernel), *dur_ns, *efficiency);
                }
            }
        }
        TimedOn::Host => {
            let counted = rows.iter().filter(|row| row.sums.counted_ns > 0);
            for row in counted {
                if let Some(place) = row.placed() {
                    add(
                        calls.names.text(row.shape.0),
                        row.sums.host_ns,
                        place.efficiency,
                    );
                }
            }
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
