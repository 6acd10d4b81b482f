//! A recording whose process is killed, beside the same one that was finished.
//!
//! The test binary runs itself: a child records, and is killed by SIGKILL at a chosen point.

use std::collections::BTreeMap;
use std::io::Cursor;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use trueno_format::journal::{Chunk, JOURNAL, Line};
use trueno_format::run_json::State;
use trueno_format::salvage::{self, CutBatch, Salvaged};
use trueno_format::segment::BATCH_ROWS;
use trueno_recorder::{
    BrickId, Ceiling, CeilingKind, Operand, Overflow, Recorder, Source, TileLevel,
};
use trueno_testing::{Cell, Table, folder, run_json, table};

const RUN: &str = "TRUENO_TEST_KILLED_RUN";
const SCRIPT: &str = "TRUENO_TEST_KILLED_SCRIPT";
const KILL: &str = "TRUENO_TEST_KILLED_KILL";

fn script(name: &str, path: &Path) -> Recorder {
    let builder = Recorder::builder(path);
    match name {
        "nothing" => builder.create().unwrap(),
        "everything" => {
            let rec = builder.without_table("counters").create().unwrap();
            everything(&rec);
            rec
        }
        "batches" => {
            // Batches on disk, waiting rows and a ring's rest, all at once.
            let rec = builder.overflow(Overflow::Block).create().unwrap();
            for at in 0..40_000u64 {
                rec.brick(BrickId::RmsNorm).elements(at);
                while at == 20_000 && on_disk(path, "bricks", &[]).rows < 2 * BATCH_ROWS {
                    std::thread::sleep(Duration::from_millis(1));
                }
                if at % 1000 == 0 {
                    rec.depends(rec.brick("a").id(), rec.brick("b").id());
                }
            }
            rec
        }
        "open" => {
            // Said of rows that are open still, and whose records never come.
            let rec = builder.create().unwrap();
            let mut brick = rec.brick("open");
            brick.set("first", 1).set("second", "two");
            let mut detached = rec.brick("detached").detach();
            detached.set("third", 3.0);
            rec.instant_with("last", &[("a", true.into())]);
            std::mem::forget((brick, detached));
            rec
        }
        "dropped" => {
            let builder = builder.ring_records(64).overflow(Overflow::Drop);
            let rec = builder.create().unwrap();
            for _ in 0..3 {
                let rec = rec.clone();
                let work = move || (0..5_000).for_each(|_| drop(rec.tile(TileLevel::Micro, 1, 2)));
                std::thread::spawn(work).join().unwrap();
                std::thread::sleep(Duration::from_millis(60));
            }
            (0..1_000).for_each(|_| drop(rec.tile(TileLevel::Macro, 1, 2)));
            rec
        }
        "growing" => {
            let rec = builder
                .ring_records(64)
                .overflow(Overflow::Grow)
                .create()
                .unwrap();
            for at in 0..3_000u64 {
                let _layer = (at % 100 == 0).then(|| rec.layer((at / 100) as u32));
                rec.brick(BrickId::Activation).elements(at);
            }
            rec
        }
        other => panic!("no script {other}"),
    }
}

