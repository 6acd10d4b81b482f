//! The output tables, and how their columns are computed.

use std::cmp::Reverse;

use trueno_analysis::share;
use trueno_plugin::{Table, TableBuilder};

use crate::sums::{CallSum, FileSum, Sums};

/// Table `calls`: calls of each name, most time first.
///
/// `time_ns`: sum of their durations, including waits; `wait_ns`: time of the calls that only wait (also rows of
/// `syncs`), null if none is known to; `time_share`: of the time in all calls; `median_ns`, `p99_ns`: by nearest
/// rank; `errors`: failed calls; `bytes`: moved or mapped, null if no call reports any; `untimed_calls`: calls
/// without a duration, which are in no time here.
pub fn calls(sums: &Sums) -> TableBuilder {
    let mut rows: Vec<(&str, &CallSum, Option<i64>)> = sums
        .calls
        .iter()
        .map(|(name, sum)| (name.as_str(), sum, sum.time_ns()))
        .collect();
    rows.sort_by_key(|(_, sum, time_ns)| Reverse((*time_ns, sum.calls())));
    let all_ns = rows
        .iter()
        .filter_map(|row| row.2)
        .fold(0, i64::saturating_add);
    let rows = || rows.iter();
    let quantiles = || rows().map(|row| row.1.durations.quantiles());
    Table::build("calls")
        .text("name", rows().map(|row| row.0))
        .u64("calls", rows().map(|row| row.1.calls()))
        .u64("errors", rows().map(|row| row.1.errors))
        .i64("time_ns", rows().map(|row| row.2))
        .f64("time_share", rows().map(|row| share(row.2?, all_ns)))
        .i64("wait_ns", rows().map(|row| row.1.wait_ns()))
        .u64("bytes", rows().map(|row| row.1.bytes))
        .i64("median_ns", quantiles().map(|of| of.map(|of| of.median)))
        .i64("p99_ns", quantiles().map(|of| of.map(|of| of.p99)))
        .i64("max_ns", quantiles().map(|of| of.map(|of| of.max)))
        .u64("untimed_calls", rows().map(|row| row.1.untimed))
}

/// Table `errors`: failed calls by name and error, most first.
///
/// `errno`: null if only the result shows the error; `target`: what most of them were about, among equal ones the
/// first by name; `targets`: number of different targets, null if no call has one.
pub fn errors(sums: &Sums) -> TableBuilder {
    let mut rows: Vec<_> = sums
        .errors
        .iter()
        .map(|(key, targets)| {
            let calls = targets
                .values()
                .fold(0, |sum: u64, more| sum.saturating_add(*more));
            let known = targets
                .iter()
                .filter_map(|(of, count)| Some((of.as_deref()?, *count)));
            let known: Vec<(&str, u64)> = known.collect();
            let most = known
                .iter()
                .max_by_key(|(of, count)| (*count, Reverse(*of)));
            let example = most.map(|(of, _)| *of);
            let targets = (!known.is_empty()).then_some(known.len() as u64);
            (key, calls, example, targets)
        })
        .collect();
    rows.sort_by_key(|row| Reverse(row.1));
    let rows = || rows.iter();
    Table::build("errors")
        .text("name", rows().map(|row| &row.0.name))
        .text("errno", rows().map(|row| row.0.errno.as_deref()))
        .u64("calls", rows().map(|row| row.1))
        .text("target", rows().map(|row| row.2))
        .u64("targets", rows().map(|row| row.3))
}

/// Table `files`: calls about each file, or kind of open object; the `limit` with the most time.
///
/// `time_ns`, `wait_ns`, `bytes`, `errors`, `untimed_calls`: as in `calls`.
pub fn files(sums: &Sums, limit: usize) -> TableBuilder {
    let mut rows: Vec<(&str, &FileSum)> = sums
        .files
        .iter()
        .map(|(target, sum)| (target.as_str(), sum))
        .collect();
    rows.sort_by_key(|(_, sum)| Reverse((sum.time_ns(), sum.calls())));
    rows.truncate(limit);
    let rows = || rows.iter();
    Table::build("files")
        .text("target", rows().map(|row| row.0))
        .u64("calls", rows().map(|row| row.1.calls()))
        .i64("time_ns", rows().map(|row| row.1.time_ns()))
        .i64("wait_ns", rows().map(|row| row.1.wait_ns()))
        .u64("bytes", rows().map(|row| row.1.bytes))
        .u64("errors", rows().map(|row| row.1.errors))
        .u64("untimed_calls", rows().map(|row| row.1.untimed))
}
