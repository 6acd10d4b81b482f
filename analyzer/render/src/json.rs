//! The machine form. Its format is versioned: a new major may take away or
//! change, a new minor only adds.
//!
//! Numbers are exact: integers as they are, also beyond 2^53; doubles as the
//! shortest text that reads back as the same double. Null means *not
//! measured*. NaN and infinite values have no JSON and are written as null;
//! the report then has the problem `not_a_number`.

use std::io::{self, Write};

use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};
use serde_json::ser::{Formatter, PrettyFormatter};
use trueno_model::units::Unit;
use trueno_model::{Cell, Header, Report, Section};
use trueno_plugin::{Column, Table};

use super::form::{Layout, ReportForm};
use super::header_text;
use super::top::Top;

pub const MAJOR: u32 = 1;
pub const MINOR: u32 = 2;

#[derive(Debug)]
pub(crate) struct Json;

impl ReportForm for Json {
    fn name(&self) -> &'static str {
        "json"
    }

    fn is_json(&self) -> bool {
        true
    }

    fn about(&self) -> &'static str {
        "For programs"
    }

    fn write(&self, report: &Report, _: &Layout<'_>, to: &mut dyn Write) -> io::Result<()> {
        write(report, to)
    }
}

/// Writes the report as one JSON object and a newline.
///
/// # Errors
/// Those of `to`.
pub fn write(report: &Report, mut to: impl Write) -> io::Result<()> {
    let formatter = Lines {
        pretty: PrettyFormatter::new(),
        depth: 0,
    };
    AsJson(report).serialize(&mut serde_json::Serializer::with_formatter(
        &mut to, formatter,
    ))?;
    to.write_all(b"\n")
}

/// Values at this depth (rows and columns of tables) stay on one line.
const ONE_LINE_DEPTH: usize = 7;

struct Lines<'a> {
    pretty: PrettyFormatter<'a>,
    depth: usize,
}

macro_rules! by_depth {
    ($($method:ident($($arg:ident: $ty:ty),*) $plain:literal;)*) => {$(
        fn $method<W: ?Sized + Write>(&mut self, to: &mut W $(, $arg: $ty)*) -> io::Result<()> {
            if self.depth >= ONE_LINE_DEPTH {
                let text: &str = $plain;
                $(let text = if $arg { "" } else { text };)*
                to.write_all(text.as_bytes())
            } else {
                self.pretty.$method(to $(, $arg)*)
            }
        }
    )*};
}

impl Formatter for Lines<'_> {
    fn begin_array<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.depth += 1;
        if self.depth >= ONE_LINE_DEPTH {
            to.write_all(b"[")
        } else {
            self.pretty.begin_array(to)
        }
    }

    fn end_array<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.depth -= 1;
        if self.depth + 1 >= ONE_LINE_DEPTH {
            to.write_all(b"]")
        } else {
            self.pretty.end_array(to)
        }
    }

    fn begin_object<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.depth += 1;
        if self.depth >= ONE_LINE_DEPTH {
            to.write_all(b"{")
        } else {
            self.pretty.begin_object(to)
        }
    }

    fn end_object<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.depth -= 1;
        if self.depth + 1 >= ONE_LINE_DEPTH {
            to.write_all(b"}")
        } else {
            self.pretty.end_object(to)
        }
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        to.write_all(b": ")
    }

    by_depth! {
        begin_array_value(first: bool) ", ";
        end_array_value() "";
        begin_object_key(first: bool) ", ";
        end_object_value() "";
    }
}

#[derive(serde::Serialize)]
struct Version {
    major: u32,
    minor: u32,
}

pub(crate) struct AsJson<'a, T>(pub(crate) &'a T);

impl Serialize for AsJson<'_, Report> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(None)?;
        map.serialize_entry(
            "format",
            &Version {
                major: MAJOR,
                minor: MINOR,
            },
        )?;
        let failed: Vec<&str> = self.0.failures().map(|(plugin, _)| plugin).collect();
        map.serialize_entry("failed", &failed)?;
        map.serialize_entry("headline", &header_text::headline(self.0))?;
        map.serialize_entry("incomplete", &header_text::missing(self.0))?;
        map.serialize_entry("run", &AsJson(&self.0.header))?;
        map.serialize_entry("top", &Top::from_report(self.0))?;
        map.serialize_entry(
            "sections",
            &self.0.sections.iter().map(AsJson).collect::<Vec<_>>(),
        )?;
        map.serialize_entry("problems", &self.0.problems)?;
        map.end()
    }
}

