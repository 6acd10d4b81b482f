//! A rolling window: the last part of a recording, and an exact count of what was discarded.

use std::collections::BTreeSet;
use std::fs;
use std::io::Cursor;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use trueno_format::salvage;
use trueno_format::schema::TABLES;
use trueno_format::segment::BATCH_ROWS;
use trueno_format::waiting_rows::WaitingRows;
use trueno_recorder::run_json::State;
use trueno_recorder::{BrickId, Builder, Error, Overflow, Recorder};
use trueno_testing::{Table, folder, in_own_process, journal, run_json, table};

const HOUR: Duration = Duration::from_secs(3600);
const KILLED: &str = "TRUENO_TEST_KEPT_RUN";

fn batch_bytes() -> u64 {
    let bricks = TABLES.iter().find(|table| table.name == "bricks");
    WaitingRows::bytes(bricks.unwrap()) as u64
}

/// A recorder with memory for some batches of bricks, so that what it holds does not depend on time.
fn keeping(path: &Path, batches: u64) -> Builder {
    let builder = Recorder::builder(path).overflow(Overflow::Block);
    builder.keep_last(HOUR).keep_bytes(batches * batch_bytes())
}

fn bricks(rec: &Recorder, numbers: std::ops::Range<u64>) {
    for at in numbers {
        rec.brick(BrickId::RmsNorm).elements(at);
    }
}

/// Asserts that a table holds the last of so many bricks, in order and with times of the window.
fn assert_last(bricks: &Table, recorded: u64, wall_ns: u64) {
    let first = recorded - bricks.rows as u64;
    let expected = (first..recorded).map(|at| Some(i128::from(at)));
    assert!(bricks.numbers("elements").into_iter().eq(expected));
    for (start, dur) in bricks
        .numbers("start_ns")
        .iter()
        .zip(bricks.numbers("dur_ns"))
    {
        assert!((0..=i128::from(wall_ns)).contains(&(start.unwrap() + dur.unwrap())));
        assert!(start.unwrap() >= 0);
    }
}

/// Many times as much as it holds: memory and disk stay what they are, and every row is either there or counted.
#[test]
fn disk_stays_bounded_and_every_row_is_there_or_counted() {
    let (_folder, path) = folder();
    let rec = keeping(&path, 4).create().unwrap();
    let recorded = 60 * BATCH_ROWS as u64;
    let mut most = 0;
    for part in 0..60 {
        let from = part * BATCH_ROWS as u64;
        bricks(&rec, from..from + BATCH_ROWS as u64);
        let live = fs::read_dir(path.join("live")).unwrap();
        let names = live.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let kept = names.filter(|name| name.starts_with("bricks.")).count();
        most = most.max(kept);
        assert!(
            !path.join("bricks").exists(),
            "nothing is written before it is asked for"
        );
    }
    // Four full batches, one that is being filled, and one that is being replaced.
    assert!((4..=6).contains(&most), "{most}");
    let summary = rec.finish().unwrap();
    let rows = summary.tables["bricks"].rows;
    assert_eq!(rows + summary.discarded, recorded);
    assert!(
        (3 * BATCH_ROWS as u64..=5 * BATCH_ROWS as u64).contains(&rows),
        "{rows}"
    );
    assert_eq!((summary.dropped, summary.open), (0, 0));
    assert_last(&table(&path, "bricks"), recorded, summary.wall_ns);
    assert!(!path.join("live").exists());

    let run = run_json(&path);
    let kept = run.kept.as_ref().unwrap();
    assert_eq!(run.state, State::Finished);
    assert_eq!(kept.discarded, summary.discarded);
    assert_eq!(run.tables["bricks"].discarded, summary.discarded);
    assert_eq!(kept.recorded_ns - kept.from_ns, run.wall_ns.unwrap());
    assert_eq!(
        kept.max_bytes,
        Some(4 * batch_bytes()),
        "it holds less than an hour"
    );
    assert!(
        kept.text()
            .contains(&format!("{} earlier rows", summary.discarded))
    );
    assert!(run.problems.is_empty(), "no loss: {:?}", run.problems);
    // The journal knows what is there.
    let lines = journal(&path);
    let in_journal = lines.iter().filter(|(name, _)| name.starts_with("bricks/"));
    let in_journal = in_journal
        .flat_map(|(_, lines)| lines.last())
        .filter_map(|line| line.rows);
    assert_eq!(in_journal.sum::<u64>(), rows);
}

