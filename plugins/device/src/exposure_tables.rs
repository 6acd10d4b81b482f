//! Output tables of [`crate::exposure`].

use std::cmp::Reverse;
use std::collections::BTreeMap;

use trueno_plugin::{Table, TableBuilder};

use crate::exposure::{Copies, Kind, SpanTimes};
use crate::operations::device_name;
use crate::sums::StepTimes;

const IDLE: &str = "idle";

struct Row {
    kind: &'static str,
    busy_ns: Option<i64>,
    exposed_ns: i64,
    overlapped_ns: Option<i64>,
    split_ns: i64,
    share: Option<f64>,
}

/// One row for each kind, and one for idle time.
fn rows(times: &SpanTimes) -> Vec<Row> {
    let share = |ns: i64| (times.span_ns > 0).then(|| ns as f64 / times.span_ns as f64);
    let kinds = Kind::ALL.iter().zip(&times.kinds).map(|(kind, of)| Row {
        kind: kind.name(),
        busy_ns: Some(of.busy_ns),
        exposed_ns: of.exposed_ns,
        overlapped_ns: Some(of.busy_ns.saturating_sub(of.exposed_ns)),
        split_ns: of.split_ns,
        share: share(of.split_ns),
    });
    let idle = Row {
        kind: IDLE,
        busy_ns: None,
        exposed_ns: times.idle_ns,
        overlapped_ns: None,
        split_ns: times.idle_ns,
        share: share(times.idle_ns),
    };
    kinds.chain([idle]).collect()
}

fn scope_name(scope: Option<i64>) -> String {
    scope.map_or("all".to_owned(), device_name)
}

fn columns(table: TableBuilder, rows: &[Row], share_of: &'static str) -> TableBuilder {
    table
        .text("kind", rows.iter().map(|row| row.kind))
        .i64("busy_ns", rows.iter().map(|row| row.busy_ns))
        .i64("exposed_ns", rows.iter().map(|row| row.exposed_ns))
        .i64("overlapped_ns", rows.iter().map(|row| row.overlapped_ns))
        .i64("split_ns", rows.iter().map(|row| row.split_ns))
        .f64("share", rows.iter().map(|row| row.share))
        .text("share_of", rows.iter().map(|_| share_of))
}

/// Table `exposure`: time by kind of work, for all devices together and for each device.
///
/// `scope`: `all` (the devices of a rank together, summed over ranks) or the device; `kind`: `computation`,
/// `communication`, `copy` or `idle`; `busy_ns`: an operation of the kind runs, null for idle; `exposed_ns`: and
/// none of another kind; `overlapped_ns`: the rest; `split_ns`: counts each instant once, see
/// [`mod@crate::exposure`]; `share`: `split_ns` / span; `share_of`: `span`, from the first start to the last end.
pub fn exposure(scopes: &BTreeMap<Option<i64>, SpanTimes>) -> TableBuilder {
    let all: Vec<(String, Row)> = scopes
        .iter()
        .flat_map(|(scope, times)| {
            let rows = rows(times).into_iter();
            rows.map(|row| (scope_name(*scope), row))
        })
        .collect();
    let (names, rows): (Vec<String>, Vec<Row>) = all.into_iter().unzip();
    columns(
        Table::build("exposure").text("scope", &names),
        &rows,
        "span",
    )
}

/// Table `exposure_by_step`: the same within each iteration, cut at its start and end on the host.
///
/// `step`, `iteration`, `start_ns`, `dur_ns`: the iteration; `scope`: all devices of its rank, then each;
/// `share_of`: `step`. The other columns are as in [`exposure`].
pub fn by_step(steps: &[StepTimes]) -> TableBuilder {
    let mut places: Vec<(&StepTimes, String)> = Vec::new();
    let mut all: Vec<Row> = Vec::new();
    for step in steps {
        for (scope, times) in &step.scopes {
            let rows = rows(times);
            places.extend(rows.iter().map(|_| (step, scope_name(*scope))));
            all.extend(rows);
        }
    }
    let steps = || places.iter().map(|place| &place.0.step);
    let table = Table::build("exposure_by_step")
        .text("step", steps().map(|step| &step.name))
        .u64("iteration", steps().map(|step| step.iteration))
        .i64("start_ns", steps().map(|step| step.start_ns))
        .i64(
            "dur_ns",
            steps().map(|step| step.end_ns.saturating_sub(step.start_ns)),
        )
        .text("scope", places.iter().map(|place| &place.1));
    columns(table, &all, "step")
}

/// Table `copies`: transfers by device and direction, longest first.
///
/// `dur_ns`: sum; `bytes`: sum over the transfers that state their bytes, null if none does; `stated`: their
/// number; `bytes_per_s`: `bytes` / time of those transfers.
pub fn copies_by_direction(copies: &BTreeMap<(i64, String), Copies>) -> TableBuilder {
    let mut rows: Vec<_> = copies.iter().collect();
    rows.sort_by_key(|(key, of)| (Reverse(of.dur_ns), *key));
    Table::build("copies")
        .text("place", rows.iter().map(|row| device_name(row.0.0)))
        .text("direction", rows.iter().map(|row| &row.0.1))
        .u64("operations", rows.iter().map(|row| row.1.operations))
        .i64("dur_ns", rows.iter().map(|row| row.1.dur_ns))
        .u64(
            "bytes",
            rows.iter()
                .map(|row| (row.1.stated > 0).then_some(row.1.bytes)),
        )
        .f64("bytes_per_s", rows.iter().map(|row| row.1.bytes_per_s()))
        .u64("stated", rows.iter().map(|row| row.1.stated))
}
