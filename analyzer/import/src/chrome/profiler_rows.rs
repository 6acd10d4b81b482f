//! Rows of kernels that CUPTI's range profiler counted.

use std::collections::BTreeMap;

use trueno_format::schema::{CounterRow, EdgeRow, KernelRow};

use super::collector::Collector;
use super::profiler_ranges::{ProfilerRanges, Range};
use super::record::NONE;
use super::row_texts::RowTexts;
use crate::Error;
use crate::ncu::derived;

const REASON: &str = "its times are not recorded: the profiler divides its own time evenly";

/// Writes kernels and their counters. `rows` is the number of ids already used.
pub(super) fn write(
    collector: &mut Collector<'_>,
    texts: &RowTexts,
    rows: u64,
    origin_ns: i64,
) -> Result<(), Error> {
    let ProfilerRanges {
        mut ranges,
        mut launches,
    } = std::mem::take(&mut collector.profiler_ranges);
    let Some(first) = ranges.first() else {
        return Ok(());
    };
    let is_of_one = ranges.iter().all(|range| range.device == first.device);
    if !is_of_one || launches.len() != ranges.len() {
        collector.notes.warn(format!(
            "{} kernels of cuda_profiler_range are linked to no call: the file has {} launches, and the kernels are of {}",
            ranges.len(),
            launches.len(),
            if is_of_one { "one device" } else { "several devices" }
        ));
        launches.clear();
    }
    ranges.sort_by_key(|range| range.start_ns);
    launches.sort_by_key(|launch| (launch.start_ns, launch.id));
    let reason = collector.into.text(REASON);
    for (at, range) in ranges.iter().enumerate() {
        let launch = launches.get(at);
        let id = rows + 1 + at as u64;
        let start_ns = range.start_ns - origin_ns;
        collector.add(&KernelRow {
            id,
            brick: launch.and_then(|launch| launch.brick),
            name: collector.texts[range.name as usize],
            thread: launch.map(|launch| launch.thread),
            device: Some(range.device).filter(|device| *device != NONE),
            correlation: launch.and_then(|launch| launch.correlation),
            start_ns,
            dur_ns: range.dur_ns,
            timing: texts.device,
            valid: false,
            reason: Some(reason),
            ..KernelRow::default()
        })?;
        if let Some(launch) = launch {
            let (from, kind) = (launch.id, texts.launches);
            collector.add(&EdgeRow { from, to: id, kind })?;
        }
        counters(collector, texts, range, (id, start_ns))?;
    }
    Ok(())
}

/// Metrics as in the file, and the operations and bytes derived from them.
fn counters(
    collector: &mut Collector<'_>,
    texts: &RowTexts,
    range: &Range,
    (id, time_ns): (u64, i64),
) -> Result<(), Error> {
    let computed = collector.into.text("computed");
    let mut metrics = BTreeMap::new();
    for (name, value) in &range.metrics {
        let name = collector.texts[*name as usize];
        let text = collector.into.str(name).to_owned();
        // CUPTI gives sums in their base unit.
        let is_bytes = text.starts_with("dram__bytes") && text.ends_with(".sum");
        let unit = if is_bytes { "byte" } else { "" };
        let row = CounterRow {
            time_ns,
            span: Some(id),
            thread: None,
            name,
            value: *value,
            unit: is_bytes.then(|| collector.into.text("byte")),
            source: texts.measured,
        };
        collector.add(&row)?;
        metrics.insert(text, (*value, unit.to_owned()));
    }
    for (name, unit, value) in derived::counters(&metrics) {
        let row = CounterRow {
            time_ns,
            span: Some(id),
            thread: None,
            name: collector.into.text(&name),
            value,
            unit: Some(collector.into.text(unit)),
            source: computed,
        };
        collector.add(&row)?;
    }
    Ok(())
}
