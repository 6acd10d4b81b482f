//! Parts of programs: a process that runs is recorded from then on (`--pid`), for a time (`--delay`, `--duration`), alone or
//! by its name, and goes on as if nothing had been.
#![cfg(target_os = "linux")]

mod kept;
mod program;
mod refused;
mod window;

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};

use trueno_format::run_json::State;
use trueno_format::salvage;
use trueno_testing::{Table, run_json, table, wait_until};

const MEANS: [&str; 2] = ["--sample", "--calls"];

struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn run(&self) -> PathBuf {
        self.path("it.run")
    }

    fn program(&self) -> Program<'_> {
        let own = std::env::current_exe().unwrap();
        let child = Command::new(own)
            .args(["--exact", "program::does_its_part", "--nocapture"])
            .env(program::ROLE, "goes on")
            .current_dir(self.0.path())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let program = Program { child, place: self };
        wait_until(|| exists(&self.path("ready")));
        wait_until(|| program.written(program::WORKERS[1]) > 0);
        // The C library blocks signals while it begins a thread.
        wait_until(|| {
            program
                .status("SigBlk")
                .iter()
                .all(|bits| bits.trim_matches('0').is_empty())
        });
        program
    }

    fn recorder(&self, flags: &[&str]) -> Recorder {
        let mut command = Command::new(env!("CARGO_BIN_EXE_trueno-record"));
        command
            .args(["run", "-o", "it.run"])
            .args(flags)
            .env(program::ROLE, "goes on")
            .current_dir(self.0.path())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let heed = || {
            // SAFETY: `signal` may be called between fork and exec, and the default has no handler.
            unsafe { libc::signal(libc::SIGINT, libc::SIG_DFL) };
            Ok(())
        };
        // Tests in the background of a shell have the signal ignored, and so would the child.
        // SAFETY: the closure does nothing but that call.
        unsafe { command.pre_exec(heed) };
        let mut child = command.spawn().unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        Recorder {
            child,
            stderr,
            said: String::new(),
        }
    }

    fn attach(&self, means: &str, pid: u32) -> Recorder {
        let mut recorder = self.recorder(&[means, "--pid", &pid.to_string()]);
        recorder.wait_for("recording process");
        recorder
    }

    fn tell(&self, name: &str) {
        fs::write(self.path(name), "").unwrap();
    }
}

struct Program<'a> {
    child: Child,
    place: &'a Place,
}

impl Program<'_> {
    fn id(&self) -> u32 {
        self.child.id()
    }

    fn written(&self, thread: &str) -> u64 {
        fs::metadata(self.place.path(thread)).map_or(0, |file| file.len())
    }

    fn wait_until_written(&self, thread: &str) {
        let before = self.written(thread);
        wait_until(|| self.written(thread) > before + 500);
    }

    fn status(&self, key: &str) -> Vec<String> {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.id())).unwrap();
        let texts =
            tasks.filter_map(|task| fs::read_to_string(task.unwrap().path().join("status")).ok());
        let value = |text: String| trueno_format::host::field(&text, key).unwrap().to_owned();
        texts.map(value).collect()
    }

    fn dispositions(&self) -> [Vec<String>; 3] {
        ["SigBlk", "SigIgn", "SigCgt"].map(|key| self.status(key))
    }

    fn is_traced(&self) -> bool {
        self.status("TracerPid").iter().any(|tracer| tracer != "0")
    }

    fn send(&self, signal: i32) {
        // SAFETY: a call with numbers.
        unsafe { libc::kill(self.id().cast_signed(), signal) };
    }

    fn ends(mut self) {
        self.place.tell("enough");
        assert_eq!(self.child.wait().unwrap().code(), Some(program::CODE));
        assert!(exists(&self.place.path("rounds")));
    }
}

impl Drop for Program<'_> {
    fn drop(&mut self) {
        self.place.tell("enough");
        let _ = self.child.wait();
    }
}

struct Recorder {
    child: Child,
    stderr: BufReader<ChildStderr>,
    said: String,
}

impl Recorder {
    fn wait_for(&mut self, text: &str) {
        while !self.said.contains(text) {
            let bytes = self.stderr.read_line(&mut self.said).unwrap();
            assert!(bytes > 0, "{}", self.said);
        }
    }

    fn send(&self, signal: i32) {
        // SAFETY: a call with numbers.
        unsafe { libc::kill(self.child.id().cast_signed(), signal) };
    }

    fn interrupt(&self) {
        self.send(libc::SIGINT);
    }

    fn ends(mut self) -> (ExitStatus, String) {
        self.stderr.read_to_string(&mut self.said).unwrap();
        (self.child.wait().unwrap(), self.said)
    }

    fn stop(self) -> String {
        self.interrupt();
        let (status, said) = self.ends();
        assert_eq!(status.code(), Some(0), "{said}");
        said
    }
}

fn exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

fn means() -> Vec<&'static str> {
    let place = Place::new();
    let can = |means: &&str| {
        let (status, said) = place.recorder(&[means, "--overwrite", "--", "true"]).ends();
        if !status.success() {
            eprintln!("left out: {said}");
        }
        status.success()
    };
    MEANS.into_iter().filter(can).collect()
}

fn thread_of(threads: &Table, name: &str) -> Option<i128> {
    let names = threads.texts("name");
    let row = names.iter().position(|found| *found == Some(name))?;
    threads.number("thread", row)
}

fn rows_of(table: &Table, thread: i128) -> Vec<usize> {
    let is_its = |row: &usize| table.number("thread", *row) == Some(thread);
    (0..table.rows).filter(is_its).collect()
}

