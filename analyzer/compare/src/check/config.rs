//! The file of assertions.

use std::path::{Path, PathBuf};

use toml::{Table, Value};
use trueno_engine::query::nearest;
use trueno_model::Level;

use super::TYPES;
use super::types::{AssertionType, Condition};

#[derive(Debug)]
pub struct Config {
    pub file: PathBuf,
    pub assertions: Vec<Assertion>,
}

#[derive(Debug)]
pub struct Assertion {
    pub name: String,
    pub fail_on_violation: bool,
    pub enabled: bool,
    pub severity: Level,
    pub kind: &'static str,
    pub(super) condition: Box<dyn Condition>,
}

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CheckError {
    #[error("{}: cannot be read: {error}", file.display())]
    Read {
        file: PathBuf,
        error: std::io::Error,
    },
    #[error("{}: {problem}", file.display())]
    File {
        file: PathBuf,
        /// What is wrong, in words.
        problem: String,
    },
    #[error("{}: assertion {name:?}: {problem}", file.display())]
    Assertion {
        file: PathBuf,
        name: String,
        problem: String,
    },
}

impl Config {
    /// Reads a file. Unknown keys are errors.
    ///
    /// # Errors
    /// See [`CheckError`]: whatever is not known is an error.
    pub fn read(file: &Path) -> Result<Self, CheckError> {
        let text = std::fs::read_to_string(file).map_err(|error| CheckError::Read {
            file: file.to_path_buf(),
            error,
        })?;
        Self::parse(file, &text)
    }

    /// Parses the text of `file`.
    ///
    /// # Errors
    /// See [`CheckError`].
    pub fn parse(file: &Path, text: &str) -> Result<Self, CheckError> {
        let wrong = |problem: String| CheckError::File {
            file: file.to_path_buf(),
            problem,
        };
        let table: Table = toml::from_str(text).map_err(|error| wrong(error.to_string()))?;
        // Tables of that kind are flags of commands, of which others take care.
        let mut others = table.iter().filter(|(key, _)| *key != "assertion");
        if let Some((key, _)) = others.find(|(_, value)| !value.is_table()) {
            return Err(wrong(format!(
                "unknown key {key:?} (hint: write assertions as tables [[assertion]])"
            )));
        }
        let list = match table.get("assertion") {
            Some(Value::Array(list)) if !list.is_empty() => list,
            _ => {
                return Err(wrong(
                    "there is no assertion in it (hint: one is a table [[assertion]] with name and type)"
                        .to_owned(),
                ));
            }
        };
        let mut assertions: Vec<Assertion> = Vec::new();
        for (at, value) in list.iter().enumerate() {
            let name = value.get("name").and_then(Value::as_str);
            let called = name.map_or_else(|| format!("number {}", at + 1), str::to_owned);
            let problem = |problem: String| CheckError::Assertion {
                file: file.to_path_buf(),
                name: called.clone(),
                problem,
            };
            let assertion = assertion(value).map_err(&problem)?;
            if assertions.iter().any(|other| other.name == assertion.name) {
                return Err(problem("another assertion has that name".to_owned()));
            }
            assertions.push(assertion);
        }
        Ok(Self {
            file: file.to_path_buf(),
            assertions,
        })
    }
}

fn assertion(value: &Value) -> Result<Assertion, String> {
    let mut table = value.as_table().cloned().ok_or("it is not a table")?;
    let name = text(&mut table, "name")?.filter(|name| !name.is_empty());
    let name = name.ok_or("it has no name")?;
    let kind = text(&mut table, "type")?;
    let enabled = flag(&mut table, "enabled")?.unwrap_or(true);
    let severity = match text(&mut table, "severity")?.as_deref() {
        None => None,
        Some("info") => Some(Level::Info),
        Some("medium" | "warning") => Some(Level::Warning),
        Some("high" | "error") => Some(Level::Error),
        Some(other) => {
            return Err(format!(
                "unknown severity {other:?} (hint: info, medium or high)"
            ));
        }
    };
    let fails = flag(&mut table, "fail_on_violation")?;
    let fail_on_violation = fails.unwrap_or(severity.is_none_or(|level| level == Level::Error));
    let own = if fail_on_violation {
        Level::Error
    } else {
        Level::Warning
    };
    let of = assertion_type(kind.as_deref(), &table)?;
    Ok(Assertion {
        name,
        fail_on_violation,
        enabled,
        severity: severity.unwrap_or(own),
        kind: of.words[0],
        condition: (of.read)(table)?,
    })
}

fn assertion_type(word: Option<&str>, table: &Table) -> Result<&'static AssertionType, String> {
    let Some(word) = word else {
        // The documented short form leaves the type to the one key that only one type has.
        let has = |key: &&str| table.contains_key(*key);
        let found = TYPES
            .iter()
            .find(|one| one.short_form.is_some_and(|key| has(&key)));
        return found.ok_or_else(|| format!("it has no type (hint: {})", words().join(", ")));
    };
    let found = TYPES.iter().find(|one| one.words.contains(&word));
    found.ok_or_else(|| {
        let near = nearest(word, words().into_iter());
        let near = near.first().map_or_else(
            || words().join(", "),
            |near| format!("did you mean {near}?"),
        );
        format!("unknown type {word:?} (hint: {near})")
    })
}

fn words() -> Vec<&'static str> {
    TYPES.iter().flat_map(|one| one.words).copied().collect()
}

fn text(table: &mut Table, key: &str) -> Result<Option<String>, String> {
    match table.remove(key) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(format!("{key} must be a text")),
    }
}

fn flag(table: &mut Table, key: &str) -> Result<Option<bool>, String> {
    match table.remove(key) {
        None => Ok(None),
        Some(Value::Boolean(flag)) => Ok(Some(flag)),
        Some(_) => Err(format!("{key} must be true or false")),
    }
}

#[cfg(test)]
#[path = "config_tests.rs"]
mod tests;
