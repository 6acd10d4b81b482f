//! From the published tables to sums.

use trueno_analysis::window::Window;
use trueno_plugin::{Batch, Result, Run};

use crate::sums::{COUNTED, COUNTS, Counts, Sums, ValueKey, at};

/// Counts are whole numbers, of any size that a double keeps exactly; a scaled one is rounded.
fn count(value: Option<f64>) -> Option<u64> {
    let is_count = |value: &f64| value.is_finite() && *value >= 0.0;
    value.filter(is_count).map(|value| value.round() as u64)
}

/// Reads counts and readings, and adds them up; in a part of a run, bricks that lie in it as a whole.
///
/// # Errors
/// An input lacks a column or has it in another type.
pub fn load(run: &mut Run) -> Result<Sums> {
    let window = Window::read(run)?;
    let mut sums = Sums::default();
    bricks(run, window, &mut sums)?;
    run.check_cancelled()?;
    readings(run, window, &mut sums)?;
    Ok(sums)
}

fn bricks(run: &mut Run, window: Option<Window>, sums: &mut Sums) -> Result<()> {
    let mut batches = run.batches("bricks")?;
    while let Some(batch) = batches.next_batch()? {
        let (name, start_ns) = (batch.text("name")?, batch.i64("start_ns")?);
        let (dur_ns, elements) = (batch.i64("dur_ns")?, batch.u64("elements")?);
        let is_estimated = batch.i64("is_estimated")?;
        for (row, mut counts) in counted(&batch)?.into_iter().enumerate() {
            let (Some(name), Some(start_ns)) = (name.get(row), start_ns.get(row)) else {
                continue;
            };
            let dur_ns = dur_ns.get(row);
            let end_ns = start_ns.saturating_add(dur_ns.unwrap_or(0));
            if window.is_some_and(|window| !window.contains(start_ns, end_ns)) {
                continue;
            }
            counts[at::DUR_NS] = dur_ns.and_then(|ns| u64::try_from(ns).ok());
            // The clock of the thread is read outside of the brick's times: what it counts too much is no waiting.
            let both = counts[at::DUR_NS].zip(counts[at::TASK_CLOCK]);
            counts[at::OFF_CPU_NS] = both.map(|(dur, clock)| dur.saturating_sub(clock));
            counts[at::ELEMENTS] = elements.get(row);
            let sum = match sums.bricks.get_mut(name) {
                Some(sum) => sum,
                None => sums.bricks.entry(name.to_owned()).or_default(),
            };
            sum.add(counts, is_estimated.get(row) == Some(1));
        }
    }
    Ok(())
}

/// Counts of each row, without duration and elements.
fn counted(batch: &Batch) -> Result<Vec<Counts>> {
    let mut rows = vec![Counts::default(); batch.rows()];
    for (place, column) in COUNTS[..COUNTED].iter().enumerate() {
        let values = batch.f64(column)?;
        for (row, counts) in rows.iter_mut().enumerate() {
            counts[place] = count(values.get(row));
        }
    }
    Ok(rows)
}

fn readings(run: &mut Run, window: Option<Window>, sums: &mut Sums) -> Result<()> {
    let mut batches = run.batches("readings")?;
    while let Some(batch) = batches.next_batch()? {
        let (time_ns, name) = (batch.i64("time_ns")?, batch.text("name")?);
        let (unit, source) = (batch.text("unit")?, batch.text("source")?);
        let value = batch.f64("value")?;
        for row in 0..batch.rows() {
            let known = (
                time_ns.get(row),
                name.get(row),
                source.get(row),
                value.get(row),
            );
            let (Some(time_ns), Some(name), Some(source), Some(value)) = known else {
                continue;
            };
            if window.is_some_and(|window| !window.has(time_ns)) {
                continue;
            }
            let key = ValueKey {
                name: name.to_owned(),
                unit: unit
                    .get(row)
                    .filter(|unit| !unit.is_empty())
                    .map(str::to_owned),
                source: source.to_owned(),
            };
            sums.values.entry(key).or_default().add(time_ns, value);
        }
    }
    Ok(())
}
