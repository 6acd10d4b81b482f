//! The format of golden files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::distribution::{Distribution, LEVELS};
use crate::runs::{Kind, Name};

pub(super) const FORMAT: &str = "trueno-golden";
/// A file with a newer major version is rejected.
pub(super) const MAJOR: u32 = 1;
/// A newer minor version has more keys, which are ignored.
pub(super) const MINOR: u32 = 0;

#[derive(Clone, Debug, PartialEq)]
pub struct Golden {
    pub source: Source,
    pub backends: Vec<String>,
    pub memory: BTreeMap<String, Memory>,
    /// Sorted by kind and name.
    pub names: Vec<NameRow>,
    /// In order of recording.
    pub tensors: Vec<TensorRow>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "as in run.json")]
pub struct Source {
    pub label: Option<String>,
    pub program: Vec<String>,
    pub os: Option<String>,
    pub arch: Option<String>,
    pub cpu_model: Option<String>,
    pub logical_cpus: Option<u64>,
    pub memory_bytes: Option<u64>,
    pub cpu_features: Option<Vec<String>>,
    pub clock: Option<String>,
    pub clock_resolution_ns: Option<f64>,
    pub recorder: Option<String>,
    /// Nothing was dropped or lost, and the run ended cleanly; `None` if unknown.
    pub complete: Option<bool>,
    pub values: BTreeMap<String, String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Memory {
    /// Most bytes allocated and not freed at one time.
    pub peak_bytes: i64,
    /// Allocated and never freed.
    pub kept_bytes: i64,
}

#[derive(Clone, Debug, PartialEq)]
pub struct NameRow {
    pub name: Name,
    pub count: u64,
    /// Rows without a duration of their own.
    pub untimed: u64,
    pub distribution: Distribution,
}

/// One row of `checksums`; what was not recorded is missing. After reading, moments may differ by one unit in the
/// last place, far below any tolerance. Hashes and counts are exact.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "as in the table")]
pub struct TensorRow {
    pub name: String,
    pub layer: Option<u64>,
    pub iteration: Option<u64>,
    pub position: Option<u64>,
    pub thread: u64,
    pub backend: Option<String>,
    pub dtype: String,
    pub shape: String,
    pub elements: u64,
    pub hash: u64,
    /// NaN, infinite, zero.
    pub counts: [Option<u64>; 3],
    /// Minimum, maximum, greatest magnitude, mean, Euclidean norm.
    pub moments: [Option<f64>; 5],
}

pub(super) const TENSOR_COLUMNS: [&str; 18] = [
    "name",
    "layer",
    "iteration",
    "position",
    "thread",
    "backend",
    "dtype",
    "shape",
    "elements",
    "hash",
    "nan_count",
    "inf_count",
    "zero_count",
    "min",
    "max",
    "absmax",
    "mean",
    "l2",
];

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NameLine {
    pub kind: Kind,
    pub name: String,
    pub count: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub untimed: u64,
    pub inflation: f64,
    pub ns: Vec<f64>,
}

fn is_zero(rows: &u64) -> bool {
    *rows == 0
}

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GoldenError {
    #[error("{}: cannot be read: {error}", file.display())]
    Read {
        file: PathBuf,
        error: std::io::Error,
    },
    #[error("{}: not a golden file: {problem} (hint: `trueno-analyze golden save RUN` creates one)", file.display())]
    Damaged {
        file: PathBuf,
        /// What is wrong, in words.
        problem: String,
    },
    #[error("{}: format {found} of {FORMAT}, this program reads up to {MAJOR} (hint: use a newer trueno-analyze, or save it again)", file.display())]
    Newer {
        file: PathBuf,
        /// Its major version.
        found: u64,
    },
}

impl Golden {
    /// Reads a file.
    ///
    /// # Errors
    /// See [`GoldenError`].
    pub fn read(file: &Path) -> Result<Self, GoldenError> {
        let text = std::fs::read_to_string(file).map_err(|error| GoldenError::Read {
            file: file.to_path_buf(),
            error,
        })?;
        Self::parse(file, &text)
    }

    /// Parses the text of `file`.
    ///
    /// # Errors
    /// See [`GoldenError`].
    pub fn parse(file: &Path, text: &str) -> Result<Self, GoldenError> {
        let damaged = |problem: String| GoldenError::Damaged {
            file: file.to_path_buf(),
            problem,
        };
        let value: Value =
            serde_json::from_str(text).map_err(|error| damaged(format!("not JSON: {error}")))?;
        let Value::Object(mut parts) = value else {
            return Err(damaged("not a JSON object".to_owned()));
        };
        let format = parts.remove("format").unwrap_or_default();
        let number = |key: &str| format.get(key).and_then(Value::as_u64);
        let (Some(FORMAT), Some(major), Some(minor)) = (
            format.get("name").and_then(Value::as_str),
            number("major"),
            number("minor"),
        ) else {
            return Err(damaged(format!("it is not marked as a {FORMAT}")));
        };
        if major > u64::from(MAJOR) {
            return Err(GoldenError::Newer {
                file: file.to_path_buf(),
                found: major,
            });
        }
        let golden = Self::from_parts(&mut parts).map_err(&damaged)?;
        match parts.keys().next() {
            Some(key) if minor <= u64::from(MINOR) => Err(damaged(format!("unknown key {key:?}"))),
            _ => Ok(golden),
        }
    }

