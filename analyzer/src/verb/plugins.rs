//! `trueno-analyze plugins list`.

use std::fmt::Write;

use serde::Serialize;

use super::{search, to_stdout};
use crate::cli::ListArgs;
use crate::exit;
use crate::plugin::{Entry, Input, Roster, Status};
use crate::report::style::{Meaning, Palette};
use crate::report::width::printable;

/// Lists all libraries with what became of them. None at all is exit code 2.
pub fn list(args: &ListArgs, verbose: u8, palette: Palette) -> anyhow::Result<u8> {
    let roster = Roster::gather(&search(&args.plugins))?;
    if args.json {
        let rows: Vec<Row<'_>> = roster
            .entries
            .iter()
            .map(|entry| Row::of(entry, &roster))
            .collect();
        let mut bytes = serde_json::to_vec_pretty(&rows)?;
        bytes.push(b'\n');
        to_stdout(&bytes)?;
    } else {
        to_stdout(text(&roster, verbose, palette).as_bytes())?;
    }
    if roster.plugins.is_empty() {
        anyhow::bail!(roster.nothing_found());
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
}

#[derive(Serialize)]
struct InputRow<'a> {
    name: &'a str,
    sql: &'a str,
    baseline: bool,
    optional: bool,
}

impl<'a> Row<'a> {
    fn of(entry: &'a Entry, roster: &'a Roster) -> Row<'a> {
        let (status, why) = status(&entry.status);
        let id = entry.id.as_deref();
        let plugin = id
            .and_then(|id| roster.get(id))
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
            inputs: plugin.map_or(Vec::new(), |plugin| {
                plugin.inputs.iter().map(input).collect()
            }),
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

/// Writing to a string cannot fail, so the results below are dropped.
fn text(roster: &Roster, verbose: u8, palette: Palette) -> String {
    let mut out = String::new();
    for entry in &roster.entries {
        let row = Row::of(entry, roster);
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
    }
    if verbose > 0 {
        for place in &roster.places {
            let state = place
                .why_not
                .as_deref()
                .map_or(String::new(), |why| format!(": {why}"));
            let _ = writeln!(out, "searched {}{state}", place.dir.display());
        }
    }
    out
}