#[test]
fn what_is_older_than_the_time_is_discarded() {
    let (_folder, path) = folder();
    let rec = Recorder::builder(&path)
        .keep_last(Duration::from_millis(20))
        .create()
        .unwrap();
    {
        let mut old = rec.brick("old");
        old.set("key", 1);
        let old_id = old.id();
        drop(old);
        rec.depends(old_id, rec.brick("also old").id());
    }
    let straddles = rec.brick("began before");
    std::thread::sleep(Duration::from_millis(25));
    drop(rec.brick("new"));
    drop(straddles);
    let summary = rec.finish().unwrap();
    let bricks = table(&path, "bricks");
    let names: Vec<&str> = bricks.texts("name").into_iter().flatten().collect();
    // A machine that stands still for long has nothing in its window.
    assert!(names == ["new"] || names.is_empty(), "{names:?}");
    assert_eq!(
        bricks.rows as u64 + summary.discarded,
        4 + 2,
        "bricks, attribute and edge"
    );
    if bricks.rows == 1 {
        assert_eq!(
            bricks.number("parent", 0),
            None,
            "its parent is not in the run"
        );
        assert!(bricks.number("start_ns", 0).unwrap() >= 0);
    }
    assert_eq!(
        (table(&path, "edges").rows, table(&path, "attributes").rows),
        (0, 0)
    );
    assert_eq!(
        table(&path, "threads").number("start_ns", 0),
        None,
        "it began before time 0"
    );
    let kept = run_json(&path).kept.unwrap();
    assert_eq!(kept.max_bytes, None);
    assert_eq!(summary.wall_ns, 20_000_000);
}

#[test]
fn a_recording_shorter_than_the_window_is_as_without_one() {
    let record = |builder: Builder| {
        let rec = builder.create().unwrap();
        for token in 0..3 {
            let _token = rec.iteration(token);
            let mut brick = rec.brick("a");
            brick.set("key", token);
            drop(rec.kernel("k"));
        }
        rec.ptx("k", "source");
        rec.finish().unwrap()
    };
    let (_folder, path) = folder();
    let (_other_folder, other) = folder();
    let mut summary = record(Recorder::builder(&path).keep_last(HOUR));
    let mut expected = record(Recorder::builder(&other));
    for summary in [&mut summary, &mut expected] {
        // As many as there was time for.
        summary.tables.remove("clock_pairs");
    }
    assert_eq!(summary.tables, expected.tables);
    assert_eq!((summary.discarded, summary.open), (0, 0));
    for name in ["id", "parent", "name", "iteration"] {
        let cells = |path| table(path, "bricks").columns[name].clone();
        assert_eq!(cells(&path), cells(&other), "{name}");
    }
    let kept = run_json(&path).kept.unwrap();
    assert_eq!((kept.from_ns, kept.discarded), (0, 0));
    assert!(kept.text().starts_with("all "), "{}", kept.text());
}

