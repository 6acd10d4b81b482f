//! Values over time under the lanes: work that waits for a device, bandwidth of copies, counters.

use std::collections::{BTreeMap, HashMap};

use trueno_model::timeline::{Curve, Row, Timeline};

use super::read::ask;
use crate::frame::{Rows, text_at};
use crate::lane::Lane;
use crate::query::{Database, QueryError};

/// Runs with more intervals have no curves: the events of all devices are sorted in memory.
const MAX_SPANS: u64 = 2_000_000;
const MAX_DEVICES: usize = 8;
const MAX_COUNTERS: usize = 12;
/// Changes up to which a curve is exact.
const EXACT_CHANGES: usize = 4_000;
/// Slices of a curve with more changes; each keeps its highest value.
const SLICES: usize = 2_000;
/// Share of a device's operations that need a recorded launch. With fewer, a queue length would be too low.
const MIN_LINKED: f64 = 0.95;

/// An operation of a device. Times are `(from, until)`.
struct Operation {
    ran_ns: (i64, i64),
    called_ns: Option<(i64, i64)>,
    /// Direction and bytes of a copy.
    copy: Option<(String, u64)>,
}

/// A value from a time on.
type Change = (i64, f64);

/// Unit and changes of a curve.
type Series = (Option<String>, Vec<Change>);

/// Curves without their place: those of each device with the start of the names of its lanes, then counters. `spans` is the
/// number of intervals of the run.
///
/// # Errors
/// The engine could not read a table.
pub fn curves(
    database: &Database,
    of_ranks: bool,
    spans: u64,
    (from_ns, until_ns): (i64, i64),
) -> Result<Vec<(Option<String>, Curve)>, QueryError> {
    if spans > MAX_SPANS {
        return Ok(Vec::new());
    }
    let curve = |name: String, (unit, changes): Series| {
        let (changes, slice_ns) = thinned(changes, from_ns, until_ns);
        Curve {
            name,
            unit,
            after: 0,
            slice_ns,
            changes,
        }
    };
    let mut out = Vec::new();
    let devices = operations(database)?;
    let mut order: Vec<u64> = devices.keys().copied().collect();
    order.sort_by_key(|device| (std::cmp::Reverse(devices[device].len()), *device));
    order.truncate(MAX_DEVICES);
    order.sort_unstable();
    for device in order {
        let lane = Lane::Stream(device, None).name(&BTreeMap::new(), of_ranks);
        let lane = lane.trim_end_matches("/stream ?");
        for (name, series) in of_device(&devices[&device]) {
            let name = format!("{lane} {name}");
            out.push((Some(format!("{lane}/")), curve(name, series)));
        }
    }
    let counters = counters(database)?.into_iter();
    out.extend(counters.map(|(name, series)| (None, curve(name, series))));
    Ok(out)
}

/// Adds curves under the lanes of their device's streams, and counters at the end.
pub(super) fn add(
    database: &Database,
    of_ranks: bool,
    made: &mut Timeline,
) -> Result<(), QueryError> {
    let window_ns = (made.from_ns, made.until_ns);
    for (lanes, mut curve) in curves(database, of_ranks, made.spans, window_ns)? {
        let is_of_device = |row: &Row| lanes.as_ref().is_some_and(|of| row.lane.starts_with(of));
        let last = made.rows.iter().rposition(is_of_device);
        curve.after = last.map_or(made.rows.len(), |at| at + 1);
        made.curves.push(curve);
    }
    Ok(())
}

