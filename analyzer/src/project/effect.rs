//! What a flag does to the user's machine, and so which project files may set it.

use clap::Arg;

/// What a flag does, which decides whether a project file may set it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Selects what is read and how it is shown and judged. Any project file in use may set it.
    Setting,
    /// Loads code, writes files or talks to other machines. Only a project file that is named by the user or
    /// trusted may set it.
    Reach,
    /// Removes a limit or a protection. No project file may set it.
    Safeguard,
}

const SETTINGS: &[&str] = &[
    "annotations",
    "assert",
    "base",
    "baseline",
    "by-process",
    "by-table",
    "categories",
    "ceilings",
    "cluster-deadline",
    "color",
    "compare-backends",
    "compression",
    "depth",
    "device",
    "each",
    "fail-on",
    "false-discoveries",
    "findings",
    "follow",
    "format",
    "from",
    "golden",
    "help",
    "help-all",
    "input-format",
    "into",
    "isolate",
    "keep-doubtful",
    "lang",
    "last",
    "launches",
    "max-rows",
    "merge",
    "min-share",
    "name",
    "no-cache",
    "no-path",
    "once",
    "operators",
    "options",
    "partial",
    "path",
    "plugin-id",
    "port",
    "parallel",
    "process",
    "query-rows",
    "quiet",
    "ranks",
    "ranks-per-task",
    "reference",
    "resamples",
    "run",
    "samples",
    "seed",
    "set",
    "single",
    "skip",
    "summary",
    "threshold",
    "tiles",
    "to",
    "together",
    "tolerance",
    "top",
    "verbose",
    "version",
    "wait",
    "what-if",
    "width",
    "window",
];

const REACHES: &[&str] = &[
    "card",
    "charts",
    "csv",
    "dir",
    "editor",
    "endpoint",
    "engine",
    "header",
    "html",
    "json",
    "junit",
    "markdown",
    "no-default-plugins",
    "open",
    "output",
    "overwrite",
    "parts",
    "pdf",
    "plugin-dir",
    "plugin-file",
    "root",
    "sarif",
    "sdk",
    "tables",
    "write-catalog",
];

const SAFEGUARDS: &[&str] = &[
    "allow-unsafe-plugins",
    // Keeps spreadsheets from running texts as formulas when it is not given.
    "csv-exact",
    "list",
    "max-ratio",
    "memory",
    "no-isolate",
    "no-project",
    "plugin-cpu-time",
    "plugin-memory",
    "plugin-timeout",
    "project",
    "query-memory",
    "query-timeout",
    "remove",
    "timeout",
];

/// The effect of a flag; `None` for a flag in no list, which a project file may not set.
pub fn effect(argument: &Arg) -> Option<Effect> {
    let name = argument.get_long()?;
    // Of some commands a switch, which chooses the form of standard output.
    if name == "json" && !argument.get_action().takes_values() {
        return Some(Effect::Setting);
    }
    let lists = [
        (SETTINGS, Effect::Setting),
        (REACHES, Effect::Reach),
        (SAFEGUARDS, Effect::Safeguard),
    ];
    let mut lists = lists.into_iter();
    lists.find_map(|(names, effect)| names.contains(&name).then_some(effect))
}

#[cfg(test)]
mod tests {
    use clap::{Command, CommandFactory};

    use super::*;
    use crate::cli::Cli;

    fn unclassified(command: &Command, found: &mut Vec<String>) {
        for argument in command.get_arguments() {
            if let Some(name) = argument.get_long()
                && effect(argument).is_none()
            {
                found.push(format!("{} --{name}", command.get_name()));
            }
        }
        for below in command.get_subcommands() {
            unclassified(below, found);
        }
    }

    #[test]
    fn every_flag_of_every_command_is_in_a_list() {
        let mut command = Cli::command();
        command.build();
        let mut found = Vec::new();
        unclassified(&command, &mut found);
        assert!(
            found.is_empty(),
            "decide what a project file may do with these, in {}: {}",
            file!(),
            found.join(", ")
        );
    }

    #[test]
    fn a_flag_is_in_one_list_only() {
        let mut all = [SETTINGS, REACHES, SAFEGUARDS].concat();
        all.sort_unstable();
        let twice: Vec<_> = all.windows(2).filter(|pair| pair[0] == pair[1]).collect();
        assert!(twice.is_empty(), "{twice:?}");
    }

    #[test]
    fn what_takes_files_to_write_is_no_mere_setting() {
        let mut command = Cli::command();
        command.build();
        let report = command.find_subcommand("report").unwrap();
        for (name, expected) in [
            ("html", Effect::Reach),
            ("json", Effect::Reach),
            ("plugin-file", Effect::Reach),
            ("no-isolate", Effect::Safeguard),
            ("top", Effect::Setting),
        ] {
            let mut arguments = report.get_arguments();
            let argument = arguments.find(|one| one.get_long() == Some(name)).unwrap();
            assert_eq!(effect(argument), Some(expected), "{name}");
        }
    }
}
