//! Dumps of PyTorch's Flight Recorder: the last collectives of each process group, as one rank knows them.
//!
//! `TORCH_NCCL_DUMP_ON_TIMEOUT=1` writes them when a job hangs, one file for each rank (`nccl_trace_rank_0`), as a
//! pickle; `torch._C._distributed_c10d._dump_nccl_trace_json` gives JSON. The pickle is never executed
//! (`pickle.rs`).
//!
//! | dump | row |
//! | --- | --- |
//! | entry | an instant when it was scheduled, with all that the dump says of it as `arguments` |
//! | process group, with its status | an instant `process group` at the latest time of the dump |
//!
//! The recorder's watchdog notices starts and ends late, so they are arguments and no intervals: nothing here is work.
//! The file has neither the time of the dump nor the number of its rank.

mod dump;

use std::collections::BTreeMap;
use std::io::BufReader;

use serde::Serialize;
use trueno_format::schema::{AnnotationRow, ThreadRow};

use crate::Error;
use crate::importer::{Head, Import, Importer};
use dump::{Dump, Entry};

/// Names of instants that hold a process group.
const GROUP: &str = "process group";
const HINT: &str = "hint: `TORCH_NCCL_DUMP_ON_TIMEOUT=1 TORCH_NCCL_TRACE_BUFFER_SIZE=2000`";

/// First keys of a dump in JSON: those of an object come sorted from PyTorch, and in its own order from Python.
const FIRST_KEYS: [&str; 7] = [
    "comm_lib_version",
    "entries",
    "nccl_comm_state",
    "nccl_version",
    "pg_config",
    "pg_status",
    "version",
];

pub const IMPORTER: Importer = Importer {
    name: "flight-recorder",
    description: "dumps of PyTorch's Flight Recorder (nccl_trace_rank_N), pickle or JSON",
    recognises,
    read,
};

fn recognises(head: &Head<'_>) -> bool {
    if is_pickle(head.bytes()) {
        let has = |word: &str| {
            let mut parts = head.bytes().windows(word.len());
            parts.any(|part| part == word.as_bytes())
        };
        return has("pg_config") || has("profiling_name") && has("record_id");
    }
    let Some(key) = head.behind(&["{", "\""]) else {
        return false;
    };
    let has = |word: &str| head.text().contains(word);
    let is_first = |first: &&str| {
        let rest = key.strip_prefix(*first);
        rest.is_some_and(|rest| rest.starts_with('"'))
    };
    FIRST_KEYS.iter().any(is_first)
        && (has("\"pg_status\"") || has("\"collective_seq_id\"") && has("\"profiling_name\""))
}

fn read(mut import: Import<'_>) -> Result<Option<i64>, Error> {
    let mut reader = BufReader::new(import.open()?);
    let mut dump = Dump::default();
    let read = dump.read(&mut reader);
    reader.into_inner().end(import.notes);
    if let Err(damage) = read {
        import.keep_before(&damage.place, damage.text, dump.entries.is_empty())?;
    }
    if !dump.is_one() {
        return Err(import.refused(format!(
            "expected a dump of PyTorch's Flight Recorder, found neither entries nor process groups ({HINT})"
        )));
    }
    import.identify()?;
    let run = import.into.run();
    run.clock.source = "imported: PyTorch Flight Recorder".to_owned();
    if let Some(version) = &dump.version {
        let key = "flight_recorder.version".to_owned();
        run.values.insert(key, version.clone());
    }
    write(&dump, &mut import)
}

fn is_pickle(bytes: &[u8]) -> bool {
    matches!(bytes, [0x80, 2..=5, ..])
}

/// What the dump says of an entry. The first key tells these instants from others. Times count from when it was
/// scheduled, which is the time of the row.
#[derive(Serialize)]
struct Recorded<'a> {
    collective_seq_id: i64,
    p2p_seq_id: i64,
    op_id: i64,
    record_id: i64,
    process_group: &'a str,
    description: &'a str,
    is_p2p: bool,
    state: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    started_after_ns: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    completed_after_ns: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    duration_ms: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    timeout_ms: Option<i64>,
    retired: bool,
    input_sizes: &'a [Vec<i64>],
    input_dtypes: &'a [String],
    output_sizes: &'a [Vec<i64>],
    output_dtypes: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    place: Option<&'a str>,
}

