//! Commands that a report points to: the report as it was typed, without what decides its form.

use std::env;

use clap::parser::ValueSource;
use clap::{ArgMatches, CommandFactory};
use trueno_render::commands::{Commands, quoted};

use crate::cli::{Cli, ReportArgs};

/// Flags that do not affect the analysis: form and output of the report. The run is listed because it is printed
/// separately.
const NOT_OF_ANALYSIS: [&str; 24] = [
    "annotations",
    "card",
    "charts",
    "color",
    "csv",
    "csv_exact",
    "editor",
    "fail_on",
    "findings",
    "format",
    "html",
    "json",
    "markdown",
    "only",
    "output",
    "pdf",
    "quiet",
    "run",
    "sarif",
    "skip",
    "summary",
    "top",
    "verbose",
    "width",
];

/// Flags that `query` has too, with the same meaning.
const OF_QUERIES: [&str; 15] = [
    "allow_unsafe_plugins",
    "baseline",
    "categories",
    "isolate",
    "no_cache",
    "no_default_plugins",
    "no_isolate",
    "no_project",
    "plugin_cpu_time",
    "plugin_dirs",
    "plugin_files",
    "plugin_memory",
    "plugin_timeout",
    "project",
    "set",
];

/// Commands that reproduce parts of the current report.
pub(super) fn commands(args: &ReportArgs) -> Commands {
    let run = args.run.display().to_string();
    let mut command = Cli::command();
    let typed = command.try_get_matches_from_mut(env::args_os());
    let flags = typed.ok().and_then(|typed| {
        // `watch` ends with the head of a report, and takes some of its flags.
        let (name, report) = typed
            .subcommand()
            .filter(|(name, _)| ["report", "watch"].contains(name))?;
        Some(flags(command.find_subcommand(name)?, report))
    });
    let mut commands = with_flags(&run, &flags.unwrap_or_default());
    if !args.more.is_empty() {
        let more = args
            .more
            .iter()
            .map(|path| quoted(&path.display().to_string()));
        let behind_run = commands.report.len().min(3);
        commands.report.splice(behind_run..behind_run, more);
        // Other commands take one path.
        commands.query = None;
    }
    commands
}

struct Typed {
    id: String,
    words: Vec<String>,
}

fn with_flags(run: &str, flags: &[Typed]) -> Commands {
    let words: Vec<String> = flags.iter().flat_map(|flag| flag.words.clone()).collect();
    let is_of_query = |flag: &Typed| OF_QUERIES.contains(&flag.id.as_str());
    let mut commands = Commands::for_run(run, &words);
    commands.takes_plugin = !flags.iter().any(|flag| flag.id == "compare_backends");
    match &mut commands.query {
        Some(query) if flags.iter().all(is_of_query) => {
            query.extend(words.iter().map(|word| quoted(word)));
        }
        query => *query = None,
    }
    commands
}

/// Flags that affect the analysis. Those from a project file are left out: a new command reads them again.
fn flags(command: &clap::Command, report: &ArgMatches) -> Vec<Typed> {
    let mut flags = Vec::new();
    for argument in command.get_arguments() {
        let id = argument.get_id().as_str();
        let is_typed = || {
            let is_known = report.try_contains_id(id).is_ok();
            is_known && report.value_source(id) == Some(ValueSource::CommandLine)
        };
        let Some(name) = argument.get_long() else {
            continue;
        };
        if NOT_OF_ANALYSIS.contains(&id) || !is_typed() {
            continue;
        }
        let mut words = Vec::new();
        if argument.get_action().takes_values() {
            let values = report.get_raw(id).into_iter().flatten();
            words.extend(values.map(|value| {
                let value = value.to_string_lossy();
                format!("--{name}={value}")
            }));
        } else {
            words.push(format!("--{name}"));
        }
        flags.push(Typed {
            id: id.to_owned(),
            words,
        });
    }
    flags
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::*;

    fn commands_of(line: &str) -> Commands {
        let words = line.split_whitespace().map(OsString::from);
        let mut command = Cli::command();
        let typed = command.try_get_matches_from_mut(words).expect("a line");
        let report = typed.subcommand_matches("report").expect("a report");
        let command = command.find_subcommand("report").expect("a report");
        with_flags("a.run", &flags(command, report))
    }

    #[test]
    fn a_report_is_made_again_with_what_it_analyses() {
        let line = "trueno-analyze report --baseline b.run a.run -v --json x --top 3 --set memory.x=-1 --no-cache";
        let commands = commands_of(line);
        assert_eq!(
            commands.report.join(" "),
            "trueno-analyze report a.run --baseline=b.run --set=memory.x=-1 --no-cache"
        );
        assert_eq!(
            commands.query.expect("a query").join(" "),
            "trueno-analyze query a.run --baseline=b.run --set=memory.x=-1 --no-cache"
        );
    }

    #[test]
    fn a_part_of_a_run_is_no_matter_of_queries() {
        let commands = commands_of("trueno-analyze report a.run --window iteration=3");
        assert_eq!(
            commands.report.join(" "),
            "trueno-analyze report a.run --window=iteration=3"
        );
        assert!(commands.query.is_none());
    }

    /// Every listed flag exists, so that a renamed one is noticed.
    #[test]
    fn the_flags_that_are_listed_are_there() {
        let mut command = Cli::command();
        command.build();
        let report = command.find_subcommand("report").expect("a report");
        let known: Vec<&str> = report
            .get_arguments()
            .map(|argument| argument.get_id().as_str())
            .collect();
        for id in NOT_OF_ANALYSIS.iter().chain(&OF_QUERIES) {
            assert!(known.contains(id), "{id}");
        }
        let query = command.find_subcommand("query").expect("a query");
        for id in OF_QUERIES {
            let of_query = query
                .get_arguments()
                .any(|argument| argument.get_id() == id);
            assert!(of_query, "{id}");
        }
    }
}
