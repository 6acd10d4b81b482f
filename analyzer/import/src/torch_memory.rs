//! Memory snapshots of PyTorch: the pickle that `torch.cuda.memory._dump_snapshot` writes after
//! `torch.cuda.memory._record_memory_history`.
//!
//! The pickle is never executed: `pickle.rs` reads the few opcodes that lists, dicts, numbers and texts take, and refuses
//! all others.
//!
//! | snapshot | row |
//! | --- | --- |
//! | `alloc`, `free_completed` of a device's trace | allocations, with the innermost Python frame as tag |
//! | `segment_alloc`, `segment_free` and their like | counters `gpu0 reserved` |
//! | segments and blocks at the end | what was reserved and allocated before the trace: counters begin there |
//! | segments and blocks at the end, at the peak and at an `oom` | counters `gpu0 free segments`, `gpu0 largest free piece` |
//! | `oom` | annotations |
//!
//! Memory holds an event as 40 bytes, each different frame once, and what Python's pickler refers back to.

mod layout;
mod snapshot;

use std::io::BufReader;

use trueno_format::schema::{AllocationRow, AnnotationRow, CounterRow};

use crate::Error;
use crate::doubtful::Memory;
use crate::importer::{Import, Importer};
use crate::pickle;
use layout::{Free, Layout};
use snapshot::{Action, Event, Snapshot};

const NO_TIMES: &str = "the snapshot has no times, which PyTorch 2.2 and later record: its events are in their order, one \
                        nanosecond each, and the run has no length";

pub const IMPORTER: Importer = Importer {
    name: "torch-memory",
    description: "PyTorch's memory snapshots (torch.cuda.memory._dump_snapshot)",
    recognises: |head| matches!(head.bytes(), [0x80, 2..=5, ..]),
    read,
};

fn read(mut import: Import<'_>) -> Result<Option<i64>, Error> {
    let mut snapshot = Snapshot::default();
    let mut reader = BufReader::new(import.open()?);
    let read = pickle::read(&mut reader, &mut snapshot);
    reader.into_inner().end(import.notes);
    if let Err(damage) = read {
        import.keep_before(&damage.place, damage.text, snapshot.events.is_empty())?;
    }
    if !snapshot.is_one() {
        return Err(import.refused(
            "a Python pickle, but no memory snapshot of PyTorch: expected segments and device_traces (hint: \
             `torch.cuda.memory._dump_snapshot(\"snapshot.pickle\")`)",
        ));
    }
    import.identify()?;
    import.into.run().clock.source = "imported: torch memory".to_owned();
    write(snapshot, &mut import)
}

