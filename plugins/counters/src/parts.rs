//! Tables of parts.

use trueno_plugin::{Input, Result, Run, Table, table_row};

use crate::sums::{BrickSum, COUNTS, RATES, Sums, ValueKey, ValueSum};

pub const MERGE_INPUTS: [Input; 5] = [
    Input::sql("brick_sums", "SELECT * FROM counters.brick_sums"),
    Input::sql("brick_counts", "SELECT * FROM counters.brick_counts"),
    Input::sql("brick_rates", "SELECT * FROM counters.brick_rates"),
    Input::sql("value_sums", "SELECT * FROM counters.value_sums"),
    Input::sql("value_partials", "SELECT * FROM counters.value_partials"),
];

table_row! {
    struct BrickRow<'a> {
        name: &'a str,
        calls: u64,
        estimated_calls: u64,
    }
}
table_row! {
    /// One for each count that a brick has.
    struct CountRow<'a> {
        name: &'a str,
        count: &'a str,
        value: u64,
    }
}
table_row! {
    struct RateRow<'a> {
        name: &'a str,
        /// Place in [`RATES`].
        rate: u64,
        divided: u64,
        divided_by: u64,
    }
}
table_row! {
    struct ValueRow<'a> {
        name: &'a str,
        unit: Option<&'a str>,
        source: &'a str,
        readings: u64,
        not_finite: u64,
        min: Option<f64>,
        max: Option<f64>,
        last_ns: Option<i64>,
        last: Option<f64>,
    }
}
table_row! {
    /// Doubles that add up to the exact sum.
    struct PartialRow<'a> {
        name: &'a str,
        unit: Option<&'a str>,
        source: &'a str,
        partial: f64,
    }
}

/// Emits a part.
///
/// # Errors
/// The host refuses a table.
pub fn emit(run: &mut Run, sums: &Sums) -> Result<()> {
    let bricks = sums.bricks.iter().map(|(name, sum)| BrickRow {
        name,
        calls: sum.calls,
        estimated_calls: sum.estimated_calls,
    });
    run.emit(Table::build("brick_sums").rows(bricks))?;
    let counts = sums.bricks.iter().flat_map(|(name, sum)| {
        let counts = COUNTS.into_iter().zip(sum.counts);
        counts.filter_map(move |(count, value)| value.map(|value| CountRow { name, count, value }))
    });
    run.emit(Table::build("brick_counts").rows(counts))?;
    let rates = sums.bricks.iter().flat_map(|(name, sum)| {
        (0..).zip(sum.rates).map(move |(rate, sums)| RateRow {
            name,
            rate,
            divided: sums.of,
            divided_by: sums.by,
        })
    });
    run.emit(Table::build("brick_rates").rows(rates))?;
    let values = sums.values.iter().map(|(key, sum)| ValueRow {
        name: &key.name,
        unit: key.unit.as_deref(),
        source: &key.source,
        readings: sum.readings,
        not_finite: sum.not_finite,
        min: sum.min,
        max: sum.max,
        last_ns: sum.last.map(|last| last.0),
        last: sum.last.map(|last| last.1),
    });
    run.emit(Table::build("value_sums").rows(values))?;
    let partials = sums.values.iter().flat_map(|(key, sum)| {
        sum.sum.partials().map(|partial| PartialRow {
            name: &key.name,
            unit: key.unit.as_deref(),
            source: &key.source,
            partial,
        })
    });
    run.emit(Table::build("value_partials").rows(partials))
}

/// Reads all parts there are, and adds them up.
///
/// # Errors
/// An input lacks a column, or has it in another type or null.
pub fn read(run: &mut Run) -> Result<Sums> {
    let mut sums = Sums::default();
    let mut add = |name: &str, more: &BrickSum| {
        let sum = sums.bricks.entry(name.to_owned()).or_default();
        sum.merge(more);
    };
    for row in run.table("brick_sums")?.read::<BrickRow>()? {
        let row = row?;
        let more = BrickSum {
            calls: row.calls,
            estimated_calls: row.estimated_calls,
            ..BrickSum::default()
        };
        add(row.name, &more);
    }
    for row in run.table("brick_counts")?.read::<CountRow>()? {
        let row = row?;
        let mut more = BrickSum::default();
        if let Some(at) = COUNTS.iter().position(|count| *count == row.count) {
            more.counts[at] = Some(row.value);
        }
        add(row.name, &more);
    }
    for row in run.table("brick_rates")?.read::<RateRow>()? {
        let row = row?;
        let mut more = BrickSum::default();
        if let Some(rate) = usize::try_from(row.rate)
            .ok()
            .filter(|at| *at < RATES.len())
        {
            more.rates[rate].of = row.divided;
            more.rates[rate].by = row.divided_by;
        }
        add(row.name, &more);
    }
    for row in run.table("value_sums")?.read::<ValueRow>()? {
        let row = row?;
        let more = ValueSum {
            readings: row.readings,
            not_finite: row.not_finite,
            min: row.min,
            max: row.max,
            last: row.last_ns.zip(row.last),
            ..ValueSum::default()
        };
        let key = value_key(row.name, row.unit, row.source);
        sums.values.entry(key).or_default().merge(&more);
    }
    for row in run.table("value_partials")?.read::<PartialRow>()? {
        let row = row?;
        let key = value_key(row.name, row.unit, row.source);
        sums.values
            .entry(key)
            .or_default()
            .sum
            .add_partial(row.partial);
    }
    Ok(sums)
}

fn value_key(name: &str, unit: Option<&str>, source: &str) -> ValueKey {
    ValueKey {
        name: name.to_owned(),
        unit: unit.map(str::to_owned),
        source: source.to_owned(),
    }
}
