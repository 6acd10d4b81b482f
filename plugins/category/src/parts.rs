//! Tables of parts: [`Sums`] of some ranks, all as integers and texts.
//!
//! | table | a row for each |
//! | --- | --- |
//! | `job` | part: the window, and rows left out |
//! | `labels` | label, numbered for `durations` |
//! | `durations` | label and distinct duration |
//! | `categories` | kind of lane and category |
//! | `lanes` | host thread, pooled ones too, and device stream |
//!
//! Names of labels can be long and durations many, so that the latter name the former by number. Numbers have the
//! lowest rank of their part in the upper bits, and are therefore never those of another part.

use std::collections::BTreeMap;

use trueno_analysis::lanes::{LaneKey, LaneKind};
use trueno_analysis::value_counts::ValueCounts;
use trueno_plugin::rank::KEY_BITS;
use trueno_plugin::{Error, Input, Result, Run, Table};

use crate::sums::{LabelKey, LaneSum, Sums};
use crate::totals::{LabelTotal, LaneTotal};

/// Inputs of [`read`].
pub const INPUTS: [Input; 5] = [
    Input::sql(
        "job",
        "SELECT wall_ns, is_part, bound, invalid, impossible FROM category.job",
    ),
    Input::sql(
        "labels",
        "SELECT label, lane_kind, name, kind, category, class, calls, bound_calls, self_ns, inclusive_ns, \
         elements_high, elements_low, with_elements_ns FROM category.labels",
    ),
    Input::sql(
        "durations",
        "SELECT label, dur_ns, calls FROM category.durations",
    ),
    Input::sql(
        "categories",
        "SELECT lane_kind, category, inclusive_ns FROM category.categories",
    ),
    Input::sql(
        "lanes",
        "SELECT lane, place, stream, name, busy_ns, self_ns, first_ns, last_ns, pool, lanes FROM category.lanes",
    ),
];

/// Emits the tables of one part.
///
/// # Errors
/// As for [`Run::emit`].
pub fn emit(run: &mut Run, sums: &Sums<ValueCounts>) -> Result<()> {
    let left = &sums.left_out;
    run.emit(
        Table::build("job")
            .i64("wall_ns", [sums.wall_ns])
            .bool("is_part", [sums.is_part])
            .u64("bound", [left.bound])
            .u64("invalid", [left.invalid])
            .u64("impossible", [left.impossible]),
    )?;
    let rank = sums.lanes.iter().map(|lane| lane.key.rank()).min();
    let first = u64::from(rank.unwrap_or(0)) << KEY_BITS;
    let keys = || sums.labels.keys();
    let totals = || sums.labels.values().map(|of| &of.total);
    let high = |elements: u128| (elements >> 64) as u64;
    let low = |elements: u128| elements as u64;
    run.emit(
        Table::build("labels")
            .u64("label", (first..).zip(keys()).map(|(number, _)| number))
            .text("lane_kind", keys().map(|key| key.lane_kind.name()))
            .text("name", keys().map(|key| &key.name))
            .text("kind", keys().map(|key| &key.kind))
            .text("category", keys().map(|key| &key.category))
            .u64("class", keys().map(|key| key.class))
            .u64("calls", totals().map(|total| total.calls))
            .u64("bound_calls", totals().map(|total| total.bound_calls))
            .i64("self_ns", totals().map(|total| total.self_ns))
            .i64("inclusive_ns", totals().map(|total| total.inclusive_ns))
            .u64(
                "elements_high",
                totals().map(|total| total.elements.map(high)),
            )
            .u64(
                "elements_low",
                totals().map(|total| total.elements.map(low)),
            )
            .i64(
                "with_elements_ns",
                totals().map(|total| total.with_elements_ns),
            ),
    )?;
    let durations = || {
        let numbered = (first..).zip(sums.labels.values());
        numbered.flat_map(|(number, of)| {
            let values = of.durations.iter();
            values.map(move |(dur_ns, calls)| (number, dur_ns, calls))
        })
    };
    run.emit(
        Table::build("durations")
            .u64("label", durations().map(|(label, ..)| label))
            .i64("dur_ns", durations().map(|(_, dur_ns, _)| dur_ns))
            .u64("calls", durations().map(|(.., calls)| calls)),
    )?;
    let categories = || sums.categories.iter();
    run.emit(
        Table::build("categories")
            .text("lane_kind", categories().map(|((kind, _), _)| kind.name()))
            .text("category", categories().map(|((_, category), _)| category))
            .i64("inclusive_ns", categories().map(|(_, ns)| ns)),
    )?;
    let lanes = || sums.lanes.iter();
    let cells = || lanes().map(|lane| key_cells(lane.key));
    run.emit(
        Table::build("lanes")
            .text("lane", cells().map(|(lane, ..)| lane))
            .i64("place", cells().map(|(_, place, _)| place))
            .i64("stream", cells().map(|(.., stream)| stream))
            .text("name", lanes().map(|lane| &lane.name))
            .i64("busy_ns", lanes().map(|lane| lane.total.busy_ns))
            .i64("self_ns", lanes().map(|lane| lane.total.self_ns))
            .i64("first_ns", lanes().map(|lane| lane.life.map(|life| life.0)))
            .i64("last_ns", lanes().map(|lane| lane.life.map(|life| life.1)))
            .i64("pool", lanes().map(|lane| lane.pool))
            .u64("lanes", lanes().map(|lane| lane.lanes)),
    )
}

