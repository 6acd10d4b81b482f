//! `recover` where it must not do what it usually does, and where it is stopped half-way.

use std::fs;
use std::io::Write;
use std::mem::offset_of;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use serde_json::Value;
use trueno_engine::run::{Recovered, Run, recover};
use trueno_format::journal::{Chunk, JOURNAL, Line};
use trueno_format::live::rows_name;
use trueno_format::mapped_file::HEADER_BYTES;
use trueno_format::salvage;
use trueno_format::segment::BATCH_ROWS;
use trueno_format::waiting_rows::RowsHeader;
use trueno_model::{Level, RunState};
use trueno_recorder::Recorder;

use crate::harness::{Dir, copy};
use crate::killed;
use crate::victim::{self, When};

/// A run whose recorder was killed while rows were in segments, in waiting files and in rings.
fn killed_run(dir: &Dir) -> PathBuf {
    for _ in 0..100 {
        // Some batches, so that there is an open segment.
        let path = victim::kill(dir, "block", When::Batches(12));
        // Now and then a batch is being written then; that is a test of its own. And where the
        // thread that looks was slow, the segment may be full and closed.
        let has_bricks = open_batches(&path)
            .iter()
            .any(|line| line.segment.starts_with("bricks/"));
        if has_bricks && salvage::read(&path).unwrap().unwrap().cut.is_empty() {
            return path;
        }
        fs::remove_dir_all(&path).unwrap();
    }
    panic!("of 100 killed runs none had an open segment and no batch that was being written");
}

#[test]
fn wherever_it_is_stopped_it_can_be_done_again() {
    let template = Dir::new();
    let killed = killed_run(&template);
    let expected = killed::everything(&Run::open(&killed).unwrap());
    let mut steps = 0;
    for stop_at in 0.. {
        let dir = Dir::new();
        let path = dir.join("stopped.run");
        copy(&killed, &path);
        let mut step = 0;
        let stopped = catch_unwind(AssertUnwindSafe(|| {
            recover(&path, None, &mut |what| {
                // Without the message of a panic.
                if step == stop_at {
                    std::panic::resume_unwind(Box::new(what.to_owned()));
                }
                step += 1;
            })
        }));
        let run = Run::open(&path).unwrap();
        let what = format!("stopped at {stop_at}");
        killed::same_rows(&expected, &killed::everything(&run), &what);
        let again = recover(&path, None, &mut |_| {}).unwrap();
        let run = Run::open(&path).unwrap();
        killed::same_rows(&expected, &killed::everything(&run), &what);
        assert_eq!(run.facts().state, RunState::Recovered, "{what}");
        assert!(
            run.facts().complete == Some(true),
            "{what}: {:?}",
            run.problems()
        );
        let left: Vec<_> = fs::read_dir(dir.path())
            .unwrap()
            .map(|e| e.unwrap().file_name())
            .collect();
        assert_eq!(left, ["stopped.run"], "{what}");
        if let Ok(done) = stopped {
            assert!(matches!(done.unwrap(), Recovered::Done(_)));
            assert!(matches!(again, Recovered::Nothing(RunState::Recovered)));
            break;
        }
        steps += 1;
    }
    assert!(steps >= 8, "{steps}");
}

/// File descriptors of this process for a path. Duplicates of a descriptor share its locks.
fn open_files(path: &Path) -> Vec<libc::c_int> {
    let files = fs::read_dir("/proc/self/fd").unwrap().flatten();
    let at_path = files.filter(|file| fs::read_link(file.path()).is_ok_and(|to| to == path));
    let number = |file: fs::DirEntry| file.file_name().to_str()?.parse().ok();
    at_path.filter_map(number).collect()
}

