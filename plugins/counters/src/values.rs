//! Table `values`: what was read over time.

use std::collections::BTreeMap;

use trueno_plugin::{Table, TableBuilder};

use crate::sums::{ValueKey, ValueSum};

/// Table `values`, by name.
///
/// `source`: measured, declared, computed or nominal; `readings`, and how many of them are `not_finite` (infinite
/// or NaN) and in no other column; `mean`: not weighted by time; `last`: the latest, of several at that time the
/// largest.
pub fn table(values: &BTreeMap<ValueKey, ValueSum>) -> TableBuilder {
    let (of, sum) = (|| values.keys(), || values.values());
    Table::build("values")
        .text("name", of().map(|key| &key.name))
        .text("unit", of().map(|key| key.unit.as_ref()))
        .text("source", of().map(|key| &key.source))
        .u64("readings", sum().map(|sum| sum.readings))
        .u64("not_finite", sum().map(|sum| sum.not_finite))
        .f64("min", sum().map(|sum| sum.min))
        .f64("mean", sum().map(ValueSum::mean))
        .f64("max", sum().map(|sum| sum.max))
        .f64("last", sum().map(|sum| Some(sum.last?.1)))
}
