//! Faults of the files of `live/` while a program records: the program ends as it would have, with
//! the output it would have had, and the run says why rows are missing, if any are.
#![cfg(target_os = "linux")]

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use trueno_format::run_json::State;
use trueno_recorder::{Overflow, Recorder};
use trueno_testing::damage::{FAULTS, Seeded, disturb};
use trueno_testing::{folder, run_json, table};

/// Environment variable that turns the test binary into the recording program. Contains a policy and the path of
/// the run.
const ROLE: &str = "TRUENO_TEST_FAULTS";
const ROWS: u64 = 30_000;
const CODE: i32 = 7;
const POLICIES: [(&str, Overflow); 3] = [
    ("drop", Overflow::Drop),
    ("block", Overflow::Block),
    ("grow", Overflow::Grow),
];

/// Entry point of the recording program; does nothing in a normal test run.
#[test]
fn records_and_says_so() {
    let Ok(role) = std::env::var(ROLE) else {
        return;
    };
    // Whatever becomes of the recorder: a program that hangs is ended, and that is a fault.
    // SAFETY: a call with a number.
    unsafe { libc::alarm(1200) };
    let (policy, path) = role.split_once(',').unwrap();
    let policy = POLICIES.iter().find(|(name, _)| *name == policy).unwrap();
    let rec = Recorder::builder(path)
        .overflow(policy.1)
        .ring_records(1024)
        .create()
        .unwrap();
    let rows = || {
        for at in 0..ROWS {
            rec.brick("step").elements(at);
        }
    };
    let half = || {
        std::thread::scope(|scope| {
            scope.spawn(rows);
            scope.spawn(rows);
        });
        rows();
    };
    half();
    println!("\nhalf");
    std::io::stdin().read_line(&mut String::new()).unwrap();
    half();
    // As a program does that does not look.
    drop(rec);
    println!("whole");
    std::process::exit(CODE);
}

fn start(policy: &str, path: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "records_and_says_so",
            "--nocapture",
            "--test-threads=1",
        ])
        .env(ROLE, format!("{policy},{}", path.display()))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn live(path: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(path.join("live")).unwrap();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

/// Disturbs one program once. The error describes what went wrong.
fn case(policy: &str, fault: &str, seed: u64) -> Result<(), String> {
    let (_folder, path) = folder();
    let mut child = start(policy, &path);
    let mut said = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while line.trim() != "half" {
        line.clear();
        if said.read_line(&mut line).unwrap() == 0 {
            let status = child.wait().unwrap();
            return Err(format!("it ended before its half: {status}"));
        }
    }
    let mut numbers = Seeded::new(seed);
    let files = live(&path);
    let file = &files[numbers.below(files.len())];
    let disturbed = disturb(fault, file, &mut numbers);
    let name = file.file_name().unwrap().to_string_lossy().into_owned();
    child.stdin.take().unwrap().write_all(b"go\n").unwrap();
    let mut rest = String::new();
    said.read_to_string(&mut rest).unwrap();
    let mut errors = String::new();
    let mut stderr = child.stderr.take().unwrap();
    stderr.read_to_string(&mut errors).unwrap();
    let status = child.wait().unwrap();
    match disturbed {
        // The recorder removed it in the same moment.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        disturbed => disturbed.map_err(|error| error.to_string())?,
    }
    if status.code() != Some(CODE) || rest != "whole\n" || errors.contains("panicked") {
        return Err(format!("{name}: {status}, said {rest:?}, {errors:?}"));
    }
    let run = run_json(&path);
    let rows = if path.join("bricks").exists() {
        table(&path, "bricks").rows as u64
    } else {
        0
    };
    let bricks = run.tables.get("bricks");
    let counted = bricks.map_or(0, |table| table.dropped.saturating_add(table.lost));
    let is_told = rows.checked_add(counted) == Some(6 * ROWS) && run.state == State::Finished;
    // Records in a ring have no hash: what others write over some is not told.
    let is_scribbled = matches!(fault, "ones" | "noise");
    if is_told || is_scribbled || !run.problems.is_empty() {
        return Ok(());
    }
    Err(format!(
        "{name}: {rows} rows and {counted} told to be lost, {:?}, no problem",
        run.state
    ))
}

fn cases(all: impl Iterator<Item = (&'static str, &'static str, u64)>) {
    let mut faults = Vec::new();
    let mut count = 0;
    for (policy, fault, seed) in all {
        count += 1;
        if let Err(found) = case(policy, fault, seed) {
            println!("{policy}, {fault}, seed {seed}: {found}");
            faults.push(format!("{policy}, {fault}, seed {seed}: {found}"));
        }
    }
    println!("{count} programs disturbed, {} faults", faults.len());
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn a_program_ends_as_it_would_have() {
    // Another policy for each: it is `programs_end…` that leaves none out.
    let all = FAULTS.into_iter().enumerate();
    cases(all.map(|(nth, fault)| (POLICIES[nth % 3].0, fault, nth as u64)));
}

/// `cargo test -p trueno-recorder --test file_faults -- --ignored --nocapture`
#[test]
#[ignore = "minutes: each fault under each policy, with many files"]
fn programs_end_as_they_would_have() {
    let policies = POLICIES.into_iter().map(|(policy, _)| policy);
    let all = policies.flat_map(|policy| FAULTS.into_iter().map(move |fault| (policy, fault)));
    cases(all.flat_map(|(policy, fault)| (0..20).map(move |seed| (policy, fault, seed))));
}
