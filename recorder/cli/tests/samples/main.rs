//! `trueno-record run --sample`: the functions that used the processor are the rows of its run with all their callers,
//! and the program does what it would have done without.
#![cfg(target_os = "linux")]

#[path = "../place/mod.rs"]
mod place;
mod program;
mod replaced;
mod waits;
mod wakers;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::Duration;

use trueno_format::run_json::State;
use trueno_format::salvage;
use trueno_testing::{Table, run_json, table, wait_until};

use place::Place;

impl Place {
    fn part(&self, role: &str) -> Command {
        let own = std::env::current_exe().unwrap();
        let program = [
            own.to_str().unwrap(),
            "--exact",
            "program::does_its_part",
            "--nocapture",
        ];
        let mut command = self.command(&["--sample"], &program);
        command.env(program::ROLE, role);
        command
    }

    fn record(&self, role: &str) -> Output {
        self.part(role).output().unwrap()
    }

    fn stacks(&self) -> Stacks {
        Stacks::new(
            &table(&self.run(), "samples"),
            &table(&self.run(), "stacks"),
        )
    }
}

/// True if programs can be sampled here. Prints a message if not, as in a container that forbids it.
fn can_sample() -> bool {
    let done = Place::new().command(&["--sample"], &["true"]).output();
    let can = done.is_ok_and(|done| done.status.success());
    if !can {
        eprintln!("left out: programs cannot be sampled here (trueno-record doctor)");
    }
    can
}

/// Samples with their functions, innermost first.
struct Stacks(Vec<Sample>);

struct Sample {
    thread: u32,
    /// Empty where the name is unknown.
    functions: Vec<String>,
}

impl Stacks {
    fn new(samples: &Table, stacks: &Table) -> Self {
        let functions = stacks.texts("function");
        let rows: BTreeMap<i128, usize> = (0..stacks.rows)
            .map(|row| (stacks.number("id", row).unwrap(), row))
            .collect();
        let sample = |row: usize| {
            let mut names = Vec::new();
            let mut id = samples.number("stack", row);
            while let Some(at) = id {
                let row = rows[&at];
                let name = functions[row].unwrap_or_default().rsplit("::").next();
                names.push(name.unwrap_or_default().to_owned());
                id = stacks.number("caller", row);
            }
            Sample {
                thread: samples.number("thread", row).unwrap() as u32,
                functions: names,
            }
        };
        Self((0..samples.rows).map(sample).collect())
    }

