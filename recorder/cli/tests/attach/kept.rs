//! `run --keep-last`: the last part of a program, at its end and whenever a signal comes.

use std::path::Path;

use trueno_format::mapped_file::HEADER_BYTES;
use trueno_format::run_json::{Kept, State};
use trueno_format::salvage;
use trueno_testing::{run_json, table, wait_until};

use crate::{Place, exists, means, program, rows_of, thread_of};

fn rows_name(means: &str) -> &'static str {
    if means == "--calls" {
        "calls"
    } else {
        "samples"
    }
}

fn kept(run: &Path) -> Kept {
    let json = run_json(run);
    assert_eq!(json.state, State::Finished);
    let kept = json.kept.unwrap();
    assert_eq!(kept.recorded_ns - kept.from_ns, json.wall_ns.unwrap());
    kept
}

/// Asserts that a run has rows of a thread, all within the run.
fn has_rows_of(run: &Path, means: &str, thread: &str) {
    let threads = table(run, "threads");
    let number = thread_of(&threads, thread).unwrap_or_else(|| panic!("{means}: {thread}"));
    let rows = table(run, rows_name(means));
    assert!(!rows_of(&rows, number).is_empty(), "{means}: {thread}");
    let time = if means == "--calls" {
        "start_ns"
    } else {
        "time_ns"
    };
    let wall_ns = i128::from(run_json(run).wall_ns.unwrap());
    let times = rows.numbers(time);
    assert!(
        times
            .iter()
            .all(|time| (0..=wall_ns).contains(&time.unwrap())),
        "{means}"
    );
}

#[test]
fn a_signal_cuts_what_is_kept_and_the_recording_goes_on() {
    for means in means() {
        let place = Place::new();
        let program = place.program();
        let id = program.id().to_string();
        // The program would end by the signal.
        let flags = [means, "--keep-last=1h", "--signal=USR1", "--pid", &id];
        let mut recorder = place.recorder(&flags);
        recorder.wait_for("keeping the last 3600 s: `kill -USR1");
        recorder.wait_for("recording process");
        let cuts = [place.path("it.cut-1.run"), place.path("it.cut-2.run")];
        for (cut, worker) in cuts.iter().zip(program::WORKERS) {
            (0..10).for_each(|_| program.wait_until_written(worker));
            recorder.send(libc::SIGUSR1);
            recorder.wait_for(&format!("{}: all ", cut.file_name().unwrap().display()));
            has_rows_of(cut, means, worker);
            let kept = kept(cut);
            assert_eq!((kept.from_ns, kept.discarded), (0, 0), "{means}");
            assert!(!exists(&cut.join("live")));
        }
        let rows = |run: &Path| run_json(run).tables[rows_name(means)].rows;
        assert!(rows(&cuts[0]) < rows(&cuts[1]), "{means}");
        let said = recorder.stop();
        assert!(
            said.contains("of the recording, which keeps the last 1 h"),
            "{said}"
        );
        assert!(rows(&cuts[1]) <= rows(&place.run()), "{means}");
        assert_eq!(kept(&place.run()).from_ns, 0);
        program.ends();
    }
}

#[test]
fn what_is_older_is_discarded_and_counted() {
    for means in means() {
        let place = Place::new();
        let program = place.program();
        let id = program.id().to_string();
        let mut recorder = place.recorder(&[means, "--keep-last=1ms", "--pid", &id]);
        recorder.wait_for("recording process");
        program.wait_until_written(program::WORKERS[0]);
        let said = recorder.stop();
        assert!(said.contains("the last 1 ms of "), "{means}: {said}");
        assert!(said.contains("discarded on request"), "{means}: {said}");
        let json = run_json(&place.run());
        assert_eq!(json.wall_ns, Some(1_000_000), "{means}");
        let kept = kept(&place.run());
        assert!(kept.discarded > 0 && kept.from_ns > 0, "{means}");
        let table = &json.tables[rows_name(means)];
        assert!(table.discarded > 0, "{means}");
        // Of the thread's whole life.
        assert!(!place.run().join("counters").exists());
        program.ends();
    }
}

#[test]
fn a_killed_recorder_leaves_what_it_kept() {
    for means in means() {
        let place = Place::new();
        let program = place.program();
        let id = program.id().to_string();
        let mut recorder = place.recorder(&[means, "--keep-last=1h", "--pid", &id]);
        recorder.wait_for("recording process");
        program.wait_until_written(program::WORKERS[0]);
        let rows = place
            .run()
            .join("live")
            .join(format!("{}.rows", rows_name(means)));
        // Its first row is there: behind the header, each has a word that is not 0.
        wait_until(|| {
            let word = HEADER_BYTES..HEADER_BYTES + 8;
            std::fs::read(&rows).is_ok_and(|rows| rows.get(word).is_some_and(|word| word != [0; 8]))
        });
        recorder.child.kill().unwrap();
        recorder.child.wait().unwrap();
        let left = salvage::read(&place.run()).unwrap().unwrap();
        assert!(left.kept.is_some());
        let has_rows = left
            .segments
            .iter()
            .any(|segment| segment.table == rows_name(means));
        assert!(has_rows, "{means}");
        program.ends();
    }
}

#[test]
fn what_keeps_nothing_is_refused() {
    let place = Place::new();
    for (flags, why) in [
        (&["--keep-last=1s"][..], "need --sample or --calls"),
        (&["--libs", "--keep-last=1s"], "need --sample or --calls"),
        (&["--calls", "--sample", "--keep-last=1s"], "not both"),
        (&["--calls", "--keep-last=1"], "a time needs a unit"),
    ] {
        let (status, said) = place.recorder(&[flags, &["--", "true"]].concat()).ends();
        assert_eq!(status.code(), Some(2), "{flags:?}: {said}");
        assert!(said.contains(why), "{flags:?}: {said}");
        assert!(!exists(&place.run()));
    }
}
