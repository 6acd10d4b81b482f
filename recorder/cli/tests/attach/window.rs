//! A part of a program's time, and some of its processes.

use std::path::Path;

use trueno_format::run_json::State;
use trueno_testing::{run_json, table, wait_until};

use crate::{Place, Recorder, exists, means, program, rows_of, thread_of};

fn command(flags: &[&str]) -> Vec<String> {
    let own = std::env::current_exe()
        .unwrap()
        .into_os_string()
        .into_string()
        .unwrap();
    let program = [
        "--",
        &own,
        "--exact",
        "program::does_its_part",
        "--nocapture",
    ];
    flags
        .iter()
        .chain(&program)
        .map(|word| (*word).to_owned())
        .collect()
}

fn begin(place: &Place, flags: &[&str]) -> Recorder {
    let words = command(flags);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    place.recorder(&words)
}

fn written(place: &Place, thread: &str) -> u64 {
    std::fs::metadata(place.path(thread)).map_or(0, |file| file.len())
}

fn wait_until_written(place: &Place, thread: &str) {
    let before = written(place, thread);
    wait_until(|| written(place, thread) > before + 1000);
}

/// Including those that need a library in the program.
fn all_means() -> Vec<&'static str> {
    let mut all = means();
    all.push("--alloc=4096");
    if all.contains(&"--calls") {
        all.push("--calls=write");
    }
    all
}

#[test]
fn after_the_duration_the_program_goes_on_to_its_own_end() {
    for means in all_means() {
        let place = Place::new();
        let mut recorder = begin(&place, &[means, "--duration", "100ms"]);
        recorder.wait_for("recording ended after 100 ms (--duration); the program goes on");
        recorder.wait_for("-> it.run");
        let run = run_json(&place.run());
        assert_eq!(run.state, State::Finished, "{means}");
        assert!(run.values.contains_key("program_end"), "{means}");
        assert!(run.wall_ns.unwrap() >= 100_000_000, "{means}");
        place.tell("more");
        wait_until_written(&place, program::WORKERS[0]);
        wait_until_written(&place, program::CHILD);
        place.tell("enough");
        let (status, said) = recorder.ends();
        assert_eq!(status.code(), Some(program::CODE), "{means}: {said}");
        assert!(exists(&place.path("rounds")));
        let threads = table(&place.run(), "threads");
        assert_eq!(thread_of(&threads, program::LATE), None, "{means}");
    }
}

#[test]
fn after_the_delay_all_threads_and_children_that_are_there_are_recorded() {
    for means in means() {
        let place = Place::new();
        place.tell("more");
        let mut recorder = begin(&place, &[means, "--delay", "300ms"]);
        recorder.wait_for("recording process");
        let all = [
            program::WORKERS[0],
            program::WORKERS[1],
            program::LATE,
            program::CHILD,
        ];
        for name in all {
            wait_until_written(&place, name);
        }
        place.tell("enough");
        let (status, said) = recorder.ends();
        assert_eq!(status.code(), Some(program::CODE), "{means}: {said}");
        let run = run_json(&place.run());
        assert!(
            run.values.contains_key("recorded_from") && !run.values.contains_key("program_end")
        );
        let threads = table(&place.run(), "threads");
        let rows = table(
            &place.run(),
            if means == "--calls" {
                "calls"
            } else {
                "samples"
            },
        );
        for name in all {
            let thread = thread_of(&threads, name).unwrap_or_else(|| panic!("{means}: {name}"));
            assert!(!rows_of(&rows, thread).is_empty(), "{means}: {name}");
        }
    }
}

#[test]
fn a_program_that_ends_before_the_delay_leaves_no_run() {
    for means in all_means() {
        let place = Place::new();
        let words = [means, "--delay=1h", "--", "sh", "-c", "exit 9"];
        let (status, said) = place.recorder(&words).ends();
        assert_eq!(status.code(), Some(9), "{means}: {said}");
        assert!(
            said.contains("ended before the recording began"),
            "{means}: {said}"
        );
        assert!(!exists(&place.run()), "{means}");
    }
}

#[test]
fn each_time_between_two_signals_is_a_run() {
    for means in means() {
        let place = Place::new();
        // The command does not pass the signal on: the program would end by it.
        let mut recorder = begin(&place, &[means, "--signal", "USR1"]);
        recorder.wait_for("not recording yet");
        wait_until(|| exists(&place.path("ready")));
        recorder.send(libc::SIGUSR1);
        recorder.wait_for("USR1 ends the recording");
        wait_until_written(&place, program::WORKERS[0]);
        recorder.send(libc::SIGUSR1);
        recorder.wait_for("recording ended by USR1; the program goes on");
        recorder.wait_for("-> it.run");
        place.tell("more");
        wait_until_written(&place, program::CHILD);
        recorder.said.clear();
        recorder.send(libc::SIGUSR1);
        recorder.wait_for("USR1 ends the recording");
        wait_until_written(&place, program::CHILD);
        place.tell("enough");
        let (status, said) = recorder.ends();
        assert_eq!(status.code(), Some(program::CODE), "{means}: {said}");

        let runs = [place.run(), place.path("it.2.run")];
        for (run, goes_on, has_child) in [(&runs[0], true, false), (&runs[1], false, true)] {
            let json = run_json(run);
            assert_eq!(json.state, State::Finished, "{means}");
            assert!(json.values.contains_key("recorded_from"), "{means}");
            assert_eq!(json.values.contains_key("program_end"), goes_on, "{means}");
            let threads = table(run, "threads");
            assert!(thread_of(&threads, program::WORKERS[0]).is_some());
            let child = thread_of(&threads, program::CHILD);
            assert_eq!(child.is_some(), has_child, "{means}");
        }
    }
}