#[test]
fn a_cut_is_a_whole_run_and_the_recording_goes_on() {
    let (folder, path) = folder();
    let rec = Recorder::builder(&path)
        .keep_last(HOUR)
        .label("job")
        .create()
        .unwrap();
    let open = rec.iteration(7);
    drop(rec.brick("first"));
    rec.ptx("k", "source");
    rec.value("key", "value");
    std::thread::scope(|scope| {
        scope.spawn(|| drop(rec.brick("of another thread")));
    });
    let first = folder.path().join("first.run");
    let cut = rec.cut(&first).unwrap();
    assert_eq!(cut.path, first.canonicalize().unwrap());
    assert_eq!(cut.tables["bricks"].rows, 2);
    assert_eq!(cut.tables["threads"].rows, 2);
    let bricks = table(&first, "bricks");
    assert_eq!(bricks.rows, 2);
    assert_eq!(
        bricks.number("parent", bricks.named("first")),
        None,
        "it is open still"
    );
    assert_eq!(bricks.number("iteration", bricks.named("first")), Some(7));
    let run = run_json(&first);
    assert_eq!((run.state, run.open, run.dropped), (State::Finished, 0, 0));
    assert_eq!(
        (run.label.as_deref(), &*run.values["key"]),
        (Some("job"), "value")
    );
    assert_eq!(run.wall_ns.map(i64::unsigned_abs), Some(cut.wall_ns));
    assert_eq!(
        fs::read_dir(first.join("ptx")).unwrap().count(),
        2,
        "the source and its table"
    );
    assert!(!first.join("live").exists());

    drop(rec.brick("second"));
    drop(open);
    let second = folder.path().join("second.run");
    assert_eq!(rec.cut(&second).unwrap().tables["bricks"].rows, 4);
    let bricks = table(&second, "bricks");
    let iteration = bricks
        .texts("kind")
        .iter()
        .position(|kind| *kind == Some("iteration"));
    let iteration = bricks.number("id", iteration.unwrap());
    assert_eq!(bricks.number("parent", bricks.named("first")), iteration);
    let summary = rec.finish().unwrap();
    assert_eq!(summary.tables["bricks"].rows, 4);
    let ids = [&first, &second, &path].map(|path| run_json(path).run_id);
    assert_eq!(BTreeSet::from(ids).len(), 3);
}

#[test]
fn what_cannot_be_cut_says_why_and_harms_nothing() {
    let (folder, path) = folder();
    let cut = folder.path().join("cut.run");
    assert_eq!(Recorder::disabled().cut(&cut).unwrap().rows, 0);
    let rec = Recorder::create(&path).unwrap();
    let error = rec.cut(&cut).unwrap_err().to_string();
    assert!(
        error.starts_with("cut: this recorder keeps everything"),
        "{error}"
    );
    rec.finish().unwrap();

    let path = folder.path().join("kept.run");
    let rec = Recorder::builder(&path).keep_last(HOUR).create().unwrap();
    drop(rec.brick("a"));
    for taken in [&path, &folder.path().join("test.run")] {
        assert!(
            matches!(rec.cut(taken), Err(Error::Format(_))),
            "{}",
            taken.display()
        );
    }
    let error = rec.cut("/proc/none/cut.run").unwrap_err().to_string();
    assert!(error.contains("cannot make the run directory"), "{error}");
    rec.cut(&cut).unwrap();
    assert_eq!(rec.finish().unwrap().tables["bricks"].rows, 1);
    let error = rec
        .cut(folder.path().join("late.run"))
        .unwrap_err()
        .to_string();
    assert_eq!(error, "cut: the recording has ended");
    assert!(!folder.path().join("late.run").exists());
}

#[test]
fn cuts_of_several_threads_while_others_record_hold_whole_batches() {
    let (folder, path) = folder();
    let rec = keeping(&path, 8).create().unwrap();
    std::thread::scope(|scope| {
        for thread in 0..3u64 {
            let rec = &rec;
            scope.spawn(move || bricks(rec, thread << 32..(thread << 32) + 100_000));
        }
        for number in 0..4 {
            let cut = folder.path().join(format!("{number}.run"));
            let rec = &rec;
            scope.spawn(move || {
                let summary = rec.cut(&cut).unwrap();
                let bricks = table(&cut, "bricks");
                assert_eq!(
                    bricks.rows as u64,
                    summary.tables.get("bricks").map_or(0, |table| table.rows)
                );
                let ids: BTreeSet<_> = bricks.numbers("id").into_iter().collect();
                assert_eq!(ids.len(), bricks.rows, "no row twice");
            });
        }
    });
    let summary = rec.finish().unwrap();
    assert_eq!(summary.tables["bricks"].rows + summary.discarded, 300_000);
}

