//! Findings on threads that did not run.

use trueno_analysis::wording::{many, percent, short, time};
use trueno_plugin::{Finding, Severity, agreeing, rank};

use super::{ThreadTimes, WaitKey, WaitSum, Waits, wakers};

/// Below this share of the time that threads could have run, there is no finding.
pub const RUNNABLE_SHARE: f64 = 0.1;
/// Below this share of a thread's lifetime, waiting is usual and there is no finding.
pub const WAITING_SHARE: f64 = 0.5;

fn ns(ns: u64) -> i64 {
    i64::try_from(ns).unwrap_or(i64::MAX)
}

/// Time in which no processor was free, and where the first thread waited.
pub fn findings(waits: &Waits) -> Vec<Finding> {
    no_processor(waits)
        .into_iter()
        .chain(first_thread(waits))
        .collect()
}

/// Says that samples alone do not show when threads did not run.
pub fn not_measured() -> Finding {
    let title = "how long threads ran, were ready and waited was not measured: no context switches are recorded";
    Finding::new("no_switches", Severity::Info, title)
        .suggestion("`trueno-record run --sample` records them")
}

fn no_processor(waits: &Waits) -> Option<Finding> {
    let known = waits
        .threads
        .values()
        .filter(|times| times.life_ns.is_some());
    let (mut ran_ns, mut runnable_ns, mut threads) = (0_u64, 0_u64, 0);
    for times in known {
        ran_ns = ran_ns.saturating_add(times.on_cpu_ns().unwrap_or(0));
        runnable_ns = runnable_ns.saturating_add(times.runnable.time_ns);
        threads += 1;
    }
    let could_ns = ran_ns.saturating_add(runnable_ns);
    let share = runnable_ns as f64 / could_ns.max(1) as f64;
    (share >= RUNNABLE_SHARE).then(|| {
        let title = format!(
            "no processor was free for {} of the time threads were ready to run ({} of {})",
            percent(share),
            time(ns(runnable_ns)),
            time(ns(could_ns))
        );
        Finding::new("runnable", Severity::Warning, title)
            .detail(format!("{} ran; other programs use processors too", many(threads, "thread")))
            .suggestion("use no more busy threads than processors, on an otherwise idle machine")
            .evidence("SELECT thread, name, on_cpu_ns, runnable_ns, off_cpu_ns FROM samples.scheduling ORDER BY runnable_ns DESC")
    })
}

/// Where the first thread waited. It decides when a program ends.
fn first_thread(waits: &Waits) -> Option<Finding> {
    let (thread, times) = waits.threads.first_key_value()?;
    let ThreadTimes { off_cpu, .. } = times;
    let share = off_cpu.time_ns as f64 / times.life_ns.filter(|ns| *ns > 0)? as f64;
    let places = waits.places.iter().filter(|(key, _)| key.thread == *thread);
    let (key, sum) = places.max_by_key(|(_, sum)| sum.time_ns)?;
    (share >= WAITING_SHARE).then(|| {
        let title = format!(
            "{} waited for {} of its lifetime, most of it {}",
            thread_text(*thread, times.name.as_deref()),
            percent(share),
            place_text(key, sum)
        );
        let finding = Finding::new("waits", Severity::Info, title);
        let finding = if waits.tells_wakers() {
            finding.detail(wakers_text(waits, key, sum))
        } else {
            finding
        };
        finding.evidence(
            "SELECT thread, name, call, \"function\", waits, waited_ns FROM samples.waits",
        )
    })
}

fn thread_text(thread: i64, name: Option<&str>) -> String {
    let (rank, number) = rank::of_place(thread);
    let of_rank = match rank {
        0 => String::new(),
        rank => format!(" of rank {rank}"),
    };
    match name {
        Some(name) => format!("thread {number} ({}){of_rank}", short(name)),
        None => format!("thread {number}{of_rank}"),
    }
}

fn wakers_text(waits: &Waits, key: &WaitKey, sum: &WaitSum) -> String {
    let woken = waits.wakers_of(key).map(|(_, sum)| sum.waits);
    let woken = woken.fold(0, u64::saturating_add);
    if woken == 0 {
        return "no wait there is known to have been ended by a thread of the program: a clock, a device or another \
                program may have ended it"
            .to_owned();
    }
    let by = wakers::by_place(waits).get(key).map(|(waker, _)| *waker);
    let by = by.map_or(String::new(), |waker| {
        format!(
            ", most of the time by {}",
            thread_text(waker, waits.name(waker))
        )
    });
    format!(
        "of {} there, {woken} {} ended by threads of the program{by}",
        many(sum.waits, "wait"),
        agreeing(woken as usize, "was", "were")
    )
}

fn place_text(key: &WaitKey, sum: &WaitSum) -> String {
    let call = key.call.as_deref();
    let of = key.function.name.as_deref().map(short);
    let place = match (call, of) {
        (Some(call), Some(of)) => format!("in {call} of {of}"),
        (Some(call), None) => format!("in {call}"),
        (None, Some(of)) => format!("in {of}"),
        (None, None) => "at an unknown place".to_owned(),
    };
    format!("{place} ({})", time(ns(sum.time_ns)))
}
