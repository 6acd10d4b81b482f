//! The output tables, and how their columns are computed.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use trueno_plugin::{Table, TableBuilder};

use crate::function::Function;
use crate::interval::Share;
use crate::sums::{BrickKey, EventSum, FunctionSum, Tally, counts_time};

pub const NOT_KNOWN: &str = "not known";

impl Function {
    pub fn shown_name(&self) -> &str {
        self.name.as_deref().unwrap_or(NOT_KNOWN)
    }
}

/// CPU time that samples of an event stand for. `None` if the event does not count time, or if a period is missing.
pub fn estimated_ns(event: &str, tally: Tally) -> Option<i64> {
    tally.known_period().filter(|_| counts_time(event))
}

/// Table `functions`: event by event, the hottest first.
///
/// `self_samples`: samples in which the function was the innermost; `self_share`: of all samples of the event, with
/// `low_share` and `high_share`, the ends of its 95 % interval ([`crate::interval`]); `self_estimated_ns`: CPU time
/// that these samples stand for, the sum of their periods, null if the event does not count time or a sample has no
/// period; `total_samples`, `total_share`: samples in which it was on the stack, counted once for a recursive
/// function; `line`: the known source line with most of `self_samples`, and `line_samples`: how many those are.
/// Unknown functions share a row `not known` for each module.
pub fn functions(events: &[(&str, &EventSum)]) -> TableBuilder {
    let rows: Vec<(&str, u64, &Function, &FunctionSum)> = events
        .iter()
        .flat_map(|(event, sum)| {
            let functions = sum.functions_in_order().into_iter();
            functions.map(|(function, of)| (*event, sum.all.samples, function, of))
        })
        .collect();
    let rows = || rows.iter().copied();
    let share = |(_, all, _, sum): (&str, u64, &Function, &FunctionSum)| {
        Share::new(sum.innermost.samples, all)
    };
    let line = |sum: &FunctionSum| {
        let line = sum.hottest_line();
        line.map(|(line, _)| format!("{}:{}", line.file, line.line))
    };
    Table::build("functions")
        .text("event", rows().map(|row| row.0))
        .text("function", rows().map(|row| row.2.shown_name()))
        .f64(
            "self_share",
            rows().map(|row| share(row).map(|of| of.share)),
        )
        .f64("low_share", rows().map(|row| share(row).map(|of| of.low)))
        .f64("high_share", rows().map(|row| share(row).map(|of| of.high)))
        .text("module", rows().map(|row| row.2.module.as_deref()))
        .u64("self_samples", rows().map(|row| row.3.innermost.samples))
        .i64(
            "self_estimated_ns",
            rows().map(|row| estimated_ns(row.0, row.3.innermost)),
        )
        .f64(
            "total_share",
            rows().map(|row| Share::new(row.3.inclusive, row.1).map(|of| of.share)),
        )
        .u64("total_samples", rows().map(|row| row.3.inclusive))
        .text("line", rows().map(|row| line(row.3)))
        .u64(
            "line_samples",
            rows().map(|row| row.3.hottest_line().map(|(_, count)| count)),
        )
}

/// Table `threads`: samples of each thread, most first.
///
/// `sample_share`: of all samples of the event, with its interval as in `functions`; `estimated_ns`: CPU time that
/// they stand for, as `self_estimated_ns` there.
pub fn threads(events: &[(&str, &EventSum)], names: &BTreeMap<i64, String>) -> TableBuilder {
    let mut rows: Vec<(&str, Option<Share>, i64, Tally)> = Vec::new();
    for (event, sum) in events {
        let mut threads: Vec<(i64, Tally)> = sum.threads.iter().map(|of| (*of.0, *of.1)).collect();
        threads.sort_by_key(|(_, tally)| Reverse(tally.samples));
        let threads = threads.into_iter();
        rows.extend(threads.map(|(thread, tally)| {
            let share = Share::new(tally.samples, sum.all.samples);
            (*event, share, thread, tally)
        }));
    }
    let rows = || rows.iter();
    Table::build("threads")
        .text("event", rows().map(|row| row.0))
        .i64("thread", rows().map(|row| row.2))
        .text(
            "name",
            rows().map(|row| names.get(&row.2).map(String::as_str)),
        )
        .u64("samples", rows().map(|row| row.3.samples))
        .f64("sample_share", rows().map(|row| row.1.map(|of| of.share)))
        .f64("low_share", rows().map(|row| row.1.map(|of| of.low)))
        .f64("high_share", rows().map(|row| row.1.map(|of| of.high)))
        .i64("estimated_ns", rows().map(|row| estimated_ns(row.0, row.3)))
}

struct InBrick<'a> {
    event: &'a str,
    key: &'a BrickKey,
    all: u64,
    function: String,
    module: Option<&'a str>,
    samples: u64,
}

/// Table `bricks`: functions that ran inside rows of `bricks` and host kernels, by the name of the row, most
/// samples first.
///
/// A sample belongs to the innermost row of its thread at its time. `brick_samples`: all samples of the name;
/// `brick_share`: share of these in which the function was the innermost, with its interval as in `functions`. The
/// `limit` hottest functions of a name have a row each; the others share one. Samples outside all rows are left
/// out.
pub fn bricks(events: &[(&str, &EventSum)], limit: usize) -> TableBuilder {
    let rows: Vec<InBrick<'_>> = events
        .iter()
        .flat_map(|(event, sum)| bricks_of_event(event, sum, limit))
        .collect();
    let share = |row: &InBrick<'_>| Share::new(row.samples, row.all);
    let rows = || rows.iter();
    Table::build("bricks")
        .text("event", rows().map(|row| row.event))
        .text("kind", rows().map(|row| &row.key.kind))
        .text("name", rows().map(|row| &row.key.name))
        .text("function", rows().map(|row| &row.function))
        .f64(
            "brick_share",
            rows().map(|row| share(row).map(|of| of.share)),
        )
        .f64("low_share", rows().map(|row| share(row).map(|of| of.low)))
        .f64("high_share", rows().map(|row| share(row).map(|of| of.high)))
        .text("module", rows().map(|row| row.module))
        .u64("samples", rows().map(|row| row.samples))
        .u64("brick_samples", rows().map(|row| row.all))
}

fn bricks_of_event<'a>(event: &'a str, sum: &'a EventSum, limit: usize) -> Vec<InBrick<'a>> {
    let add = |all: u64, count: &u64| all.saturating_add(*count);
    let bricks = sum.bricks.iter();
    let mut bricks: Vec<_> = bricks
        .map(|(key, functions)| (functions.values().fold(0, add), key, functions))
        .collect();
    bricks.sort_by_key(|(all, ..)| Reverse(*all));
    let mut out = Vec::new();
    for (all, key, functions) in bricks {
        let mut functions: Vec<(&Function, u64)> =
            functions.iter().map(|(of, count)| (of, *count)).collect();
        functions.sort_by_key(|(_, count)| Reverse(*count));
        // One that is left has a row of its own all the same.
        let shown = match functions.len() {
            few if few <= limit.saturating_add(1) => few,
            _ => limit,
        };
        let others = functions.split_off(shown);
        let row = |function: String, module, samples| InBrick {
            event,
            key,
            all,
            function,
            module,
            samples,
        };
        out.extend(functions.into_iter().map(|(function, samples)| {
            let module = function.module.as_deref();
            row(function.shown_name().to_owned(), module, samples)
        }));
        if !others.is_empty() {
            let samples = others.iter().map(|(_, count)| count).fold(0, add);
            out.push(row(format!("{} others", others.len()), None, samples));
        }
    }
    out
}