/// What a killed process held, with the number of rows that had left.
#[test]
fn a_kill_loses_nothing_of_the_window() {
    let recorded = 20 * BATCH_ROWS as u64 + 77;
    if let Ok(path) = std::env::var(KILLED) {
        let rec = keeping(Path::new(&path), 3).create().unwrap();
        bricks(&rec, 0..recorded);
        // SAFETY: takes a number and a signal.
        unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
    }
    let (_folder, path) = folder();
    let mut again = Command::new(std::env::current_exe().unwrap());
    again
        .args(["--exact", "a_kill_loses_nothing_of_the_window"])
        .env(KILLED, &path);
    again.output().unwrap();
    let left = salvage::read(&path).unwrap().unwrap();
    assert_eq!(left.problems, Vec::<String>::new());
    let mut found = Table::default();
    for segment in left
        .segments
        .iter()
        .filter(|segment| segment.table == "bricks")
    {
        found.add_segment(Cursor::new(&segment.bytes));
    }
    let kept = left.kept.unwrap();
    assert!(found.rows >= 2 * BATCH_ROWS, "{}", found.rows);
    assert_eq!(found.rows as u64 + kept.discarded, recorded);
    assert_last(
        &found,
        recorded,
        (kept.recorded_ns - kept.from_ns).unsigned_abs(),
    );
    // Killed while a batch left: its rows are counted and its file is there, or its file is gone.
    let counts = path.join("live/counts");
    let sound = fs::read(&counts).unwrap();
    let words = sound.chunks_exact(8).enumerate();
    let batches = words.filter_map(|(at, word)| {
        let rows = u64::from_le_bytes(word.try_into().unwrap());
        ((1..=recorded).contains(&rows) && rows % BATCH_ROWS as u64 == 0).then_some((at * 8, rows))
    });
    let batches: Vec<(usize, u64)> = batches.collect();
    let [(at, rows)] = batches[..] else {
        panic!("one count of whole batches: {batches:?}");
    };
    for rows in [rows - BATCH_ROWS as u64, rows + BATCH_ROWS as u64] {
        let mut changed = sound.clone();
        changed[at..at + 8].copy_from_slice(&rows.to_le_bytes());
        fs::write(&counts, changed).unwrap();
        let left = salvage::read(&path).unwrap().unwrap();
        assert_eq!(left.kept.unwrap().discarded, kept.discarded);
    }
    // A run is made in its place as of any other.
    Recorder::builder(&path)
        .overwrite(true)
        .create()
        .unwrap()
        .finish()
        .unwrap();
}

/// Beside others, it would see their files.
#[test]
fn memory_of_the_process_stays_bounded() {
    if std::env::var_os(KILLED).is_none() {
        return in_own_process("memory_of_the_process_stays_bounded", |command| {
            command.env(KILLED, "memory");
        });
    }
    // SAFETY: asks for a number.
    let page_bytes = u64::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap();
    let resident = || {
        let status = fs::read_to_string("/proc/self/statm").unwrap();
        let pages: u64 = status.split(' ').nth(1).unwrap().parse().unwrap();
        pages * page_bytes
    };
    let (_folder, path) = folder();
    let rec = keeping(&path, 4).create().unwrap();
    bricks(&rec, 0..20 * BATCH_ROWS as u64);
    let before = resident();
    bricks(&rec, 0..400 * BATCH_ROWS as u64);
    let more = resident().saturating_sub(before);
    assert!(
        more < 4 * batch_bytes(),
        "{more} bytes more after 20 times as many rows"
    );
    rec.finish().unwrap();
}

#[test]
fn the_first_panic_writes_what_is_kept() {
    let (folder, path) = folder();
    let cut = folder.path().join("panic.run");
    let rec = Recorder::builder(&path).keep_last(HOUR).create().unwrap();
    rec.cut_on_panic(&cut);
    drop(rec.brick("before"));
    for _ in 0..2 {
        let rec = rec.clone();
        let panics = std::thread::spawn(move || {
            let _open = rec.brick("open");
            panic!("as expected");
        });
        assert!(panics.join().is_err());
    }
    assert_eq!(
        table(&cut, "bricks").texts("name"),
        [Some("before")],
        "that of the first"
    );
    assert_eq!(run_json(&cut).state, State::Finished);
    rec.finish().unwrap();
    assert_eq!(table(&path, "bricks").rows, 3);
    // Of a recorder that has ended it writes nothing.
    fs::remove_dir_all(&cut).unwrap();
    assert!(std::thread::spawn(|| panic!("as expected")).join().is_err());
    assert!(!cut.exists());
}
