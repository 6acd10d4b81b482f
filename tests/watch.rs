//! `watch`: a program that records, seen while it does, by its end, its death, and the loss of its run.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use trueno_recorder::{BrickId, Recorder, Source};

use crate::harness::{Dir, ends, until};

/// If set, the test binary acts as the watched program. The value is its working folder.
const ROLE: &str = "TRUENO_TEST_WATCHED";
const RUN: &str = "watched.run";
/// The program ends once this file exists.
const END: &str = "end";

/// The child program. Without [`ROLE`] it does nothing.
#[test]
fn records_until_it_is_told_to_end() {
    let Ok(folder) = std::env::var(ROLE) else {
        return;
    };
    let folder = PathBuf::from(folder);
    let rec = Recorder::create(folder.join(RUN)).unwrap();
    // Should it never be told, it must not run for ever.
    for token in 0..300_000 {
        if folder.join(END).exists() {
            break;
        }
        let _iteration = rec.iteration(token);
        rec.counter("tokens", 4.0, "token", Source::Declared);
        {
            let brick = rec.brick(BrickId::QkvProjection);
            let id = brick.id();
            let mut kernel = rec.kernel("gemv");
            kernel.backend("avx2").flops(2_000).bytes(1_000);
            std::thread::sleep(Duration::from_micros(300));
            drop(kernel);
            drop(brick);
            drop(rec.wait("join heads", &[id]));
        }
        let _brick = rec.brick("strange\u{1b}[31m name");
        std::thread::sleep(Duration::from_micros(300));
    }
    rec.finish().unwrap();
}

pub struct Watched {
    pub child: Child,
    end: PathBuf,
    pub run: PathBuf,
}

impl Watched {
    pub fn begin(dir: &Dir) -> Watched {
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["watch::records_until_it_is_told_to_end", "--exact"])
            .env(ROLE, dir.path())
            .stdout(Stdio::null())
            .spawn()
            .expect("the program starts");
        Watched {
            child,
            end: dir.join(END),
            run: dir.join(RUN),
        }
    }

    /// Starts the program and waits until it has recorded something.
    pub fn recording(dir: &Dir) -> Watched {
        let watched = Self::begin(dir);
        until("rows on disk", || {
            let journal = std::fs::read_to_string(watched.run.join("batches.jsonl"));
            journal.ok().filter(|text| text.contains("bricks"))
        });
        watched
    }

    pub fn end(&mut self) {
        std::fs::write(&self.end, "").unwrap();
        assert!(ends(&mut self.child, "the program").success());
    }

    fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

struct Lines {
    child: Child,
    out: BufReader<ChildStdout>,
}

impl Lines {
    fn of(dir: &Dir, args: &[&str]) -> Lines {
        let args = [&["watch", RUN, "--format", "json"], args].concat();
        let mut command = dir.command(&args).command;
        let child = command.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = child
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command starts");
        let out = BufReader::new(child.stdout.take().unwrap());
        Lines { child, out }
    }

    fn next(&mut self) -> Option<Value> {
        let mut line = String::new();
        self.out.read_line(&mut line).unwrap();
        let value =
            || serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
        (!line.is_empty()).then(value)
    }

    fn code(mut self) -> (Option<i32>, String) {
        let status = ends(&mut self.child, "watch");
        let mut told = String::new();
        let mut err = self.child.stderr.take().unwrap();
        std::io::Read::read_to_string(&mut err, &mut told).unwrap();
        (status.code(), told)
    }
}

fn number(value: &Value) -> u64 {
    value
        .as_u64()
        .unwrap_or_else(|| panic!("{value} is no number"))
}

#[test]
fn a_program_is_seen_from_before_its_run_begins_until_it_ends() {
    let dir = Dir::new();
    let mut lines = Lines::of(&dir, &["--wait"]);
    let mut program = Watched::begin(&dir);
    let picture = until("a picture with all there is", || {
        let picture = lines.next().expect("it goes on");
        let is_full = picture["iterations"]["tokens_per_s"].is_f64()
            && picture["threads"]["waiting_ns"] != 0
            && picture["written_rows"]["bricks"].is_u64()
            && picture["gauges"]["program_cpus"].is_f64();
        is_full.then_some(picture)
    });
    assert_eq!(picture["state"], "recording");
    assert_eq!(picture["pid"], program.child.id());
    let threads = &picture["threads"];
    let parts = ["work_ns", "waiting_ns", "outside_bricks_ns", "not_ended_ns"];
    let sum: u64 = parts.iter().map(|part| number(&threads[part])).sum();
    assert_eq!(sum, number(&threads["time_ns"]));
    assert!(
        number(&threads["work_ns"]) > number(&threads["waiting_ns"]),
        "{threads}"
    );
    let categories = picture["categories"].as_array().unwrap();
    let sum: u64 = categories.iter().map(|part| number(&part["time_ns"])).sum();
    assert_eq!(
        sum + number(&threads["not_ended_ns"]),
        number(&threads["time_ns"])
    );
    let names: Vec<&str> = categories
        .iter()
        .filter_map(|part| part["name"].as_str())
        .collect();
    for name in ["Attention", "waiting", "outside bricks", "uncategorised"] {
        assert!(names.contains(&name), "{name} in {names:?}");
    }
    let iterations = &picture["iterations"];
    let [per_s, tokens_per_s] =
        ["per_s", "tokens_per_s"].map(|of| iterations[of].as_f64().unwrap());
    assert!((tokens_per_s / per_s - 4.0).abs() < 0.5, "{iterations}");
    let [kernel] = &picture["kernels"].as_array().unwrap()[..] else {
        panic!("{}", picture["kernels"]);
    };
    assert_eq!(
        (&kernel["name"], &kernel["backend"]),
        (&"gemv".into(), &"avx2".into())
    );
    assert!(kernel["flops_per_s"].is_f64() && kernel["efficiency"].is_null());
    assert!(
        kernel["not_measured"]
            .as_str()
            .unwrap()
            .contains("no ceilings")
    );
    // Machines of tests have no driver; one that has says what its devices do.
    let gauges = &picture["gauges"];
    assert!(gauges["not_measured"]["gpu"].is_string() || gauges["gpus"][0].is_object());
    assert_eq!(picture["window"]["overwritten_records"], 0);
    // The pages of the program are mapped so that nothing can be written to them.
    let maps = std::fs::read_to_string(format!("/proc/{}/maps", lines.child.id())).unwrap();
    let pages: Vec<&str> = maps
        .lines()
        .filter(|line| line.contains("/live/"))
        .collect();
    assert!(pages.iter().any(|line| line.ends_with(".ring")), "{maps}");
    for line in pages {
        assert!(line.contains(" r--s "), "{line}");
    }

    program.end();
    let mut last = picture;
    while let Some(picture) = lines.next() {
        last = picture;
    }
    assert_eq!(last["state"], "finished");
    let (code, told) = lines.code();
    assert_eq!(code, Some(0), "{told}");
    assert!(told.contains("the run has ended (finished)"), "{told}");
}

