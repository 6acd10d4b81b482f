//! Tables of parts.

use trueno_plugin::{Input, Result, Run, Table, table_row};

use crate::sums::{ErrorKey, Sums, TimeSum, add_known};

pub const MERGE_INPUTS: [Input; 7] = [
    Input::sql("call_sums", "SELECT * FROM syscalls.call_sums"),
    Input::sql("durations", "SELECT * FROM syscalls.durations"),
    Input::sql("error_sums", "SELECT * FROM syscalls.error_sums"),
    Input::sql("file_sums", "SELECT * FROM syscalls.file_sums"),
    Input::sql("transfer_times", "SELECT * FROM syscalls.transfer_times"),
    Input::sql("transfer_sizes", "SELECT * FROM syscalls.transfer_sizes"),
    Input::sql("wall", "SELECT wall_ns FROM syscalls.wall"),
];

table_row! {
    struct CallRow<'a> {
        name: &'a str,
        untimed: u64,
        errors: u64,
        waits: u64,
        wait_sum_ns: u64,
        bytes: Option<u64>,
    }
}
table_row! {
    struct DurationRow<'a> {
        name: &'a str,
        dur_ns: i64,
        calls: u64,
    }
}
table_row! {
    struct ErrorRow<'a> {
        name: &'a str,
        errno: Option<&'a str>,
        target: Option<&'a str>,
        calls: u64,
    }
}
table_row! {
    struct FileRow<'a> {
        target: &'a str,
        timed: u64,
        time_sum_ns: u64,
        untimed: u64,
        waits: u64,
        wait_sum_ns: u64,
        errors: u64,
        bytes: Option<u64>,
    }
}
table_row! {
    struct TransferTimeRow<'a> {
        thread: i64,
        name: &'a str,
        time_sum_ns: u64,
    }
}
table_row! {
    struct TransferSizeRow<'a> {
        thread: i64,
        name: &'a str,
        bytes: i64,
        calls: u64,
    }
}

/// Emits a part.
///
/// # Errors
/// The host refuses a table.
pub fn emit(run: &mut Run, sums: &Sums) -> Result<()> {
    let calls = sums.calls.iter().map(|(name, sum)| CallRow {
        name,
        untimed: sum.untimed,
        errors: sum.errors,
        waits: sum.waits,
        wait_sum_ns: sum.wait_time.0,
        bytes: sum.bytes,
    });
    run.emit(Table::build("call_sums").rows(calls))?;
    let durations = sums.calls.iter().flat_map(|(name, sum)| {
        let values = sum.durations.iter();
        values.map(move |(dur_ns, calls)| DurationRow {
            name,
            dur_ns,
            calls,
        })
    });
    run.emit(Table::build("durations").rows(durations))?;
    let errors = sums.errors.iter().flat_map(|(key, targets)| {
        targets.iter().map(move |(target, calls)| ErrorRow {
            name: &key.name,
            errno: key.errno.as_deref(),
            target: target.as_deref(),
            calls: *calls,
        })
    });
    run.emit(Table::build("error_sums").rows(errors))?;
    let files = sums.files.iter().map(|(target, sum)| FileRow {
        target,
        timed: sum.timed,
        time_sum_ns: sum.time.0,
        untimed: sum.untimed,
        waits: sum.waits,
        wait_sum_ns: sum.wait_time.0,
        errors: sum.errors,
        bytes: sum.bytes,
    });
    run.emit(Table::build("file_sums").rows(files))?;
    let times = sums.transfers.iter();
    let times = times.map(|((thread, name), sum)| TransferTimeRow {
        thread: *thread,
        name,
        time_sum_ns: sum.time.0,
    });
    run.emit(Table::build("transfer_times").rows(times))?;
    let sizes = sums.transfers.iter().flat_map(|((thread, name), sum)| {
        let sizes = sum.sizes.iter();
        sizes.map(move |(bytes, calls)| TransferSizeRow {
            thread: *thread,
            name,
            bytes,
            calls,
        })
    });
    run.emit(Table::build("transfer_sizes").rows(sizes))?;
    // The same in each part: merging takes any.
    run.emit(Table::build("wall").i64("wall_ns", [sums.wall_ns]))
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
    for row in run.table("call_sums")?.read::<CallRow>()? {
        let row = row?;
        let sum = sums.calls.entry(row.name.to_owned()).or_default();
        add(&mut sum.untimed, row.untimed);
        add(&mut sum.errors, row.errors);
        add(&mut sum.waits, row.waits);
        sum.wait_time.merge(TimeSum(row.wait_sum_ns));
        add_known(&mut sum.bytes, row.bytes);
    }
    for row in run.table("durations")?.read::<DurationRow>()? {
        let row = row?;
        let sum = sums.calls.entry(row.name.to_owned()).or_default();
        sum.durations.add(row.dur_ns, row.calls);
    }
    for row in run.table("error_sums")?.read::<ErrorRow>()? {
        let row = row?;
        let key = ErrorKey {
            name: row.name.to_owned(),
            errno: row.errno.map(str::to_owned),
        };
        let targets = sums.errors.entry(key).or_default();
        let target = row.target.map(str::to_owned);
        add(targets.entry(target).or_default(), row.calls);
    }
    for row in run.table("file_sums")?.read::<FileRow>()? {
        let row = row?;
        let sum = sums.files.entry(row.target.to_owned()).or_default();
        add(&mut sum.timed, row.timed);
        sum.time.merge(TimeSum(row.time_sum_ns));
        add(&mut sum.untimed, row.untimed);
        add(&mut sum.waits, row.waits);
        sum.wait_time.merge(TimeSum(row.wait_sum_ns));
        add(&mut sum.errors, row.errors);
        add_known(&mut sum.bytes, row.bytes);
    }
    for row in run.table("transfer_times")?.read::<TransferTimeRow>()? {
        let row = row?;
        let key = (row.thread, row.name.to_owned());
        let sum = sums.transfers.entry(key).or_default();
        sum.time.merge(TimeSum(row.time_sum_ns));
    }
    for row in run.table("transfer_sizes")?.read::<TransferSizeRow>()? {
        let row = row?;
        let key = (row.thread, row.name.to_owned());
        let sum = sums.transfers.entry(key).or_default();
        sum.sizes.add(row.bytes, row.calls);
    }
    let table = run.table("wall")?;
    sums.wall_ns = table.i64("wall_ns")?.iter().flatten().max();
    Ok(sums)
}
