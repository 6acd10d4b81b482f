//! Rules that the list of tables keeps to.

use super::ColumnType::{I64, U32, U64};
use super::*;
use std::collections::HashSet;

/// Integers that mean the same in every run. A new one has to be put here, or be given
/// a [`Scope`]: forgotten, rows of several runs would be taken for each other's.
const VALUES: [&str; 42] = [
    "address",
    "block_x",
    "block_y",
    "block_z",
    "brick_id",
    "bytes",
    "bytes_read",
    "bytes_written",
    "col",
    "count",
    "depth",
    "device_ns",
    "dropped",
    "dur_ns",
    "elements",
    "flops",
    "grid_x",
    "grid_y",
    "grid_z",
    "hash",
    "hash_fnv64",
    "inf_count",
    "iteration",
    "layer",
    "nan_count",
    "os_id",
    "position",
    "priority",
    "realtime_ns",
    "registers",
    "repetitions",
    "row",
    "sampled_every",
    "sample_bytes",
    "smem_dynamic",
    "smem_static",
    "source_bytes",
    "status",
    "stream",
    "threads",
    "ticks",
    "zero_count",
];

#[test]
fn every_integer_is_known_to_refer_to_rows_or_not() {
    for table in TABLES {
        for column in table.columns {
            let integer = matches!(column.ty, U32 | U64 | I64);
            let is_value = column.scope() == Scope::Value;
            assert_eq!(
                integer && is_value,
                integer && VALUES.contains(&column.name),
                "{}.{}",
                table.name,
                column.name
            );
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
