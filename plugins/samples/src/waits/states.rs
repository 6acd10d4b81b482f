//! Lives of threads, cut into running, runnable and waiting.

use std::cmp::Reverse;

use trueno_plugin::{Table, TableBuilder};

use super::{ThreadTimes, Waits};

/// Table `states`: `scheduling` as a row for each thread and state, in the same order: what a chart draws.
///
/// `state`: `running`, `runnable` (it could have run, and no processor was free) or `waiting`; `not measured`, without a
/// time, of a thread of which some switches were lost. `life_share`: of the thread's life.
pub fn states(waits: &Waits) -> TableBuilder {
    let mut threads: Vec<(&i64, &ThreadTimes)> = waits.threads.iter().collect();
    threads.sort_by_key(|(_, times)| Reverse(times.on_cpu_ns()));
    let mut rows: Vec<(String, i64, &str, Option<u64>, Option<f64>)> = Vec::new();
    for (thread, times) in threads {
        let label = waits.label(*thread);
        let Some((life_ns, on_cpu_ns)) = times.life_ns.zip(times.on_cpu_ns()) else {
            rows.push((label, *thread, "not measured", None, None));
            continue;
        };
        let of_life = |ns: u64| (life_ns > 0).then(|| ns as f64 / life_ns as f64);
        for (state, ns) in [
            ("running", on_cpu_ns),
            ("runnable", times.runnable.time_ns),
            ("waiting", times.off_cpu.time_ns),
        ] {
            rows.push((label.clone(), *thread, state, Some(ns), of_life(ns)));
        }
    }
    let rows = || rows.iter();
    Table::build("states")
        .text("label", rows().map(|row| row.0.as_str()))
        .i64("thread", rows().map(|row| row.1))
        .text("state", rows().map(|row| row.2))
        .i64("state_ns", rows().map(|row| i64::try_from(row.3?).ok()))
        .f64("life_share", rows().map(|row| row.4))
}
