//! Help: three levels, groups, and examples that work; old spellings that still do.

use std::ffi::OsString;

use clap::{Command, CommandFactory};
use trueno_analyze::cli::Cli;

use crate::harness::Dir;

const TWO_SCREENS: usize = 80;

fn help(dir: &Dir, args: &[&str]) -> String {
    let done = dir.command(args).env("COLUMNS", "80").exits(0);
    assert!(done.stderr.is_empty(), "{}", done.stderr);
    done.stdout
}

/// Names of all visible commands, such as `export chrome`.
fn commands(command: &Command, above: &[String]) -> Vec<Vec<String>> {
    let below = command.get_subcommands();
    let below = below.filter(|one| !one.is_hide_set() && one.get_name() != "help");
    let mut all = Vec::new();
    for one in below {
        let words = [above, &[one.get_name().to_owned()]].concat();
        all.extend(commands(one, &words));
        all.push(words);
    }
    all
}

/// Command lines of this program in the examples of a help text.
fn examples(help: &str) -> Vec<Vec<OsString>> {
    let (_, behind) = help.split_once("Examples:\n").unwrap_or_default();
    let lines = behind.lines().take_while(|line| line.starts_with("  "));
    let lines = lines.filter(|line| line.trim_start().starts_with("trueno-analyze "));
    lines.map(|line| words(line.trim())).collect()
}

/// Splits a command line as a shell does, but knows only double quotes.
fn words(line: &str) -> Vec<OsString> {
    let parts = line.split('"').enumerate();
    let words = parts.flat_map(|(nth, part)| match nth % 2 {
        0 => part.split_whitespace().map(OsString::from).collect(),
        _ => vec![OsString::from(part)],
    });
    words.collect()
}

#[test]
fn every_command_has_examples_that_parse_and_fits_two_screens() {
    let dir = Dir::new();
    let all = commands(&Cli::command(), &[]);
    assert!(all.len() > 30, "{all:?}");
    for command in all {
        let args: Vec<&str> = command.iter().map(String::as_str).collect();
        let long = help(&dir, &[&args[..], &["--help"]].concat());
        assert!(
            long.lines().count() <= TWO_SCREENS,
            "{command:?} has {} lines:\n{long}",
            long.lines().count()
        );
        let found = examples(&long);
        assert!(!found.is_empty(), "{command:?} has no example:\n{long}");
        for example in found {
            let parsed = trueno_command_line::parse::<Cli>(example.clone());
            assert!(parsed.is_ok(), "{example:?}: {}", parsed.unwrap_err());
            let is_own = example
                .iter()
                .skip(1)
                .zip(&command)
                .all(|(word, name)| word == name.as_str());
            assert!(is_own, "{command:?} has an example of another: {example:?}");
        }
    }
}

#[test]
fn report_shows_ten_flags_then_two_screens_then_all() {
    let dir = Dir::new();
    let [short, long, all] =
        ["-h", "--help", "--help-all"].map(|flag| help(&dir, &["report", flag]));
    let flags = |text: &str| {
        let lines = text.lines().map(str::trim_start);
        lines.filter(|line| line.starts_with('-')).count()
    };
    // Ten, and --help itself.
    assert_eq!(flags(&short), 11, "{short}");
    assert!(short.lines().count() <= TWO_SCREENS / 2, "{short}");
    assert!(long.lines().count() <= TWO_SCREENS, "{long}");
    assert!(flags(&long) > flags(&short) && flags(&all) > flags(&long));
    for (text, next) in [
        (&short, "trueno-analyze report --help"),
        (&long, "trueno-analyze report --help-all"),
    ] {
        assert!(text.trim_end().ends_with(next), "{text}");
    }
    for group in ["Output files:", "Analyses:", "Plugins:", "Global options:"] {
        assert!(long.contains(group), "{group}\n{long}");
    }
    for only_in_all in ["--plugin-memory", "--engine", "--max-rows", "--tolerance"] {
        assert!(!long.contains(only_in_all) && all.contains(only_in_all));
    }
    assert_eq!(help(&dir, &["help", "report"]), long);
}

#[test]
fn manual_pages_and_completions_have_every_flag_with_its_help() {
    let dir = Dir::new();
    dir.command(&["man", "-o", "pages"]).exits(0);
    let page = dir.read("pages/trueno-analyze-report.1");
    let words = dir.command(&["completions", "bash"]).exits(0);
    for flag in ["plugin-memory", "ranks-per-task", "csv-exact", "html"] {
        assert!(page.contains(&flag.replace('-', "\\-")), "{flag}");
        assert!(words.stdout.contains(&format!("--{flag}")), "{flag}");
    }
    assert!(page.contains("CPU time limit of an isolated plugin"));
}

#[test]
fn old_spellings_parse_as_the_new_ones() {
    let parsed = |line: &str| {
        let words = format!("trueno-analyze {line}");
        let cli = trueno_command_line::parse::<Cli>(words.split(' ').map(OsString::from).collect());
        format!(
            "{:?}",
            cli.unwrap_or_else(|error| panic!("{line}: {error}"))
        )
    };
    for (old, new) in [
        ("report r --format terminal", "report r --format text"),
        ("report r --only a", "report r --plugin-id a"),
        ("report r --plugin p.so", "report r --plugin-file p.so"),
        ("report r --most-rows 5", "report r --max-rows 5"),
        ("report r --fail-on warning", "report r --fail-on medium"),
        ("report r --fail-on error", "report r --fail-on high"),
        ("query r x --format table", "query r x --format text"),
        ("query r x --most-rows 5", "query r x --max-rows 5"),
        ("compare a b --format table", "compare a b --format text"),
        ("compare a b --baseline c", "compare a b --base c"),
        ("watch r --window 30s", "watch r --last 30s"),
        ("mcp --time-limit 30s", "mcp --timeout 30s"),
        ("tree r --only a", "tree r --name a"),
    ] {
        assert_eq!(parsed(old), parsed(new), "{old}");
    }
}

#[test]
fn old_spellings_of_json_print_json() {
    let dir = Dir::new();
    dir.run();
    for command in ["info", "tables"] {
        let old = dir.command(&[command, "test.run", "--json"]).exits(0);
        let new = dir.command(&[command, "test.run", "--format", "json"]);
        assert_eq!(old.stdout, new.exits(0).stdout, "{command}");
    }
    std::fs::write(
        dir.join("t.json"),
        r#"[{"ph":"X","name":"a","ts":1,"dur":2,"pid":1,"tid":1}]"#,
    )
    .expect("a file");
    let import = |more: &[&str]| {
        let args = [&["import", "t.json", "-o", "t.run", "--overwrite"], more].concat();
        dir.command(&args).exits(0).stdout
    };
    let new = import(&["--format", "json", "--input-format", "kineto"]);
    let summary: serde_json::Value = serde_json::from_str(&new).expect("JSON");
    assert!(summary.is_object(), "{new}");
    assert_eq!(import(&["--json", "--format", "kineto"]), new);
    assert!(import(&[]).starts_with(|first: char| first != '{'));
}
