//! Rules that the list of tables keeps to.

use super::ColumnType::{I64, U32, U64};
use super::*;
use std::collections::HashSet;

/// Integers that identify something, and lengths and times, that mean the same in every run. A new one must be
/// listed here or have a [`Scope`]; otherwise rows of different runs would be confused. Other quantities refer to
/// nothing.
const VALUES: [&str; 20] = [
    "address",
    "brick_id",
    "col",
    "cpu",
    "depth",
    "device_ns",
    "dur_ns",
    "iteration",
    "layer",
    "line",
    "os_id",
    "position",
    "priority",
    "process",
    "realtime_ns",
    "row",
    "sampled_every",
    "sequence",
    "stream",
    "threads",
];

#[test]
fn every_identifying_integer_is_known_to_refer_to_rows_or_not() {
    for table in TABLES {
        for column in table.columns {
            let integer = matches!(column.ty, U32 | U64 | I64);
            let may_refer =
                column.provenance == Provenance::Identity || column.name.ends_with("_ns");
            if integer && may_refer {
                assert_eq!(
                    column.scope() == Scope::Value,
                    VALUES.contains(&column.name),
                    "{}.{}",
                    table.name,
                    column.name
                );
            }
        }
    }
}

#[test]
fn names_are_unique_and_documented() {
    let mut tables = HashSet::new();
    for table in TABLES {
        assert!(
            tables.insert(table.name),
            "table {} stands twice",
            table.name
        );
        assert!(!table.doc.is_empty(), "{} has no doc", table.name);
        let mut columns = HashSet::new();
        for column in table.columns {
            assert!(
                columns.insert(column.name),
                "{}.{} stands twice",
                table.name,
                column.name
            );
            assert!(
                !column.doc.is_empty(),
                "{}.{} has no doc",
                table.name,
                column.name
            );
        }
    }
}
