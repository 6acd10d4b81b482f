//! The project file: `trueno.toml` of the working directory or of a folder above it gives flags.
//!
//! A table named after a command holds its long flags: `fail-on = "high"` in `[report]` is `--fail-on=high`, a list
//! gives the flag again and again, `true` one without a value. `[defaults]` is for every command that knows the flag,
//! `[options.PLUGIN]` is `--set`, and `[[assertion]]` is what `check` asserts. What is typed comes before it; paths are
//! those of the file's folder.
//!
//! A file that is found is obeyed only if nobody but the user and root could have put it there. What it may set depends
//! on what the flag does ([`Effect`]): code and outputs only if the user named the file or trusts it, limits and
//! protections never. What it sets, and what it may not, is said in a line each.

mod effect;
mod flags;
mod found;
mod trusted;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, bail};
use clap::parser::ValueSource;
use clap::{ArgMatches, Command};
use trueno_host::plugin::OwnOutput;
use trueno_model::width::printable;
use trueno_render::style::{Meaning, Palette};

pub use effect::{Effect, effect};
pub use found::{FILE, ProjectFile, nearest};
pub use trusted::{Standing, TrustedFiles, list_file};

use flags::{ASSERTIONS, DEFAULTS, Flag, Flags, check_keys};

/// Commands that ignore project files. An assistant starts `mcp` in whatever folder is open, where a file could
/// name folders to read and plugins to load. `trust` is about the file itself.
const WITHOUT_PROJECT: [&str; 2] = ["mcp", "trust"];

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Arguments {
    pub all: Vec<OsString>,
    pub project: ProjectNotes,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProjectNotes {
    pub flags: Vec<String>,
    pub note: Option<String>,
    /// Warnings about ignored settings, shown even if quiet.
    pub warnings: Vec<String>,
}

struct Surroundings<'a> {
    folder: &'a Path,
    home: Option<PathBuf>,
    list: Option<PathBuf>,
}

/// Inserts the flags of the project file after the command's name. Arguments that cannot be parsed stay unchanged:
/// parsing them again reports the error.
///
/// # Errors
/// The file cannot be read, or names a flag that does not exist.
pub fn with_project(
    command: Command,
    typed: Vec<OsString>,
    folder: &Path,
) -> anyhow::Result<Arguments> {
    let surroundings = Surroundings {
        folder,
        home: std::env::home_dir(),
        list: list_file(),
    };
    with_surroundings(command, typed, &surroundings)
}

fn with_surroundings(
    mut command: Command,
    typed: Vec<OsString>,
    surroundings: &Surroundings<'_>,
) -> anyhow::Result<Arguments> {
    let as_typed = |all| Arguments {
        all,
        project: ProjectNotes::default(),
    };
    let Ok(matches) = command.try_get_matches_from_mut(&typed) else {
        return Ok(as_typed(typed));
    };
    let Some((name, of_command)) = matches.subcommand() else {
        return Ok(as_typed(typed));
    };
    let named = matches.get_one::<PathBuf>("project");
    if WITHOUT_PROJECT.contains(&name) {
        if named.is_some() {
            bail!("{name} does not use project files (hint: give its flags yourself)");
        }
        return Ok(as_typed(typed));
    }
    let known = command
        .find_subcommand(name)
        .filter(|known| !known.is_hide_set());
    let Some(known) = known.filter(|_| !matches.get_flag("no_project")) else {
        return Ok(as_typed(typed));
    };
    let mut notes = ProjectNotes::default();
    let command_line = (known, of_command);
    let Some(file) = open(named, surroundings, command_line, &mut notes)? else {
        let mut arguments = as_typed(typed);
        arguments.project = notes;
        return Ok(arguments);
    };
    let table = file.table()?;
    // The file may name any command; so far only the one that was typed is complete.
    command.build();
    check_keys(&file.path, &table, &command)?;
    let Some(known) = command.find_subcommand(name) else {
        return Ok(as_typed(typed));
    };
    let mut flags = Flags {
        file: &file.path,
        command: known,
        typed: of_command,
        read: Vec::new(),
    };
    flags.read_all(&table)?;
    let standing = if named.is_some() {
        Standing::Trusted
    } else if flags.read.iter().any(|flag| flag.effect == Effect::Reach) {
        standing(&file, surroundings.list.as_deref(), &mut notes)
    } else {
        Standing::Unknown
    };
    notes.judge(&file.path, flags.read, standing, matches.get_flag("quiet"));
    let mut all = typed;
    let behind = behind_name(&command, &all);
    all.splice(behind..behind, notes.flags.iter().map(OsString::from));
    Ok(Arguments {
        all,
        project: notes,
    })
}

/// Opens the project file to use. A file that the user named is used whoever owns it.
fn open(
    named: Option<&PathBuf>,
    surroundings: &Surroundings<'_>,
    (command, typed): (&Command, &ArgMatches),
    notes: &mut ProjectNotes,
) -> anyhow::Result<Option<ProjectFile>> {
    if let Some(named) = named {
        let path = surroundings.folder.join(named);
        let file = ProjectFile::named(&path).context("--project")?;
        return Ok(Some(file));
    }
    let Some(path) = nearest(surroundings.folder, surroundings.home.as_deref()) else {
        return Ok(None);
    };
    let opened = match trueno_trust::open_file(&path) {
        Ok(opened) => opened,
        Err(distrust) => {
            let shown = path.display();
            let why = if distrust.path == path {
                format!("it {}", distrust.reason)
            } else {
                distrust.to_string()
            };
            let refusal = format!("{shown} is ignored: {why}");
            let hint = format!(
                "(hint: --project {shown} uses it anyway, --no-project ignores project files)"
            );
            if would_gate(&path, command, typed) {
                // A build that relies on it must not pass.
                bail!(
                    "{refusal}, and it decides whether {} fails {hint}",
                    command.get_name()
                );
            }
            notes.warnings.push(format!("{refusal} {hint}"));
            return Ok(None);
        }
    };
    Ok(Some(ProjectFile::read(&path, &opened)?))
}