fn everything(rec: &Recorder) {
    rec.value("model", "tiny");
    let source = rec.ptx("gemv", ".version 8.0\n");
    rec.ceiling(Ceiling {
        level: Some("DRAM".into()),
        threads: Some(2),
        operation: Some("read".into()),
        median: Some(0.9 * 1.5e10),
        repetitions: Some(9),
        ..Ceiling::new("cpu", CeilingKind::Bandwidth, 1.5e10, Source::Measured)
    });
    for token in 0..3u64 {
        let _iteration = rec.iteration(token);
        let _layer = rec.layer(token as u32);
        let mut brick = rec.brick(format!("brick {token}"));
        brick.elements(token).category("mine");
        brick.shapes(&[Operand::new(&[token as usize, 4], "f32")]);
        brick.set("token", token).set("half", token as f64 / 2.0);
        brick
            .set("even", token % 2 == 0)
            .set("large", u64::MAX - token);
        brick.set("text", &format!("token {token}")).set("text", "");
        rec.instant("plain");
        rec.instant_with("told", &[("token", token.into())]);
        let parent = brick.id();
        rec.kernel("gemv")
            .grid(1, 2, 3)
            .block(4, 5, 6)
            .ptx(source)
            .backend("avx2");
        rec.launch("gemm", 0, 7)
            .grid(1, 2, 3)
            .backend("cuda")
            .shared_memory(64)
            .registers(40)
            .flops(token);
        rec.transfer("h2d", 64, 0, 7).memory("pinned", "device");
        rec.tile(TileLevel::Pack, 3, 4).depth(5);
        rec.checksum("out", Some(token), &[1.0f32, f32::NAN], &[2]);
        rec.allocation("weights", 4096, Some(64));
        rec.counter("not recorded", 1.0, "", Source::Measured);
        let other = rec.clone();
        let task = std::thread::Builder::new()
            .name(format!("worker {token}"))
            .spawn(move || other.task("t", Some(parent)).id())
            .unwrap()
            .join()
            .unwrap();
        rec.wait("join", &[task]).set("tasks", 1);
        drop(brick.detach());
    }
}

/// Not a test of its own: the child of the others.
#[test]
fn child() {
    let Ok(path) = std::env::var(RUN) else { return };
    let rec = script(&std::env::var(SCRIPT).unwrap(), Path::new(&path));
    if std::env::var_os(KILL).is_some() {
        // SAFETY: a signal to this process, which ends it here.
        unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
    }
    rec.finish().unwrap();
}

fn record(path: &Path, script: &str, kill: bool) {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child
        .args(["--exact", "child"])
        .env(RUN, path)
        .env(SCRIPT, script);
    child.stdout(Stdio::null()).stderr(Stdio::inherit());
    if kill {
        child.env(KILL, "1");
    }
    assert_eq!(child.status().unwrap().success(), !kill);
}

/// Rows of a table that are on disk in whole batches.
fn on_disk(run: &Path, name: &str, cut: &[CutBatch]) -> Table {
    let mut table = Table::default();
    let journal = std::fs::read(run.join(JOURNAL)).unwrap_or_default();
    let mut segments: BTreeMap<String, Vec<Line>> = BTreeMap::new();
    for line in journal
        .split_inclusive(|b| *b == b'\n')
        .filter_map(Line::decode)
    {
        let is_cut =
            |batch: &CutBatch| (&batch.segment, batch.offset) == (&line.segment, line.offset);
        let of = line.segment.split('/').next();
        if line.chunk == Chunk::Batch && of == Some(name) && !cut.iter().any(is_cut) {
            segments.entry(line.segment.clone()).or_default().push(line);
        }
    }
    for (segment, lines) in segments {
        let sealed = run.join(&segment);
        let bytes = std::fs::read(sealed.with_extension("arrow.open")).or(std::fs::read(sealed));
        let bytes = bytes.unwrap_or_default();
        // In a recording that goes on the last one may be announced only.
        let whole = |line: &&Line| line.offset + line.bytes <= bytes.len() as u64;
        table.add_batches(name, &bytes, lines.iter().filter(whole));
    }
    table
}

fn rest_table(rest: &Salvaged, name: &str) -> Table {
    let mut table = Table::default();
    for segment in rest.segments.iter().filter(|segment| segment.table == name) {
        table.add_segment(Cursor::new(&segment.bytes));
    }
    table
}

const TIMES: [&str; 7] = [
    "start_ns",
    "dur_ns",
    "time_ns",
    "ticks",
    "host_ns",
    "realtime_ns",
    "os_id",
];

/// Rows without their times, as text, sorted.
fn rows_of(table: &Table) -> Vec<String> {
    let columns: BTreeMap<_, _> = table.columns.iter().collect();
    let cells = |row: usize| {
        let fixed = columns
            .iter()
            .filter(|(name, _)| !TIMES.contains(&name.as_str()));
        fixed
            .map(|(name, cells)| format!("{name}={:?} ", cells[row]))
            .collect()
    };
    let mut rows: Vec<String> = (0..table.rows).map(cells).collect();
    rows.sort();
    rows
}

