//! The project file: `trueno.toml` of the working directory or of the nearest folder above it gives flags.
//!
//! A table named after a command holds its long flags: `fail-on = "high"` in `[report]` is `--fail-on=high`, a list
//! gives the flag again and again, `true` one without a value. `[defaults]` is for every command that knows the flag,
//! `[options.PLUGIN]` is `--set`, and `[[assertion]]` is what `check` asserts. What is typed comes before it; paths are
//! those of the file's folder.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command};
use toml::{Table, Value};

/// Name of the file.
const FILE: &str = "trueno.toml";
/// Keys that are no commands.
const DEFAULTS: &str = "defaults";
const OPTIONS: &str = "options";
const ASSERTIONS: &str = "assertion";
/// The command that no project tells anything: an assistant starts it in whatever folder is open, and a file there could
/// name folders to read and plugins to load that nobody asked for.
const UNTOLD: &str = "mcp";

/// Arguments with those of a project.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Arguments {
    /// All, the program's name first.
    pub all: Vec<OsString>,
    /// The file, and flags that it gave.
    pub given: Option<(PathBuf, Vec<String>)>,
}

/// Puts the flags of the nearest project file behind the command's name. Arguments that cannot be parsed stay as they
/// are: whoever parses them says why.
///
/// # Errors
/// The file cannot be read, or names a flag that there is not.
pub fn with_project(
    command: Command,
    typed: Vec<OsString>,
    folder: &Path,
) -> anyhow::Result<Arguments> {
    let as_typed = Arguments {
        all: typed.clone(),
        given: None,
    };
    let mut command = command;
    command.build();
    let Ok(matches) = command.clone().try_get_matches_from(&typed) else {
        return Ok(as_typed);
    };
    let no_project = matches.get_flag("no_project");
    let takes_project = |(name, _): &(&str, _)| !no_project && *name != UNTOLD;
    let Some((name, of_command)) = matches.subcommand().filter(takes_project) else {
        return Ok(as_typed);
    };
    let known = command
        .find_subcommand(name)
        .filter(|one| !one.is_hide_set());
    let (Some(known), Some(file)) = (known, nearest(folder)) else {
        return Ok(as_typed);
    };
    let table = read(&file)?;
    check_keys(&file, &table, &command)?;
    let mut flags = Flags {
        file: &file,
        command: known,
        typed: of_command,
        given: Vec::new(),
    };
    flags.read_all(&table)?;
    if flags.given.is_empty() {
        return Ok(as_typed);
    }
    let given = flags.given;
    let mut all = typed;
    let at = all.iter().position(|one| one == name);
    let behind = at.map_or(all.len(), |at| at + 1);
    all.splice(behind..behind, given.iter().map(OsString::from));
    Ok(Arguments {
        all,
        given: Some((file, given)),
    })
}

fn nearest(folder: &Path) -> Option<PathBuf> {
    let mut folders = folder.ancestors().map(|above| above.join(FILE));
    folders.find(|file| file.is_file())
}

fn read(file: &Path) -> anyhow::Result<Table> {
    let shown = file.display();
    let text = std::fs::read_to_string(file).with_context(|| format!("{shown}: cannot be read"))?;
    toml::from_str(&text).map_err(|error| {
        anyhow!(
            "{shown}: {} (hint: --no-project does without it)",
            error.to_string().trim_end()
        )
    })
}

/// A misspelt table would give nothing, unseen.
fn check_keys(file: &Path, table: &Table, command: &Command) -> anyhow::Result<()> {
    for key in table.keys() {
        let is_own = [DEFAULTS, OPTIONS, ASSERTIONS].contains(&key.as_str());
        if !is_own && command.find_subcommand(key).is_none() {
            bail!(
                "{}: there is no command {key} (hint: tables are [{DEFAULTS}], [{OPTIONS}.PLUGIN], [[{ASSERTIONS}]], and \
                 named after commands, as [report])",
                file.display()
            );
        }
    }
    Ok(())
}

struct Flags<'a> {
    file: &'a Path,
    command: &'a Command,
    typed: &'a ArgMatches,
    given: Vec<String>,
}