    fn from_parts(parts: &mut Map<String, Value>) -> Result<Self, String> {
        let levels: Vec<f64> = part(parts, "levels")?;
        if levels != LEVELS {
            return Err("levels: quantiles that this format does not have".to_owned());
        }
        let columns: Vec<String> = part(parts, "tensor_columns")?;
        if columns != TENSOR_COLUMNS {
            return Err("tensor_columns: columns that this format does not have".to_owned());
        }
        let names: Vec<NameLine> = part(parts, "names")?;
        let names: Vec<NameRow> = names.into_iter().map(name_row).collect::<Result<_, _>>()?;
        if let Some(pair) = names.windows(2).find(|pair| pair[0].name >= pair[1].name) {
            return Err(format!(
                "names: {} {} appears twice or out of order",
                pair[1].name.kind.word(),
                pair[1].name.name
            ));
        }
        let rows: Vec<Vec<Value>> = part(parts, "tensors")?;
        let tensor = |(nth, row): (usize, &Vec<Value>)| {
            tensor_row(row).map_err(|problem| format!("tensors, number {}: {problem}", nth + 1))
        };
        Ok(Self {
            source: part(parts, "source")?,
            backends: part(parts, "backends")?,
            memory: part(parts, "memory")?,
            names,
            tensors: rows
                .iter()
                .enumerate()
                .map(tensor)
                .collect::<Result<_, _>>()?,
        })
    }
}

fn part<T: DeserializeOwned>(parts: &mut Map<String, Value>, key: &str) -> Result<T, String> {
    let value = parts
        .remove(key)
        .ok_or_else(|| format!("{key} is missing"))?;
    serde_json::from_value(value).map_err(|error| format!("{key}: {error}"))
}

fn name_row(line: NameLine) -> Result<NameRow, String> {
    let of = format!("names: {} {}", line.kind.word(), line.name);
    let timed = line.count.checked_sub(line.untimed);
    let timed = timed.ok_or_else(|| format!("{of}: more rows untimed than there are"))?;
    let expected = if timed == 0 { 0 } else { LEVELS.len() };
    if line.ns.len() != expected {
        let found = line.ns.len();
        return Err(format!("{of}: {found} quantiles, not {expected}"));
    }
    if !line.ns.is_sorted() || line.ns.iter().any(|ns| *ns < 0.0) || line.inflation < 1.0 {
        return Err(format!("{of}: these are not quantiles"));
    }
    Ok(NameRow {
        name: Name {
            kind: line.kind,
            name: line.name,
        },
        count: line.count,
        untimed: line.untimed,
        distribution: Distribution {
            quantiles_ns: line.ns,
            inflation: line.inflation,
        },
    })
}

fn tensor_row(row: &[Value]) -> Result<TensorRow, String> {
    if row.len() != TENSOR_COLUMNS.len() {
        let (found, expected) = (row.len(), TENSOR_COLUMNS.len());
        return Err(format!("{found} cells, not {expected}"));
    }
    let wrong = |at: usize| format!("{} cannot be {}", TENSOR_COLUMNS[at], row[at]);
    let text = |at: usize| row[at].as_str().map(str::to_owned).ok_or_else(|| wrong(at));
    let whole = |at: usize| row[at].as_u64().ok_or_else(|| wrong(at));
    let maybe = |at: usize| match &row[at] {
        Value::Null => Ok(None),
        _ => whole(at).map(Some),
    };
    let real = |at: usize| match &row[at] {
        Value::Null => Ok(None),
        value => value.as_f64().map(Some).ok_or_else(|| wrong(at)),
    };
    let hash = text(9)?;
    let hash = u64::from_str_radix(&hash, 16)
        .ok()
        .filter(|_| hash.len() == 16);
    Ok(TensorRow {
        name: text(0)?,
        layer: maybe(1)?,
        iteration: maybe(2)?,
        position: maybe(3)?,
        thread: whole(4)?,
        backend: if row[5].is_null() {
            None
        } else {
            Some(text(5)?)
        },
        dtype: text(6)?,
        shape: text(7)?,
        elements: whole(8)?,
        hash: hash.ok_or_else(|| wrong(9))?,
        counts: [maybe(10)?, maybe(11)?, maybe(12)?],
        moments: [real(13)?, real(14)?, real(15)?, real(16)?, real(17)?],
    })
}

#[cfg(test)]
#[path = "file_tests.rs"]
mod tests;
