//! `trueno-analyze plugins list`.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::Serialize;
use trueno_engine::run::Run;
use trueno_host::conformance::Sample;
use trueno_host::plan::PluginSelection;
use trueno_host::plugin::{Entry, Execution, Input, OptionSchema, Registry, Status, known_options};
use trueno_host::{Request, build};
use trueno_model::width::{self, printable};
use trueno_model::{SectionStatus, exit};
use trueno_render::style::{Meaning, Palette};

use super::output::Output;
use super::search::{say_refused_places, search};
use super::stderr::Stderr;
use super::stdout::{on_terminal, page_width};
use crate::cli::ListArgs;

/// Lists all plugin libraries with their status. Exit code 2 if there are none.
pub fn list(args: &ListArgs, verbose: u8, palette: Palette, stderr: &Stderr) -> anyhow::Result<u8> {
    let to = Output::open(args.result.output.as_deref())?;
    let search = search(&args.plugins);
    let registry = Registry::gather(&search)?;
    // With -v they are among those that were searched.
    if verbose == 0 {
        say_refused_places(&registry, stderr);
    }
    let tables = if verbose > 0 && !registry.plugins.is_empty() {
        tables(&registry)?
    } else {
        BTreeMap::new()
    };
    let rows: Vec<Row<'_>> = registry
        .entries
        .iter()
        .map(|entry| {
            let mut row = Row::from_entry(entry, &registry);
            if verbose > 0
                && let Some(plugin) = row.id.and_then(|id| registry.get(id))
                && entry.status == Status::Ok
            {
                row.origin = Some(match plugin.code.linked {
                    Some(_) => "this program, which contains it",
                    None => search.origin(&entry.file),
                });
                row.runs = Some(match plugin.execution {
                    Execution::InProcess(_) => "in the analyzer's process",
                    Execution::Isolated(_) => "in a process of its own",
                });
                row.options = match known_options(plugin) {
                    OptionSchema::Keys(names) => Some(names),
                    OptionSchema::Unknown => None,
                };
                row.tables = tables.get(&plugin.descriptor.id).cloned();
            }
            row
        })
        .collect();
    let text = if args.result.is_json() {
        serde_json::to_string_pretty(&rows)? + "\n"
    } else {
        let text = text(&registry, rows, verbose, to.palette(palette));
        // Whole lines are for programs.
        if to.is_stdout() && on_terminal() {
            wrapped(&text, page_width(None))
        } else {
            text
        }
    };
    to.result(&text, args.result.is_json(), stderr)?;
    if registry.plugins.is_empty() {
        anyhow::bail!(registry.nothing_found());
    }
    Ok(exit::FINE)
}

#[derive(Serialize)]
struct Row<'a> {
    id: Option<&'a str>,
    status: &'static str,
    file: String,
    why: Option<String>,
    version: Option<&'a str>,
    summary: Option<&'a str>,
    build: Option<&'a str>,
    inputs: Vec<InputRow<'a>>,
    /// How its results over the ranks of a job are combined.
    over_ranks: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    origin: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    runs: Option<&'static str>,
    /// `None` with -v means that the plugin does not list its options.
    #[serde(skip_serializing_if = "Option::is_none")]
    options: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tables: Option<Vec<TableRow>>,
}

/// A table that the plugin wrote for a small run.
#[derive(Clone, Serialize)]
struct TableRow {
    name: String,
    columns: Vec<ColumnRow>,
}

#[derive(Clone, Serialize)]
struct ColumnRow {
    name: String,
    #[serde(rename = "type")]
    ty: String,
}

#[derive(Serialize)]
struct InputRow<'a> {
    name: &'a str,
    sql: &'a str,
    baseline: bool,
    optional: bool,
}

impl<'a> Row<'a> {
    fn from_entry(entry: &'a Entry, registry: &'a Registry) -> Row<'a> {
        let (status, why) = status(&entry.status);
        let id = entry.id.as_deref();
        let plugin = id
            .and_then(|id| registry.get(id))
            .filter(|_| entry.status == Status::Ok)
            .map(|plugin| &plugin.descriptor);
        let input = |input: &'a Input| InputRow {
            name: &input.name,
            sql: &input.sql,
            baseline: input.baseline,
            optional: input.optional,
        };
        Row {
            id,
            status,
            file: entry.file.display().to_string(),
            why,
            version: plugin.map(|plugin| plugin.version.as_str()),
            summary: plugin.map(|plugin| plugin.summary.as_str()),
            build: plugin.map(|plugin| plugin.build.as_str()),
            over_ranks: plugin.map(|plugin| match plugin.merge_inputs {
                Some(_) => "rank by rank, then merged",
                None => "all rows at once",
            }),
            inputs: plugin.map_or(Vec::new(), |plugin| {
                plugin.inputs.iter().map(input).collect()
            }),
            origin: None,
            runs: None,
            options: None,
            tables: None,
        }
    }
}