/// Reads the tables of all parts, and adds them up.
///
/// # Errors
/// A table lacks a column or has it in another type; or its cells are none that [`emit`] writes.
pub fn read(run: &mut Run) -> Result<Sums<ValueCounts>> {
    let mut sums = Sums::default();
    let table = run.table("job")?;
    let cells = Cells(&table);
    for row in 0..table.rows() {
        // The same in all parts; where the end of the run was not recorded, up to the last end of each.
        sums.wall_ns = sums.wall_ns.max(cells.i64("wall_ns", row)?);
        sums.is_part |= cells.bool("is_part", row)?;
        let left = &mut sums.left_out;
        left.bound = left.bound.saturating_add(cells.u64("bound", row)?);
        left.invalid = left.invalid.saturating_add(cells.u64("invalid", row)?);
        left.impossible = left
            .impossible
            .saturating_add(cells.u64("impossible", row)?);
    }
    let durations = read_durations(&run.table("durations")?)?;
    read_labels(&run.table("labels")?, durations, &mut sums)?;
    let table = run.table("categories")?;
    let cells = Cells(&table);
    for row in 0..table.rows() {
        let category = cells.text("category", row)?.to_owned();
        let key = (cells.lane_kind(row)?, category);
        let sum_ns = sums.categories.entry(key).or_default();
        *sum_ns = sum_ns.saturating_add(cells.i64("inclusive_ns", row)?);
    }
    let table = run.table("lanes")?;
    let lanes = (0..table.rows()).map(|row| read_lane(&Cells(&table), row));
    sums.lanes = lanes.collect::<Result<_>>()?;
    sums.lanes.sort_by_key(|lane| lane.key);
    Ok(sums)
}

/// Durations by number of label.
fn read_durations(table: &Table) -> Result<BTreeMap<u64, ValueCounts>> {
    let (labels, dur_ns) = (table.u64("label")?, table.i64("dur_ns")?);
    let calls = table.u64("calls")?;
    let mut found: BTreeMap<u64, ValueCounts> = BTreeMap::new();
    for row in 0..table.rows() {
        let label = known(labels.get(row), "label")?;
        let value = known(dur_ns.get(row), "dur_ns")?;
        let of = found.entry(label).or_default();
        of.add(value, known(calls.get(row), "calls")?);
    }
    Ok(found)
}

