//! Ends of a recording, good and bad.

use std::fs;

use trueno_format::run_json::State;
use trueno_recorder::{Error, Recorder};
use trueno_testing::{folder, run_json, table};

#[test]
fn finishing_twice_says_the_same() {
    let (_folder, path) = folder();
    let rec = Recorder::builder(&path).label("twice").create().unwrap();
    rec.value("model", "tiny");
    rec.value("tokens", 3);
    drop(rec.brick("b"));
    assert!(rec.is_enabled());
    assert_eq!(run_json(&path).state, State::Recording);
    let other = rec.clone();
    let first = rec.finish().unwrap();
    let text = fs::read(path.join("run.json")).unwrap();
    let second = std::thread::spawn(move || other.finish().unwrap())
        .join()
        .unwrap();
    assert!(!rec.is_enabled());
    assert_eq!((first.rows, first.wall_ns), (second.rows, second.wall_ns));
    drop(rec);
    assert_eq!(fs::read(path.join("run.json")).unwrap(), text);

    let run = run_json(&path);
    assert_eq!(run.state, State::Finished);
    assert_eq!(run.label.as_deref(), Some("twice"));
    assert_eq!(
        (run.format.name.as_str(), run.format.major),
        ("trueno-run", 1)
    );
    assert_eq!(run.run_id.len(), 16);
    assert_eq!(run.wall_ns, Some(first.wall_ns as i64));
    assert_eq!(run.values["model"], "tiny");
    assert_eq!(run.values["tokens"], "3");
    assert_eq!(run.tables["bricks"].rows, 1);
    assert_eq!(run.tables["bricks"].segments, 1);
    let length = fs::metadata(path.join("bricks/000000.arrow"))
        .unwrap()
        .len();
    assert_eq!(run.tables["bricks"].bytes, length);
    assert!(run.problems.is_empty());
    assert!(run.clock.ticks_per_second.is_some());
    let resolution_ns = run.clock.resolution_ns.unwrap();
    assert!((0.1..1e6).contains(&resolution_ns), "{resolution_ns}");
    assert!(run.recorder.cost_ns_per_span.is_some_and(|cost| cost > 0.0));
    assert!(
        !path.join("kernels").exists(),
        "only tables with rows get a folder"
    );
    let bricks = table(&path, "bricks");
    let end = bricks.number("start_ns", 0).unwrap() + bricks.number("dur_ns", 0).unwrap();
    assert!(end <= i128::from(first.wall_ns));
    assert!(table(&path, "clock_pairs").rows >= 2);
}

#[test]
fn dropping_the_last_handle_finishes() {
    let (_folder, path) = folder();
    let rec = Recorder::create(&path).unwrap();
    let clone = rec.clone();
    drop(rec);
    drop(clone.brick("b"));
    assert_eq!(run_json(&path).state, State::Recording);
    drop(clone);
    assert_eq!(run_json(&path).state, State::Finished);
    assert_eq!(table(&path, "bricks").rows, 1);
}

#[test]
fn guards_after_the_end_are_late() {
    let (_folder, path) = folder();
    let rec = Recorder::create(&path).unwrap();
    let brick = rec.brick("b");
    let (layer, kernel, wait) = (rec.layer(0), rec.kernel("k"), rec.wait("w", &[]));
    let tile = rec.tile(trueno_recorder::TileLevel::Macro, 0, 0);
    let (task, detached) = (rec.task("t", Some(brick.id())), rec.brick("d").detach());
    rec.finish().unwrap();
    assert_eq!(rec.status().late, 0);
    drop(brick);
    drop((layer, kernel, wait, tile, task, detached));
    drop(rec.brick("off")); // not even opened
    assert_eq!(rec.status().late, 7);
    assert_eq!(table(&path, "bricks").rows, 0);
}

