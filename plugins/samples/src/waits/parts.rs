//! Tables of parts.

use trueno_plugin::{Input, Result, Run, Table};

use super::{WaitKey, WaitSum, Waits};
use crate::cells::Cells;

/// Input of the merging: places.
pub const WAIT_SUMS: Input = Input::sql(
    "wait_sums",
    "SELECT thread, call, function_name, module, waits, sum_ns, longest_ns FROM samples.wait_sums",
);
/// Input of the merging: threads.
pub const THREAD_TIMES: Input = Input::sql(
    "thread_times",
    "SELECT thread, name, life_ns, runnable, runnable_sum_ns, runnable_longest_ns, \
     off_cpu, off_cpu_sum_ns, off_cpu_longest_ns FROM samples.thread_times",
);

/// Emits a part.
///
/// # Errors
/// The host refuses a table.
pub fn emit(run: &mut Run, waits: &Waits) -> Result<()> {
    let rows = || waits.places.iter();
    run.emit(
        Table::build("wait_sums")
            .i64("thread", rows().map(|row| row.0.thread))
            .text("call", rows().map(|row| row.0.call.as_deref()))
            .text(
                "function_name",
                rows().map(|row| row.0.function.name.as_deref()),
            )
            .text("module", rows().map(|row| row.0.function.module.as_deref()))
            .u64("waits", rows().map(|row| row.1.waits))
            .u64("sum_ns", rows().map(|row| row.1.time_ns))
            .u64("longest_ns", rows().map(|row| row.1.longest_ns)),
    )?;
    let rows = || waits.threads.iter();
    run.emit(
        Table::build("thread_times")
            .i64("thread", rows().map(|row| *row.0))
            .text("name", rows().map(|row| row.1.name.as_deref()))
            .u64("life_ns", rows().map(|row| row.1.life_ns))
            .u64("runnable", rows().map(|row| row.1.runnable.waits))
            .u64("runnable_sum_ns", rows().map(|row| row.1.runnable.time_ns))
            .u64(
                "runnable_longest_ns",
                rows().map(|row| row.1.runnable.longest_ns),
            )
            .u64("off_cpu", rows().map(|row| row.1.off_cpu.waits))
            .u64("off_cpu_sum_ns", rows().map(|row| row.1.off_cpu.time_ns))
            .u64(
                "off_cpu_longest_ns",
                rows().map(|row| row.1.off_cpu.longest_ns),
            ),
    )
}

/// Reads all parts there are, and adds them up.
///
/// # Errors
/// An input lacks a column, or has it in another type or null.
pub fn read(run: &mut Run) -> Result<Waits> {
    let mut out = Waits::default();
    let table = run.table("wait_sums")?;
    let cells = Cells(&table);
    for row in 0..table.rows() {
        let key = WaitKey {
            thread: cells.thread(row)?,
            call: table.text("call")?.get(row).map(str::to_owned),
            function: cells.function(row)?,
        };
        let sum = cells.waits(["waits", "sum_ns", "longest_ns"], row)?;
        out.places.entry(key).or_default().add(sum);
    }
    let table = run.table("thread_times")?;
    let cells = Cells(&table);
    for row in 0..table.rows() {
        let times = out.threads.entry(cells.thread(row)?).or_default();
        times.name = table.text("name")?.get(row).map(str::to_owned);
        times.life_ns = table.u64("life_ns")?.get(row);
        let runnable = ["runnable", "runnable_sum_ns", "runnable_longest_ns"];
        times.runnable.add(cells.waits(runnable, row)?);
        let off_cpu = ["off_cpu", "off_cpu_sum_ns", "off_cpu_longest_ns"];
        times.off_cpu.add(cells.waits(off_cpu, row)?);
    }
    Ok(out)
}

impl Cells<'_> {
    fn waits(&self, [waits, time_ns, longest_ns]: [&str; 3], row: usize) -> Result<WaitSum> {
        Ok(WaitSum {
            waits: self.count(waits, row)?,
            time_ns: self.count(time_ns, row)?,
            longest_ns: self.count(longest_ns, row)?,
        })
    }
}
