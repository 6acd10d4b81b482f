//! Tables of parts.

use trueno_plugin::{Input, Result, Run, Table, table_row};

use super::{WaitKey, WaitSum, Waits, WakerKey};
use crate::function::Function;

pub const WAIT_SUMS: Input = Input::sql("wait_sums", "SELECT * FROM samples.wait_sums");
pub const WAKER_SUMS: Input = Input::sql("waker_sums", "SELECT * FROM samples.waker_sums");
pub const STRETCHES: Input = Input::sql("stretches", "SELECT stretches FROM samples.stretches");
pub const THREAD_TIMES: Input = Input::sql("thread_times", "SELECT * FROM samples.thread_times");

table_row! {
    struct WaitRow<'a> {
        thread: i64,
        call: Option<&'a str>,
        function_name: Option<&'a str>,
        module: Option<&'a str>,
        waits: u64,
        sum_ns: u64,
        longest_ns: u64,
    }
}
table_row! {
    struct WakerRow<'a> {
        thread: i64,
        call: Option<&'a str>,
        function_name: Option<&'a str>,
        module: Option<&'a str>,
        waker: i64,
        waker_name: Option<&'a str>,
        by_end: bool,
        waits: u64,
        sum_ns: u64,
        longest_ns: u64,
    }
}
table_row! {
    struct ThreadTimesRow<'a> {
        thread: i64,
        name: Option<&'a str>,
        life_ns: Option<u64>,
        runnable: u64,
        runnable_sum_ns: u64,
        runnable_longest_ns: u64,
        off_cpu: u64,
        off_cpu_sum_ns: u64,
        off_cpu_longest_ns: u64,
    }
}

/// Emits a part.
///
/// # Errors
/// The host refuses a table.
pub fn emit(run: &mut Run, waits: &Waits) -> Result<()> {
    let rows = waits.places.iter().map(|(key, sum)| WaitRow {
        thread: key.thread,
        call: key.call.as_deref(),
        function_name: key.function.name.as_deref(),
        module: key.function.module.as_deref(),
        waits: sum.waits,
        sum_ns: sum.time_ns,
        longest_ns: sum.longest_ns,
    });
    run.emit(Table::build("wait_sums").rows(rows))?;
    let rows = waits.wakers.iter().map(|(key, sum)| WakerRow {
        thread: key.wait.thread,
        call: key.wait.call.as_deref(),
        function_name: key.wait.function.name.as_deref(),
        module: key.wait.function.module.as_deref(),
        waker: key.waker,
        waker_name: waits.waker_names.get(&key.waker).map(String::as_str),
        by_end: key.by_end,
        waits: sum.waits,
        sum_ns: sum.time_ns,
        longest_ns: sum.longest_ns,
    });
    run.emit(Table::build("waker_sums").rows(rows))?;
    run.emit(Table::build("stretches").u64("stretches", [waits.stretches]))?;
    let rows = waits.threads.iter().map(|(thread, times)| ThreadTimesRow {
        thread: *thread,
        name: times.name.as_deref(),
        life_ns: times.life_ns,
        runnable: times.runnable.waits,
        runnable_sum_ns: times.runnable.time_ns,
        runnable_longest_ns: times.runnable.longest_ns,
        off_cpu: times.off_cpu.waits,
        off_cpu_sum_ns: times.off_cpu.time_ns,
        off_cpu_longest_ns: times.off_cpu.longest_ns,
    });
    run.emit(Table::build("thread_times").rows(rows))
}

/// Reads all parts there are, and adds them up.
///
/// # Errors
/// An input lacks a column, or has it in another type or null.
pub fn read(run: &mut Run) -> Result<Waits> {
    let mut out = Waits::default();
    for row in run.table("wait_sums")?.read::<WaitRow>()? {
        let row = row?;
        let key = WaitKey {
            thread: row.thread,
            call: row.call.map(str::to_owned),
            function: Function::of(row.function_name, row.module),
        };
        let sum = wait_sum(row.waits, row.sum_ns, row.longest_ns);
        out.places.entry(key).or_default().add(sum);
    }
    for row in run.table("waker_sums")?.read::<WakerRow>()? {
        let row = row?;
        let key = WakerKey {
            wait: WaitKey {
                thread: row.thread,
                call: row.call.map(str::to_owned),
                function: Function::of(row.function_name, row.module),
            },
            waker: row.waker,
            by_end: row.by_end,
        };
        if let Some(name) = row.waker_name {
            out.waker_names.insert(key.waker, name.to_owned());
        }
        let sum = wait_sum(row.waits, row.sum_ns, row.longest_ns);
        out.wakers.entry(key).or_default().add(sum);
    }
    let stretches = run.table("stretches")?;
    let counts = stretches.u64("stretches")?;
    out.stretches = counts.iter().flatten().fold(0, u64::saturating_add);
    for row in run.table("thread_times")?.read::<ThreadTimesRow>()? {
        let row = row?;
        let times = out.threads.entry(row.thread).or_default();
        times.name = row.name.map(str::to_owned);
        times.life_ns = row.life_ns;
        let (sum_ns, longest_ns) = (row.runnable_sum_ns, row.runnable_longest_ns);
        times
            .runnable
            .add(wait_sum(row.runnable, sum_ns, longest_ns));
        let (sum_ns, longest_ns) = (row.off_cpu_sum_ns, row.off_cpu_longest_ns);
        times.off_cpu.add(wait_sum(row.off_cpu, sum_ns, longest_ns));
    }
    Ok(out)
}

fn wait_sum(waits: u64, time_ns: u64, longest_ns: u64) -> WaitSum {
    WaitSum {
        waits,
        time_ns,
        longest_ns,
    }
}
