//! Perfetto traces, read back by a reader of their own: what the packets say is what the run holds.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::Value;
use trueno_format::run_json::RunJson;
use trueno_format::run_writer::{Cell, RunWriter};
use trueno_format::schema::CallRow;

use crate::harness::Dir;

#[derive(Clone, Debug)]
enum Field {
    Number(u64),
    Fixed(u64),
    Bytes(Vec<u8>),
}

type Message = BTreeMap<u64, Vec<Field>>;

fn varint(bytes: &mut &[u8]) -> u64 {
    let (mut value, mut shift) = (0, 0);
    loop {
        let byte = bytes[0];
        *bytes = &bytes[1..];
        value |= u64::from(byte & 0x7f) << shift;
        shift += 7;
        if byte < 0x80 {
            return value;
        }
    }
}

fn message(mut bytes: &[u8]) -> Message {
    let mut out = Message::new();
    while !bytes.is_empty() {
        let tag = varint(&mut bytes);
        let field = match tag & 7 {
            0 => Field::Number(varint(&mut bytes)),
            1 => {
                let (word, rest) = bytes.split_at(8);
                bytes = rest;
                Field::Fixed(u64::from_le_bytes(word.try_into().unwrap()))
            }
            2 => {
                let length = varint(&mut bytes) as usize;
                let (block, rest) = bytes.split_at(length);
                bytes = rest;
                Field::Bytes(block.to_vec())
            }
            wire => panic!("wire type {wire}"),
        };
        out.entry(tag >> 3).or_default().push(field);
    }
    out
}

fn all(of: &Message, number: u64) -> &[Field] {
    of.get(&number).map_or(&[], Vec::as_slice)
}

fn number(of: &Message, field: u64) -> Option<u64> {
    match all(of, field) {
        [Field::Number(value)] => Some(*value),
        _ => None,
    }
}

fn text(of: &Message, field: u64) -> Option<String> {
    match all(of, field) {
        [Field::Bytes(bytes)] => Some(String::from_utf8(bytes.clone()).unwrap()),
        _ => None,
    }
}

fn messages(of: &Message, field: u64) -> Vec<Message> {
    let inner = all(of, field).iter().map(|field| match field {
        Field::Bytes(bytes) => message(bytes),
        other => panic!("{other:?} is no message"),
    });
    inner.collect()
}

#[derive(Debug)]
struct Slice {
    table: String,
    name: String,
    track: String,
    start_ns: u64,
    end_ns: u64,
    annotations: BTreeMap<String, String>,
    flows: BTreeSet<(u64, u64)>,
}

/// What a viewer shows of a trace: slices by id, counter values by name, names of instants.
#[derive(Default)]
struct Seen {
    slices: BTreeMap<String, Slice>,
    counters: BTreeMap<String, Vec<String>>,
    instants: Vec<String>,
}

