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
use trueno_plugin::{Error, Input, Result, Run, Table, table_row};

use crate::sums::{LabelKey, LaneSum, Sums};
use crate::totals::{LabelTotal, LaneTotal};

pub const INPUTS: [Input; 5] = [
    Input::sql("job", "SELECT * FROM category.job"),
    Input::sql("labels", "SELECT * FROM category.labels"),
    Input::sql("durations", "SELECT * FROM category.durations"),
    Input::sql("categories", "SELECT * FROM category.categories"),
    Input::sql("lanes", "SELECT * FROM category.lanes"),
];

table_row! {
    struct JobRow {
        wall_ns: i64,
        is_part: bool,
        bound: u64,
        invalid: u64,
        impossible: u64,
    }
}
table_row! {
    struct LabelRow<'a> {
        label: u64,
        lane_kind: &'a str,
        name: &'a str,
        kind: &'a str,
        category: &'a str,
        class: u64,
        calls: u64,
        bound_calls: u64,
        self_ns: i64,
        inclusive_ns: i64,
        elements_high: Option<u64>,
        elements_low: Option<u64>,
        with_elements_ns: i64,
    }
}
table_row! {
    struct DurationRow {
        label: u64,
        dur_ns: i64,
        calls: u64,
    }
}
table_row! {
    struct CategoryRow<'a> {
        lane_kind: &'a str,
        category: &'a str,
        inclusive_ns: i64,
    }
}
table_row! {
    struct LaneRow<'a> {
        /// `thread`, `rank` (pooled threads) or `stream`.
        lane: &'a str,
        /// Thread, rank or device.
        place: Option<i64>,
        stream: Option<i64>,
        name: &'a str,
        busy_ns: i64,
        self_ns: i64,
        waiting_ns: i64,
        most_name: Option<&'a str>,
        most_ns: Option<i64>,
        first_ns: Option<i64>,
        last_ns: Option<i64>,
        pool: Option<i64>,
        lanes: u64,
    }
}

/// Emits the tables of one part.
///
/// # Errors
/// As for [`Run::emit`].
pub fn emit(run: &mut Run, sums: &Sums<ValueCounts>) -> Result<()> {
    let job = JobRow {
        wall_ns: sums.wall_ns,
        is_part: sums.is_part,
        bound: sums.left_out.bound,
        invalid: sums.left_out.invalid,
        impossible: sums.left_out.impossible,
    };
    run.emit(Table::build("job").rows([job]))?;
    let rank = sums.lanes.iter().map(|lane| lane.key.rank()).min();
    let first = u64::from(rank.unwrap_or(0)) << KEY_BITS;
    let labels = || (first..).zip(&sums.labels);
    let rows = labels().map(|(label, (key, sum))| LabelRow {
        label,
        lane_kind: key.lane_kind.name(),
        name: &key.name,
        kind: &key.kind,
        category: &key.category,
        class: key.class,
        calls: sum.total.calls,
        bound_calls: sum.total.bound_calls,
        self_ns: sum.total.self_ns,
        inclusive_ns: sum.total.inclusive_ns,
        elements_high: sum.total.elements.map(|elements| (elements >> 64) as u64),
        elements_low: sum.total.elements.map(|elements| elements as u64),
        with_elements_ns: sum.total.with_elements_ns,
    });
    run.emit(Table::build("labels").rows(rows))?;
    let rows = labels().flat_map(|(label, (_, sum))| {
        let values = sum.durations.iter();
        values.map(move |(dur_ns, calls)| DurationRow {
            label,
            dur_ns,
            calls,
        })
    });
    run.emit(Table::build("durations").rows(rows))?;
    let rows = sums.categories.iter();
    let rows = rows.map(|((kind, category), inclusive_ns)| CategoryRow {
        lane_kind: kind.name(),
        category,
        inclusive_ns: *inclusive_ns,
    });
    run.emit(Table::build("categories").rows(rows))?;
    let rows = sums.lanes.iter().map(|lane| {
        let (kind, place, stream) = match lane.key {
            LaneKey::Thread(thread) => ("thread", thread, None),
            LaneKey::ThreadOfRank(rank) => ("rank", Some(rank), None),
            LaneKey::Stream(device, stream) => ("stream", Some(device), stream),
        };
        LaneRow {
            lane: kind,
            place,
            stream,
            name: &lane.name,
            busy_ns: lane.total.busy_ns,
            self_ns: lane.total.self_ns,
            waiting_ns: lane.total.waiting_ns,
            most_name: lane.most.as_ref().map(|most| most.0.as_str()),
            most_ns: lane.most.as_ref().map(|most| most.1),
            first_ns: lane.life.map(|life| life.0),
            last_ns: lane.life.map(|life| life.1),
            pool: lane.pool,
            lanes: lane.lanes,
        }
    });
    run.emit(Table::build("lanes").rows(rows))
}

