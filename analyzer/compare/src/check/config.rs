//! The file of assertions.

use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use toml::{Table, Value};
use trueno_engine::query::nearest;
use trueno_model::Level;

use super::anti_pattern::AntiPattern;
use super::category::CategoryShare;
use super::counts::SpanCount;
use super::coverage::Coverage;
use super::critical_path::CriticalPath;
use super::expression::Expression;
use super::memory::MemoryUsage;
use super::plugins::{Divergence, RooflineEfficiency};
use super::regression::Regression;

/// The file, read.
#[derive(Debug)]
pub struct Config {
    /// Its path.
    pub file: PathBuf,
    /// Its assertions, in order.
    pub assertions: Vec<Assertion>,
}

/// One `[[assertion]]`.
#[derive(Debug)]
pub struct Assertion {
    /// Its name; no two are alike.
    pub name: String,
    /// Whether a violation fails the check.
    pub fail_on_violation: bool,
    /// Whether it is checked.
    pub enabled: bool,
    /// How much it matters.
    pub severity: Level,
    /// What must hold.
    pub kind: Kind,
}

/// What must hold.
#[derive(Debug)]
#[expect(missing_docs, reason = "each has a module of its own")]
pub enum Kind {
    CriticalPath(CriticalPath),
    SpanCount(SpanCount),
    MemoryUsage(MemoryUsage),
    CategoryShare(CategoryShare),
    Coverage(Coverage),
    AntiPattern(AntiPattern),
    Regression(Regression),
    Expression(Expression),
    RooflineEfficiency(RooflineEfficiency),
    Divergence(Divergence),
}

impl Kind {
    /// As in the file.
    pub fn word(&self) -> &'static str {
        match self {
            Kind::CriticalPath(_) => "critical_path",
            Kind::SpanCount(_) => "span_count",
            Kind::MemoryUsage(_) => "memory_usage",
            Kind::CategoryShare(_) => "category_share",
            Kind::Coverage(_) => "coverage",
            Kind::AntiPattern(_) => "anti_pattern",
            Kind::Regression(_) => "regression",
            Kind::Expression(_) => "expression",
            Kind::RooflineEfficiency(_) => "roofline_efficiency",
            Kind::Divergence(_) => "divergence",
        }
    }
}

const TYPES: [&str; 11] = [
    "critical_path",
    "span_count",
    "memory_usage",
    "category_share",
    "coverage",
    "anti_pattern",
    "regression",
    "expression",
    "custom",
    "roofline_efficiency",
    "divergence",
];

/// Why the assertions cannot be checked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CheckError {
    /// The file cannot be read.
    #[error("{}: cannot be read: {error}", file.display())]
    Read {
        /// Which.
        file: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// It is no TOML, or not a list of assertions.
    #[error("{}: {problem}", file.display())]
    File {
        /// Which.
        file: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// One assertion is wrong.
    #[error("{}: assertion {name:?}: {problem}", file.display())]
    Assertion {
        /// Which file.
        file: PathBuf,
        /// Which assertion.
        name: String,
        /// What is wrong.
        problem: String,
    },
}

impl Config {
    /// Reads a file.
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

    /// From the text of `file`.
    ///
    /// # Errors
    /// See [`CheckError`].
    pub fn parse(file: &Path, text: &str) -> Result<Self, CheckError> {
        let wrong = |problem: String| CheckError::File {
            file: file.to_path_buf(),
            problem,
        };
        let table: Table = toml::from_str(text).map_err(|error| wrong(error.to_string()))?;
        if let Some(key) = table.keys().find(|key| *key != "assertion") {
            return Err(wrong(format!(
                "unknown key {key:?} (hint: assertions stand in tables [[assertion]])"
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
                return Err(problem("there is another one of that name".to_owned()));
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
    let mut table = value.as_table().cloned().ok_or("it is no table")?;
    let name = text(&mut table, "name")?.filter(|name| !name.is_empty());
    let name = name.ok_or("it has no name")?;
    let kind = text(&mut table, "type")?;
    let enabled = flag(&mut table, "enabled")?.unwrap_or(true);
    let severity = match text(&mut table, "severity")?.as_deref() {
        None => None,
        Some("info") => Some(Level::Info),
        Some("warning") => Some(Level::Warning),
        Some("error") => Some(Level::Error),
        Some(other) => {
            return Err(format!(
                "unknown severity {other:?} (hint: info, warning or error)"
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
    Ok(Assertion {
        name,
        fail_on_violation,
        enabled,
        severity: severity.unwrap_or(own),
        kind: self::kind(kind.as_deref(), table)?,
    })
}

fn kind(kind: Option<&str>, table: Table) -> Result<Kind, String> {
    // The documented short form leaves the type to the one key that only one type has.
    let by_key = [
        ("max_duration_ms", "critical_path"),
        ("max_spans", "span_count"),
        ("max_bytes", "memory_usage"),
    ];
    let kind = kind.or_else(|| {
        let found = by_key.iter().find(|(key, _)| table.contains_key(*key));
        found.map(|(_, kind)| *kind)
    });
    let Some(kind) = kind else {
        return Err(format!("it has no type (hint: {})", TYPES.join(", ")));
    };
    Ok(match kind {
        "critical_path" => Kind::CriticalPath(CriticalPath::checked(own(table)?)?),
        "span_count" => Kind::SpanCount(SpanCount::checked(own(table)?)?),
        "memory_usage" => Kind::MemoryUsage(MemoryUsage::checked(own(table)?)?),
        "category_share" => Kind::CategoryShare(CategoryShare::checked(own(table)?)?),
        "coverage" => Kind::Coverage(Coverage::checked(own(table)?)?),
        "anti_pattern" => Kind::AntiPattern(AntiPattern::checked(own(table)?)?),
        "regression" => Kind::Regression(Regression::checked(own(table)?)?),
        "expression" | "custom" => Kind::Expression(own(table)?),
        "roofline_efficiency" => {
            Kind::RooflineEfficiency(RooflineEfficiency::checked(own(table)?)?)
        }
        "divergence" => Kind::Divergence(Divergence::checked(own(table)?)?),
        other => {
            let near = nearest(other, TYPES.into_iter());
            let near = near
                .first()
                .map_or_else(|| TYPES.join(", "), |near| format!("did you mean {near}?"));
            return Err(format!("unknown type {other:?} (hint: {near})"));
        }
    })
}

fn own<T: DeserializeOwned>(table: Table) -> Result<T, String> {
    Value::Table(table)
        .try_into()
        .map_err(|error: toml::de::Error| error.to_string().trim().to_owned())
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

/// A share must lie between 0 and 1.
pub(super) fn share(key: &str, value: Option<f64>) -> Result<(), String> {
    match value {
        Some(value) if !(0.0..=1.0).contains(&value) => {
            Err(format!("{key} must lie between 0 and 1, not {value}"))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
#[path = "config_tests.rs"]
mod tests;
