//! Columns of input `kernels` that say how a kernel was launched.

use trueno_plugin::TableBuilder;

pub const COLUMNS: [&str; 10] = [
    "grid_x",
    "grid_y",
    "grid_z",
    "block_x",
    "block_y",
    "block_z",
    "registers",
    "smem_static",
    "smem_dynamic",
    "smem",
];

pub type Launch = [Option<i64>; COLUMNS.len()];

pub const NOT_RECORDED: Launch = [None; COLUMNS.len()];

pub fn add(table: TableBuilder, launches: &[Launch]) -> TableBuilder {
    let columns = COLUMNS.into_iter().enumerate();
    columns.fold(table, |table, (at, name)| {
        table.i64(name, launches.iter().map(|launch| launch[at]))
    })
}
