//! Three levels of help: `-h` lists the flags that matter most, `--help` takes about two screens, `--help-all` shows
//! everything.
//!
//! A flag with `hide_short_help` is left out of `-h`; one with `hide_long_help` is left out of `--help` as well. Manual
//! pages and completions have all flags, see [`every_flag`].

use std::ffi::{OsStr, OsString};

use clap::{ArgAction, Args, Command, Parser};

/// The flags that print help and the version. A command line flattens them into its own, with `disable_help_flag` and
/// `disable_version_flag`.
#[derive(Debug, Args)]
#[command(next_help_heading = "Global options")]
pub struct HelpArgs {
    /// Print help; -h is shorter
    #[arg(short, long, global = true, action = ArgAction::HelpShort, display_order = 1_000)]
    help: Option<bool>,
    /// Print help with every flag
    #[arg(long, global = true, action = ArgAction::HelpLong, hide_short_help = true, display_order = 1_001)]
    help_all: Option<bool>,
    /// Print the version
    #[arg(short = 'V', long, global = true, action = ArgAction::Version, hide_short_help = true, display_order = 1_002)]
    version: Option<bool>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    Short,
    Long,
    All,
}

/// Parses a command line, and renders the help that it asks for.
///
/// # Errors
/// The arguments are wrong, or ask for help or the version.
pub fn parse<C: Parser>(arguments: Vec<OsString>) -> Result<C, clap::Error> {
    let mut command = C::command();
    let arguments = without_help_command(arguments, &command);
    if let Some(level) = level(&arguments) {
        command = at_level(command, level, "");
    }
    let mut matches = command.try_get_matches_from_mut(arguments)?;
    C::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut command))
}

/// The command with no flag left out of any help, for manual pages and completions.
pub fn every_flag(command: Command) -> Command {
    at_level(command, Level::All, "")
}

/// `help report` is `report --help`.
fn without_help_command(mut arguments: Vec<OsString>, command: &Command) -> Vec<OsString> {
    let is_help = arguments.get(1).is_some_and(|first| first == "help");
    if is_help && command.has_subcommands() {
        arguments.remove(1);
        arguments.push("--help".into());
    }
    arguments
}

fn level(arguments: &[OsString]) -> Option<Level> {
    let has = |flag: &str| {
        let flags = arguments.iter().take_while(|one| *one != "--");
        flags.into_iter().any(|one| one == flag)
    };
    if has("--help-all") {
        Some(Level::All)
    } else if has("--help") {
        Some(Level::Long)
    } else {
        // It may stand among other short flags, as in `-vh`.
        arguments
            .iter()
            .any(|one| has_short(one))
            .then_some(Level::Short)
    }
}

fn has_short(argument: &OsStr) -> bool {
    let text = argument.to_string_lossy();
    text.starts_with('-') && !text.starts_with("--") && text.contains('h')
}

fn at_level(command: Command, level: Level, above: &str) -> Command {
    let path = format!("{above}{}", command.get_name());
    let mut is_cut = false;
    let mut leveled = command.mut_args(|arg| {
        let in_short = !arg.is_hide_short_help_set() && !arg.is_hide_long_help_set();
        let in_long = !arg.is_hide_long_help_set();
        let is_shown = match level {
            Level::Short => in_short,
            Level::Long => in_long,
            Level::All => true,
        };
        is_cut |= !is_shown && !arg.is_hide_set();
        // The other levels than the last are rendered as short help: one line a flag where it fits.
        arg.hide_short_help(!is_shown).hide_long_help(false)
    });
    let mut after = match level {
        Level::Short => leveled.get_after_help(),
        Level::Long | Level::All => leveled.get_after_long_help().or(leveled.get_after_help()),
    }
    .map(|text| text.to_string())
    .unwrap_or_default();
    let more = match level {
        Level::Short if is_cut => format!("More flags: {path} --help"),
        Level::Long if is_cut => format!("Every flag: {path} --help-all"),
        _ => String::new(),
    };
    if !after.is_empty() && !more.is_empty() {
        after.push_str("\n\n");
    }
    after.push_str(&more);
    if !after.is_empty() {
        leveled = leveled.after_help(after.clone()).after_long_help(after);
    }
    let above = format!("{path} ");
    leveled.mut_subcommands(|command| at_level(command, level, &above))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[derive(Debug, Parser)]
    #[command(
        name = "tool",
        version = "1",
        propagate_version = true,
        disable_help_flag = true,
        disable_version_flag = true,
        after_help = "Examples",
        after_long_help = "Long"
    )]
    struct Cli {
        #[command(subcommand)]
        command: Sub,
        #[command(flatten)]
        help: HelpArgs,
    }

    #[derive(Debug, clap::Subcommand)]
    enum Sub {
        Look {
            file: String,
            #[arg(long)]
            first: bool,
            #[arg(long, hide_short_help = true)]
            second: bool,
            #[arg(long, hide_long_help = true)]
            third: bool,
        },
    }

    fn help(arguments: &[&str]) -> String {
        let typed = ["tool"].iter().chain(arguments).map(OsString::from);
        let error = parse::<Cli>(typed.collect()).unwrap_err();
        assert_eq!(error.kind(), clap::error::ErrorKind::DisplayHelp);
        error.to_string()
    }

    #[test]
    fn each_level_has_its_flags_and_names_the_next() {
        for (typed, flags, more) in [
            (&["look", "-h"][..], 1, "More flags: tool look --help"),
            (&["look", "--help"], 2, "Every flag: tool look --help-all"),
            (&["help", "look"], 2, "Every flag: tool look --help-all"),
            (&["look", "--help-all"], 3, ""),
        ] {
            let text = help(typed);
            let shown = ["--first", "--second", "--third"].map(|flag| text.contains(flag));
            assert_eq!(
                shown.iter().filter(|is_shown| **is_shown).count(),
                flags,
                "{text}"
            );
            assert!(text.contains(more), "{text}");
        }
        assert!(help(&["-h"]).contains("Examples"));
        assert!(help(&["--help"]).contains("Long"));
        assert!(help(&["help"]).contains("Long"));
    }

    #[test]
    fn the_version_is_a_flag_of_the_command() {
        let error = parse::<Cli>(["tool", "-V"].map(OsString::from).to_vec()).unwrap_err();
        assert_eq!(error.kind(), clap::error::ErrorKind::DisplayVersion);
    }

    #[test]
    fn what_is_no_help_is_parsed() {
        let parsed =
            |arguments: &[&str]| parse::<Cli>(arguments.iter().map(OsString::from).collect());
        assert!(parsed(&["tool", "look", "x", "--third"]).is_ok());
        assert!(parsed(&["tool", "look", "--", "--help"]).is_ok());
        assert!(parsed(&["tool", "look"]).is_err());
    }

    #[test]
    fn manual_pages_have_all_flags() {
        let command = every_flag(Cli::command());
        let look = command.find_subcommand("look").unwrap();
        assert!(
            look.get_arguments()
                .all(|arg| !arg.is_hide_short_help_set() && !arg.is_hide_long_help_set())
        );
    }
}
