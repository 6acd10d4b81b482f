//! Tables of parts.

use trueno_analysis::part_cells::{count, required, text};
use trueno_analysis::value_counts::ValueCounts;
use trueno_plugin::{Input, Result, Run, Table, TableBuilder};

use crate::sums::{CallSum, ErrorKey, Sums, TimeSum, add_known};

/// Inputs of the merging.
pub const MERGE_INPUTS: [Input; 7] = [
    Input::sql(
        "call_sums",
        "SELECT name, untimed, errors, waits, wait_sum_ns, bytes FROM syscalls.call_sums",
    ),
    Input::sql(
        "durations",
        "SELECT name, dur_ns, calls FROM syscalls.durations",
    ),
    Input::sql(
        "error_sums",
        "SELECT name, errno, target, calls FROM syscalls.error_sums",
    ),
    Input::sql(
        "file_sums",
        "SELECT target, timed, time_sum_ns, untimed, waits, wait_sum_ns, errors, bytes FROM syscalls.file_sums",
    ),
    Input::sql(
        "transfer_times",
        "SELECT thread, name, time_sum_ns FROM syscalls.transfer_times",
    ),
    Input::sql(
        "transfer_sizes",
        "SELECT thread, name, bytes, calls FROM syscalls.transfer_sizes",
    ),
    Input::sql("wall", "SELECT wall_ns FROM syscalls.wall"),
];

/// Emits a part.
///
/// # Errors
/// The host refuses a table.
pub fn emit(run: &mut Run, sums: &Sums) -> Result<()> {
    for table in [
        call_sums(sums),
        durations(sums),
        error_sums(sums),
        file_sums(sums),
        transfer_times(sums),
        transfer_sizes(sums),
        // The same in each part: merging takes any.
        Table::build("wall").i64("wall_ns", [sums.wall_ns]),
    ] {
        run.emit(table)?;
    }
    Ok(())
}

fn call_sums(sums: &Sums) -> TableBuilder {
    let of = || sums.calls.values();
    Table::build("call_sums")
        .text("name", sums.calls.keys())
        .u64("untimed", of().map(|sum| sum.untimed))
        .u64("errors", of().map(|sum| sum.errors))
        .u64("waits", of().map(|sum| sum.waits))
        .u64("wait_sum_ns", of().map(|sum| sum.wait_time.0))
        .u64("bytes", of().map(|sum| sum.bytes))
}

fn durations(sums: &Sums) -> TableBuilder {
    let rows = || {
        let calls = sums.calls.iter();
        calls.flat_map(|(name, sum)| {
            sum.durations
                .iter()
                .map(move |(ns, count)| (name, ns, count))
        })
    };
    Table::build("durations")
        .text("name", rows().map(|row| row.0))
        .i64("dur_ns", rows().map(|row| row.1))
        .u64("calls", rows().map(|row| row.2))
}

fn error_sums(sums: &Sums) -> TableBuilder {
    let rows = || {
        let errors = sums.errors.iter();
        errors.flat_map(|(key, targets)| {
            let targets = targets.iter();
            targets.map(move |(target, count)| (key, target.as_deref(), *count))
        })
    };
    Table::build("error_sums")
        .text("name", rows().map(|row| &row.0.name))
        .text("errno", rows().map(|row| row.0.errno.as_deref()))
        .text("target", rows().map(|row| row.1))
        .u64("calls", rows().map(|row| row.2))
}

fn file_sums(sums: &Sums) -> TableBuilder {
    let of = || sums.files.values();
    Table::build("file_sums")
        .text("target", sums.files.keys())
        .u64("timed", of().map(|sum| sum.timed))
        .u64("time_sum_ns", of().map(|sum| sum.time.0))
        .u64("untimed", of().map(|sum| sum.untimed))
        .u64("waits", of().map(|sum| sum.waits))
        .u64("wait_sum_ns", of().map(|sum| sum.wait_time.0))
        .u64("errors", of().map(|sum| sum.errors))
        .u64("bytes", of().map(|sum| sum.bytes))
}

fn transfer_times(sums: &Sums) -> TableBuilder {
    let rows = || sums.transfers.iter();
    Table::build("transfer_times")
        .i64("thread", rows().map(|row| row.0.0))
        .text("name", rows().map(|row| &row.0.1))
        .u64("time_sum_ns", rows().map(|row| row.1.time.0))
}