impl Serialize for AsJson<'_, Header> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let header = self.0;
        let facts = &header.facts;
        let mut map = to.serialize_map(None)?;
        map.serialize_entry("run_id", &facts.run_id)?;
        map.serialize_entry("label", &facts.label)?;
        map.serialize_entry("title", facts.title())?;
        map.serialize_entry("state", &facts.state)?;
        map.serialize_entry("wall_ns", &facts.wall_ns)?;
        map.serialize_entry("wall_source", &facts.wall_source)?;
        map.serialize_entry("coverage", &header.coverage)?;
        map.serialize_entry("complete", &facts.complete)?;
        map.serialize_entry("clean_end", &facts.clean_end)?;
        map.serialize_entry("dropped", &facts.dropped)?;
        map.serialize_entry("rows", &facts.rows)?;
        map.serialize_entry("rows_lost", &facts.rows_lost)?;
        map.serialize_entry("spans", &header.spans)?;
        map.serialize_entry("cost_ns_per_span", &facts.cost_ns_per_span)?;
        map.serialize_entry("host", &facts.host)?;
        map.serialize_entry("program", &facts.program)?;
        map.serialize_entry("values", &facts.values)?;
        map.serialize_entry("tables", &Tables(&facts.tables))?;
        if let Some(window) = &header.window {
            map.serialize_entry("window", window)?;
        }
        if !facts.joined.is_empty() {
            map.serialize_entry("joined", &facts.joined)?;
        }
        if !facts.ranks.is_empty() {
            map.serialize_entry("ranks", &facts.ranks)?;
        }
        map.end()
    }
}

struct Tables<'a>(&'a [trueno_model::TableFacts]);

impl Serialize for Tables<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        #[derive(serde::Serialize)]
        struct Facts {
            rows: u64,
            rows_expected: Option<u64>,
            rows_lost: Option<u64>,
            segments: u64,
            bytes: u64,
            dropped: Option<u64>,
        }
        let mut map = to.serialize_map(Some(self.0.len()))?;
        for table in self.0 {
            let facts = Facts {
                rows: table.rows_read,
                rows_expected: table.rows_expected,
                rows_lost: table.rows_lost,
                segments: table.segments,
                bytes: table.bytes,
                dropped: table.dropped,
            };
            map.serialize_entry(&table.name, &facts)?;
        }
        map.end()
    }
}

impl Serialize for AsJson<'_, Section> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let section = self.0;
        let mut map = to.serialize_map(None)?;
        map.serialize_entry("plugin", &section.plugin)?;
        map.serialize_entry("version", &section.version)?;
        map.serialize_entry("summary", &section.summary)?;
        map.serialize_entry("status", &section.status)?;
        if let Some(message) = &section.message {
            map.serialize_entry("message", message)?;
        }
        map.serialize_entry(
            "tables",
            &section.tables.iter().map(AsJson).collect::<Vec<_>>(),
        )?;
        map.serialize_entry("findings", &section.findings)?;
        map.serialize_entry("charts", &section.charts)?;
        map.end()
    }
}

impl Serialize for AsJson<'_, Table> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        #[derive(serde::Serialize)]
        struct Head<'a> {
            name: &'a str,
            #[serde(rename = "type")]
            ty: &'static str,
            unit: Option<&'static str>,
        }
        let head = |(name, column): (&'_ str, &Column)| {
            (
                name.to_owned(),
                column.ty().name(),
                Unit::from_column(name).symbol(),
            )
        };
        let heads: Vec<_> = self.0.columns().map(head).collect();
        let heads: Vec<Head<'_>> = heads
            .iter()
            .map(|(name, ty, unit)| Head {
                name,
                ty,
                unit: *unit,
            })
            .collect();
        let mut map = to.serialize_map(None)?;
        map.serialize_entry("name", self.0.name())?;
        map.serialize_entry("columns", &heads)?;
        map.serialize_entry("rows", &Rows(self.0))?;
        map.end()
    }
}

/// Serializes rows one by one: a table may have millions.
struct Rows<'a>(&'a Table);

impl Serialize for Rows<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let columns: Vec<&Column> = self.0.columns().map(|(_, column)| column).collect();
        let mut seq = to.serialize_seq(Some(self.0.rows()))?;
        for row in 0..self.0.rows() {
            seq.serialize_element(&Row {
                columns: &columns,
                row,
            })?;
        }
        seq.end()
    }
}

pub(crate) struct Row<'a> {
    pub(crate) columns: &'a [&'a Column],
    pub(crate) row: usize,
}

impl Serialize for Row<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(self.columns.iter().map(|column| Cell::at(column, self.row)))
    }
}

#[cfg(test)]
#[path = "json_tests.rs"]
mod tests;
