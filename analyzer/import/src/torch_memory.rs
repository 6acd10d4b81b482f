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
//! | `oom` | annotations |
//!
//! Memory holds an event as 40 bytes, each different frame once, and what Python's pickler refers back to.

mod snapshot;

use std::io::BufReader;
use std::path::Path;

use trueno_format::run_writer::RunWriter;
use trueno_format::schema::{AllocationRow, AnnotationRow, CounterRow};

use crate::importer::{Head, Importer};
use crate::pickle;
use crate::source::Source;
use crate::{Error, Notes, Options};
use snapshot::{Action, Snapshot};

const NO_TIMES: &str = "the snapshot has no times, which PyTorch 2.2 and later record: its events are in their order, one \
                        nanosecond each, and the run has no length";

pub struct TorchMemory;

impl Importer for TorchMemory {
    fn name(&self) -> &'static str {
        "torch-memory"
    }

    fn description(&self) -> &'static str {
        "PyTorch's memory snapshots (torch.cuda.memory._dump_snapshot)"
    }

    fn recognises(&self, head: &Head<'_>) -> bool {
        matches!(head.bytes(), [0x80, 2..=5, ..])
    }

    fn import(
        &self,
        path: &Path,
        options: &Options,
        into: &mut RunWriter,
        notes: &mut Notes,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Option<i64>, Error> {
        let source = Source::open(path, options, progress)?;
        let mut snapshot = Snapshot::default();
        let mut reader = BufReader::new(source);
        let read = pickle::read(&mut reader, &mut snapshot);
        if let Err(problem) = read {
            if !options.partial || snapshot.events.is_empty() {
                let hint = if snapshot.events.is_empty() {
                    ""
                } else {
                    "; --partial keeps what comes before"
                };
                return Err(Error::Damaged {
                    path: path.to_owned(),
                    place: format!("byte {}", problem.at),
                    problem: format!("{}{hint}", problem.text),
                });
            }
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let text = format!(
                "{name} was imported up to byte {} only: {}",
                problem.at, problem.text
            );
            notes.cut_short(into, text);
        }
        if !snapshot.is_one() {
            return Err(Error::Format {
                path: path.to_owned(),
                problem: "a Python pickle, but no memory snapshot of PyTorch: expected segments and device_traces \
                          (hint: `torch.cuda.memory._dump_snapshot(\"snapshot.pickle\")`)"
                    .to_owned(),
            });
        }
        let mut source = reader.into_inner();
        source.end(notes);
        let hash = source.hash();
        let hash = hash.map_err(|e| Error::io(path, "read it to its end", e))?;
        let run = into.run();
        run.run_id = format!("{hash:016x}");
        run.clock.source = "imported: torch memory".to_owned();
        write(snapshot, into, notes)
    }
}

fn write(
    mut snapshot: Snapshot,
    into: &mut RunWriter,
    notes: &mut Notes,
) -> Result<Option<i64>, Error> {
    let mut totals = snapshot.totals_before();
    if snapshot.has_order_only {
        into.run().problems.push(NO_TIMES.to_owned());
        notes.warn(NO_TIMES);
        snapshot.count_as_times();
    }
    // Devices record side by side.
    snapshot.events.sort_by_key(|event| event.time_ns);
    let first_ns = snapshot.events.first().map(|event| event.time_ns);
    let last_ns = snapshot.events.last().map(|event| event.time_ns);
    let last_ns = last_ns.filter(|_| !snapshot.has_order_only);
    let origin_ns = first_ns.unwrap_or(0);
    into.run().clock.origin_realtime_ns = origin_ns;
    let texts = ["bytes", "computed", "instant"].map(|text| into.text(text));
    let [bytes, computed, instant] = texts;
    let tags: Vec<_> = snapshot.frames().map(|frame| into.text(&frame)).collect();
    for (device, totals) in &totals {
        for (what, value) in [
            ("allocated", totals.allocated),
            ("reserved", totals.reserved),
        ] {
            let row = CounterRow {
                time_ns: 0,
                name: into.text(&format!("gpu{device} {what}")),
                value: value as f64,
                unit: Some(bytes),
                source: computed,
                ..CounterRow::default()
            };
            notes.add(into, &row)?;
        }
    }
    for event in &snapshot.events {
        notes.read(event.action.name());
        let time_ns = event.time_ns - origin_ns;
        let totals = totals.entry(event.device).or_default();
        let (what, value) = match event.action {
            Action::Allocate | Action::Free => {
                let size = i64::try_from(event.bytes).unwrap_or(i64::MAX);
                let change = match event.action {
                    Action::Free => -size,
                    _ => size,
                };
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
                notes.add(into, &row)?;
                totals.allocated = totals.allocated.saturating_add(change);
                ("allocated", totals.allocated)
            }
            Action::Reserve | Action::Release => {
                let size = i64::try_from(event.bytes).unwrap_or(i64::MAX);
                let change = match event.action {
                    Action::Release => -size,
                    _ => size,
                };
                totals.reserved = totals.reserved.saturating_add(change);
                ("reserved", totals.reserved)
            }
            Action::OutOfMemory => {
                let row = AnnotationRow {
                    kind: instant,
                    name: into.text("out of memory"),
                    device: Some(event.device),
                    time_ns,
                    arguments: Some(into.text(&format!("{{\"bytes\":{}}}", event.bytes))),
                    ..AnnotationRow::default()
                };
                notes.add(into, &row)?;
                continue;
            }
        };
        let row = CounterRow {
            time_ns,
            name: into.text(&format!("gpu{} {what}", event.device)),
            value: value as f64,
            unit: Some(bytes),
            source: computed,
            ..CounterRow::default()
        };
        notes.add(into, &row)?;
    }
    if snapshot.out_of_range > 0 {
        let reason = "event with an impossible time".to_owned();
        notes.left_out.insert(reason, snapshot.out_of_range);
    }
    for (reason, count) in snapshot.left_out {
        notes.skip_many(&reason, count);
    }
    Ok(last_ns.map(|last_ns| last_ns - origin_ns))
}

#[cfg(test)]
mod tests;