    /// Samples in which these functions call each other, outermost first.
    fn with(&self, callers: &[&str]) -> Vec<&Sample> {
        let has = |sample: &&Sample| {
            let mut outermost_first = sample.functions.iter().rev();
            callers
                .iter()
                .all(|caller| outermost_first.any(|function| function == caller))
        };
        self.0.iter().filter(has).collect()
    }
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// The program measures its own CPU time, 0.6 s below `hot` and 0.2 s below `warm`, so a busy machine changes
/// nothing.
#[test]
fn functions_have_the_share_that_they_used_with_all_their_callers() {
    if !can_sample() {
        return;
    }
    let place = Place::new();
    let done = place.record("shares");
    assert_eq!(
        done.status.code(),
        Some(program::CODE),
        "{}",
        text(&done.stderr)
    );
    let stacks = place.stacks();
    let hot = stacks
        .with(&["shares", "outer", "middle", "hot", "burn"])
        .len();
    let warm = stacks.with(&["shares", "warm", "burn"]).len();
    let all = stacks.with(&["burn"]).len();
    assert_eq!(hot + warm, all);
    // By 797 samples, 95 % of runs are within 3 percent; that is far from twice as much.
    let share = hot as f64 / all as f64;
    assert!((0.65..0.85).contains(&share), "{hot} and {warm}");
    assert!(all > 400, "{all} samples");
    let samples = table(&place.run(), "samples");
    assert!(
        samples
            .texts("event")
            .iter()
            .all(|event| *event == Some("cpu-clock"))
    );
    assert!(
        samples
            .numbers("period")
            .iter()
            .all(|period| *period == Some(1_003_009))
    );
    let wall_ns = run_json(&place.run()).wall_ns.unwrap();
    let inside = |time: &Option<i128>| (0..=i128::from(wall_ns)).contains(&time.unwrap());
    assert!(samples.numbers("time_ns").iter().all(inside));
}

#[test]
fn a_function_has_its_source_file_and_the_line_that_ran() {
    if !can_sample() {
        return;
    }
    let place = Place::new();
    place.record("shares");
    let stacks = table(&place.run(), "stacks");
    let (functions, files) = (stacks.texts("function"), stacks.texts("file"));
    let own = (0..stacks.rows)
        .filter(|row| functions[*row].is_some_and(|name| name.ends_with("program::middle")));
    let own: Vec<usize> = own.collect();
    assert!(!own.is_empty());
    for row in own {
        assert!(files[row].unwrap().ends_with("tests/samples/program.rs"));
        let line = stacks.number("line", row).unwrap() as usize;
        let source = include_str!("program.rs").lines().nth(line - 1).unwrap();
        assert!(
            source.contains("hot(") || source.contains("black_box"),
            "{line}: {source}"
        );
    }
}

#[test]
fn threads_and_processes_that_a_program_begins_are_sampled_by_their_names() {
    if !can_sample() {
        return;
    }
    let place = Place::new();
    let done = place.record("threads and a child");
    assert_eq!(
        done.status.code(),
        Some(program::CODE),
        "{}",
        text(&done.stderr)
    );
    let threads = table(&place.run(), "threads");
    let names = threads.texts("name");
    let stacks = place.stacks();
    let burned = stacks.with(&["burn"]);
    let mut processes = Vec::new();
    for name in program::THREADS {
        let row = names.iter().position(|found| *found == Some(name));
        let row = row.unwrap_or_else(|| panic!("{name} in {names:?}"));
        let number = threads.number("thread", row).unwrap() as u32;
        let count = burned
            .iter()
            .filter(|sample| sample.thread == number)
            .count();
        assert!(count > 50, "{name}: {count}");
        processes.push(threads.number("process", row).unwrap());
    }
    let [first, second, child] = processes[..] else {
        panic!("{processes:?}");
    };
    assert!(first == second && child != first);
}

/// As in programs with a JIT compiler: code in memory that no file is mapped to.
#[test]
#[cfg(target_arch = "x86_64")]
fn code_that_a_program_makes_has_the_name_it_tells() {
    if !can_sample() {
        return;
    }
    let place = Place::new();
    let done = place.record("makes code");
    assert_eq!(
        done.status.code(),
        Some(program::CODE),
        "{}",
        text(&done.stderr)
    );
    let stacks = place.stacks();
    let made = stacks.with(&["makes_code", "made while it ran"]).len();
    assert!(made > 20, "{made}");
    assert!(stacks.with(&["made while it ran", "makes_code"]).is_empty());
}

#[test]
fn a_program_ends_as_it_would_have() {
    if !can_sample() {
        return;
    }
    let place = Place::new();
    let done = place
        .command(&["--sample"], &["sh", "-c", "echo said; exit 9"])
        .output();
    let done = done.unwrap();
    assert_eq!(
        (done.status.code(), text(&done.stdout)),
        (Some(9), "said\n")
    );
    let done = Place::new()
        .command(&["--sample=99"], &["sh", "-c", "kill -TERM $$"])
        .output()
        .unwrap();
    assert_eq!(done.status.signal(), Some(libc::SIGTERM));
}

#[test]
fn what_is_no_program_leaves_no_run() {
    if !can_sample() {
        return;
    }
    let place = Place::new();
    let done = place
        .command(&["--sample"], &["./nothing"])
        .output()
        .unwrap();
    assert_eq!(done.status.code(), Some(2));
    assert!(text(&done.stderr).contains("./nothing: cannot be started"));
    assert!(!place.run().exists());
    for flags in [["--sample=0", "-q"], ["--sample", "--libs"]] {
        let done = place.command(&flags, &["true"]).output().unwrap();
        assert_eq!(done.status.code(), Some(2), "{flags:?}");
    }
}

/// Samples written so far and their function names remain, and the program continues.
#[test]
fn a_killed_recorder_loses_no_sample_that_was_written() {
    if !can_sample() {
        return;
    }
    let place = Place::new();
    let mut recorder = place.part("goes on").stdout(Stdio::null()).spawn().unwrap();
    let left = || {
        let mut left = salvage::read(&place.run()).ok().flatten()?;
        let mut tables: BTreeMap<&str, Table> = BTreeMap::new();
        for segment in &left.segments {
            let table = tables.entry(segment.table).or_default();
            table.add_segment(std::io::Cursor::new(segment.bytes.clone()));
        }
        let uncounted = std::mem::take(&mut left.lost_uncounted);
        Some((
            tables.remove("samples")?,
            tables.remove("stacks")?,
            uncounted,
        ))
    };
    while left().is_none_or(|(samples, ..)| samples.rows < 100) {
        thread::sleep(Duration::from_millis(20));
    }
    recorder.kill().unwrap();
    recorder.wait().unwrap();
    let (samples, stacks, uncounted) = left().unwrap();
    // What the kernel still had is gone, and nobody knows how much it was.
    assert!(uncounted.contains("samples") && uncounted.contains("syncs"));
    assert!(!uncounted.contains("stacks") && !uncounted.contains("bricks"));
    let stacks = Stacks::new(&samples, &stacks);
    assert!(stacks.with(&["goes_on", "burn"]).len() > 50);
    fs::write(place.path("enough"), "").unwrap();
    wait_until(|| place.path("ended").exists());
}

#[test]
fn system_calls_and_samples_are_recorded_at_once() {
    let traces = Place::new()
        .command(&["--calls"], &["true"])
        .output()
        .is_ok_and(|done| done.status.success());
    if !can_sample() || !traces {
        return;
    }
    let place = Place::new();
    let own = std::env::current_exe().unwrap();
    let program = [
        own.to_str().unwrap(),
        "--exact",
        "program::does_its_part",
        "--nocapture",
    ];
    let mut command = place.command(&["--sample", "--calls=write,exit_group"], &program);
    let done = command.env(program::ROLE, "shares").output().unwrap();
    let said = text(&done.stderr);
    assert_eq!(done.status.code(), Some(program::CODE), "{said}");
    let calls = table(&place.run(), "calls");
    assert!(calls.rows > 0);
    let beside = place.path("it.samples.run");
    let stacks = Stacks::new(&table(&beside, "samples"), &table(&beside, "stacks"));
    assert!(!stacks.with(&["outer", "middle", "hot"]).is_empty());
    // Joined by the process that was traced, which is not the one that was begun.
    let process = run_json(&place.run()).program.pid.unwrap();
    let threads = table(&beside, "threads");
    let processes: Vec<Option<i128>> = (0..threads.rows)
        .map(|row| threads.number("process", row))
        .collect();
    assert!(processes.contains(&Some(process.into())), "{processes:?}");
    assert!(said.contains("--into it.run"), "{said}");
    // Of the tracer there is nothing.
    let facts = run_json(&beside);
    assert_eq!(facts.label, run_json(&place.run()).label);
    assert!(!threads.texts("name").contains(&Some("trueno-record")));
    let known = |column: &str, of: &Table, row| of.number(column, row);
    let samples = table(&beside, "samples");
    let sampled: BTreeSet<_> = (0..samples.rows)
        .map(|row| known("thread", &samples, row))
        .collect();
    let begun: BTreeSet<_> = (0..threads.rows)
        .map(|row| known("thread", &threads, row))
        .collect();
    assert!(sampled.is_subset(&begun));
    let starts = (0..threads.rows).map(|row| threads.number("start_ns", row).unwrap());
    assert_eq!(starts.min(), Some(0), "time begins with the program");
}

#[test]
fn a_traced_program_that_does_not_begin_leaves_no_run() {
    if !can_sample() {
        return;
    }
    let place = Place::new();
    let done = place
        .command(&["--sample", "--calls"], &["/nonexistent/program"])
        .output()
        .unwrap();
    assert_ne!(done.status.code(), Some(0));
    assert!(!place.run().exists() && !place.path("it.samples.run").exists());
}

/// The traced run has been moved and the program fails: both runs are kept.
#[test]
fn a_traced_run_that_was_moved_costs_its_samples_nothing() {
    let traces = Place::new().command(&["--calls"], &["true"]).output();
    if !can_sample() || !traces.is_ok_and(|done| done.status.success()) {
        return;
    }
    let place = Place::new();
    let script = "mv it.run moved.run; exit 2";
    let done = place
        .command(&["--sample", "--calls"], &["sh", "-c", script])
        .output()
        .unwrap();
    let said = text(&done.stderr);
    assert_eq!(done.status.code(), Some(2), "{said}");
    for name in ["moved.run", "it.samples.run"] {
        let run = run_json(&place.path(name));
        assert_eq!(run.state, State::Finished, "{name}");
    }
    assert!(!place.run().exists());
    assert!(said.contains("moved.run -o both.run"), "{said}");
}