fn transfer_sizes(sums: &Sums) -> TableBuilder {
    let rows = || {
        let transfers = sums.transfers.iter();
        transfers.flat_map(|((thread, name), sum)| {
            let sizes = sum.sizes.iter();
            sizes.map(move |(bytes, count)| (*thread, name, bytes, count))
        })
    };
    Table::build("transfer_sizes")
        .i64("thread", rows().map(|row| row.0))
        .text("name", rows().map(|row| row.1))
        .i64("bytes", rows().map(|row| row.2))
        .u64("calls", rows().map(|row| row.3))
}

fn add(sum: &mut u64, more: u64) {
    *sum = sum.saturating_add(more);
}

/// Reads all parts there are, and adds them up.
///
/// # Errors
/// An input lacks a column, or has it in another type or null.
pub fn read(run: &mut Run) -> Result<Sums> {
    let mut sums = Sums::default();
    read_calls(&run.table("call_sums")?, &mut sums)?;
    read_durations(&run.table("durations")?, &mut sums)?;
    read_errors(&run.table("error_sums")?, &mut sums)?;
    read_files(&run.table("file_sums")?, &mut sums)?;
    let table = run.table("transfer_times")?;
    for row in 0..table.rows() {
        let time = TimeSum(count(&table, "time_sum_ns", row)?);
        sums.transfers
            .entry(transfer(&table, row)?)
            .or_default()
            .time
            .merge(time);
    }
    let table = run.table("transfer_sizes")?;
    for row in 0..table.rows() {
        let sizes = &mut sums
            .transfers
            .entry(transfer(&table, row)?)
            .or_default()
            .sizes;
        add_value(sizes, &table, "bytes", row)?;
    }
    let table = run.table("wall")?;
    sums.wall_ns = table.i64("wall_ns")?.iter().flatten().max();
    Ok(sums)
}

fn transfer(table: &Table, row: usize) -> Result<(i64, String)> {
    let thread = required(table.i64("thread")?.get(row), "thread")?;
    Ok((thread, text(table, "name", row)?))
}

fn add_value(values: &mut ValueCounts, table: &Table, column: &str, row: usize) -> Result<()> {
    let value = required(table.i64(column)?.get(row), column)?;
    values.add(value, count(table, "calls", row)?);
    Ok(())
}

fn read_calls(table: &Table, sums: &mut Sums) -> Result<()> {
    for row in 0..table.rows() {
        let sum: &mut CallSum = sums.calls.entry(text(table, "name", row)?).or_default();
        add(&mut sum.untimed, count(table, "untimed", row)?);
        add(&mut sum.errors, count(table, "errors", row)?);
        add(&mut sum.waits, count(table, "waits", row)?);
        sum.wait_time
            .merge(TimeSum(count(table, "wait_sum_ns", row)?));
        add_known(&mut sum.bytes, table.u64("bytes")?.get(row));
    }
    Ok(())
}

fn read_durations(table: &Table, sums: &mut Sums) -> Result<()> {
    for row in 0..table.rows() {
        let sum = sums.calls.entry(text(table, "name", row)?).or_default();
        add_value(&mut sum.durations, table, "dur_ns", row)?;
    }
    Ok(())
}

fn read_errors(table: &Table, sums: &mut Sums) -> Result<()> {
    for row in 0..table.rows() {
        let key = ErrorKey {
            name: text(table, "name", row)?,
            errno: table.text("errno")?.get(row).map(str::to_owned),
        };
        let target = table.text("target")?.get(row).map(str::to_owned);
        let targets = sums.errors.entry(key).or_default();
        add(
            targets.entry(target).or_default(),
            count(table, "calls", row)?,
        );
    }
    Ok(())
}

fn read_files(table: &Table, sums: &mut Sums) -> Result<()> {
    for row in 0..table.rows() {
        let sum = sums.files.entry(text(table, "target", row)?).or_default();
        add(&mut sum.timed, count(table, "timed", row)?);
        sum.time.merge(TimeSum(count(table, "time_sum_ns", row)?));
        add(&mut sum.untimed, count(table, "untimed", row)?);
        add(&mut sum.waits, count(table, "waits", row)?);
        sum.wait_time
            .merge(TimeSum(count(table, "wait_sum_ns", row)?));
        add(&mut sum.errors, count(table, "errors", row)?);
        add_known(&mut sum.bytes, table.u64("bytes")?.get(row));
    }
    Ok(())
}
