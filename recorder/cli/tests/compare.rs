//! `trueno-record compare`: two programs recorded in turn.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use trueno_recorder::Recorder;

/// A folder with a recorded run and a program that counts its own runs and copies that run to the given path.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let rec = Recorder::create(folder.path().join("made.run")).unwrap();
    drop(rec.brick("first"));
    rec.finish().unwrap();
    let program = "echo $1 >> order; echo printed; cp -r made.run \"$2\"";
    fs::write(folder.path().join("program"), program).unwrap();
    folder
}

fn compare(folder: &Path, words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_trueno-record"))
        .arg("compare")
        .args(words)
        .current_dir(folder)
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

const PROGRAMS: [&str; 9] = ["--", "sh", "program", "a", "{}", "--", "sh", "program", "b"];

#[test]
fn both_programs_take_turns_and_only_what_follows_the_warm_up_is_kept() {
    let folder = folder();
    let words = [&["-n", "3", "--no-compare"], &PROGRAMS[..], &["{}"]].concat();
    let done = compare(folder.path(), &words);
    assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
    assert_eq!((text(&done.stdout), text(&done.stderr)), ("", ""));
    let order = fs::read_to_string(folder.path().join("order")).unwrap();
    let order: String = order.split_whitespace().collect();
    assert_eq!(order, "abbaabba");
    let mut kept: Vec<String> = fs::read_dir(folder.path().join("compared"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    kept.sort();
    let runs: Vec<&str> = kept
        .iter()
        .filter_map(|name| name.strip_suffix(".run"))
        .collect();
    assert_eq!(
        runs,
        [
            "base-01", "base-02", "base-03", "run-01", "run-02", "run-03"
        ]
    );
    let log = fs::read_to_string(folder.path().join("compared/run-02.log")).unwrap();
    assert_eq!(log, "printed\n");

    // Runs that are there are not replaced unasked.
    let again = compare(folder.path(), &words);
    assert_eq!(again.status.code(), Some(2));
    assert!(
        text(&again.stderr).contains("--overwrite"),
        "{}",
        text(&again.stderr)
    );
    let replaced = [&["--overwrite"], &words[..]].concat();
    assert_eq!(compare(folder.path(), &replaced).status.code(), Some(0));
}

#[test]
fn a_program_that_fails_or_records_nothing_ends_the_series() {
    let folder = folder();
    let fails = compare(
        folder.path(),
        &[
            "--no-compare",
            "--",
            "sh",
            "-c",
            "echo no >&2; exit 7",
            "{}",
            "--",
            "true",
            "{}",
        ],
    );
    assert_eq!(fails.status.code(), Some(2));
    let said = text(&fails.stderr);
    assert!(
        said.contains("base-warmup: the program failed (exit status: 7)"),
        "{said}"
    );
    assert!(said.contains("compared/base-warmup.log"), "{said}");

    let nothing = compare(
        folder.path(),
        &["--no-compare", "--", "true", "{}", "--", "true", "{}"],
    );
    assert_eq!(nothing.status.code(), Some(2));
    assert!(text(&nothing.stderr).contains("recorded nothing in compared/base-warmup.run"));

    let absent = compare(
        folder.path(),
        &["--no-compare", "--", "./absent", "{}", "--", "true", "{}"],
    );
    assert_eq!(absent.status.code(), Some(2));
    assert!(text(&absent.stderr).contains("./absent: cannot be started"));

    for words in [&["--", "true", "{}"][..], &["--", "true", "{}", "--"]] {
        let one = compare(folder.path(), words);
        assert_eq!(one.status.code(), Some(2));
        assert!(
            text(&one.stderr).contains("two programs are needed"),
            "{}",
            text(&one.stderr)
        );
    }
}
