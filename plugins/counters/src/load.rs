//! From the published tables to sums.

use trueno_analysis::hash::FastMap;
use trueno_analysis::interner::Texts;
use trueno_analysis::window::Window;
use trueno_plugin::{Result, Run};

use crate::sums::{COUNTED, COUNTS, Counts, Sums, ValueKey, at};

/// Rounds a scaled count to a whole number; `None` if it is negative or not finite.
fn count(value: Option<f64>) -> Option<u64> {
    let is_count = |value: &f64| value.is_finite() && *value >= 0.0;
    value.filter(is_count).map(|value| value.round() as u64)
}

/// Reads and sums counts and readings. With a report window, only bricks that lie wholly within it count.
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

struct Call {
    name: u32,
    dur_ns: Option<u64>,
    elements: Option<u64>,
    is_estimated: bool,
    counts: [Option<u64>; COUNTED],
}

fn bricks(run: &mut Run, window: Option<Window>, sums: &mut Sums) -> Result<()> {
    let mut names = Texts::default();
    let mut calls: FastMap<u64, Call> = FastMap::default();
    let mut batches = run.batches("counted")?;
    while let Some(batch) = batches.next_batch()? {
        let (id, name) = (batch.u64("id")?, batch.text("name")?);
        let (start_ns, dur_ns) = (batch.i64("start_ns")?, batch.i64("dur_ns")?);
        let (elements, is_estimated) = (batch.u64("elements")?, batch.bool("is_estimated")?);
        let (of, value) = (batch.text("count")?, batch.f64("value")?);
        for row in 0..batch.rows() {
            let known = (id.get(row), name.get(row), start_ns.get(row), of.get(row));
            let (Some(id), Some(name), Some(start_ns), Some(of)) = known else {
                continue;
            };
            let place = COUNTS[..COUNTED].iter().position(|count| *count == of);
            let end_ns = start_ns.saturating_add(dur_ns.get(row).unwrap_or(0));
            let is_outside = window.is_some_and(|window| !window.contains(start_ns, end_ns));
            let Some(place) = place.filter(|_| !is_outside) else {
                continue;
            };
            let call = calls.entry(id).or_insert_with(|| Call {
                name: names.number(name),
                dur_ns: dur_ns.get(row).and_then(|ns| u64::try_from(ns).ok()),
                elements: elements.get(row),
                is_estimated: false,
                counts: [None; COUNTED],
            });
            // Of two values of one count the larger: their order is open.
            call.counts[place] = call.counts[place].max(count(value.get(row)));
            call.is_estimated |= is_estimated.get(row) == Some(true);
        }
    }
    for call in calls.into_values() {
        let mut counts = Counts::default();
        counts[..COUNTED].copy_from_slice(&call.counts);
        counts[at::DUR_NS] = call.dur_ns;
        // The clock of the thread is read outside of the brick's times: what it counts too much is no waiting.
        let both = call.dur_ns.zip(counts[at::TASK_CLOCK]);
        counts[at::OFF_CPU_NS] = both.map(|(dur, clock)| dur.saturating_sub(clock));
        counts[at::ELEMENTS] = call.elements;
        let name = names.text(call.name).to_owned();
        let sum = sums.bricks.entry(name).or_default();
        sum.add(counts, call.is_estimated);
    }
    Ok(())
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