fn seen(trace: &[u8]) -> Seen {
    let mut names: BTreeMap<(u64, u64), String> = BTreeMap::new();
    let mut tracks: BTreeMap<u64, String> = BTreeMap::new();
    let mut events = Vec::new();
    for (place, packet) in messages(&message(trace), 1).into_iter().enumerate() {
        assert_eq!(number(&packet, 10), Some(1), "the sequence");
        assert_eq!(number(&packet, 13), Some(if place == 0 { 3 } else { 2 }));
        for data in messages(&packet, 12) {
            for list in 1..=3 {
                for entry in messages(&data, list) {
                    let key = (list, number(&entry, 1).unwrap());
                    assert!(names.insert(key, text(&entry, 2).unwrap()).is_none());
                }
            }
        }
        for track in messages(&packet, 60) {
            let parent = number(&track, 5).map(|parent| tracks[&parent].clone());
            let own = [(3, 6), (4, 5)].iter().find_map(|(kind, name)| {
                let described = messages(&track, *kind);
                text(described.first()?, *name)
            });
            let own = own.or_else(|| text(&track, 2)).unwrap();
            let name = parent.map_or(own.clone(), |parent| format!("{parent} > {own}"));
            assert!(tracks.insert(number(&track, 1).unwrap(), name).is_none());
        }
        for event in messages(&packet, 11) {
            events.push((number(&packet, 8).unwrap(), place, event));
        }
    }
    events.sort_by_key(|(time, place, _)| (*time, *place));
    let name = |list, of: &Message, field| names[&(list, number(of, field).unwrap())].clone();
    let (mut seen, mut open) = (Seen::default(), BTreeMap::<u64, Vec<Slice>>::new());
    for (time, _, event) in events {
        let track = number(&event, 11).unwrap();
        let touched = |slice: &mut Slice| {
            for field in [47, 48] {
                for flow in all(&event, field) {
                    let Field::Fixed(flow) = flow else { panic!() };
                    slice.flows.insert((field, *flow));
                }
            }
        };
        match number(&event, 9).unwrap() {
            1 => {
                let annotations = messages(&event, 4).into_iter().map(|of| {
                    let value = match of.iter().find(|(field, _)| **field != 1).unwrap() {
                        (5, value) => match value[0] {
                            Field::Fixed(bits) => f64::from_bits(bits).to_string(),
                            _ => panic!(),
                        },
                        (6, _) => text(&of, 6).unwrap(),
                        (4, _) => number(&of, 4).unwrap().cast_signed().to_string(),
                        (2, _) => (number(&of, 2) == Some(1)).to_string(),
                        _ => number(&of, 3).unwrap().to_string(),
                    };
                    (name(3, &of, 1), value)
                });
                let mut slice = Slice {
                    table: name(1, &event, 3),
                    name: name(2, &event, 10),
                    track: tracks[&track].clone(),
                    start_ns: time,
                    end_ns: time,
                    annotations: annotations.collect(),
                    flows: BTreeSet::new(),
                };
                touched(&mut slice);
                open.entry(track).or_default().push(slice);
            }
            2 => {
                let mut slice = open
                    .get_mut(&track)
                    .and_then(Vec::pop)
                    .expect("an open slice");
                slice.end_ns = time;
                touched(&mut slice);
                let id = slice.annotations["id"].clone();
                assert!(seen.slices.insert(id, slice).is_none());
            }
            3 => seen.instants.push(name(2, &event, 10)),
            _ => {
                let value = match (all(&event, 44), number(&event, 30)) {
                    ([Field::Fixed(bits)], None) => f64::from_bits(*bits).to_string(),
                    (_, Some(value)) => value.cast_signed().to_string(),
                    other => panic!("{other:?}"),
                };
                let values = seen.counters.entry(tracks[&track].clone()).or_default();
                values.push(value);
            }
        }
    }
    assert!(open.values().all(Vec::is_empty), "slices stay open");
    seen
}

fn exported(dir: &Dir, run: &str) -> Seen {
    dir.command(&["export", "perfetto", run, "-o", "trace.pftrace"])
        .exits(0);
    seen(&std::fs::read(dir.join("trace.pftrace")).unwrap())
}

#[test]
fn slices_are_the_rows_of_a_recording_with_all_their_columns() {
    let dataset = Path::new(env!("CARGO_MANIFEST_DIR")).join("../datasets/decode/simd.run");
    let dataset = dataset.to_str().expect("a path in UTF-8");
    let dir = Dir::new();
    let seen = exported(&dir, dataset);
    let mut count = 0;
    for table in ["bricks", "kernels", "tiles", "syncs"] {
        let sql = format!("SELECT * FROM {table}");
        let rows = dir
            .command(&["query", dataset, &sql, "--format", "json"])
            .exits(0)
            .json();
        for row in rows.as_array().unwrap() {
            count += 1;
            let slice = &seen.slices[&row["id"].to_string()];
            let start_ns = row["start_ns"].as_u64().unwrap();
            assert_eq!(slice.table, table);
            assert_eq!(slice.start_ns, start_ns);
            assert_eq!(slice.end_ns, start_ns + row["dur_ns"].as_u64().unwrap());
            for (column, value) in row.as_object().unwrap() {
                // Numbers of texts are not of the run.
                let is_number_of = column
                    .strip_suffix("_id")
                    .is_some_and(|text| row.get(text).is_some());
                match value {
                    Value::Null => assert!(!slice.annotations.contains_key(column)),
                    _ if is_number_of || column == "start_ns" || column == "dur_ns" => {}
                    Value::String(text) if column == "name" => assert_eq!(slice.name, *text),
                    Value::String(text) => assert_eq!(slice.annotations[column], *text),
                    other => assert_eq!(slice.annotations[column], other.to_string(), "{column}"),
                }
            }
        }
    }
    assert_eq!(seen.slices.len(), count);
    assert!(count > 1_000);
    let sql = "SELECT name FROM checksums ORDER BY time_ns";
    let rows = dir
        .command(&["query", dataset, sql, "--format", "json"])
        .exits(0)
        .json();
    assert_eq!(seen.instants.len(), rows.as_array().unwrap().len());
    // Every edge begins at one slice and ends at another.
    let edges = dir
        .command(&["query", dataset, "SELECT * FROM edges", "--format", "json"])
        .exits(0)
        .json();
    for (number, edge) in edges.as_array().unwrap().iter().enumerate() {
        let flow = number as u64 + 1;
        assert!(
            seen.slices[&edge["from"].to_string()]
                .flows
                .contains(&(47, flow))
        );
        assert!(
            seen.slices[&edge["to"].to_string()]
                .flows
                .contains(&(48, flow))
        );
    }
}

