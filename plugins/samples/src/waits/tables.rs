//! The output tables, and how their columns are computed.

use std::cmp::Reverse;

use trueno_plugin::{Table, TableBuilder};

use super::{ThreadTimes, WaitKey, WaitSum, Waits, wakers};

fn known(ns: u64) -> Option<i64> {
    i64::try_from(ns).ok()
}

/// Table `scheduling`: times of each thread, those that ran longest first. Measured: the kernel reports each
/// switch.
///
/// `life_ns`: from the thread's first moment to its last; `on_cpu_ns`: `life_ns` − `runnable_ns` − `off_cpu_ns`,
/// null like `life_ns` if some of its switches were lost; `runnable_ns`: ready, but no processor was free;
/// `off_cpu_ns`: waiting. If the kernel does not report who ends waits, the end of a wait is unknown, and
/// `off_cpu_ns` includes the time until a processor was free. `…_share`: of the lifetime; `switches`: how often it
/// stopped running. All times are clipped to the report's window.
pub fn scheduling(waits: &Waits) -> TableBuilder {
    let mut rows: Vec<(&i64, &ThreadTimes)> = waits.threads.iter().collect();
    rows.sort_by_key(|(_, times)| Reverse(times.on_cpu_ns()));
    let rows = || rows.iter().copied();
    let share = |times: &ThreadTimes, ns: Option<u64>| {
        let life_ns = times.life_ns.filter(|ns| *ns > 0)?;
        Some(ns? as f64 / life_ns as f64)
    };
    let off_ns = |sum: &WaitSum| Some(sum.time_ns);
    Table::build("scheduling")
        .i64("thread", rows().map(|row| *row.0))
        .text("name", rows().map(|row| row.1.name.as_deref()))
        .i64("on_cpu_ns", rows().map(|row| known(row.1.on_cpu_ns()?)))
        .f64(
            "on_cpu_share",
            rows().map(|row| share(row.1, row.1.on_cpu_ns())),
        )
        .i64(
            "runnable_ns",
            rows().map(|row| known(row.1.runnable.time_ns)),
        )
        .i64("off_cpu_ns", rows().map(|row| known(row.1.off_cpu.time_ns)))
        .i64("life_ns", rows().map(|row| known(row.1.life_ns?)))
        .f64(
            "runnable_share",
            rows().map(|row| share(row.1, off_ns(&row.1.runnable))),
        )
        .f64(
            "off_cpu_share",
            rows().map(|row| share(row.1, off_ns(&row.1.off_cpu))),
        )
        .u64(
            "switches",
            rows().map(|row| row.1.runnable.waits.saturating_add(row.1.off_cpu.waits)),
        )
}

/// Table `waits`: places where threads waited, most time first. Measured, as `scheduling`.
///
/// `call`: the system call; `function`: the innermost one outside of the kernel, the C library and Rust's standard
/// library, null if the place is unknown; `waited_ns`: sum of the waits, as `off_cpu_ns` there; `woken_by`: the
/// thread that ended most of that time; `woken_waits`: number of waits that some known thread ended. Both are null
/// if the kernel did not report it. A clock, a device or another program may have ended the other waits. Table
/// `wakers` has all threads that ended waits.
pub fn waits(waits: &Waits) -> TableBuilder {
    let mut rows: Vec<(&WaitKey, &WaitSum)> = waits.places.iter().collect();
    rows.sort_by_key(|(_, sum)| Reverse(sum.time_ns));
    let rows = || rows.iter().copied();
    let name = |thread: i64| waits.name(thread);
    let wakers = wakers::by_place(waits);
    let woken = |key: &WaitKey| {
        let known = wakers.get(key).map_or(0, |(_, waits)| *waits);
        waits.tells_wakers().then_some(known)
    };
    Table::build("waits")
        .i64("thread", rows().map(|row| row.0.thread))
        .text("name", rows().map(|row| name(row.0.thread)))
        .text("call", rows().map(|row| row.0.call.as_deref()))
        .text("function", rows().map(|row| row.0.function.name.as_deref()))
        .u64("waits", rows().map(|row| row.1.waits))
        .i64("waited_ns", rows().map(|row| known(row.1.time_ns)))
        .text(
            "woken_by",
            rows().map(|row| wakers.get(row.0).map(|(waker, _)| waits.label(*waker))),
        )
        .u64("woken_waits", rows().map(|row| woken(row.0)))
        .i64("longest_ns", rows().map(|row| known(row.1.longest_ns)))
        .text("module", rows().map(|row| row.0.function.module.as_deref()))
}