#[derive(Serialize)]
struct Group<'a> {
    process_group: &'a str,
    description: &'a str,
    ranks: Option<&'a [u32]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_enqueued: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_completed: Option<i64>,
}

fn write(dump: &Dump, import: &mut Import<'_>) -> Result<Option<i64>, Error> {
    let is_timed = |entry: &&Entry| dump::is_time(entry.created_ns);
    let entries: Vec<&Entry> = dump.entries.iter().filter(is_timed).collect();
    let without_time = dump.entries.len() - entries.len();
    if without_time > 0 {
        let reason = "entry with an impossible time";
        import
            .notes
            .left_out
            .insert(reason.to_owned(), without_time as u64);
    }
    let origin_ns = entries.iter().map(|entry| entry.created_ns).min();
    let origin_ns = origin_ns.unwrap_or(0);
    import.into.run().clock.origin_realtime_ns = origin_ns;
    let end_ns = entries.iter().flat_map(|entry| entry.times()).max();
    let end_ns = end_ns.map(|end_ns| end_ns - origin_ns);
    let instant = import.text("instant");
    let threads = threads(&entries, import)?;
    for _ in &dump.entries {
        import.notes.read("entry");
    }
    for entry in entries {
        let after = |ns: i64| ns - entry.created_ns;
        let recorded = Recorded {
            collective_seq_id: entry.collective_seq_id,
            p2p_seq_id: entry.p2p_seq_id,
            op_id: entry.op_id,
            record_id: entry.record_id,
            process_group: &entry.group,
            description: &entry.description,
            is_p2p: entry.is_p2p,
            state: &entry.state,
            started_after_ns: entry.started_ns.map(after),
            completed_after_ns: entry.completed_ns.map(after),
            duration_ms: entry.duration_ms,
            timeout_ms: entry.timeout_ms,
            retired: entry.retired,
            input_sizes: &entry.input_sizes,
            input_dtypes: &entry.input_dtypes,
            output_sizes: &entry.output_sizes,
            output_dtypes: &entry.output_dtypes,
            place: entry.place.and_then(|place| dump.place(place)),
        };
        let row = AnnotationRow {
            kind: instant,
            name: import.text(&entry.name),
            thread: threads.get(entry.thread.as_deref().unwrap_or("")).copied(),
            time_ns: entry.created_ns - origin_ns,
            arguments: Some(import.text(&json(&recorded))),
            ..AnnotationRow::default()
        };
        import.add(&row)?;
    }
    let group_name = import.text(GROUP);
    for group in dump.groups() {
        import.notes.read(GROUP);
        let of = Group {
            process_group: &group.name,
            description: &group.description,
            ranks: group.ranks.as_deref(),
            last_enqueued: group.last_enqueued,
            last_completed: group.last_completed,
        };
        let row = AnnotationRow {
            kind: instant,
            name: group_name,
            thread: Some(0),
            time_ns: end_ns.unwrap_or(0),
            arguments: Some(import.text(&json(&of))),
            ..AnnotationRow::default()
        };
        import.add(&row)?;
    }
    Ok(end_ns)
}

/// Numbers of the threads that scheduled, by name. Number 0 is always there.
fn threads<'d>(
    entries: &[&'d Entry],
    import: &mut Import<'_>,
) -> Result<BTreeMap<&'d str, u32>, Error> {
    let mut threads: BTreeMap<&str, u32> = BTreeMap::new();
    for entry in entries {
        let next = threads.len() as u32;
        let name = entry.thread.as_deref().unwrap_or("");
        threads.entry(name).or_insert(next);
    }
    if threads.is_empty() {
        threads.insert("", 0);
    }
    let mut rows: Vec<(&str, u32)> = threads.iter().map(|(name, at)| (*name, *at)).collect();
    rows.sort_by_key(|(_, at)| *at);
    for (name, thread) in rows {
        let row = ThreadRow {
            thread,
            name: (!name.is_empty()).then(|| import.text(name)),
            ..ThreadRow::default()
        };
        import.add(&row)?;
    }
    Ok(threads)
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

#[cfg(test)]
mod tests;