#[test]
fn after_the_duration_the_next_signal_begins_the_next_run() {
    // The same for both; tracing ends sooner than sampling, which looks up names.
    let Some(means) = means().pop() else {
        return;
    };
    let place = Place::new();
    let mut recorder = begin(&place, &[means, "--signal=USR1", "--duration=100ms"]);
    recorder.wait_for("not recording yet");
    for name in ["-> it.run", "-> it.2.run"] {
        recorder.send(libc::SIGUSR1);
        recorder.wait_for("recording ended after 100 ms (--duration); the program goes on");
        recorder.wait_for(name);
        recorder.said.clear();
    }
    place.tell("enough");
    let (status, said) = recorder.ends();
    assert_eq!(status.code(), Some(program::CODE), "{means}: {said}");
    assert_eq!(run_json(&place.path("it.2.run")).state, State::Finished);
}

#[test]
fn a_program_that_gets_no_signal_leaves_no_run() {
    for means in means() {
        let place = Place::new();
        let words = [means, "--signal=USR2", "--", "sh", "-c", "exit 9"];
        let (status, said) = place.recorder(&words).ends();
        assert_eq!(status.code(), Some(9), "{means}: {said}");
        assert!(
            said.contains("nothing was recorded: no USR2 came"),
            "{said}"
        );
        assert!(!exists(&place.run()), "{means}");
    }
}

#[test]
fn a_process_is_recorded_between_signals_until_the_command_is_interrupted() {
    for means in means() {
        let place = Place::new();
        let program = place.program();
        let id = program.id().to_string();
        let mut recorder = place.recorder(&[means, "--signal=usr1", "--pid", &id]);
        recorder.wait_for("not recording yet");
        recorder.send(libc::SIGUSR1);
        recorder.wait_for("USR1 ends the recording");
        program.wait_until_written(program::WORKERS[0]);
        recorder.send(libc::SIGUSR1);
        recorder.wait_for("-> it.run");
        assert!(!program.is_traced(), "{means}");
        recorder.stop();
        assert_eq!(run_json(&place.run()).state, State::Finished, "{means}");
        assert!(!exists(&place.path("it.2.run")), "{means}");
        program.ends();
    }
}

#[test]
fn without_children_the_program_alone_is_recorded() {
    for means in means() {
        let place = Place::new();
        place.tell("more");
        let recorder = begin(&place, &[means, "--no-children"]);
        wait_until(|| written(&place, program::CHILD) > 1000);
        place.tell("enough");
        let (status, said) = recorder.ends();
        assert_eq!(status.code(), Some(program::CODE), "{means}: {said}");
        assert!(said.contains("in 1 process"), "{means}: {said}");
        let threads = table(&place.run(), "threads");
        assert!(thread_of(&threads, program::LATE).is_some(), "{means}");
        assert_eq!(thread_of(&threads, program::CHILD), None, "{means}");
    }
}

#[test]
fn processes_are_chosen_by_the_name_of_the_process_or_its_file() {
    for means in means() {
        let own = std::env::current_exe().unwrap();
        let name = own.file_name().unwrap().to_str().unwrap();
        for (only, has_shell, has_program) in [
            ("sh", true, false),
            (name, false, true),
            ("none", false, false),
        ] {
            let place = Place::new();
            place.tell("enough");
            let script = "echo; \"$0\" --exact program::does_its_part; exit 5";
            let words = [
                means,
                "--only",
                only,
                "--",
                "sh",
                "-c",
                script,
                own.to_str().unwrap(),
            ];
            let (status, said) = place.recorder(&words).ends();
            assert_eq!(status.code(), Some(5), "{words:?}: {said}");
            assert_eq!(
                said.contains("no process of the name none ran"),
                only == "none",
                "{said}"
            );
            let is_there = |of: &str| {
                let run = place.run();
                Path::new(&run).join("threads").exists()
                    && thread_of(&table(&run, "threads"), of).is_some()
            };
            assert_eq!(
                is_there(program::WORKERS[0]),
                has_program,
                "{words:?}: {said}"
            );
            assert_eq!(is_there("sh"), has_shell, "{words:?}: {said}");
        }
    }
}

#[test]
fn what_a_kind_of_recording_does_not_have_is_refused() {
    let place = Place::new();
    for (flags, why) in [
        (
            &["--sample", "--duration", "10"][..],
            "a time needs a unit: 10s, 10ms",
        ),
        (
            &["--sample", "--delay", "2"],
            "a time needs a unit: 2s, 2ms",
        ),
        (&["--sample", "--duration", "0s"], "above zero"),
        (
            &["--duration", "1s"],
            "need --sample, --calls, --libs or --alloc",
        ),
        (&["--libs", "--only", "sh"], "need --sample or --calls"),
        (&["--calls", "--sample", "--delay", "1s"], "not both"),
        (&["--calls", "--sample", "--signal", "USR1"], "not both"),
        (&["--libs", "--signal", "USR1"], "need --sample or --calls"),
        (&["--calls", "--signal", "HUP"], "USR1, USR2"),
        (
            &["--calls", "--only", "/bin/sh"],
            "a name without its folder: sh?",
        ),
        (
            &["--calls", "--only", "sh", "--no-children"],
            "cannot be used with",
        ),
    ] {
        let words = [flags, &["--", "true"]].concat();
        let (status, said) = place.recorder(&words).ends();
        assert_eq!(status.code(), Some(2), "{flags:?}: {said}");
        assert!(said.contains(why), "{flags:?}: {said}");
        assert!(!exists(&place.run()));
    }
}
