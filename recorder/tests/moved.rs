//! A run whose folder is renamed while it is recorded: it goes on in the folder under its new name, and whatever comes
//! to its old path is left alone.
#![cfg(target_os = "linux")]

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use trueno_format::PtxHash;
use trueno_format::journal::Chunk;
use trueno_format::run_json::State;
use trueno_format::salvage;
use trueno_format::segment::BATCH_ROWS;
use trueno_recorder::{Error, Overflow, Recorder, TileLevel};
use trueno_testing::{folder, run_json, table};

/// Environment variable that turns the test binary into the recording program. Contains the path of its run, and
/// that of another folder or nothing.
const RUN: &str = "TRUENO_TEST_MOVED_RUN";
const ELSEWHERE: &str = "TRUENO_TEST_MOVED_ELSEWHERE";
const HALF: u64 = 40_000;

/// Entry point of the recording program; does nothing in a normal test run. It waits between its halves and before
/// its end.
#[test]
fn records_in_halves() {
    let Ok(path) = std::env::var(RUN) else { return };
    let wait = |said: &str| {
        println!("\n{said}");
        std::io::stdin().read_line(&mut String::new()).unwrap();
    };
    let rec = record(Path::new(&path));
    if let Ok(elsewhere) = std::env::var(ELSEWHERE) {
        std::env::set_current_dir(elsewhere).unwrap();
    }
    first_half(&rec);
    wait("half");
    second_half(&rec);
    wait("whole");
    rec.finish().unwrap();
}

fn record(path: &Path) -> Recorder {
    Recorder::builder(path)
        .overflow(Overflow::Block)
        .create()
        .unwrap()
}

fn first_half(rec: &Recorder) {
    for at in 0..HALF {
        rec.brick("early").elements(at);
    }
    // Some are in a segment by now, which is open.
    let written = || {
        rec.status()
            .tables
            .get("bricks")
            .map_or(0, |table| table.rows)
    };
    while written() < 2 * BATCH_ROWS as u64 {
        std::thread::yield_now();
    }
}

/// Records rows for an open segment, for a new table and on a new thread, and a source.
fn second_half(rec: &Recorder) {
    for at in 0..HALF {
        rec.brick("late").elements(at);
    }
    let other = rec.clone();
    let work = move || drop(other.tile(TileLevel::Macro, 1, 2));
    std::thread::spawn(work).join().unwrap();
    rec.ptx("m", "source");
}

/// Asserts that everything from both halves is there, and nothing else.
#[track_caller]
fn is_whole(path: &Path) {
    let run = run_json(path);
    assert_eq!(run.state, State::Finished, "{}", path.display());
    assert_eq!(run.problems, Vec::<String>::new(), "{}", path.display());
    assert_eq!((run.dropped, run.open), (0, 0));
    let bricks = table(path, "bricks");
    let of = |name| {
        bricks
            .texts("name")
            .iter()
            .filter(|found| **found == Some(name))
            .count()
    };
    assert_eq!((of("early") as u64, of("late") as u64), (HALF, HALF));
    assert_eq!(table(path, "tiles").rows, 1);
    assert_eq!(table(path, "threads").rows, 2);
    let source = format!("ptx/{}.ptx", PtxHash::from_source("source"));
    assert!(path.join(source).is_file());
    assert!(!path.join("live").exists(), "{}", path.display());
}

fn start(
    path: &Path,
    folder: &Path,
    elsewhere: Option<&Path>,
) -> (Child, BufReader<std::process::ChildStdout>) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "records_in_halves", "--nocapture"])
        .env(RUN, path)
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    if let Some(elsewhere) = elsewhere {
        command.env(ELSEWHERE, elsewhere);
    }
    let mut child = command.spawn().unwrap();
    let said = BufReader::new(child.stdout.take().unwrap());
    (child, said)
}

fn wait_for(said: &mut impl BufRead, expected: &str) {
    let mut line = String::new();
    while line.trim() != expected {
        line.clear();
        assert_ne!(
            said.read_line(&mut line).unwrap(),
            0,
            "it ended before {expected}"
        );
    }
}

fn go_on(child: &mut Child) {
    child.stdin.as_mut().unwrap().write_all(b"go\n").unwrap();
}