#[test]
fn what_is_there_is_not_removed_without_leave() {
    let (folder, path) = folder();
    let rec = Recorder::create(&path).unwrap();
    drop(rec.brick("first"));
    drop(rec);
    let refused = Recorder::create(&path).map(drop).unwrap_err();
    let is_refused = matches!(
        refused,
        Error::Format(trueno_format::Error::RunExists { .. })
    );
    let said = refused.to_string();
    assert!(
        is_refused && said.contains("overwrite(true)") && said.contains("--overwrite"),
        "{said}"
    );
    assert_eq!(table(&path, "bricks").texts("name"), [Some("first")]);
    let rec = Recorder::builder(&path).overwrite(true).create().unwrap();
    drop(rec.brick("second"));
    drop(rec);
    assert_eq!(table(&path, "bricks").texts("name"), [Some("second")]);

    let precious = folder.path().join("precious");
    fs::create_dir(&precious).unwrap();
    fs::write(precious.join("thesis.txt"), "years of work").unwrap();
    let file = precious.join("thesis.txt");
    for path in [&precious, &file] {
        let found = Recorder::builder(path).overwrite(true).create();
        assert!(
            matches!(
                found,
                Err(Error::Format(trueno_format::Error::NotARun { .. }))
            ),
            "{found:?}"
        );
    }
    assert_eq!(fs::read_to_string(file).unwrap(), "years of work");

    fs::write(path.join("notes.txt"), "mine").unwrap();
    let found = Recorder::builder(&path).overwrite(true).create();
    assert!(
        matches!(
            found,
            Err(Error::Format(trueno_format::Error::Foreign { .. }))
        ),
        "{found:?}"
    );
    assert_eq!(table(&path, "bricks").texts("name"), [Some("second")]);

    let empty = folder.path().join("empty/nested");
    fs::create_dir_all(&empty).unwrap();
    drop(Recorder::create(&empty).unwrap());
    assert_eq!(run_json(&empty).state, State::Finished);
}

#[test]
fn a_place_that_cannot_be_written_is_refused() {
    let (folder, _) = folder();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let found = Recorder::create(file.join("test.run"));
    assert!(
        matches!(found, Err(Error::Format(trueno_format::Error::Io { .. }))),
        "{found:?}"
    );
    let found = Recorder::create("/proc/no-such-place/test.run");
    assert!(
        matches!(found, Err(Error::Format(trueno_format::Error::Io { .. }))),
        "{found:?}"
    );
    let (_folder, path) = trueno_testing::folder();
    let found = Recorder::builder(&path)
        .without_table("brick")
        .create()
        .unwrap_err();
    assert!(found.to_string().contains("bricks"), "{found}");
    assert!(!path.exists());
}

#[test]
fn a_vanished_directory_costs_the_run_and_not_the_program() {
    let (_folder, path) = folder();
    let rec = Recorder::create(&path).unwrap();
    drop(rec.brick("before"));
    // The writer may be making a file in it at this very moment.
    while fs::remove_dir_all(&path).is_err() {
        assert!(path.exists());
    }
    for _ in 0..30_000 {
        drop(rec.brick("after"));
    }
    let error = rec.finish().unwrap_err();
    let Error::Writer { lost, problem, .. } = &error else {
        panic!("{error}")
    };
    assert!(problem.contains("test.run"), "{problem}");
    let status = rec.status();
    assert_eq!(status.problems.first(), Some(problem));
    let bricks = status.tables["bricks"];
    assert_eq!(
        bricks.rows + bricks.dropped,
        30_001,
        "every row is accounted for"
    );
    assert!(*lost <= status.dropped);
    assert!(rec.finish().is_err(), "and it says so again");
    assert!(!path.exists(), "nothing was put back");
}

#[test]
fn a_table_that_cannot_be_written_is_said_in_run_json() {
    let (_folder, path) = folder();
    let rec = Recorder::create(&path).unwrap();
    fs::write(path.join("bricks"), "in the way").unwrap();
    drop(rec.brick("b"));
    rec.finish().unwrap_err();
    let run = run_json(&path);
    assert_eq!(run.state, State::Failed);
    assert_eq!(run.problems.len(), 1);
    assert!(run.problems[0].contains("bricks"), "{:?}", run.problems);
    assert_eq!(run.tables["bricks"].dropped, 1);
    assert!(run.dropped >= 1);
}

const FULL: &str = "TRUENO_TEST_FULL_DISK";
const FULL_ROWS: u64 = 100_000;