#[test]
fn all_threads_and_what_they_begin_are_recorded_until_the_recording_is_ended() {
    for means in means() {
        let place = Place::new();
        let program = place.program();
        let before = program.dispositions();
        let recorder = place.attach(means, program.id());
        place.tell("more");
        for name in [
            program::WORKERS[0],
            program::WORKERS[1],
            program::LATE,
            program::CHILD,
        ] {
            wait_until(|| program.written(name) > 4000);
        }
        let said = recorder.stop();
        assert!(said.contains("the program goes on"), "{said}");
        assert!(!program.is_traced());
        let after = program.dispositions().map(|mut all| {
            all.truncate(before[0].len());
            all
        });
        assert_eq!(after, before, "signals do what they did");
        program.wait_until_written(program::WORKERS[0]);
        program.wait_until_written(program::CHILD);

        let run = run_json(&place.run());
        assert_eq!(run.state, State::Finished);
        assert_eq!(run.program.pid, Some(program.id()));
        assert!(run.values["recorded_from"].ends_with("s after the process began"));
        assert!(run.values.contains_key("program_end"));
        let threads = table(&place.run(), "threads");
        let rows = table(
            &place.run(),
            if means == "--calls" {
                "calls"
            } else {
                "samples"
            },
        );
        for name in program::WORKERS
            .iter()
            .chain(&[program::LATE, program::CHILD])
        {
            let thread = thread_of(&threads, name).unwrap_or_else(|| panic!("{means}: {name}"));
            assert!(rows_of(&rows, thread).len() > 5, "{means}: {name}");
        }
        let wall_ns = i128::from(run.wall_ns.unwrap());
        let starts = (0..threads.rows).map(|row| threads.number("start_ns", row).unwrap());
        assert!(
            starts
                .into_iter()
                .all(|start_ns| (0..=wall_ns).contains(&start_ns))
        );

        // It waited all the time, and nothing else.
        let sleeper = thread_of(&threads, program::SLEEPER).unwrap();
        let waits = table(&place.run(), "syncs");
        let [row] = rows_of(&waits, sleeper)[..] else {
            panic!("{means}: one wait");
        };
        let duration_ns = waits.number("dur_ns", row).unwrap();
        assert!(
            duration_ns * 2 > wall_ns,
            "{means}: {duration_ns} of {wall_ns}"
        );
        assert!(rows_of(&rows, sleeper).is_empty(), "{means}");
        program.ends();
    }
}

#[test]
fn a_process_that_is_stopped_stays_so() {
    for means in means() {
        let place = Place::new();
        let program = place.program();
        let is_stopped = || {
            program
                .status("State")
                .iter()
                .all(|state| state.starts_with('T'))
        };
        program.send(libc::SIGSTOP);
        wait_until(is_stopped);
        let mut recorder = place.attach(means, program.id());
        recorder.wait_for("it is stopped");
        recorder.stop();
        assert!(is_stopped() && !program.is_traced(), "{means}");
        program.send(libc::SIGCONT);
        program.wait_until_written(program::WORKERS[1]);
        program.ends();
    }
}

#[test]
fn a_process_that_is_stopped_and_let_go_on_meanwhile_is_recorded() {
    for means in means() {
        let place = Place::new();
        let program = place.program();
        let recorder = place.attach(means, program.id());
        program.send(libc::SIGSTOP);
        // A traced one is stopped as well, and shown so.
        wait_until(|| {
            program
                .status("State")
                .iter()
                .all(|state| !state.starts_with(['R', 'S', 'D']))
        });
        program.send(libc::SIGCONT);
        program.wait_until_written(program::WORKERS[1]);
        recorder.stop();
        program.wait_until_written(program::WORKERS[1]);
        program.ends();
    }
}

#[test]
fn the_death_of_the_recorder_is_nothing_to_the_process() {
    for means in means() {
        let place = Place::new();
        let program = place.program();
        let mut recorder = place.attach(means, program.id());
        let name = if means == "--calls" {
            "calls"
        } else {
            "samples"
        };
        wait_until(|| {
            let left = salvage::read(&place.run()).ok().flatten();
            left.is_some_and(|left| left.segments.iter().any(|segment| segment.table == name))
        });
        recorder.child.kill().unwrap();
        recorder.child.wait().unwrap();
        wait_until(|| !program.is_traced());
        program.wait_until_written(program::WORKERS[0]);
        program.ends();
    }
}

#[test]
fn the_end_of_the_process_ends_the_recording() {
    for means in means() {
        let place = Place::new();
        let program = place.program();
        let recorder = place.attach(means, program.id());
        program.ends();
        let (status, said) = recorder.ends();
        assert_eq!(status.code(), Some(0), "{said}");
        assert!(!said.contains("goes on, unrecorded"), "{said}");
        let run = run_json(&place.run());
        assert_eq!(run.state, State::Finished);
        assert!(!run.values.contains_key("program_end"));
    }
}

#[test]
fn a_list_of_calls_is_recorded_without_a_filter_that_would_stay() {
    if !means().contains(&"--calls") {
        return;
    }
    let place = Place::new();
    let program = place.program();
    let recorder = place.attach("--calls=write", program.id());
    program.wait_until_written(program::WORKERS[0]);
    recorder.stop();
    let calls = table(&place.run(), "calls");
    let names = calls.texts("name");
    assert!(names.len() > 5 && names.iter().all(|name| *name == Some("write")));
    assert!(program.status("Seccomp").iter().all(|mode| mode == "0"));
    program.ends();
}