fn made(path: &Path) {
    let mut run = RunWriter::create(path, RunJson::default()).unwrap();
    let text = |run: &mut RunWriter, text: &str| Cell::Text(run.text(text));
    let kernels = run.table("kernels").unwrap();
    // One before 0; two that overlap; an instant at the end of one; one behind it at once.
    for (id, start_ns, dur_ns) in [
        (1, -50, 60),
        (2, 20, 30),
        (3, 30, 40),
        (4, 50, 0),
        (5, 70, 5),
    ] {
        let name = run.text(&format!("call {id}"));
        let call = CallRow {
            id,
            name,
            start_ns,
            dur_ns,
            ..CallRow::default()
        };
        run.add(&call).unwrap();
    }
    for (id, dur_ns, timing, valid) in [
        (6, 10, "device", true),
        (7, 15, "bound", true),
        (8, -3, "device", false),
    ] {
        let mut cells = [Cell::Null; 35];
        (cells[0], cells[2]) = (Cell::U64(id), text(&mut run, "gemm"));
        (cells[5], cells[6]) = (Cell::U64(1), Cell::U64(7));
        (cells[8], cells[9]) = (Cell::I64(100), Cell::I64(dur_ns));
        cells[10] = text(&mut run, timing);
        cells[28] = Cell::Bool(valid);
        run.row(kernels, &cells).unwrap();
    }
    let counters = run.table("counters").unwrap();
    let (load, declared) = (text(&mut run, "load"), text(&mut run, "declared"));
    let cells = [
        Cell::I64(5),
        Cell::Null,
        Cell::Null,
        load,
        Cell::F64(0.5),
        Cell::Null,
        declared,
    ];
    run.row(counters, &cells).unwrap();
    let allocations = run.table("allocations").unwrap();
    for (time_ns, bytes) in [(1, 64), (2, -16)] {
        let [none, time, bytes] = [Cell::Null, Cell::I64(time_ns), Cell::I64(bytes)];
        run.row(
            allocations,
            &[time, none, none, none, bytes, none, none, none, none],
        )
        .unwrap();
    }
    run.finish(Some(200)).unwrap();
}

#[test]
fn what_overlaps_or_is_not_timed_stands_on_tracks_of_its_own() {
    let dir = Dir::new();
    made(&dir.join("made.run"));
    let seen = exported(&dir, "made.run");
    let slices: Vec<_> = seen
        .slices
        .values()
        .map(|s| format!("{} {}..{} on {}", s.name, s.start_ns, s.end_ns, s.track))
        .collect();
    let thread = slices[0].rsplit(" on ").next().unwrap();
    // All times are 50 later.
    assert_eq!(
        slices,
        [
            format!("call 1 0..60 on {thread}"),
            format!("call 2 70..100 on {thread}"),
            format!("call 3 80..120 on {thread} > thread 0 (overlapping)"),
            format!("call 4 100..100 on {thread}"),
            format!("call 5 120..125 on {thread}"),
            "gemm 150..160 on gpu1 > gpu1/stream 7".to_owned(),
            "gemm 150..165 on gpu1 > gpu1/stream 7 > gpu1/stream 7 (not timed)".to_owned(),
            "gemm 150..150 on gpu1 > gpu1/stream 7 > gpu1/stream 7 (not timed)".to_owned(),
        ]
    );
    let told = |id: &str, key: &str| seen.slices[id].annotations.get(key).cloned();
    assert_eq!(told("7", "untimed").as_deref(), Some("bound"));
    assert_eq!(told("8", "dur_ns").as_deref(), Some("-3"));
    assert_eq!(told("6", "untimed"), None);
    let values: Vec<_> = seen.counters.values().cloned().collect();
    assert_eq!(values, [vec!["64", "48"], vec!["0.5"]]);
}