fn status(status: &Status) -> (&'static str, Option<String>) {
    match status {
        Status::Ok => ("ok", None),
        Status::Shadowed { by } => ("shadowed", Some(format!("by {}", by.display()))),
        Status::Refused { why } => ("refused", Some(why.clone())),
    }
}

/// The tables of each plugin. They are only known from a run, so one is recorded and used as its own baseline.
fn tables(registry: &Registry) -> anyhow::Result<BTreeMap<String, Vec<TableRow>>> {
    let sample = Sample::record().map_err(|why| anyhow::anyhow!(why))?;
    let run = Run::open(&sample.run())?;
    let report = build(&Request {
        baseline: Some(&run),
        ..Request::new(&run, registry, &PluginSelection::default())
    })?;
    let column = |(name, column): (&str, &trueno_plugin::Column)| ColumnRow {
        name: name.to_owned(),
        ty: column.ty().to_string(),
    };
    let table = |table: &trueno_plugin::Table| TableRow {
        name: table.name().to_owned(),
        columns: table.columns().map(column).collect(),
    };
    let sections = report.sections.iter();
    Ok(sections
        .filter(|section| section.status == SectionStatus::Ok)
        .map(|section| {
            let tables = section.tables.iter().map(table).collect();
            (section.plugin.clone(), tables)
        })
        .collect())
}

/// Wraps a text to `room` columns. Continuation lines are indented a bit further.
fn wrapped(text: &str, room: usize) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let words = line.trim_start();
        let indent = line.len() - words.len();
        // What has no indent is a name, painted.
        let parts = match indent {
            0 => vec![words.to_owned()],
            _ => width::wrap(words, room.saturating_sub(indent + 4)),
        };
        for (at, part) in parts.iter().enumerate() {
            let indent = if at == 0 { indent } else { indent + 4 };
            let _ = writeln!(out, "{}{part}", " ".repeat(indent));
        }
    }
    out
}

fn text(registry: &Registry, rows: Vec<Row<'_>>, verbose: u8, palette: Palette) -> String {
    let mut out = String::new();
    for (entry, row) in registry.entries.iter().zip(rows) {
        let meaning = match entry.status {
            Status::Ok => Meaning::Good,
            Status::Shadowed { .. } => Meaning::Faint,
            Status::Refused { .. } => Meaning::Error,
        };
        let name = format!("{} {}", row.id.unwrap_or("?"), row.version.unwrap_or(""));
        let _ = writeln!(
            out,
            "{}  {}",
            palette.paint(Meaning::Heading, &printable(name.trim_end())),
            palette.paint(meaning, row.status)
        );
        // Most reasons name the file already.
        let file =
            Some(row.file).filter(|file| !row.why.as_ref().is_some_and(|why| why.contains(file)));
        let lines = [row.summary.map(str::to_owned), row.why, file];
        for line in lines.into_iter().flatten().filter(|line| !line.is_empty()) {
            let _ = writeln!(out, "  {}", printable(&line));
        }
        if verbose == 0 {
            continue;
        }
        if let Some(build) = row.build.filter(|build| !build.is_empty()) {
            let _ = writeln!(out, "  built with {}", printable(build));
        }
        if let (Some(origin), Some(runs)) = (row.origin, row.runs) {
            let _ = writeln!(out, "  found by {origin}, runs {runs}");
        }
        if entry.status == Status::Ok {
            let options = match row.options.as_deref() {
                None => "not stated".to_owned(),
                Some([]) => "none".to_owned(),
                Some(names) => names.join(", "),
            };
            let _ = writeln!(out, "  options: {}", printable(&options));
        }
        if let Some(over_ranks) = row.over_ranks {
            let _ = writeln!(out, "  over ranks: {over_ranks}");
        }
        for input in row.inputs {
            let flags = match (input.baseline, input.optional) {
                (true, true) => " (of the baseline, optional)",
                (true, false) => " (of the baseline)",
                (false, true) => " (optional)",
                (false, false) => "",
            };
            let sql = input.sql.split_whitespace().collect::<Vec<_>>().join(" ");
            let _ = writeln!(
                out,
                "  reads {}{flags}: {}",
                printable(input.name),
                printable(&sql)
            );
        }
        for table in row.tables.into_iter().flatten() {
            let columns: Vec<String> = table
                .columns
                .iter()
                .map(|column| format!("{} {}", column.name, column.ty))
                .collect();
            let line = format!("{} ({})", table.name, columns.join(", "));
            let _ = writeln!(out, "  gives {}", printable(&line));
        }
    }
    if verbose > 0 {
        for place in &registry.places {
            let state = place
                .why_not
                .as_deref()
                .map_or(String::new(), |why| format!(": {why}"));
            let _ = writeln!(out, "searched {}{state}", place.dir.display());
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_go_on_below() {
        let text = "name 1  ok\n  reads rows: SELECT one, two FROM three\n";
        assert_eq!(
            wrapped(text, 26),
            "name 1  ok\n  reads rows: SELECT\n      one, two FROM three\n"
        );
    }
}
