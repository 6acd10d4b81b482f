//! The output tables, and how their columns are computed.

use std::cmp::Reverse;

use trueno_plugin::{Table, TableBuilder};

use super::{ThreadTimes, WaitKey, WaitSum, Waits, wakers};

fn known(ns: u64) -> Option<i64> {
    i64::try_from(ns).ok()
}

/// Table `scheduling`: times of each thread, those that ran longest first. Measured: the kernel tells of each switch.
///
/// `life_ns`: from its first moment to its last; `on_cpu_ns`: the rest of it, `life_ns` − `runnable_ns` − `off_cpu_ns`,
/// null like `life_ns` where some of its switches were lost; `runnable_ns`: it could have run, and no processor was free;
/// `off_cpu_ns`: it waited; where the kernel does not tell who ends waits, the time until a processor was free is in it,
/// as the end of the wait itself is not told; `…_share`: of the life; `switches`: how often it began to do either. In a part of a run, what of all this lies in it.
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

/// Table `waits`: places where threads waited, those with the most time first. Measured, as `scheduling`.
///
/// `call`: the system call; `function`: the innermost one outside of the kernel, the C library and Rust's standard
/// library, null where nothing is known of the place; `waited_ns`: sum of the waits, as `off_cpu_ns` there; `woken_by`: the
/// thread that ended most of that time, and `woken_waits`: so many of the waits some thread is known to have ended, both
/// null where the kernel did not tell; the others a clock, a device or another program may have ended. All threads that
/// ended waits are in `wakers`.
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