fn operations(database: &Database) -> Result<BTreeMap<u64, Vec<Operation>>, QueryError> {
    let frame = ask(
        database,
        "SELECT correlation, start_ns, dur_ns FROM calls WHERE correlation IS NOT NULL",
    )?;
    let rows = Rows::new(&frame);
    let (correlation, start, dur) = (
        rows.u64("correlation")?,
        rows.i64("start_ns")?,
        rows.i64("dur_ns")?,
    );
    // Calls of one correlation are nested: the program made the one that began first.
    let mut calls: HashMap<u64, (i64, i64)> = HashMap::new();
    for row in 0..frame.height() {
        let (Some(correlation), Some(start_ns), Some(dur_ns)) =
            (correlation.get(row), start.get(row), dur.get(row))
        else {
            continue;
        };
        let call = (start_ns, start_ns.saturating_add(dur_ns.max(0)));
        let first = calls.entry(correlation).or_insert(call);
        if call.0 < first.0 {
            *first = call;
        }
    }
    let mut devices: BTreeMap<u64, Vec<Operation>> = BTreeMap::new();
    for sql in [
        "SELECT device, correlation, start_ns, dur_ns FROM kernels \
         WHERE device IS NOT NULL AND valid AND timing <> 'bound'",
        "SELECT device, correlation, start_ns, dur_ns, direction, bytes FROM transfers \
         WHERE device IS NOT NULL AND timing <> 'bound'",
    ] {
        let frame = ask(database, sql)?;
        let rows = Rows::new(&frame);
        let (device, correlation) = (rows.u64("device")?, rows.u64("correlation")?);
        let (start, dur) = (rows.i64("start_ns")?, rows.i64("dur_ns")?);
        let bytes = rows.u64("bytes").ok();
        for row in 0..frame.height() {
            let (Some(device), Some(start_ns), Some(dur_ns)) =
                (device.get(row), start.get(row), dur.get(row))
            else {
                continue;
            };
            let bytes = bytes.as_ref().and_then(|bytes| bytes.get(row));
            let direction = text_at(&frame, "direction", row).map(str::to_owned);
            devices.entry(device).or_default().push(Operation {
                ran_ns: (start_ns, start_ns.saturating_add(dur_ns.max(0))),
                called_ns: correlation.get(row).and_then(|at| calls.get(&at)).copied(),
                copy: direction.zip(bytes),
            });
        }
    }
    Ok(devices)
}

/// Name, unit and changes of each curve of a device.
fn of_device(operations: &[Operation]) -> Vec<(String, Series)> {
    let mut curves = Vec::new();
    let linked = operations.iter().filter(|of| of.called_ns.is_some());
    if linked.count() as f64 >= MIN_LINKED * operations.len() as f64 {
        let called = || operations.iter().filter_map(|of| Some((of.called_ns?, of)));
        let queued = called().map(|((_, returned), of)| (returned, of.ran_ns.0, 1.0));
        let in_flight = called().map(|((called, _), of)| (called, of.ran_ns.1, 1.0));
        curves.push(("queued".to_owned(), (None, sums(queued))));
        curves.push(("in flight".to_owned(), (None, sums(in_flight))));
    }
    let mut rates: BTreeMap<&str, Vec<(i64, i64, f64)>> = BTreeMap::new();
    for of in operations {
        let (from, until) = of.ran_ns;
        if let Some((direction, bytes)) = &of.copy
            && until > from
        {
            let per_s = *bytes as f64 * 1e9 / (until - from) as f64;
            rates
                .entry(direction)
                .or_default()
                .push((from, until, per_s));
        }
    }
    let rates = rates.into_iter();
    curves.extend(rates.map(|(direction, rates)| {
        let name = match direction {
            "memset" => "memset".to_owned(),
            direction => format!("copies {direction}"),
        };
        (name, (Some("bytes/s".to_owned()), sums(rates)))
    }));
    curves.retain(|(_, (_, changes))| !changes.is_empty());
    curves
}