/// A child that any thread starts inherits all open files for a moment.
#[test]
fn a_recovery_that_is_over_locks_nothing_whoever_else_has_its_files() {
    let dir = Dir::new();
    let path = killed_run(&dir);
    let log = fs::canonicalize(path.join("live/log.jsonl")).unwrap();
    let expected = killed::everything(&Run::open(&path).unwrap());
    let mut others = Vec::new();
    let stopped = catch_unwind(AssertUnwindSafe(|| {
        recover(&path, None, &mut |what| {
            if what == "sealing the open segments" {
                // SAFETY: calls with numbers of files that the recovery holds open while it tells of its steps.
                let copies = open_files(&log)
                    .into_iter()
                    .map(|of| unsafe { libc::dup(of) });
                others.extend(copies);
                std::panic::resume_unwind(Box::new(()));
            }
        })
    }));
    assert!(stopped.is_err() && !others.is_empty());
    assert_eq!(salvage::is_recording(&path), Some(false));
    killed::same_rows(
        &expected,
        &killed::everything(&Run::open(&path).unwrap()),
        "stopped",
    );
    recover(&path, None, &mut |_| {}).unwrap();
    for other in others {
        // SAFETY: made above, and nobody else's.
        unsafe { libc::close(other) };
    }
}

#[test]
fn the_command_says_what_it_did_and_the_report_that_it_was_done() {
    let dir = Dir::new();
    let path = killed_run(&dir);
    fs::write(path.join("notes.txt"), "mine").unwrap();
    let before = dir.report(&path, &["--json", "-"]).exits(0).json();
    assert_eq!(before["run"]["state"], "recording");
    let new = dir
        .command(&["recover", "killed.run", "-o", "new.run"])
        .exits(0);
    assert!(
        new.stdout
            .starts_with("new.run: recovered after an unclean end\n"),
        "{}",
        new.stdout
    );
    assert!(
        new.stdout
            .contains(" of them from live/; 0 lost, 0 dropped\n"),
        "{}",
        new.stdout
    );
    assert!(path.join("live").is_dir(), "the run itself stays as it was");
    dir.command(&["recover", "killed.run", "-o", "new.run"])
        .exits(2)
        .stderr_has("already exists");
    let done = dir
        .command(&["recover", "killed.run", "--json"])
        .exits(0)
        .json();
    assert_eq!(
        (&done["recovered"], &done["rows_lost"]),
        (&Value::Bool(true), &0.into())
    );
    assert!(done["rows_from_live"].as_u64() > Some(0), "{done}");
    assert_eq!(rows_of_files(&path), done["rows"].as_u64().unwrap());
    for run in ["killed.run", "new.run"] {
        assert_eq!(dir.read(&format!("{run}/notes.txt")), "mine");
        dir.command(&["recover", run])
            .exits(0)
            .stdout_has("recovered, nothing to recover");
        let report = dir.report(&dir.join(run), &["--json", "-"]).exits(0).json();
        assert_eq!(report["run"]["state"], "recovered");
        assert_eq!(report["run"]["complete"], true);
        assert_eq!(report["run"]["clean_end"], false);
        assert_eq!(report["run"]["wall_source"], "last_event");
        assert_eq!(report["run"]["wall_ns"], before["run"]["wall_ns"]);
        let page = dir.report(&dir.join(run), &[]).exits(0);
        page.stdout_starts("UNCLEAN END: the program did not end the recording, recovered up to ");
    }
}

/// Number of rows that a plain Arrow reader finds.
fn rows_of_files(run: &Path) -> u64 {
    let folders = fs::read_dir(run)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let files = folders.filter(|path| path.is_dir()).flat_map(|path| {
        let files = fs::read_dir(path).unwrap();
        files.map(|entry| entry.unwrap().path())
    });
    let arrow = files.filter(|path| path.extension().is_some_and(|end| end == "arrow"));
    let rows = |path: PathBuf| -> u64 {
        let file = fs::File::open(path).unwrap();
        let batches = arrow_ipc::reader::FileReader::try_new(file, None).unwrap();
        batches.map(|batch| batch.unwrap().num_rows() as u64).sum()
    };
    arrow.map(rows).sum()
}