/// Records a script twice, once with a kill. The batches on disk plus the salvaged rows must equal the other run.
/// How the rows are divided between the two depends on timing.
fn killed_beside_finished(script: &str, tables: &[&str]) -> Salvaged {
    let (_folder, path) = folder();
    let (_other_folder, other) = folder();
    record(&path, script, true);
    record(&other, script, false);
    assert_eq!(run_json(&path).state, State::Recording);
    assert_eq!(salvage::is_recording(&path), Some(false));
    assert!(
        !other.join("live").exists(),
        "a finished run leaves nothing"
    );
    let rest = salvage::read(&path).unwrap().expect("something was left");
    assert_eq!(rest.problems, Vec::<String>::new());
    for name in tables {
        let (left, whole) = (rest_table(&rest, name), table(&other, name));
        let written = on_disk(&path, name, &rest.cut);
        assert_eq!(written.rows + left.rows, whole.rows, "rows of {name}");
        // Threads meet in another order each time.
        let mut rows = rows_of(&written);
        rows.extend(rows_of(&left));
        rows.sort();
        assert_eq!(rows, rows_of(&whole), "{name}");
        let durations = left.columns.get("dur_ns").into_iter().flatten();
        assert!(
            durations.clone().all(|cell| !matches!(cell, Cell::I(..0))),
            "{name}"
        );
    }
    rest
}

#[test]
fn a_run_without_events() {
    let rest = killed_beside_finished("nothing", &["bricks", "threads"]);
    assert_eq!(rest.dropped, BTreeMap::new());
    assert!(
        rest_table(&rest, "clock_pairs").rows >= 1,
        "at least the beginning"
    );
}

#[test]
fn every_kind_of_event() {
    let tables = [
        "bricks",
        "kernels",
        "tiles",
        "transfers",
        "syncs",
        "edges",
        "checksums",
        "allocations",
        "counters",
        "ceilings",
        "ptx",
        "threads",
        "attributes",
        "annotations",
    ];
    let rest = killed_beside_finished("everything", &tables);
    assert_eq!(rest.values["model"], "tiny");
    assert_eq!(
        rest.sources.values().collect::<Vec<_>>(),
        [".version 8.0\n"]
    );
    assert_eq!(rest_table(&rest, "counters").rows, 0, "not recorded");
}

#[test]
fn attributes_of_rows_that_never_ended() {
    let rest = killed_beside_finished("open", &["bricks", "attributes", "annotations"]);
    assert_eq!(rest_table(&rest, "bricks").rows, 0);
}

#[test]
fn batches_and_waiting_rows_and_a_ring() {
    killed_beside_finished("batches", &["bricks", "edges", "threads"]);
}

#[test]
fn rings_that_took_over_from_each_other() {
    let rest = killed_beside_finished("growing", &["bricks", "threads"]);
    assert_eq!(rest.dropped, BTreeMap::new());
}

#[test]
fn what_was_dropped_is_known() {
    let (_folder, path) = folder();
    record(&path, "dropped", true);
    let rest = salvage::read(&path).unwrap().unwrap();
    let written = on_disk(&path, "tiles", &rest.cut).rows;
    let rows = (rest_table(&rest, "tiles").rows + written) as u64;
    assert_eq!(rows + rest.dropped["tiles"], 3 * 5_000 + 1_000);
    assert!(rest.dropped["tiles"] > 0, "64 records are few");
    let by_thread: i128 = rest_table(&rest, "threads")
        .numbers("dropped")
        .iter()
        .flatten()
        .sum();
    assert_eq!(by_thread, i128::from(rest.dropped["tiles"]));
    let diagnostics = rest_table(&rest, "diagnostics");
    assert_eq!(diagnostics.texts("code"), [Some("dropped_rows")]);
}

#[test]
fn reading_changes_nothing_and_says_the_same_again() {
    let (_folder, path) = folder();
    record(&path, "everything", true);
    let (first, second) = (
        salvage::read(&path).unwrap().unwrap(),
        salvage::read(&path).unwrap().unwrap(),
    );
    assert_eq!(first.segments, second.segments);
}