/// Reads the tables of all parts, and adds them up.
///
/// # Errors
/// A table lacks a column or has it in another type; or its cells are none that [`emit`] writes.
pub fn read(run: &mut Run) -> Result<Sums<ValueCounts>> {
    let mut sums = Sums::default();
    for row in run.table("job")?.read::<JobRow>()? {
        let row = row?;
        // The same in all parts; where the end of the run was not recorded, up to the last end of each.
        sums.wall_ns = sums.wall_ns.max(row.wall_ns);
        sums.is_part |= row.is_part;
        let left = &mut sums.left_out;
        left.bound = left.bound.saturating_add(row.bound);
        left.invalid = left.invalid.saturating_add(row.invalid);
        left.impossible = left.impossible.saturating_add(row.impossible);
    }
    let mut durations: BTreeMap<u64, ValueCounts> = BTreeMap::new();
    for row in run.table("durations")?.read::<DurationRow>()? {
        let row = row?;
        durations
            .entry(row.label)
            .or_default()
            .add(row.dur_ns, row.calls);
    }
    read_labels(&run.table("labels")?, durations, &mut sums)?;
    for row in run.table("categories")?.read::<CategoryRow>()? {
        let row = row?;
        let key = (lane_kind(row.lane_kind)?, row.category.to_owned());
        let sum_ns = sums.categories.entry(key).or_default();
        *sum_ns = sum_ns.saturating_add(row.inclusive_ns);
    }
    for row in run.table("lanes")?.read::<LaneRow>()? {
        let row = row?;
        sums.lanes.push(LaneSum {
            key: lane_key(&row)?,
            name: row.name.to_owned(),
            total: LaneTotal {
                busy_ns: row.busy_ns,
                self_ns: row.self_ns,
                waiting_ns: row.waiting_ns,
            },
            most: row.most_name.map(str::to_owned).zip(row.most_ns),
            life: row.first_ns.zip(row.last_ns),
            pool: row.pool,
            lanes: row.lanes,
        });
    }
    sums.lanes.sort_by_key(|lane| lane.key);
    Ok(sums)
}

fn read_labels(
    table: &Table,
    mut durations: BTreeMap<u64, ValueCounts>,
    sums: &mut Sums<ValueCounts>,
) -> Result<()> {
    for row in table.read::<LabelRow>()? {
        let row = row?;
        let key = LabelKey {
            lane_kind: lane_kind(row.lane_kind)?,
            name: row.name.to_owned(),
            kind: row.kind.to_owned(),
            category: row.category.to_owned(),
            class: row.class,
        };
        let elements = row.elements_high.zip(row.elements_low);
        let total = LabelTotal {
            calls: row.calls,
            bound_calls: row.bound_calls,
            self_ns: row.self_ns,
            inclusive_ns: row.inclusive_ns,
            elements: elements.map(|(high, low)| u128::from(high) << 64 | u128::from(low)),
            with_elements_ns: row.with_elements_ns,
        };
        let of_label = durations.remove(&row.label).unwrap_or_default();
        if of_label.len() != total.calls {
            return Err(Error::bad_input(format!(
                "label {} has {} durations and {} calls, which should be as many (a number must be that of one label)",
                row.label,
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

fn lane_kind(name: &str) -> Result<LaneKind> {
    let mut kinds = LaneKind::ALL.into_iter();
    kinds
        .find(|kind| kind.name() == name)
        .ok_or_else(|| Error::bad_input(format!("`{name}` is not a kind of lane: host or device")))
}

fn lane_key(row: &LaneRow<'_>) -> Result<LaneKey> {
    let place = || {
        row.place
            .ok_or_else(|| Error::bad_input(format!("a {} of `lanes` has no place", row.lane)))
    };
    match row.lane {
        "thread" => Ok(LaneKey::Thread(row.place)),
        "rank" => Ok(LaneKey::ThreadOfRank(place()?)),
        "stream" => Ok(LaneKey::Stream(place()?, row.stream)),
        other => Err(Error::bad_input(format!(
            "`{other}` is not a lane: thread, rank or stream"
        ))),
    }
}