#[test]
fn one_picture_is_plain_text() {
    let dir = Dir::new();
    let mut program = Watched::recording(&dir);
    for args in [
        &["watch", RUN][..],
        &["watch", RUN, "--once", "--last", "500ms"],
    ] {
        let done = dir.command(args).exits(0);
        for words in [
            "recording",
            "Attention",
            "gemv avx2",
            "tokens ",
            "strange\\x1b[31m name",
        ] {
            assert!(done.stdout.contains(words), "{words}:\n{}", done.stdout);
        }
        assert!(!done.stdout.contains('\x1b'), "{}", done.stdout);
        let wide = done.stdout.lines().find(|line| line.chars().count() > 80);
        assert_eq!(wide, None);
        assert_eq!(done.stderr, "");
    }
    let coloured = dir.command(&["watch", RUN, "--color", "always"]).exits(0);
    assert!(coloured.stdout.contains("\x1b["), "{}", coloured.stdout);
    let one = dir
        .command(&["watch", RUN, "--once", "--format", "json"])
        .exits(0);
    assert_eq!(one.json()["state"], "recording");
    program.end();
    dir.command(&["report", RUN, "-q"])
        .exits(0)
        .stdout_has("recorded  completely");
}

#[test]
fn a_run_that_has_ended_is_reported_and_so_is_one_whose_program_was_killed() {
    let dir = Dir::new();
    let mut program = Watched::recording(&dir);
    program.kill();
    let report = dir
        .command_with_plugins(&["report", RUN, "-q"])
        .exits(0)
        .stdout;
    let done = dir.command_with_plugins(&["watch", RUN]).exits(0);
    assert_eq!(done.stdout, report);
    let done = done.stderr_has("its program is gone and has not ended the run");
    done.stderr_has("trueno-analyze recover");
    let done = dir.command(&["watch", RUN, "--format", "json"]).exits(0);
    assert_eq!(done.json()["state"], "killed");

    dir.command(&["recover", RUN]).exits(0);
    let report = dir
        .command_with_plugins(&["report", RUN, "-q"])
        .exits(0)
        .stdout;
    let done = dir.command_with_plugins(&["watch", RUN]).exits(0);
    assert_eq!(done.stdout, report);
    done.stderr_has("the run has ended (recovered)");
}

#[test]
fn what_is_no_run_is_told_and_how_to_wait_for_it() {
    let dir = Dir::new();
    dir.command(&["watch", "none.run"])
        .exits(2)
        .stderr_has("there is no run here yet (hint: --wait waits for it)");
    std::fs::write(dir.join("trace.json"), "[]").unwrap();
    dir.command(&["watch", "trace.json"])
        .exits(2)
        .stderr_has("it is a file");
    std::fs::create_dir_all(dir.join("job/rank=0")).unwrap();
    dir.command(&["watch", "job"]).exits(2).stderr_has("rank=0");
    dir.command(&["watch", "none.run", "--last", "5"])
        .exits(2)
        .stderr_has("a time needs a unit");
}

#[test]
fn a_run_that_is_removed_meanwhile_is_an_error() {
    let dir = Dir::new();
    let program = Watched::recording(&dir);
    let mut lines = Lines::of(&dir, &[]);
    assert_eq!(lines.next().expect("a picture")["state"], "recording");
    let (run, away) = (program.run.clone(), dir.join("away.run"));
    // In one step: the recorder still writes there.
    std::fs::rename(&run, &away).unwrap();
    while lines.next().is_some() {}
    let (code, told) = lines.code();
    assert_eq!(code, Some(2), "{told}");
    assert!(told.contains("was removed while it was watched"), "{told}");
}