impl Flags<'_> {
    fn read_all(&mut self, table: &Table) -> anyhow::Result<()> {
        let name = self.command.get_name().to_owned();
        let own = self.table(table, &name)?;
        if let Some(defaults) = self.table(table, DEFAULTS)? {
            for (key, value) in defaults {
                let is_own = own.is_some_and(|own| own.contains_key(key));
                if let Some(argument) = self.argument(key).filter(|_| !is_own) {
                    self.give(DEFAULTS, key, &argument, value)?;
                }
            }
        }
        for (key, value) in own.into_iter().flatten() {
            let argument = self.argument(key).ok_or_else(|| {
                anyhow!(
                    "{}: {name} has no flag --{key} (hint: `trueno-analyze {name} --help` lists them)",
                    self.file.display()
                )
            })?;
            self.give(&name, key, &argument, value)?;
        }
        let sets = self.argument("set");
        if let (Some(options), Some(_)) = (self.table(table, OPTIONS)?, sets) {
            for (plugin, of_plugin) in options {
                let Value::Table(of_plugin) = of_plugin else {
                    bail!(
                        "{}: {OPTIONS}.{plugin} is no table (hint: write [{OPTIONS}.{plugin}] on a line, and its \
                         options below)",
                        self.file.display()
                    );
                };
                for (key, value) in of_plugin {
                    let value = serde_json::to_string(value)?;
                    self.given.push(format!("--set={plugin}.{key}={value}"));
                }
            }
        }
        let has_assertions = table.contains_key(ASSERTIONS) && self.argument("assert").is_some();
        if has_assertions && !self.is_typed("assertions") {
            self.given.push(format!("--assert={}", self.file.display()));
        }
        Ok(())
    }

    fn table<'t>(&self, table: &'t Table, key: &str) -> anyhow::Result<Option<&'t Table>> {
        match table.get(key) {
            None => Ok(None),
            Some(Value::Table(found)) => Ok(Some(found)),
            Some(_) => bail!("{}: {key} is no table", self.file.display()),
        }
    }

    /// The argument of a long flag; not those that hold for all commands and would find this file.
    fn argument(&self, key: &str) -> Option<Arg> {
        let mut arguments = self.command.get_arguments();
        let found = arguments.find(|one| one.get_long() == Some(key));
        found
            .filter(|one| one.get_id() != "no_project" && one.get_id() != "help")
            .cloned()
    }

    fn is_typed(&self, id: &str) -> bool {
        let source = self.typed.try_contains_id(id).ok();
        source.is_some() && self.typed.value_source(id) == Some(ValueSource::CommandLine)
    }

    fn give(
        &mut self,
        table: &str,
        key: &str,
        argument: &Arg,
        value: &Value,
    ) -> anyhow::Result<()> {
        let adds = matches!(argument.get_action(), ArgAction::Append);
        if self.is_typed(argument.get_id().as_str()) && !adds {
            return Ok(());
        }
        let mut against = self.command.get_arg_conflicts_with(argument).into_iter();
        if against.any(|other| self.is_typed(other.get_id().as_str())) {
            return Ok(());
        }
        let is_path = argument.get_value_parser().type_id() == std::any::TypeId::of::<PathBuf>();
        let shown = |value: &Value| match value {
            Value::String(text) if is_path && text != "-" => {
                let folder = self.file.parent().unwrap_or(Path::new(""));
                Some(folder.join(text).display().to_string())
            }
            Value::String(text) => Some(text.clone()),
            Value::Integer(number) => Some(number.to_string()),
            Value::Float(number) => Some(number.to_string()),
            _ => None,
        };
        let takes_value = argument.get_action().takes_values();
        let values: Option<Vec<String>> = match value {
            Value::Boolean(is_given) if !takes_value => {
                if *is_given {
                    self.given.push(format!("--{key}"));
                }
                return Ok(());
            }
            Value::Array(all) if takes_value => all.iter().map(shown).collect(),
            one if takes_value => shown(one).map(|one| vec![one]),
            _ => None,
        };
        let Some(values) = values else {
            let expected = match takes_value {
                true => "a text, a number or a list of them",
                false => "true or false",
            };
            bail!(
                "{}: {table}.{key} is {}, expected {expected}",
                self.file.display(),
                value.type_str()
            );
        };
        let all = values.into_iter().map(|value| format!("--{key}={value}"));
        self.given.extend(all);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::cli::Cli;

    /// Flags that this file gives beside what is typed, or the words of the error.
    fn given(text: &str, typed: &[&str]) -> Result<Vec<String>, String> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(FILE), text).unwrap();
        let below = folder.path().join("a/b");
        std::fs::create_dir_all(&below).unwrap();
        let all = ["trueno-analyze"].iter().chain(typed);
        let all = all.map(OsString::from).collect();
        let found = with_project(Cli::command(), all, &below);
        let found = found.map_err(|error| error.to_string())?;
        let given = found.given.map_or_else(Vec::new, |(_, given)| given);
        let place = folder.path().display().to_string();
        Ok(given
            .into_iter()
            .map(|flag| flag.replace(&place, "HERE"))
            .collect())
    }

    const PROJECT: &str = "[defaults]\ncategories = \"rules.toml\"\nno-isolate = true\n\
        [report]\nfail-on = \"high\"\ntop = 3\nplugin-dir = [\"a\", \"/b\"]\nhtml = \"-\"\n\
        [options.critical_path]\npath_rows = 10\nwhat_if = [\"a=1\"]\n[[assertion]]\nname = \"x\"\n";

    #[test]
    fn flags_are_those_of_the_command_and_of_all() {
        let flags = [
            "--categories=HERE/rules.toml",
            "--no-isolate",
            "--fail-on=high",
            "--html=-",
            "--plugin-dir=HERE/a",
            "--plugin-dir=/b",
            "--top=3",
            "--set=critical_path.path_rows=10",
            "--set=critical_path.what_if=[\"a=1\"]",
        ];
        assert_eq!(given(PROJECT, &["report", "x.run"]).unwrap(), flags);
        let of_check = [
            "--categories=HERE/rules.toml",
            "--no-isolate",
            "--assert=HERE/trueno.toml",
        ];
        assert_eq!(given(PROJECT, &["check", "x.run"]).unwrap(), of_check);
        assert!(given(PROJECT, &["info", "x.run"]).unwrap().is_empty());
    }

    #[test]
    fn what_is_typed_comes_first() {
        let typed = [
            "report",
            "x.run",
            "--fail-on",
            "low",
            "--isolate",
            "--plugin-dir",
            "c",
        ];
        let flags = given(PROJECT, &typed).unwrap();
        assert!(!flags.iter().any(|flag| flag.starts_with("--fail-on")));
        assert!(
            flags.contains(&"--plugin-dir=HERE/a".to_owned()),
            "folders add up"
        );
        assert!(
            given(PROJECT, &["report", "x.run", "--no-project"])
                .unwrap()
                .is_empty()
        );
        assert!(
            given(PROJECT, &["report"]).unwrap().is_empty(),
            "clap says what is missing"
        );
        let typed = ["check", "x.run", "--assert", "other.toml"];
        assert!(
            !given(PROJECT, &typed)
                .unwrap()
                .iter()
                .any(|flag| flag.starts_with("--assert"))
        );
    }

    #[test]
    fn mistakes_are_errors_that_name_the_file() {
        for (text, words) in [
            ("[reprot]\n", "there is no command reprot"),
            (
                "[report]\nfail_on = \"high\"\n",
                "report has no flag --fail_on",
            ),
            (
                "[report]\ntop = { a = 1 }\n",
                "report.top is table, expected a text",
            ),
            (
                "[report]\nisolate = \"yes\"\n",
                "report.isolate is string, expected true or false",
            ),
            ("report = 1\n", "report is no table"),
            ("[options]\nroofline = 1\n", "options.roofline is no table"),
            ("[report\n", "--no-project does without it"),
        ] {
            let error = given(text, &["report", "x.run"]).unwrap_err();
            assert!(error.contains(words) && error.contains(FILE), "{error}");
        }
    }
}
