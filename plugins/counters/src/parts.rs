//! Tables of parts.

use trueno_analysis::part_cells::{count, required, text};
use trueno_plugin::{Input, Result, Run, Table, TableBuilder};

use crate::sums::{BrickSum, COUNTS, RATES, Sums, ValueKey, ValueSum};

/// Inputs of the merging.
pub const MERGE_INPUTS: [Input; 5] = [
    Input::sql(
        "brick_sums",
        "SELECT name, calls, estimated_calls FROM counters.brick_sums",
    ),
    Input::sql(
        "brick_counts",
        "SELECT name, count, value FROM counters.brick_counts",
    ),
    Input::sql(
        "brick_rates",
        "SELECT name, rate, divided, divided_by FROM counters.brick_rates",
    ),
    Input::sql(
        "value_sums",
        "SELECT name, unit, source, readings, not_finite, min, max, last_ns, last FROM counters.value_sums",
    ),
    // Doubles that add up to the exact sum.
    Input::sql(
        "value_partials",
        "SELECT name, unit, source, partial FROM counters.value_partials",
    ),
];

/// Emits a part.
///
/// # Errors
/// The host refuses a table.
pub fn emit(run: &mut Run, sums: &Sums) -> Result<()> {
    for table in [
        brick_sums(sums),
        brick_counts(sums),
        brick_rates(sums),
        value_sums(sums),
        value_partials(sums),
    ] {
        run.emit(table)?;
    }
    Ok(())
}

fn brick_sums(sums: &Sums) -> TableBuilder {
    let of = || sums.bricks.values();
    Table::build("brick_sums")
        .text("name", sums.bricks.keys())
        .u64("calls", of().map(|sum| sum.calls))
        .u64("estimated_calls", of().map(|sum| sum.estimated_calls))
}

/// A row for each count that a brick has.
fn brick_counts(sums: &Sums) -> TableBuilder {
    let rows = || {
        sums.bricks.iter().flat_map(|(name, sum)| {
            let counts = COUNTS.iter().zip(sum.counts);
            counts.filter_map(move |(count, value)| Some((name, *count, value?)))
        })
    };
    Table::build("brick_counts")
        .text("name", rows().map(|row| row.0))
        .text("count", rows().map(|row| row.1))
        .u64("value", rows().map(|row| row.2))
}

/// A row for each rate, by its number.
fn brick_rates(sums: &Sums) -> TableBuilder {
    let rows = || {
        sums.bricks.iter().flat_map(|(name, sum)| {
            let rates = sum.rates.iter().enumerate();
            rates.map(move |(number, rate)| (name, number as u64, rate))
        })
    };
    Table::build("brick_rates")
        .text("name", rows().map(|row| row.0))
        .u64("rate", rows().map(|row| row.1))
        .u64("divided", rows().map(|row| row.2.of))
        .u64("divided_by", rows().map(|row| row.2.by))
}

fn value_sums(sums: &Sums) -> TableBuilder {
    let (keys, of) = (|| sums.values.keys(), || sums.values.values());
    Table::build("value_sums")
        .text("name", keys().map(|key| &key.name))
        .text("unit", keys().map(|key| key.unit.as_ref()))
        .text("source", keys().map(|key| &key.source))
        .u64("readings", of().map(|sum| sum.readings))
        .u64("not_finite", of().map(|sum| sum.not_finite))
        .f64("min", of().map(|sum| sum.min))
        .f64("max", of().map(|sum| sum.max))
        .i64("last_ns", of().map(|sum| Some(sum.last?.0)))
        .f64("last", of().map(|sum| Some(sum.last?.1)))
}

fn value_partials(sums: &Sums) -> TableBuilder {
    let rows = || {
        sums.values.iter().flat_map(|(key, sum)| {
            let partials = sum.sum.partials();
            partials.map(move |partial| (key, partial))
        })
    };
    Table::build("value_partials")
        .text("name", rows().map(|row| &row.0.name))
        .text("unit", rows().map(|row| row.0.unit.as_ref()))
        .text("source", rows().map(|row| &row.0.source))
        .f64("partial", rows().map(|row| row.1))
}

/// Reads all parts there are, and adds them up.
///
/// # Errors
/// An input lacks a column, or has it in another type or null.
pub fn read(run: &mut Run) -> Result<Sums> {
    let mut sums = Sums::default();
    read_bricks(run, &mut sums)?;
    let table = run.table("value_sums")?;
    for row in 0..table.rows() {
        let at = table.i64("last_ns")?.get(row);
        let more = ValueSum {
            readings: count(&table, "readings", row)?,
            not_finite: count(&table, "not_finite", row)?,
            min: table.f64("min")?.get(row),
            max: table.f64("max")?.get(row),
            last: at.zip(table.f64("last")?.get(row)),
            ..ValueSum::default()
        };
        let key = value_key(&table, row)?;
        sums.values.entry(key).or_default().merge(&more);
    }
    let table = run.table("value_partials")?;
    for row in 0..table.rows() {
        let partial = required(table.f64("partial")?.get(row), "partial")?;
        let of = sums.values.entry(value_key(&table, row)?).or_default();
        of.sum.add_partial(partial);
    }
    Ok(sums)
}

fn value_key(table: &Table, row: usize) -> Result<ValueKey> {
    Ok(ValueKey {
        name: text(table, "name", row)?,
        unit: table.text("unit")?.get(row).map(str::to_owned),
        source: text(table, "source", row)?,
    })
}

fn read_bricks(run: &mut Run, sums: &mut Sums) -> Result<()> {
    let mut add = |name: String, more: &BrickSum| sums.bricks.entry(name).or_default().merge(more);
    let table = run.table("brick_sums")?;
    for row in 0..table.rows() {
        let more = BrickSum {
            calls: count(&table, "calls", row)?,
            estimated_calls: count(&table, "estimated_calls", row)?,
            ..BrickSum::default()
        };
        add(text(&table, "name", row)?, &more);
    }
    let table = run.table("brick_counts")?;
    for row in 0..table.rows() {
        let mut more = BrickSum::default();
        let of = required(table.text("count")?.get(row), "count")?;
        if let Some(at) = COUNTS.iter().position(|count| *count == of) {
            more.counts[at] = Some(count(&table, "value", row)?);
        }
        add(text(&table, "name", row)?, &more);
    }
    let table = run.table("brick_rates")?;
    for row in 0..table.rows() {
        let mut more = BrickSum::default();
        let at = count(&table, "rate", row)?;
        if let Some(rate) = usize::try_from(at).ok().filter(|at| *at < RATES.len()) {
            more.rates[rate].of = count(&table, "divided", row)?;
            more.rates[rate].by = count(&table, "divided_by", row)?;
        }
        add(text(&table, "name", row)?, &more);
    }
    Ok(())
}