/// The sum of the values of all intervals that cover a time. Empty intervals count nothing.
fn sums(intervals: impl IntoIterator<Item = (i64, i64, f64)>) -> Vec<Change> {
    let mut events: Vec<(i64, i64, f64)> = Vec::new();
    for (from, until, value) in intervals {
        if from < until {
            events.push((from, 1, value));
            events.push((until, -1, -value));
        }
    }
    events.sort_unstable_by(|a, b| (a.0, a.1).cmp(&(b.0, b.1)).then(a.2.total_cmp(&b.2)));
    let mut changes: Vec<Change> = Vec::new();
    let (mut open, mut sum) = (0, 0.0);
    for (at, event) in events.iter().enumerate() {
        open += event.1;
        // Sums of floats leave a rest where nothing is open.
        sum = if open == 0 { 0.0 } else { sum + event.2 };
        let is_last = events.get(at + 1).is_none_or(|next| next.0 > event.0);
        if is_last && changes.last().is_none_or(|(_, before)| *before != sum) {
            changes.push((event.0, sum));
        }
    }
    changes
}

/// Readings of the counters that belong to no row, those with the most readings.
fn counters(database: &Database) -> Result<Vec<(String, Series)>, QueryError> {
    let frame = ask(
        database,
        "SELECT thread, name, unit, source, time_ns, value FROM counters WHERE span IS NULL",
    )?;
    let rows = Rows::new(&frame);
    let (thread, time, value) = (
        rows.u64("thread")?,
        rows.i64("time_ns")?,
        rows.f64("value")?,
    );
    let mut found: BTreeMap<(&str, Option<u64>), Series> = BTreeMap::new();
    for row in 0..frame.height() {
        let (Some(name), Some(time_ns), Some(value)) = (
            text_at(&frame, "name", row),
            time.get(row),
            value.get(row).filter(|value| value.is_finite()),
        ) else {
            continue;
        };
        let unit = || {
            let source = text_at(&frame, "source", row).filter(|source| *source != "measured");
            let unit = text_at(&frame, "unit", row).filter(|unit| !matches!(*unit, "1" | "count"));
            let words: Vec<&str> = unit.into_iter().chain(source).collect();
            (!words.is_empty()).then(|| words.join(", "))
        };
        let of = found
            .entry((name, thread.get(row)))
            .or_insert_with(|| (unit(), Vec::new()));
        of.1.push((time_ns, value));
    }
    for (_, changes) in found.values_mut() {
        changes.sort_by_key(|(time_ns, _)| *time_ns);
    }
    found.retain(|_, (_, changes)| changes.iter().any(|(_, value)| *value != changes[0].1));
    let mut threads: HashMap<&str, usize> = HashMap::new();
    for (name, _) in found.keys() {
        *threads.entry(name).or_default() += 1;
    }
    let mut named: Vec<_> = found
        .into_iter()
        .map(|((name, thread), (unit, changes))| {
            let name = match thread.filter(|_| threads[name] > 1) {
                Some(thread) => format!("{name}, thread {thread}"),
                None => name.to_owned(),
            };
            (name, (unit, changes))
        })
        .collect();
    named.sort_by_key(|(_, (_, changes))| std::cmp::Reverse(changes.len()));
    named.truncate(MAX_COUNTERS);
    named.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(named)
}

