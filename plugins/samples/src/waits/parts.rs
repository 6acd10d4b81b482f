//! Tables of parts.

use trueno_analysis::part_cells::required;
use trueno_plugin::{Input, Result, Run, Table};

use super::{WaitKey, WaitSum, Waits, WakerKey};
use crate::cells::Cells;

/// Input of the merging: places.
pub const WAIT_SUMS: Input = Input::sql(
    "wait_sums",
    "SELECT thread, call, function_name, module, waits, sum_ns, longest_ns FROM samples.wait_sums",
);
/// Input of the merging: who ended waits.
pub const WAKER_SUMS: Input = Input::sql(
    "waker_sums",
    "SELECT thread, call, function_name, module, waker, waker_name, by_end, waits, sum_ns, longest_ns FROM samples.waker_sums",
);
/// Input of the merging: stretches in which threads ran.
pub const STRETCHES: Input = Input::sql("stretches", "SELECT stretches FROM samples.stretches");
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
    let rows = || waits.wakers.iter();
    let functions = || rows().map(|row| &row.0.wait.function);
    run.emit(
        Table::build("waker_sums")
            .i64("thread", rows().map(|row| row.0.wait.thread))
            .text("call", rows().map(|row| row.0.wait.call.as_deref()))
            .text("function_name", functions().map(|of| of.name.as_deref()))
            .text("module", functions().map(|of| of.module.as_deref()))
            .i64("waker", rows().map(|row| row.0.waker))
            .text(
                "waker_name",
                rows().map(|row| waits.waker_names.get(&row.0.waker).map(String::as_str)),
            )
            .u64("by_end", rows().map(|row| u64::from(row.0.by_end)))
            .u64("waits", rows().map(|row| row.1.waits))
            .u64("sum_ns", rows().map(|row| row.1.time_ns))
            .u64("longest_ns", rows().map(|row| row.1.longest_ns)),
    )?;
    run.emit(Table::build("stretches").u64("stretches", [waits.stretches]))?;
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
        let sum = cells.waits(["waits", "sum_ns", "longest_ns"], row)?;
        out.places.entry(cells.place(row)?).or_default().add(sum);
    }
    let table = run.table("waker_sums")?;
    let cells = Cells(&table);
    for row in 0..table.rows() {
        let key = WakerKey {
            wait: cells.place(row)?,
            waker: required(table.i64("waker")?.get(row), "waker")?,
            by_end: cells.count("by_end", row)? > 0,
        };
        let sum = cells.waits(["waits", "sum_ns", "longest_ns"], row)?;
        if let Some(name) = table.text("waker_name")?.get(row) {
            out.waker_names.insert(key.waker, name.to_owned());
        }
        out.wakers.entry(key).or_default().add(sum);
    }
    let stretches = run.table("stretches")?;
    let counts = stretches.u64("stretches")?;
    out.stretches = counts.iter().flatten().fold(0, u64::saturating_add);
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
    fn place(&self, row: usize) -> Result<WaitKey> {
        Ok(WaitKey {
            thread: self.thread(row)?,
            call: self.0.text("call")?.get(row).map(str::to_owned),
            function: self.function(row)?,
        })
    }

    fn waits(&self, [waits, time_ns, longest_ns]: [&str; 3], row: usize) -> Result<WaitSum> {
        Ok(WaitSum {
            waits: self.count(waits, row)?,
            time_ns: self.count(time_ns, row)?,
            longest_ns: self.count(longest_ns, row)?,
        })
    }
}
