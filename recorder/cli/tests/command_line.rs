//! The command line of `trueno-record`: whose option is whose, and help.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn record(folder: &Path, words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_trueno-record"))
        .args(words)
        .current_dir(folder)
        .env("COLUMNS", "80")
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

fn printed(folder: &Path, words: &[&str]) -> String {
    let done = record(folder, words);
    assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
    text(&done.stdout).to_owned()
}

#[test]
fn a_mistyped_option_is_named_and_nothing_is_started() {
    let folder = tempfile::tempdir().unwrap();
    for (words, wrong, right) in [
        (
            &["run", "--levle", "full", "true"][..],
            "--levle",
            "--level",
        ),
        (&["run", "--overwrit", "true"], "--overwrit", "--overwrite"),
        (&["run", "--sampel", "--", "true"], "--sampel", "--sample"),
        (&["run", "-x", "true"], "-x", "run"),
        (
            &["compare", "--fail-om", "slower", "--", "a", "--", "b"],
            "--fail-om",
            "--fail-on",
        ),
    ] {
        let done = record(folder.path(), words);
        let said = text(&done.stderr);
        assert_eq!(done.status.code(), Some(2), "{words:?}: {said}");
        assert!(
            said.contains(&format!("unexpected argument '{wrong}'")),
            "{words:?}: {said}"
        );
        assert!(
            said.contains(right) && !said.contains("driver"),
            "{words:?}: {said}"
        );
    }
}

#[test]
fn the_output_is_an_option_in_all_its_spellings() {
    for output in [
        &["-o", "a.run"][..],
        &["-o=a.run"],
        &["-oa.run"],
        &["--output=a.run"],
    ] {
        let folder = tempfile::tempdir().unwrap();
        let words = [&["run", "--ranges-only"], output, &["sh", "-c", "echo ran"]].concat();
        assert_eq!(printed(folder.path(), &words), "ran\n", "{output:?}");
        // What is there already is not overwritten: so the option was read.
        fs::write(folder.path().join("a.run"), "mine").unwrap();
        let done = record(folder.path(), &words);
        assert_eq!(done.status.code(), Some(2), "{output:?}");
        assert!(
            text(&done.stderr).contains("a.run"),
            "{}",
            text(&done.stderr)
        );
    }
}

#[test]
fn options_behind_the_program_are_the_programs() {
    let folder = tempfile::tempdir().unwrap();
    let program = [
        "sh",
        "-c",
        "echo \"$@\"",
        "sh",
        "--level",
        "-o=x",
        "--",
        "--help",
    ];
    for before in [
        &["run", "--ranges-only"][..],
        &["run", "--ranges-only", "--"],
    ] {
        let said = printed(folder.path(), &[before, &program].concat());
        assert_eq!(said, "--level -o=x -- --help\n", "{before:?}");
    }
}

#[test]
fn each_command_has_an_example_that_parses() {
    let folder = tempfile::tempdir().unwrap();
    for command in [
        "run",
        "compare",
        "control",
        "collect",
        "doctor",
        "peaks",
        "man",
        "completions",
    ] {
        let help = record(folder.path(), &[command, "--help"]);
        let help = text(&help.stdout);
        assert!(help.lines().count() <= 80, "{help}");
        let (_, behind) = help.split_once("Examples:\n").expect("examples");
        let lines = behind.lines().take_while(|line| line.starts_with("  "));
        let mut found = 0;
        for line in lines {
            let mut words: Vec<&str> = line.split_whitespace().skip(1).collect();
            assert_eq!(words[0], command, "{line}");
            // Help in front of the program ends the parse there, if all before it is right.
            let program = ["python", "./", "--"];
            let is_program = |word: &&str| {
                program
                    .iter()
                    .any(|one| word.starts_with(one) && (one != &"--" || word == &"--"))
            };
            let at = words.iter().position(is_program).unwrap_or(words.len());
            words.insert(at, "--help");
            let done = record(folder.path(), &words);
            assert_eq!(
                done.status.code(),
                Some(0),
                "{line}: {}",
                text(&done.stderr)
            );
            found += 1;
        }
        assert!(found > 0, "{command}");
    }
}

#[test]
fn peaks_print_json_by_the_flag_that_all_commands_have() {
    let folder = tempfile::tempdir().unwrap();
    let help = record(folder.path(), &["peaks", "--help"]);
    let help = text(&help.stdout);
    assert!(
        help.contains("--format <FORMAT>") && !help.contains("--json"),
        "{help}"
    );
}