#[test]
fn what_needs_no_recovery_or_cannot_have_one_stays_as_it_is() {
    let dir = Dir::new();
    let run = dir.run();
    // Left by a recorder that could not remove it: the run has ended all the same.
    fs::create_dir(run.join("live")).unwrap();
    fs::write(run.join("live/000000.ring"), "remains").unwrap();
    dir.command(&["recover", "test.run"])
        .exits(0)
        .stdout_has("finished, nothing to recover");
    dir.report(&run, &["--json", "-"]).exits(0);
    assert!(Run::open(&run).unwrap().facts().complete == Some(true));

    let rec = Recorder::create(dir.join("now.run")).unwrap();
    drop(rec.brick("a"));
    dir.command(&["recover", "now.run"])
        .exits(2)
        .stderr_has("is being recorded")
        .stderr_has("hint:");
    dir.command(&["info", "now.run"])
        .exits(0)
        .stdout_has("is still recording");
    drop(rec);
    assert!(Run::open(&dir.join("now.run")).unwrap().facts().complete == Some(true));

    dir.folder("empty");
    dir.command(&["recover", "empty"])
        .exits(2)
        .stderr_has("not a run directory");
    dir.command(&["recover", "nowhere"])
        .exits(2)
        .stderr_has("no such run");
}

#[test]
fn what_is_in_the_way_is_not_removed() {
    let dir = Dir::new();
    killed_run(&dir);
    let theirs = dir.folder(".killed.run.recover");
    fs::write(theirs.join("thesis.txt"), "years of work").unwrap();
    dir.command(&["recover", "killed.run"])
        .exits(2)
        .stderr_has("is in the way");
    assert_eq!(dir.read(".killed.run.recover/thesis.txt"), "years of work");
    dir.command(&["recover", "killed.run", "-o", "elsewhere.run"])
        .exits(0);
}

/// File of a segment that was open when the recorder ended.
fn open_file(path: &Path, line: &Line) -> PathBuf {
    path.join(format!("{}.open", line.segment))
}

/// Journal lines of the batches in open segments.
fn open_batches(path: &Path) -> Vec<Line> {
    let journal = fs::read(path.join(JOURNAL)).unwrap();
    let lines = journal.split_inclusive(|byte| *byte == b'\n');
    lines
        .filter_map(Line::decode)
        .filter(|line| line.chunk == Chunk::Batch && open_file(path, line).exists())
        .collect()
}

/// A batch of an open segment: the last one, or the first one of bricks.
fn batch(path: &Path, last: bool) -> (PathBuf, Line) {
    let mut batches = open_batches(path);
    let line = if last {
        batches.pop().unwrap()
    } else {
        let bricks = |line: &Line| line.segment.starts_with("bricks/");
        batches.into_iter().find(bricks).unwrap()
    };
    (open_file(path, &line), line)
}

fn flip(file: &Path, at: u64) {
    let mut bytes = fs::read(file).unwrap();
    bytes[at as usize] ^= 0x55;
    fs::write(file, bytes).unwrap();
}

#[test]
fn a_damaged_batch_is_reported_though_its_rows_were_being_forgotten() {
    let dir = Dir::new();
    let path = killed_run(&dir);
    let (file, line) = batch(&path, true);
    // As the process leaves it that dies after a batch was written, while its rows are forgotten from the first on.
    let table = line.segment.split('/').next().unwrap();
    let waiting = path.join("live").join(rows_name(table));
    let mut bytes = fs::read(&waiting).unwrap();
    let journal = fs::read(path.join(JOURNAL)).unwrap();
    let lines = journal.split_inclusive(|byte| *byte == b'\n');
    let is_of_table = |other: &Line| {
        other.chunk == Chunk::Batch && other.segment.split('/').next() == Some(table)
    };
    let written = lines.filter_map(Line::decode).filter(is_of_table).count();
    let before_it = written as u64 - 1;
    let at = offset_of!(RowsHeader, batches);
    bytes[at..at + 8].copy_from_slice(&before_it.to_le_bytes());
    bytes[HEADER_BYTES..HEADER_BYTES + 8].fill(0);
    fs::write(&waiting, bytes).unwrap();
    let whole = Run::open(&path).unwrap().facts().rows;
    flip(&file, line.offset + line.bytes / 2);
    let found = Run::open(&path).unwrap();
    let lost = line.rows.unwrap();
    assert_eq!(
        (found.facts().rows, found.facts().rows_lost),
        (whole - lost, lost)
    );
}

