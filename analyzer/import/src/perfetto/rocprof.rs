//! Traces of rocprofv3 and of ROCm Systems Profiler: calls and work of devices are slices of categories of their own,
//! and their correlations, agents and queues stand in annotations.

use trueno_format::run_writer::RunWriter;
use trueno_format::schema::AttributeRow;

use super::events::{Event, Events, What};
use crate::chrome::feed::{Feed, Kind, Slice};
use crate::{Error, Import};

/// The kind of the slices of a category; `None` if ROCm does not use it.
pub fn kind_of(category: &str) -> Option<Kind> {
    let plain = category.strip_prefix("rocm_").unwrap_or(category);
    Some(match plain {
        "kernel_dispatch" => Kind::Kernel,
        "memory_copy" => Kind::Copy,
        "hip_api" | "hip_runtime_api" | "hip_compiler_api" | "hsa_api" | "hsa_core_api"
        | "hsa_amd_ext_api" | "rccl_api" => Kind::Call,
        "marker_api" | "marker_core_api" | "marker_core_range_api" => Kind::Range,
        _ => return None,
    })
}

/// A slice with its texts copied, because the run is borrowed while rows are written.
struct Record {
    kind: Kind,
    name: String,
    times_ns: (i64, i64),
    process: u64,
    thread: u64,
    numbers: [Option<u64>; 6],
}

const NUMBERS: [&[&str]; 6] = [
    &["corr_id", "correlation_id"],
    &["agent", "device", "dst_agent"],
    &["queue", "stream"],
    &["copy_bytes", "bytes"],
    &["workgroup_size"],
    &["grid_size"],
];

pub fn write(
    events: &Events,
    ends: &[(i64, Option<usize>, usize)],
    hash: u64,
    import: Import<'_>,
) -> Result<Option<i64>, Error> {
    let mut feed = Feed::new(import, "perfetto");
    for (end_ns, _, begun) in ends {
        let event = &events.events[*begun];
        let record = record(events, event, *end_ns, feed.import().into);
        let [correlation, device, stream, bytes, block, grid] = record.numbers;
        let small = |value: Option<u64>| value.and_then(|value| u32::try_from(value).ok());
        let is_work = matches!(record.kind, Kind::Kernel | Kind::Copy);
        let block = small(block).filter(|block| *block > 0);
        let grid = small(grid)
            .zip(block)
            .map(|(items, block)| [items.div_ceil(block), 1, 1]);
        feed.slice(&Slice {
            process: record.process,
            thread: record.thread,
            correlation: correlation.filter(|id| *id != 0 && record.kind != Kind::Range),
            device: small(device).filter(|_| is_work),
            stream: small(stream).filter(|_| is_work),
            bytes: bytes.filter(|_| record.kind == Kind::Copy),
            grid: grid.filter(|_| is_work),
            block: block.filter(|_| is_work).map(|block| [block, 1, 1]),
            ..Slice::new(record.kind, &record.name, record.times_ns)
        })?;
    }
    for event in &events.events {
        let key = events.tracks_of_events[event.track as usize];
        match event.what {
            What::Counter(value) => {
                let name = events.tracks.name(key);
                feed.counter(0, &name, event.time_ns, value)?;
            }
            What::Instant => {
                let name = event
                    .name
                    .map(|name| feed.import().into.str(name).to_owned());
                let place = (
                    events.tracks.process(key).unwrap_or(0),
                    u64::from(event.track),
                );
                feed.instant(place, name.as_deref().unwrap_or("event"), event.time_ns)?;
            }
            What::Begin(_) | What::End => {}
        }
    }
    feed.finish_as(hash)
}

fn record(events: &Events, event: &Event, end_ns: i64, run: &mut RunWriter) -> Record {
    let key = events.tracks_of_events[event.track as usize];
    let range = event.attributes.start as usize..event.attributes.end as usize;
    let attributes = &events.attributes[range];
    let numbers = NUMBERS.map(|names| number(attributes, names, run));
    let stated = number(attributes, &["tid"], run).or(events.tracks.thread(key));
    let category = event.category.map(|text| run.str(text).to_owned());
    let name = event.name.map(|text| run.str(text).to_owned());
    Record {
        kind: category.as_deref().and_then(kind_of).unwrap_or(Kind::Range),
        name: name.unwrap_or_else(|| "event".to_owned()),
        times_ns: (event.time_ns, end_ns),
        process: events.tracks.process(key).unwrap_or(0),
        // Tracks that name no thread keep a lane of their own.
        thread: stated.unwrap_or_else(|| u64::from(event.track) + (1 << 40)),
        numbers,
    }
}

/// The first annotation with one of these names, as a number. `GPU [1]` is parsed too.
fn number(attributes: &[AttributeRow], names: &[&str], run: &mut RunWriter) -> Option<u64> {
    let found = attributes
        .iter()
        .find(|of| names.contains(&run.str(of.name)))?;
    let signed = found.integer.and_then(|value| u64::try_from(value).ok());
    signed.or(found.unsigned).or_else(|| {
        let text = run.str(found.text?);
        text.rsplit([' ', '['])
            .next()?
            .trim_end_matches(']')
            .parse()
            .ok()
    })
}