#[test]
fn a_run_that_was_renamed_is_whole_and_so_is_the_next_one() {
    // Whichever of them ends first.
    for first_ends_first in [true, false] {
        let (folder, path) = folder();
        let moved = folder.path().join("moved.run");
        let first = record(&path);
        first_half(&first);
        fs::rename(&path, &moved).unwrap();
        let second = record(&path);
        first_half(&second);
        second_half(&first);
        let end = |rec: &Recorder| rec.finish().unwrap().path;
        let ended = if first_ends_first {
            let first = end(&first);
            second_half(&second);
            [first, end(&second)]
        } else {
            second_half(&second);
            let second = end(&second);
            [end(&first), second]
        };
        assert_eq!(ended, [moved.clone(), path.clone()]);
        is_whole(&moved);
        is_whole(&path);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }
}

#[test]
fn a_run_that_was_renamed_is_still_in_use() {
    let (folder, path) = folder();
    let moved = folder.path().join("moved.run");
    let rec = record(&path);
    fs::rename(&path, &moved).unwrap();
    let found = Recorder::builder(&moved).overwrite(true).create();
    let Err(Error::Format(trueno_format::Error::RunInUse { path })) = found else {
        panic!("it would be replaced");
    };
    assert_eq!(path, moved);
    rec.finish().unwrap();
}

/// One of two programs is killed while the other's run is at its path.
#[test]
fn a_kill_of_one_leaves_both_runs_as_they_are() {
    for first_is_killed in [true, false] {
        let (folder, path) = folder();
        let moved = folder.path().join("moved.run");
        let (mut first, mut said_first) = start(&path, folder.path(), None);
        wait_for(&mut said_first, "half");
        fs::rename(&path, &moved).unwrap();
        let (mut second, mut said_second) = start(&path, folder.path(), None);
        wait_for(&mut said_second, "half");
        for (child, said) in [
            (&mut first, &mut said_first),
            (&mut second, &mut said_second),
        ] {
            go_on(child);
            wait_for(said, "whole");
        }
        let (killed, other, left, whole) = if first_is_killed {
            (&mut first, &mut second, &moved, &path)
        } else {
            (&mut second, &mut first, &path, &moved)
        };
        killed.kill().unwrap();
        killed.wait().unwrap();
        go_on(other);
        assert!(other.wait().unwrap().success());
        is_whole(whole);
        assert_eq!(run_json(whole).program.pid, Some(other.id()));

        let run = run_json(left);
        assert_eq!(
            (run.state, run.program.pid),
            (State::Recording, Some(killed.id()))
        );
        assert_eq!(salvage::is_recording(left), Some(false));
        let rest = salvage::read(left).unwrap().expect("something was left");
        assert_eq!(rest.problems, Vec::<String>::new());
        let in_rest = |name: &str| {
            let segments = rest.segments.iter().filter(|segment| segment.table == name);
            segments.map(|segment| segment.rows).sum::<u64>()
        };
        let journal = trueno_testing::journal(left);
        let on_disk: u64 = journal["bricks/000000.arrow"]
            .iter()
            .filter(|line| line.chunk == Chunk::Batch)
            .filter(|line| {
                !rest
                    .cut
                    .iter()
                    .any(|cut| cut.offset == line.offset && cut.segment == line.segment)
            })
            .filter_map(|line| line.rows)
            .sum();
        assert_eq!(
            on_disk + in_rest("bricks"),
            2 * HALF,
            "every brick is there"
        );
    }
}

#[test]
fn a_relative_path_is_that_of_the_start() {
    let (folder, _) = folder();
    let [start_folder, elsewhere] = ["start", "elsewhere"].map(|name| folder.path().join(name));
    for place in [&start_folder, &elsewhere] {
        fs::create_dir(place).unwrap();
    }
    // A run of the same name is where the program goes.
    let other = Recorder::create(elsewhere.join("my.run")).unwrap();
    other.brick("other").elements(1);
    other.finish().unwrap();
    let before = contents(&elsewhere);
    let (mut child, mut said) = start(Path::new("my.run"), &start_folder, Some(&elsewhere));
    for step in ["half", "whole"] {
        wait_for(&mut said, step);
        go_on(&mut child);
    }
    assert!(child.wait().unwrap().success());
    is_whole(&start_folder.join("my.run"));
    assert_eq!(contents(&elsewhere), before);
}

fn contents(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.extend(contents(&path));
        } else {
            all.push((path.clone(), fs::read(&path).unwrap()));
        }
    }
    all.sort();
    all
}

#[test]
fn a_run_that_was_removed_costs_the_next_one_at_its_path_nothing() {
    let (_folder, path) = folder();
    let first = record(&path);
    first_half(&first);
    while fs::remove_dir_all(&path).is_err() {}
    let second = record(&path);
    first_half(&second);
    second_half(&first);
    assert!(first.finish().is_err(), "its rows are gone");
    second_half(&second);
    second.finish().unwrap();
    is_whole(&path);
}
