//! The flags that the tables of a project file stand for.

use std::path::{Path, PathBuf};

use anyhow::{anyhow, bail};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command};
use toml::{Table, Value};

use super::effect::{Effect, effect};

pub const DEFAULTS: &str = "defaults";
const OPTIONS: &str = "options";
pub const ASSERTIONS: &str = "assertion";

/// Rejects unknown tables: a misspelt one would be ignored silently.
pub fn check_keys(file: &Path, table: &Table, command: &Command) -> anyhow::Result<()> {
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

/// Flags of all commands that need the user's trust, such as `report --html`.
pub fn reaches(table: &Table, command: &Command) -> Vec<String> {
    let mut found = Vec::new();
    for (name, flags) in table {
        let commands: Vec<&Command> = if name == DEFAULTS {
            command.get_subcommands().collect()
        } else {
            command.find_subcommand(name).into_iter().collect()
        };
        for key in flags.as_table().into_iter().flat_map(Table::keys) {
            let is_reach = |command: &&Command| {
                let argument = argument(command, key);
                argument.and_then(effect) == Some(Effect::Reach)
            };
            if commands.iter().any(is_reach) {
                found.push(format!("{name} --{key}"));
            }
        }
    }
    found
}

fn argument<'a>(command: &'a Command, key: &str) -> Option<&'a Arg> {
    let mut arguments = command.get_arguments();
    arguments.find(|argument| {
        let aliases = argument.get_all_aliases().unwrap_or_default();
        argument.get_long() == Some(key) || aliases.contains(&key)
    })
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flag {
    pub text: String,
    pub effect: Effect,
}

pub struct Flags<'a> {
    pub file: &'a Path,
    pub command: &'a Command,
    /// Typed flags, which take precedence.
    pub typed: &'a ArgMatches,
    pub read: Vec<Flag>,
}

impl Flags<'_> {
    pub fn read_all(&mut self, table: &Table) -> anyhow::Result<()> {
        let name = self.command.get_name().to_owned();
        let own = self.table(table, &name)?;
        if let Some(defaults) = self.table(table, DEFAULTS)? {
            for (key, value) in defaults {
                let is_own = own.is_some_and(|own| own.contains_key(key));
                if let Some(argument) = self.argument(key).filter(|_| !is_own) {
                    self.read_one(DEFAULTS, key, &argument, value)?;
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
            self.read_one(&name, key, &argument, value)?;
        }
        if self.argument("set").is_some() {
            self.read_options(table)?;
        }
        let has_assertions = table.contains_key(ASSERTIONS) && self.argument("assert").is_some();
        if has_assertions && !self.is_typed("assertions") {
            self.push(format!("--assert={}", self.file.display()), Effect::Setting);
        }
        Ok(())
    }

    fn read_options(&mut self, table: &Table) -> anyhow::Result<()> {
        for (plugin, options) in self.table(table, OPTIONS)?.into_iter().flatten() {
            let Value::Table(options) = options else {
                bail!(
                    "{}: {OPTIONS}.{plugin} is not a table (hint: write [{OPTIONS}.{plugin}] on a line, and its options below)",
                    self.file.display()
                );
            };
            for (key, value) in options {
                let value = serde_json::to_string(value)?;
                self.push(format!("--set={plugin}.{key}={value}"), Effect::Setting);
            }
        }
        Ok(())
    }

    fn table<'t>(&self, table: &'t Table, key: &str) -> anyhow::Result<Option<&'t Table>> {
        match table.get(key) {
            None => Ok(None),
            Some(Value::Table(found)) => Ok(Some(found)),
            Some(_) => bail!("{}: {key} is not a table", self.file.display()),
        }
    }

    fn argument(&self, key: &str) -> Option<Arg> {
        let found = argument(self.command, key);
        found
            .filter(|one| !["no_project", "project", "help"].contains(&one.get_id().as_str()))
            .cloned()
    }

    fn is_typed(&self, id: &str) -> bool {
        let source = self.typed.try_contains_id(id).ok();
        source.is_some() && self.typed.value_source(id) == Some(ValueSource::CommandLine)
    }

    fn push(&mut self, text: String, effect: Effect) {
        self.read.push(Flag { text, effect });
    }

    fn read_one(
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
        let effect = effect(argument).unwrap_or(Effect::Safeguard);
        let takes_value = argument.get_action().takes_values();
        let values = match value {
            Value::Boolean(is_on) if !takes_value => {
                if *is_on {
                    self.push(format!("--{key}"), effect);
                }
                return Ok(());
            }
            Value::Array(all) if takes_value => {
                all.iter().map(|one| self.shown(argument, one)).collect()
            }
            one if takes_value => self.shown(argument, one).map(|one| vec![one]),
            _ => None,
        };
        let Some(values) = values else {
            let expected = if takes_value {
                "a text, a number or a list of them"
            } else {
                "true or false"
            };
            bail!(
                "{}: {table}.{key} is {}, expected {expected}",
                self.file.display(),
                value.type_str()
            );
        };
        let flags = values.into_iter().map(|value| Flag {
            text: format!("--{key}={value}"),
            effect,
        });
        self.read.extend(flags);
        Ok(())
    }

    /// A value as the user would type it. Paths are resolved against the file's folder.
    fn shown(&self, argument: &Arg, value: &Value) -> Option<String> {
        let is_path = argument.get_value_parser().type_id() == std::any::TypeId::of::<PathBuf>();
        match value {
            Value::String(text) if is_path && text != "-" => {
                let folder = self.file.parent().unwrap_or(Path::new(""));
                Some(folder.join(text).display().to_string())
            }
            Value::String(text) => Some(text.clone()),
            Value::Integer(number) => Some(number.to_string()),
            Value::Float(number) => Some(number.to_string()),
            _ => None,
        }
    }
}