/// Whether an ignored file would decide the exit code.
fn would_gate(path: &Path, command: &Command, typed: &ArgMatches) -> bool {
    let table = ProjectFile::named(path).and_then(|file| file.table());
    let Ok(table) = table else { return false };
    let has_assertions = table.contains_key(ASSERTIONS);
    let sets = |name: &str, flag: &str| {
        let flags = table.get(name).and_then(toml::Value::as_table);
        flags.is_some_and(|flags| flags.contains_key(flag))
    };
    command.get_arguments().any(|argument| {
        let is_set = match argument.get_long() {
            Some("fail-on") => sets(command.get_name(), "fail-on") || sets(DEFAULTS, "fail-on"),
            Some("assert") => sets(command.get_name(), "assert") || has_assertions,
            _ => false,
        };
        is_set && typed.value_source(argument.get_id().as_str()) != Some(ValueSource::CommandLine)
    })
}

fn standing(file: &ProjectFile, list: Option<&Path>, notes: &mut ProjectNotes) -> Standing {
    let trusted = list.map_or_else(|| Ok(TrustedFiles::default()), TrustedFiles::read);
    match trusted {
        Ok(trusted) => trusted.standing(file),
        Err(why) => {
            notes.warnings.push(format!("{why:#}"));
            Standing::Unknown
        }
    }
}

impl ProjectNotes {
    /// Keeps the flags that the file may set. Records notes on kept and ignored ones.
    fn judge(&mut self, file: &Path, read: Vec<Flag>, standing: Standing, is_quiet: bool) {
        let shown = file.display();
        let (mut reaches, mut safeguards) = (Vec::new(), Vec::new());
        let mut is_reaching = false;
        for flag in read {
            match flag.effect {
                Effect::Setting => self.flags.push(flag.text),
                Effect::Reach if standing == Standing::Trusted => {
                    is_reaching = true;
                    self.flags.push(flag.text);
                }
                Effect::Reach => reaches.push(flag.text),
                Effect::Safeguard => safeguards.push(flag.text),
            }
        }
        if !reaches.is_empty() {
            let why = if standing == Standing::Changed {
                "it has changed since you trusted it"
            } else {
                "code, outputs and other machines are for files that you trust"
            };
            self.warnings.push(format!(
                "{shown} may not set {}: {why} (hint: read it, then `trueno-analyze trust {shown}`)",
                reaches.join(" ")
            ));
        }
        if !safeguards.is_empty() {
            self.warnings.push(format!(
                "{shown} may not set {}: project files cannot remove limits or protections (hint: give the flag yourself)",
                safeguards.join(" ")
            ));
        }
        // A user who types -q still sees what reaches out of the report.
        if !self.flags.is_empty() && (!is_quiet || is_reaching) {
            self.note = Some(format!("{shown} sets {}", self.flags.join(" ")));
        }
    }

    /// Prints the notes, each line once: `watch` ends with a `report`, which reads the file again.
    pub fn say(&self, palette: Palette) {
        static SAID: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
        let mut said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
        let notes = self.note.iter().map(|text| (Meaning::Faint, "note:", text));
        let warnings = self.warnings.iter();
        let warnings = warnings.map(|text| (Meaning::Warning, "warning:", text));
        for (meaning, lead, text) in notes.chain(warnings) {
            if !said.insert(text.clone()) {
                continue;
            }
            let line = format!("{} {}\n", palette.paint(meaning, lead), printable(text));
            // With standard error gone there is nobody left to read it.
            let _ = OwnOutput::Stderr.write_all(line.as_bytes());
        }
    }
}

/// Flags in a file that need the user's trust, such as `report --html`.
///
/// # Errors
/// It is no project file.
pub fn reaches(mut command: Command, file: &ProjectFile) -> anyhow::Result<Vec<String>> {
    command.build();
    let table = file.table()?;
    check_keys(&file.path, &table, &command)?;
    Ok(flags::reaches(&table, &command))
}

/// Index after the command's name. The value of an earlier flag may equal that name.
fn behind_name(command: &Command, typed: &[OsString]) -> usize {
    let takes_value = |text: &str| {
        let mut arguments = command.get_arguments();
        let named = |name: &str| arguments.find(|argument| argument.get_long() == Some(name));
        let argument = text.strip_prefix("--").and_then(named);
        argument.is_some_and(|argument| argument.get_action().takes_values())
    };
    let mut at = 1;
    while let Some(argument) = typed.get(at) {
        let text = argument.to_string_lossy();
        if !text.starts_with('-') {
            return at + 1;
        }
        at += if takes_value(&text) { 2 } else { 1 };
    }
    typed.len()
}

#[cfg(test)]
mod tests;