/// At most about [`SLICES`] changes, and the length of a slice if there were too many: a slice has the highest value in it.
fn thinned(changes: Vec<Change>, from_ns: i64, until_ns: i64) -> (Vec<Change>, Option<i64>) {
    if changes.len() <= EXACT_CHANGES {
        return (changes, None);
    }
    let slice_ns = (until_ns.saturating_sub(from_ns) / SLICES as i64).max(1);
    let slice_of = |time_ns: i64| time_ns.saturating_sub(from_ns).max(0) / slice_ns;
    let mut thin: Vec<Change> = Vec::new();
    let mut push = |slice: i64, value: f64| {
        let time_ns = from_ns.saturating_add(slice.saturating_mul(slice_ns));
        if thin.last().is_none_or(|(_, before)| *before != value) {
            thin.push((time_ns, value));
        }
    };
    let mut at = 0;
    let mut before: Option<f64> = None;
    while at < changes.len() {
        let slice = slice_of(changes[at].0);
        let end = at + changes[at..].partition_point(|(time_ns, _)| slice_of(*time_ns) == slice);
        let highest = changes[at..end].iter().map(|(_, value)| *value);
        push(slice, highest.chain(before).fold(f64::MIN, f64::max));
        before = Some(changes[end - 1].1);
        let next = changes.get(end).map(|(time_ns, _)| slice_of(*time_ns));
        if next.is_none_or(|next| next > slice + 1) {
            push(slice + 1, changes[end - 1].1);
        }
        at = end;
    }
    (thin, Some(slice_ns))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn value_at(changes: &[Change], time_ns: i64) -> f64 {
        let after = changes.partition_point(|(at, _)| *at <= time_ns);
        after.checked_sub(1).map_or(0.0, |at| changes[at].1)
    }

    proptest! {
        #[test]
        fn a_sum_is_that_of_the_intervals_that_cover_a_time(
            intervals in prop::collection::vec((0i64..50, 0i64..20, 1u8..5), 0..40),
            time_ns in -1i64..80,
        ) {
            let intervals: Vec<_> = intervals
                .iter()
                .map(|(from, dur, value)| (*from, from + dur, f64::from(*value)))
                .collect();
            let expected: f64 = intervals
                .iter()
                .filter(|(from, until, _)| *from <= time_ns && time_ns < *until)
                .map(|(_, _, value)| *value)
                .sum();
            prop_assert_eq!(value_at(&sums(intervals), time_ns), expected);
        }

        #[test]
        fn a_slice_of_a_long_curve_has_its_highest_value(
            seed in prop::collection::vec(0u8..10, EXACT_CHANGES + 1..EXACT_CHANGES + 50),
            step in 1i64..9,
        ) {
            let changes: Vec<Change> = seed
                .iter()
                .enumerate()
                .map(|(at, value)| (at as i64 * step + at as i64 / 700 * 40_000, f64::from(*value)))
                .collect();
            let until_ns = changes.last().unwrap().0 + 5;
            let (thin, slice_ns) = thinned(changes.clone(), 0, until_ns);
            let slice_ns = slice_ns.unwrap();
            for slice in 0..=until_ns / slice_ns {
                let (from, until) = (slice * slice_ns, (slice + 1) * slice_ns);
                let within = changes.iter().filter(|(at, _)| (from..until).contains(at));
                let highest = within.map(|(_, value)| *value).fold(value_at(&changes, from - 1), f64::max);
                prop_assert_eq!(value_at(&thin, from), highest, "slice {}", slice);
            }
        }
    }

    #[test]
    fn work_is_queued_from_its_return_to_its_begin() {
        let operation = |called_ns, ran_ns| Operation {
            ran_ns,
            called_ns: Some(called_ns),
            copy: None,
        };
        let curves = of_device(&[
            operation((0, 10), (5, 30)),
            operation((12, 14), (30, 40)),
            operation((15, 16), (40, 45)),
        ]);
        let [(name, (unit, queued)), (_, (_, in_flight))] = &curves[..] else {
            panic!("{} curves", curves.len());
        };
        assert_eq!((name.as_str(), unit), ("queued", &None));
        assert_eq!(queued, &[(14, 1.0), (16, 2.0), (30, 1.0), (40, 0.0)]);
        let expected = [
            (0, 1.0),
            (12, 2.0),
            (15, 3.0),
            (30, 2.0),
            (40, 1.0),
            (45, 0.0),
        ];
        assert_eq!(in_flight, &expected);
    }

    #[test]
    fn work_without_a_recorded_launch_has_no_queue() {
        let operation = Operation {
            ran_ns: (5, 30),
            called_ns: None,
            copy: Some(("h2d".to_owned(), 50)),
        };
        let curves = of_device(&[operation]);
        assert_eq!(
            curves,
            [(
                "copies h2d".to_owned(),
                (Some("bytes/s".to_owned()), vec![(5, 2e9), (30, 0.0)])
            )]
        );
    }
}