#[test]
fn a_damaged_batch_is_lost_and_stays_reported() {
    for last in [false, true] {
        // A kill right after a batch was written leaves its rows in memory as well, and nothing is lost.
        let mut damaged = (0..20).map(|_| {
            let dir = Dir::new();
            let path = killed_run(&dir);
            let whole = Run::open(&path).unwrap().facts().rows;
            let (file, line) = batch(&path, last);
            flip(&file, line.offset + line.bytes / 2);
            let before = Run::open(&path).unwrap();
            (dir, path, whole, line, before)
        });
        let is_lost = |(.., whole, _, before): &(_, _, u64, _, Run)| before.facts().rows < *whole;
        let (dir, path, whole, line, before) = damaged.find(is_lost).unwrap();
        let lost = line.rows.unwrap();
        assert_eq!(
            (before.facts().rows, before.facts().rows_lost),
            (whole - lost, lost),
            "{last}"
        );
        let rows = killed::everything(&before);
        dir.command(&["recover", "killed.run"])
            .exits(1)
            .stdout_has(&format!("{lost} lost"))
            .stderr_has("damaged");
        let after = Run::open(&path).unwrap();
        killed::same_rows(&rows, &killed::everything(&after), "damaged");
        assert_eq!(after.facts().rows_lost, lost);
        assert!(after.facts().complete == Some(false));
        let named = |p: &trueno_model::Problem| {
            p.severity == Level::Error && p.text.contains(&line.segment)
        };
        assert!(after.problems().iter().any(named), "{:?}", after.problems());
    }
}

#[test]
fn a_batch_that_was_being_written_is_no_loss() {
    let dir = Dir::new();
    let path = killed_run(&dir);
    let rows = killed::everything(&Run::open(&path).unwrap());
    // As the writer does: the line first, then the batch, of which a part is there.
    let (file, line) = batch(&path, false);
    let offset = fs::metadata(&file).unwrap().len();
    let waiting = fs::read(path.join("live").join(rows_name("bricks"))).unwrap();
    let origins = waiting[HEADER_BYTES..].chunks(8).take(BATCH_ROWS);
    let is_there = |origin: &&[u8]| origin.iter().any(|byte| *byte != 0);
    let cut = Line {
        rows: Some(origins.take_while(is_there).count() as u64),
        ..Line::new(&line.segment, Chunk::Batch, offset, &[7; 5000])
    };
    let append = |path: &Path, bytes: &[u8]| {
        let mut file = fs::OpenOptions::new().append(true).open(path).unwrap();
        file.write_all(bytes).unwrap();
    };
    append(&path.join(JOURNAL), cut.encode().unwrap().as_bytes());
    append(&file, &[7; 1000]);
    let run = Run::open(&path).unwrap();
    assert_eq!(run.facts().rows_lost, 0, "{:?}", run.problems());
    killed::same_rows(&rows, &killed::everything(&run), "cut");
    dir.command(&["recover", "killed.run"]).exits(0);
    killed::same_rows(
        &rows,
        &killed::everything(&Run::open(&path).unwrap()),
        "cut, recovered",
    );
}

#[test]
fn a_place_that_cannot_be_written_is_named_with_a_way_out() {
    let dir = Dir::new();
    // Beside a run with the longest name there is no room for one that is longer.
    let long = format!("{}.run", "x".repeat(251));
    fs::rename(killed_run(&dir), dir.join(&long)).unwrap();
    let rows = Run::open(&dir.join(&long)).unwrap().facts().rows;
    dir.command(&["recover", &long])
        .exits(2)
        .stderr_has("(hint: `-o NEW`");
    assert!(dir.join(&long).join("live").is_dir());
    dir.command(&["recover", &long, "-o", "new.run"]).exits(0);
    assert_eq!(Run::open(&dir.join("new.run")).unwrap().facts().rows, rows);
}