/// The child of `a_full_disk_keeps_what_was_written`; does nothing in a normal test run.
#[test]
fn records_under_a_file_size_limit() {
    let Some(path) = std::env::var_os(FULL) else {
        return;
    };
    let rec = Recorder::create(path).unwrap();
    for n in 0..FULL_ROWS {
        // Hard to compress, so that the limit is met.
        rec.brick("b")
            .elements(n.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    }
    let error = rec.finish().unwrap_err();
    assert!(error.to_string().contains("bricks/000000.arrow"), "{error}");
    let bricks = rec.status().tables["bricks"];
    assert_eq!(bricks.rows + bricks.dropped, FULL_ROWS);
}

/// A file size limit stands for a full disk: a write fails half-way.
#[test]
fn a_full_disk_keeps_what_was_written() {
    use std::os::unix::process::CommandExt;
    const LIMIT: u64 = 400_000;
    let (_folder, path) = folder();
    let mut child = std::process::Command::new(std::env::current_exe().unwrap());
    child
        .args(["--exact", "records_under_a_file_size_limit"])
        .env(FULL, &path);
    // SAFETY: between fork and exec only calls that are safe there; both leave memory alone.
    unsafe {
        child.pre_exec(|| {
            let limit = libc::rlimit {
                rlim_cur: LIMIT,
                rlim_max: LIMIT,
            };
            // Without the signal's default action, which would end the program.
            libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
            match libc::setrlimit(libc::RLIMIT_FSIZE, &limit) {
                0 => Ok(()),
                _ => Err(std::io::Error::last_os_error()),
            }
        });
    }
    let output = child.output().unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stdout)
    );

    let run = run_json(&path);
    assert_eq!(run.state, State::Failed);
    assert!(
        run.problems[0].contains("write a batch"),
        "{:?}",
        run.problems
    );
    let bricks = &run.tables["bricks"];
    assert_eq!(bricks.rows + bricks.dropped, FULL_ROWS);
    assert!(bricks.rows > 0 && bricks.dropped > 0);
    // The open segment ends with its last whole batch, and so does the journal: readers count no row as lost that is
    // counted as dropped already.
    let file = fs::read(path.join("bricks/000000.arrow.open")).unwrap();
    assert_eq!(file.len() as u64, bricks.bytes);
    let journal = trueno_testing::journal(&path);
    let lines = &journal["bricks/000000.arrow"];
    for line in lines {
        let chunk = line.offset as usize..(line.offset + line.bytes) as usize;
        let chunk = file.get(chunk).expect("the chunk of each line is there");
        assert_eq!(trueno_format::journal::chunk_hash(chunk), line.xxh3);
    }
    assert_eq!(
        lines.iter().filter_map(|line| line.rows).sum::<u64>(),
        bricks.rows
    );
}

#[test]
fn a_disabled_recorder_leaves_no_trace() {
    let rec = Recorder::disabled();
    assert!(!rec.is_enabled());
    let (_iteration, _layer) = (rec.iteration(0), rec.layer(0));
    let mut brick = rec.brick("b");
    brick.elements(1).backend("x");
    assert!(brick.id().is_none());
    assert!(brick.detach().id().is_none());
    rec.kernel("k").grid(1, 1, 1);
    drop(rec.wait("w", &[]));
    rec.checksum("c", None, &[1u8], &[1]);
    rec.allocation("a", 1, None);
    rec.value("k", "v");
    let summary = rec.finish().unwrap();
    assert_eq!((summary.rows, summary.dropped), (0, 0));
    let status = rec.status();
    assert_eq!((status.rows, status.late, status.threads), (0, 0, 0));
}

#[test]
fn tables_can_be_left_out() {
    let (_folder, path) = folder();
    let rec = Recorder::builder(&path)
        .without_table("bricks")
        .without_table("threads")
        .create()
        .unwrap();
    {
        let _layer = rec.layer(6);
        let _brick = rec.brick("b");
        drop(rec.kernel("k"));
        rec.checksum("c", None, &[1u8], &[1]);
    }
    rec.finish().unwrap();
    assert!(!path.join("bricks").exists() && !path.join("threads").exists());
    assert_eq!(table(&path, "kernels").numbers("brick"), [None]);
    assert_eq!(table(&path, "checksums").numbers("layer"), [Some(6)]);
    assert_eq!(run_json(&path).recorder.tables_off, ["bricks", "threads"]);
}