fn write(mut snapshot: Snapshot, import: &mut Import<'_>) -> Result<Option<i64>, Error> {
    let (mut allocated, mut reserved) = (Memory::new(import.options), Memory::new(import.options));
    let is_possible = |event: &Event| {
        event.action == Action::OutOfMemory || allocated.may_be(event.bytes, import.notes)
    };
    snapshot.events.retain(is_possible);
    let mut totals = snapshot.totals_before();
    if snapshot.has_order_only {
        import.problem(NO_TIMES);
        snapshot.count_as_times();
    }
    // Devices record side by side.
    snapshot.events.sort_by_key(|event| event.time_ns);
    let first_ns = snapshot.events.first().map(|event| event.time_ns);
    let last_ns = snapshot.events.last().map(|event| event.time_ns);
    let last_ns = last_ns.filter(|_| !snapshot.has_order_only);
    let origin_ns = first_ns.unwrap_or(0);
    import.into.run().clock.origin_realtime_ns = origin_ns;
    let texts = ["bytes", "computed", "instant"].map(|text| import.text(text));
    let [bytes, computed, instant] = texts;
    let tags: Vec<_> = snapshot.frames().map(|frame| import.text(&frame)).collect();
    let counter = |import: &mut Import<'_>, device: u32, what: &str, time_ns: i64, value: i64| {
        let row = CounterRow {
            time_ns,
            name: import.text(&format!("gpu{device} {what}")),
            value: value as f64,
            unit: Some(bytes),
            source: computed,
            ..CounterRow::default()
        };
        import.add(&row)
    };
    for (device, totals) in &totals {
        // Of two totals at one moment it is not known which was first.
        let at_once = |actions: [Action; 2]| {
            let first = snapshot.events.iter();
            let mut first = first.take_while(|event| event.time_ns == origin_ns);
            first.any(|event| event.device == *device && actions.contains(&event.action))
        };
        if !at_once([Action::Allocate, Action::Free]) {
            counter(import, *device, "allocated", 0, totals.allocated)?;
        }
        counter(import, *device, "reserved", 0, totals.reserved)?;
    }
    let free_after = layout::at_moments(&snapshot, &totals);
    let free = |import: &mut Import<'_>, device: u32, time_ns: i64, free: Free| {
        counter(
            import,
            device,
            "free segments",
            time_ns,
            free.in_free_segments,
        )?;
        counter(
            import,
            device,
            "largest free piece",
            time_ns,
            free.largest_piece,
        )
    };
    for ((device, after), of) in &free_after {
        if after.is_none() {
            free(import, *device, 0, *of)?;
        }
    }
    for (at, event) in snapshot.events.iter().enumerate() {
        if let Some(of) = free_after.get(&(event.device, Some(at))) {
            free(import, event.device, event.time_ns - origin_ns, *of)?;
        }
        import.notes.read(event.action.name());
        let time_ns = event.time_ns - origin_ns;
        let totals = totals.entry(event.device).or_default();
        let size = i64::try_from(event.bytes).unwrap_or(i64::MAX);
        let (memory, change) = match event.action {
            Action::Allocate => (&mut allocated, size),
            Action::Free => (&mut allocated, -size),
            Action::Reserve => (&mut reserved, size),
            Action::Release => (&mut reserved, -size),
            Action::OutOfMemory => {
                let device_free = event.device_free();
                let device_free =
                    device_free.map_or(String::new(), |bytes| format!(",\"device_free\":{bytes}"));
                let arguments = format!("{{\"bytes\":{}{device_free}}}", event.bytes);
                let row = AnnotationRow {
                    kind: instant,
                    name: import.text("out of memory"),
                    device: Some(event.device),
                    time_ns,
                    arguments: Some(import.text(&arguments)),
                    ..AnnotationRow::default()
                };
                import.add(&row)?;
                continue;
            }
        };
        if !memory.holds(Some(event.device), change, import.notes) {
            continue;
        }
        let (what, value) = match event.action {
            Action::Allocate | Action::Free => {
                let row = AllocationRow {
                    time_ns,
                    device: Some(event.device),
                    bytes: change,
                    tag: event
                        .frame
                        .and_then(|frame| tags.get(frame as usize).copied()),
                    address: Some(event.address),
                    ..AllocationRow::default()
                };
                import.add(&row)?;
                totals.allocated = totals.allocated.saturating_add(change);
                ("allocated", totals.allocated)
            }
            _ => {
                totals.reserved = totals.reserved.saturating_add(change);
                ("reserved", totals.reserved)
            }
        };
        counter(import, event.device, what, time_ns, value)?;
    }
    let end_ns = snapshot
        .events
        .last()
        .map_or(0, |event| event.time_ns - origin_ns);
    for (device, end) in &snapshot.ends {
        counter(
            import,
            *device,
            "free segments",
            end_ns,
            end.in_free_segments,
        )?;
        if let Some(layout) = Layout::at_end(&snapshot.segments, *device) {
            let largest = layout.free().largest_piece;
            counter(import, *device, "largest free piece", end_ns, largest)?;
        }
    }
    if snapshot.out_of_range > 0 {
        let reason = "event with an impossible time".to_owned();
        import.notes.left_out.insert(reason, snapshot.out_of_range);
    }
    for (reason, count) in snapshot.left_out {
        import.notes.skip_many(&reason, count);
    }
    Ok(last_ns.map(|last_ns| last_ns - origin_ns))
}

#[cfg(test)]
mod tests;
