//! `demo`: runs that come with the program, and the commands that it suggests.

use crate::harness::{Dir, standard_plugins};

/// Splits a line like `sh`, but knows only single quotes.
fn words(line: &str) -> Vec<String> {
    line.split('\'')
        .enumerate()
        .flat_map(|(nth, part)| match nth % 2 {
            0 => part.split_whitespace().map(str::to_owned).collect(),
            _ => vec![part.to_owned()],
        })
        .collect()
}

#[test]
fn the_demo_reports_and_its_suggestions_work() {
    let dir = Dir::new();
    standard_plugins(&dir);
    let done = dir
        .command_with_plugins(&["demo", "-o", "my demo"])
        .exits(0);
    assert!(done.stdout.contains("bound by"), "{}", done.stdout);
    let suggested: Vec<Vec<String>> = done
        .stdout
        .lines()
        .filter_map(|line| line.strip_prefix("  trueno-analyze "))
        .map(words)
        .collect();
    assert_eq!(suggested.len(), 7, "{}", done.stdout);
    for line in suggested {
        // These wait for a person.
        if ["tui", "serve"].contains(&line[0].as_str()) {
            continue;
        }
        let line: Vec<&str> = line.iter().map(String::as_str).collect();
        dir.command_with_plugins(&line).exits(0);
    }
    assert!(dir.join("my demo/report.html").is_file());
}

#[test]
fn the_demo_writes_over_nothing() {
    let dir = Dir::new();
    dir.folder("trueno-demo");
    dir.command(&["demo"])
        .exits(2)
        .stderr_has("trueno-demo: exists already (hint: name another folder with -o)");
}
