//! The finding on calls that move little.

use trueno_analysis::share;
use trueno_analysis::wording::{bytes, count, percent, quoted, time};
use trueno_plugin::{Finding, Severity, rank};

use crate::sums::{Sums, TransferSum};

/// Threads with fewer calls get no finding.
pub const MIN_CALLS: u64 = 1_000;
/// Calls are small if their median moves less than this.
pub const SMALL_BYTES: i64 = 512;
/// Calls that take a smaller share of the wall time get no finding.
pub const MIN_WALL_SHARE: f64 = 0.05;

/// Many small reads or writes of one thread that took a good part of the wall time. If several threads have them,
/// the one that spent longest. Threads are not added up, since their sum may exceed the wall time. Waits, failed
/// calls, sockets and event counters are left out: larger pieces would not help those.
pub fn small_transfers(sums: &Sums) -> Option<Finding> {
    let wall_ns = sums.wall_ns?;
    let small = sums.transfers.iter().filter_map(|((thread, name), sum)| {
        let median = median_bytes(sum).filter(|bytes| *bytes < SMALL_BYTES)?;
        let time_ns = sum.time.ns()?;
        let of_wall = share(time_ns, wall_ns).filter(|share| *share >= MIN_WALL_SHARE)?;
        let is_many = sum.sizes.len() >= MIN_CALLS;
        is_many.then_some((time_ns, *thread, name, sum.sizes.len(), median, of_wall))
    });
    let mut all: Vec<_> = small.collect();
    all.sort_by_key(|of| std::cmp::Reverse(of.0));
    let (time_ns, thread, name, calls, median, of_wall) = all.first()?;
    let title = format!(
        "{} calls of {name} on {} move {} at the median and take {}, {} of the wall",
        count(*calls),
        thread_text(*thread),
        bytes(*median as f64),
        time(*time_ns),
        percent(*of_wall)
    );
    let mut detail =
        "if a tracer recorded them, each includes half of a tracer stop, so they are faster without it"
            .to_owned();
    if all.len() > 1 {
        detail = format!(
            "the same holds for {} more names and threads; {detail}",
            all.len() - 1
        );
    }
    let evidence = format!(
        "SELECT name, calls, time_ns, median_ns, bytes FROM syscalls.calls WHERE name = {}",
        quoted(name)
    );
    Some(
        Finding::new("small_transfers", Severity::Warning, title)
            .detail(detail)
            .suggestion("buffer them, so that each call moves several kilobytes")
            .evidence(evidence),
    )
}

fn median_bytes(sum: &TransferSum) -> Option<i64> {
    Some(sum.sizes.quantiles()?.median)
}

fn thread_text(thread: i64) -> String {
    match rank::of_place(thread) {
        (0, thread) => format!("thread {thread}"),
        (rank, thread) => format!("thread {thread} of rank {rank}"),
    }
}
