//! The description of a plugin in Python: a comment in its file that holds TOML, laid out as PEP 723 has it.
//!
//! ```text
//! # /// trueno-plugin
//! # id = "drift"
//! # version = "0.1.0"
//! # summary = "Bricks that get slower while the program runs."
//! #
//! # [inputs]
//! # bricks = "SELECT name, dur_ns FROM bricks ORDER BY start_ns, id"
//! # ///
//! ```
//!
//! A comment is read without running anything.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

use serde::Deserialize;
use serde_json::{Map, Value};
use trueno_plugin::abi;

use crate::plugin::descriptor::{Descriptor, Input};

const BEGIN: &str = "# /// trueno-plugin";
const END: &str = "# ///";
const MAX_BYTES: u64 = 4 << 20;
/// The manifest is passed on a command line, where the system limits an argument to 128 KiB.
const MAX_MANIFEST_BYTES: usize = 32 << 10;

pub type TableTypes = BTreeMap<String, BTreeMap<String, ColumnType>>;

#[derive(Clone, Copy, Debug, Deserialize, serde::Serialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum ColumnType {
    I64,
    U64,
    F64,
    Bool,
    Text,
}

#[derive(Debug)]
pub struct Manifest {
    pub descriptor: Descriptor,
    pub options: Map<String, Value>,
    pub tables: TableTypes,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    id: String,
    #[serde(default)]
    version: String,
    #[serde(default)]
    summary: String,
    #[serde(default)]
    inputs: BTreeMap<String, toml::Value>,
    #[serde(default)]
    options: BTreeMap<String, toml::Value>,
    #[serde(default)]
    tables: TableTypes,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenInput {
    sql: Option<String>,
    columns: Option<Vec<String>>,
    #[serde(default)]
    optional: bool,
    #[serde(default)]
    baseline: bool,
}

impl Manifest {
    /// Parses the manifest of a file.
    ///
    /// # Errors
    /// The file cannot be read, or has none that is right.
    pub fn read(file: &Path) -> Result<Manifest, String> {
        let opened = std::fs::File::open(file).map_err(|error| error.to_string())?;
        let mut bytes = Vec::new();
        let read = opened.take(MAX_BYTES + 1).read_to_end(&mut bytes);
        read.map_err(|error| error.to_string())?;
        if bytes.len() as u64 > MAX_BYTES {
            return Err(format!("not a plugin: it has more than {MAX_BYTES} bytes"));
        }
        let text = String::from_utf8(bytes).map_err(|_| "not a plugin: it is not UTF-8")?;
        Manifest::of_text(&text)
    }

    fn of_text(text: &str) -> Result<Manifest, String> {
        let block = block(text)?;
        let written: Written =
            toml::from_str(&block).map_err(|error| format!("its manifest is wrong: {error}"))?;
        let inputs = written.inputs.into_iter();
        let inputs = inputs
            .map(|(name, value)| input(name, value))
            .collect::<Result<_, _>>()
            .map_err(|why| format!("its manifest is wrong: {why}"))?;
        let options = written.options.into_iter();
        let options = options
            .map(|(name, value)| match option(value) {
                Some(value) => Ok((name, value)),
                None => Err(format!(
                    "its manifest is wrong: the default of option {name} is not a number, text, true, false or list of them"
                )),
            })
            .collect::<Result<_, _>>()?;
        Ok(Manifest {
            descriptor: Descriptor {
                id: written.id,
                version: written.version,
                summary: written.summary,
                build: "Python source".to_owned(),
                abi_minor: abi::MINOR,
                inputs,
                merge_inputs: None,
            },
            options,
            tables: written.tables,
        })
    }
}

fn block(text: &str) -> Result<String, String> {
    let mut begins = text.lines().enumerate().filter(|(_, line)| is(line, BEGIN));
    let Some((begin, _)) = begins.next() else {
        return Err(format!(
            "not a plugin: no line of it is `{BEGIN}`, with which its manifest begins (hint: plugins new NAME --lang python)"
        ));
    };
    if begins.next().is_some() {
        return Err(format!("it has two manifests, begun by `{BEGIN}`"));
    }
    let mut block = String::new();
    for line in text.lines().skip(begin + 1) {
        if is(line, END) {
            return match block.len() {
                0..=MAX_MANIFEST_BYTES => Ok(block),
                _ => Err(format!(
                    "its manifest is longer than {MAX_MANIFEST_BYTES} bytes"
                )),
            };
        }
        let line = line.trim_end_matches('\r');
        let inside = line.strip_prefix("# ").or((line == "#").then_some(""));
        let Some(inside) = inside else { break };
        block.push_str(inside);
        block.push('\n');
    }
    Err(format!("its manifest does not end with a line `{END}`"))
}

fn is(line: &str, sign: &str) -> bool {
    line.trim_end() == sign
}

/// Parses an input: a query, columns of the table of that name, or either with flags.
fn input(name: String, value: toml::Value) -> Result<Input, String> {
    let wrong = |why: String| format!("input {name}: {why}");
    let written = match value {
        toml::Value::String(sql) => WrittenInput {
            sql: Some(sql),
            ..WrittenInput::default()
        },
        columns @ toml::Value::Array(_) => WrittenInput {
            columns: Some(columns.try_into().map_err(|_| {
                wrong("columns are texts, as in [\"name\", \"dur_ns\"]".to_owned())
            })?),
            ..WrittenInput::default()
        },
        table @ toml::Value::Table(_) => table
            .try_into()
            .map_err(|error: toml::de::Error| wrong(error.message().to_owned()))?,
        other => {
            let found = other.type_str();
            return Err(wrong(format!(
                "a query or a list of columns, not a {found}"
            )));
        }
    };
    let sql = match (written.sql, written.columns) {
        (Some(sql), None) => sql,
        (None, Some(columns)) => {
            let is_name = |name: &str, signs: &str| {
                let is_part = |c: char| c.is_ascii_alphanumeric() || signs.contains(c);
                !name.is_empty() && name.chars().all(is_part)
            };
            let mut names = columns.iter();
            if columns.is_empty() || !names.all(|column| is_name(column, "_")) {
                return Err(wrong("its columns are not column names".to_owned()));
            }
            if !is_name(&name, "_.") {
                return Err(wrong("it names no table (hint: give it sql)".to_owned()));
            }
            format!("SELECT {} FROM {name}", columns.join(", "))
        }
        _ => return Err(wrong("give it either sql or columns".to_owned())),
    };
    Ok(Input {
        name,
        sql,
        baseline: written.baseline,
        optional: written.optional,
    })
}

fn option(value: toml::Value) -> Option<Value> {
    Some(match value {
        toml::Value::String(text) => text.into(),
        toml::Value::Integer(number) => number.into(),
        toml::Value::Boolean(is) => is.into(),
        // Of a number that is none there is no JSON.
        toml::Value::Float(number) => serde_json::Number::from_f64(number)?.into(),
        toml::Value::Array(values) => {
            let values = values.into_iter().map(option);
            Value::Array(values.collect::<Option<_>>()?)
        }
        toml::Value::Datetime(_) | toml::Value::Table(_) => return None,
    })
}

#[cfg(test)]
#[path = "manifest_tests.rs"]
mod tests;