#[test]
fn the_same_run_gives_the_same_bytes_and_an_empty_one_a_process() {
    let dir = Dir::new();
    made(&dir.join("made.run"));
    let bytes = |name: &str| {
        dir.command(&["export", "perfetto", "made.run", "-o", name])
            .exits(0);
        std::fs::read(dir.join(name)).unwrap()
    };
    assert_eq!(bytes("one.pftrace"), bytes("two.pftrace"));
    let run = RunWriter::create(&dir.join("empty.run"), RunJson::default()).unwrap();
    run.finish(None).unwrap();
    assert!(exported(&dir, "empty.run").slices.is_empty());
    assert!(!std::fs::read(dir.join("trace.pftrace")).unwrap().is_empty());
}

/// Rows of a table, without the columns of text numbers.
fn table(dir: &Dir, run: &str, name: &str) -> Vec<String> {
    let order = match name {
        "edges" => "\"from\", \"to\"",
        "allocations" | "counters" | "collectives" | "checksums" => "time_ns",
        "threads" => "thread",
        _ => "id",
    };
    let sql = format!("SELECT * FROM {name} ORDER BY {order}");
    let asked = dir.command(&["query", run, &sql, "--format", "json"]);
    let rows = asked.exits(0).json();
    let rows = rows.as_array().unwrap().iter().map(|row| {
        let columns = row.as_object().unwrap().iter();
        let columns = columns.filter(|(column, _)| {
            let text = column.strip_suffix("_id");
            text.is_none_or(|text| row.get(text).is_none())
        });
        let cells: Vec<String> = columns
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        cells.join(" ")
    });
    let mut rows: Vec<String> = rows.collect();
    rows.sort();
    rows
}

#[test]
fn an_export_is_read_back_row_by_row() {
    let dataset = Path::new(env!("CARGO_MANIFEST_DIR")).join("../datasets/decode/simd.run");
    let dataset = dataset.to_str().expect("a path in UTF-8");
    let dir = Dir::new();
    std::fs::write(
        dir.join("trace.json"),
        r#"{"traceEvents": [
        {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 7, "tid": 7, "ts": 10, "dur": 60, "args": {"External id": 1, "why": "test"}},
        {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 7, "tid": 7, "ts": 12, "dur": 5, "args": {"correlation": 1}},
        {"ph": "X", "cat": "cuda_runtime", "name": "cudaMemcpyAsync", "pid": 7, "tid": 7, "ts": 20, "dur": 5, "args": {"correlation": 2}},
        {"ph": "X", "cat": "cuda_runtime", "name": "cudaDeviceSynchronize", "pid": 7, "tid": 7, "ts": 30, "dur": 45, "args": {"correlation": 3}},
        {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "pid": 0, "tid": 7, "ts": 20, "dur": 30, "args": {"device": 0, "stream": 7, "correlation": 1, "grid": [8, 1, 1], "block": [128, 1, 1], "Collective name": "allreduce", "In msg nelems": 64, "Out msg nelems": 64, "Group size": 2, "dtype": "Float"}},
        {"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy DtoH (Device -> Pageable)", "pid": 0, "tid": 7, "ts": 55, "dur": 10, "args": {"device": 0, "stream": 7, "correlation": 2, "bytes": 4096}},
        {"ph": "i", "s": "t", "cat": "cpu_instant_event", "name": "[memory]", "pid": 7, "tid": 7, "ts": 15, "args": {"Bytes": 512, "Addr": 4096, "Device Type": 1, "Device Id": 0, "Total Allocated": 512, "Total Reserved": 1024}}
        ]}"#,
    )
    .unwrap();
    dir.command(&["import", "trace.json", "-o", "gpu.run"])
        .exits(0);
    for (run, tables) in [
        (
            dataset,
            &["bricks", "kernels", "tiles", "syncs", "checksums"][..],
        ),
        (
            "gpu.run",
            &[
                "bricks",
                "calls",
                "kernels",
                "transfers",
                "syncs",
                "allocations",
                "counters",
                "collectives",
                "edges",
            ],
        ),
    ] {
        exported(&dir, run);
        dir.command(&["import", "trace.pftrace", "-o", "back.run", "--overwrite"])
            .exits(0)
            .stderr_has("an export of a run");
        for name in tables {
            let (before, back) = (table(&dir, run, name), table(&dir, "back.run", name));
            assert!(!before.is_empty(), "{name}");
            assert_eq!(back, before, "{name} of {run}");
        }
    }
}
