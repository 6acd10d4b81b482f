//! Lives of threads, cut into running, runnable and waiting.

use std::cmp::Reverse;

use trueno_plugin::{Table, TableBuilder};

use super::{ThreadTimes, Waits};

struct Row<'a> {
    label: String,
    thread: i64,
    state: &'a str,
    ns: Option<u64>,
    share: Option<f64>,
}

/// Table `states`: the times of `scheduling` with a row for each thread and state, in the same order, for a chart.
///
/// `state`: `running`, `runnable` (ready, but no processor was free) or `waiting`; or `not measured`, without a
/// time, if some switches of the thread were lost. `life_share`: of the thread's lifetime.
pub fn states(waits: &Waits) -> TableBuilder {
    let mut threads: Vec<(&i64, &ThreadTimes)> = waits.threads.iter().collect();
    threads.sort_by_key(|(_, times)| Reverse(times.on_cpu_ns()));
    let mut rows: Vec<Row<'_>> = Vec::new();
    for (thread, times) in threads {
        let row = |state, ns, share| Row {
            label: waits.label(*thread),
            thread: *thread,
            state,
            ns,
            share,
        };
        let Some((life_ns, on_cpu_ns)) = times.life_ns.zip(times.on_cpu_ns()) else {
            rows.push(row("not measured", None, None));
            continue;
        };
        let of_life = |ns: u64| (life_ns > 0).then(|| ns as f64 / life_ns as f64);
        for (state, ns) in [
            ("running", on_cpu_ns),
            ("runnable", times.runnable.time_ns),
            ("waiting", times.off_cpu.time_ns),
        ] {
            rows.push(row(state, Some(ns), of_life(ns)));
        }
    }
    let rows = || rows.iter();
    Table::build("states")
        .text("label", rows().map(|row| row.label.as_str()))
        .i64("thread", rows().map(|row| row.thread))
        .text("state", rows().map(|row| row.state))
        .i64("state_ns", rows().map(|row| i64::try_from(row.ns?).ok()))
        .f64("life_share", rows().map(|row| row.share))
}
