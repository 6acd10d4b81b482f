//! Samples of devices' counters.

use std::collections::HashMap;

use trueno_format::schema::CounterRow;

use super::context::Context;
use super::host::left_out;
use super::row::Row;
use super::source::{Scan, Source, Value};
use crate::Error;

/// Bits of a `typeId` that hold the device number.
const DEVICE: i64 = 0xff;

#[derive(Debug, Default)]
pub struct Metrics(HashMap<(i64, i64), (String, Option<String>)>);

impl Metrics {
    pub fn read(source: &mut dyn Source) -> Result<Self, Error> {
        let table = "TARGET_INFO_GPU_METRICS";
        let columns = ["typeId", "metricId", "metricName"];
        let mut names = HashMap::new();
        if source.has_columns(table, &columns) {
            source.merged(&[Scan::new(table, &columns)], &mut |_, values| {
                if let [Value::Int(of), Value::Int(metric), Value::Text(name)] = values {
                    names.insert((*of, *metric), name_and_unit(*of & DEVICE, name));
                }
                Ok(())
            })?;
        }
        Ok(Self(names))
    }

    pub fn sample(&self, record: Row<'_>, context: &mut Context<'_>) -> Result<(), Error> {
        let time = record.int(0, context.notes);
        let Some(time_ns) = time.and_then(|time| time.checked_sub(context.origin_ns)) else {
            return left_out(record, "no timestamp", context);
        };
        let ids = record
            .int(2, context.notes)
            .zip(record.int(3, context.notes));
        let Some((name, unit)) = ids.and_then(|ids| self.0.get(&ids)) else {
            return left_out(record, "its metric has no name", context);
        };
        let Some(value) = record.number(4) else {
            return left_out(record, "no value", context);
        };
        let row = CounterRow {
            time_ns,
            name: context.text(name),
            value,
            unit: unit.as_deref().map(|unit| context.text(unit)),
            source: context.text("measured"),
            ..CounterRow::default()
        };
        context.add(&row)
    }
}

/// Splits `SMs Active [Throughput %]` into a name (with the device number) and a unit.
fn name_and_unit(device: i64, name: &str) -> (String, Option<String>) {
    let parts = name
        .strip_suffix(']')
        .and_then(|name| name.rsplit_once(" ["));
    let (name, unit) = match parts {
        Some((name, unit)) => (name, Some(unit.to_owned())),
        None => (name, None),
    };
    (format!("gpu{device} {name}"), unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_stand_in_brackets_behind_the_name() {
        let of = |name| name_and_unit(1, name);
        let percent = Some("Throughput %".to_owned());
        assert_eq!(
            of("SMs Active [Throughput %]"),
            ("gpu1 SMs Active".to_owned(), percent)
        );
        assert_eq!(of("odd]"), ("gpu1 odd]".to_owned(), None));
    }
}