fn read_labels(
    table: &Table,
    mut durations: BTreeMap<u64, ValueCounts>,
    sums: &mut Sums<ValueCounts>,
) -> Result<()> {
    let cells = Cells(table);
    let (high, low) = (table.u64("elements_high")?, table.u64("elements_low")?);
    for row in 0..table.rows() {
        let key = LabelKey {
            lane_kind: cells.lane_kind(row)?,
            name: cells.text("name", row)?.to_owned(),
            kind: cells.text("kind", row)?.to_owned(),
            category: cells.text("category", row)?.to_owned(),
            class: cells.u64("class", row)?,
        };
        let elements = high.get(row).zip(low.get(row));
        let total = LabelTotal {
            calls: cells.u64("calls", row)?,
            bound_calls: cells.u64("bound_calls", row)?,
            self_ns: cells.i64("self_ns", row)?,
            inclusive_ns: cells.i64("inclusive_ns", row)?,
            elements: elements.map(|(high, low)| u128::from(high) << 64 | u128::from(low)),
            with_elements_ns: cells.i64("with_elements_ns", row)?,
        };
        let number = cells.u64("label", row)?;
        let of_label = durations.remove(&number).unwrap_or_default();
        if of_label.len() != total.calls {
            return Err(Error::bad_input(format!(
                "label {number} has {} durations and {} calls, which should be as many (a number must be that of one label)",
                of_label.len(),
                total.calls
            )));
        }
        let sum = sums.labels.entry(key).or_default();
        sum.total.add(&total);
        sum.durations.merge(&of_label);
    }
    Ok(())
}

fn read_lane(cells: &Cells<'_>, row: usize) -> Result<LaneSum> {
    let first_ns = cells.0.i64("first_ns")?.get(row);
    Ok(LaneSum {
        key: cells.lane_key(row)?,
        name: cells.text("name", row)?.to_owned(),
        total: LaneTotal {
            busy_ns: cells.i64("busy_ns", row)?,
            self_ns: cells.i64("self_ns", row)?,
        },
        life: first_ns.zip(cells.0.i64("last_ns")?.get(row)),
        pool: cells.0.i64("pool")?.get(row),
        lanes: cells.u64("lanes", row)?,
    })
}

/// Kind of a key, the thread, rank or device, and the stream.
fn key_cells(key: LaneKey) -> (&'static str, Option<i64>, Option<i64>) {
    match key {
        LaneKey::Thread(thread) => ("thread", thread, None),
        LaneKey::ThreadOfRank(rank) => ("rank", Some(rank), None),
        LaneKey::Stream(device, stream) => ("stream", Some(device), stream),
    }
}

/// Cells that are not null.
struct Cells<'a>(&'a Table);

impl Cells<'_> {
    fn i64(&self, column: &str, row: usize) -> Result<i64> {
        known(self.0.i64(column)?.get(row), column)
    }

    fn u64(&self, column: &str, row: usize) -> Result<u64> {
        known(self.0.u64(column)?.get(row), column)
    }

    fn bool(&self, column: &str, row: usize) -> Result<bool> {
        known(self.0.bool(column)?.get(row), column)
    }

    fn text(&self, column: &str, row: usize) -> Result<&str> {
        known(self.0.text(column)?.get(row), column)
    }

    fn lane_kind(&self, row: usize) -> Result<LaneKind> {
        let name = self.text("lane_kind", row)?;
        let mut kinds = LaneKind::ALL.into_iter();
        kinds
            .find(|kind| kind.name() == name)
            .ok_or_else(|| Error::bad_input(format!("`{name}` is no kind of lane: host or device")))
    }

    fn lane_key(&self, row: usize) -> Result<LaneKey> {
        let (place, stream) = (self.0.i64("place")?.get(row), self.0.i64("stream")?);
        match self.text("lane", row)? {
            "thread" => Ok(LaneKey::Thread(place)),
            "rank" => Ok(LaneKey::ThreadOfRank(known(place, "place")?)),
            "stream" => Ok(LaneKey::Stream(known(place, "place")?, stream.get(row))),
            other => Err(Error::bad_input(format!(
                "`{other}` is no lane: thread, rank or stream"
            ))),
        }
    }
}

fn known<T>(cell: Option<T>, column: &str) -> Result<T> {
    cell.ok_or_else(|| Error::bad_input(format!("column `{column}` of a part holds a null")))
}
