//! The verbs `info` and `tables`: what they print.

use std::fmt::Write as _;

use serde::Serialize;
use trueno_model::{ColumnInfo, Problem, RunFacts, TableInfo, WallSource, units, width};

use crate::header_text;

/// What a run contains and how complete it is, in lines of at most `room` columns.
pub fn info(facts: &RunFacts, problems: &[Problem], room: usize) -> String {
    let mut page = Page {
        room,
        text: String::new(),
    };
    page.fact("run", facts.run_id.as_deref());
    if facts.label.is_some() {
        page.fact("label", facts.label.as_deref());
    }
    if let Some(ranks) = header_text::ranks(&facts.ranks) {
        page.fact("ranks", Some(&ranks));
    }
    page.fact("state", Some(&state(facts)));
    let began = facts.clock.origin_realtime_ns;
    let began = began.map(|ns| trueno_format::utc(ns.div_euclid(1_000_000_000)));
    page.fact("began", began.as_deref());
    page.fact("wall", Some(&wall(facts)));
    page.fact("program", some(facts.program.argv.join(" ")).as_deref());
    page.fact("host", some(host(facts)).as_deref());
    page.fact("cpu", some(cpu(facts)).as_deref());
    page.fact("clock", clock(facts).as_deref());
    page.fact(
        "span cost",
        facts
            .cost_ns_per_span
            .map(|ns| format!("{} measured", units::duration(ns)))
            .as_deref(),
    );
    page.fact("recorder", facts.producer.as_deref());
    for joined in &facts.joined {
        page.fact("joined", Some(&header_text::joined(joined)));
    }
    for (key, value) in &facts.values {
        page.fact(key, Some(value));
    }
    page.text.push('\n');
    ranks_of(facts, &mut page);
    tables_of(facts, &mut page);
    page.text.push('\n');
    problems_of(problems, &mut page);
    page.text
}

pub fn info_json(facts: &RunFacts, problems: &[Problem]) -> String {
    #[derive(Serialize)]
    struct Info<'a> {
        #[serde(flatten)]
        facts: &'a RunFacts,
        problems: &'a [Problem],
    }
    pretty(&Info { facts, problems })
}

/// The published tables with row counts; with `table`, its columns. `None` if there is no such table.
pub fn tables(tables: &[TableInfo], table: Option<&str>, room: usize) -> Option<String> {
    let Some(name) = table else {
        return Some(grid(
            room,
            &["table", "rows", "holds"],
            1,
            tables
                .iter()
                .map(|t| vec![t.name.clone(), rows(t), t.doc.clone()]),
        ));
    };
    let table = tables.iter().find(|t| t.name == name)?;
    let mut text = String::new();
    for line in width::wrap(&format!("{}: {}", table.name, table.doc), room) {
        let _ = writeln!(text, "{line}");
    }
    let _ = writeln!(text, "rows: {}\n", rows(table));
    let row = |c: &ColumnInfo| {
        let ty = format!("{}{}", c.ty, if c.nullable { "?" } else { "" });
        let dash = |part: Option<&str>| part.unwrap_or("-").to_owned();
        vec![
            c.name.clone(),
            ty,
            dash(c.unit.as_deref()),
            dash(c.provenance.as_deref()),
            c.doc.clone(),
        ]
    };
    text.push_str(&grid(
        room,
        &["column", "type", "unit", "from", "holds"],
        usize::MAX,
        table.columns.iter().map(row),
    ));
    text.push_str("\n?: may be null, which means not recorded\n");
    Some(text)
}

fn rows(table: &TableInfo) -> String {
    table
        .rows
        .map_or_else(|| "-".to_owned(), |rows| rows.to_string())
}

/// `tables` as JSON: an array of tables; with `table`, that one. `None` if there is no such table.
pub fn tables_json(tables: &[TableInfo], table: Option<&str>) -> Option<String> {
    match table {
        None => Some(pretty(&tables)),
        Some(name) => tables.iter().find(|t| t.name == name).map(pretty),
    }
}

fn pretty(value: &impl Serialize) -> String {
    // Maps have text keys and numbers are finite or null: this cannot fail.
    let mut text = serde_json::to_string_pretty(value).unwrap_or_default();
    text.push('\n');
    text
}

fn some(text: String) -> Option<String> {
    (!text.is_empty()).then_some(text)
}

fn state(facts: &RunFacts) -> String {
    let complete = completeness(facts.complete);
    let clean = if facts.clean_end {
        ""
    } else {
        ", no clean end"
    };
    let dropped = match facts.dropped {
        Some(rows) => format!("{rows} dropped"),
        None => "dropped: not known".to_owned(),
    };
    let lost = match (facts.rows_lost, facts.lost_uncounted()) {
        (0, true) => "lost: not known".to_owned(),
        (rows, true) => format!("at least {rows} lost"),
        (rows, false) => format!("{rows} lost"),
    };
    format!(
        "{}{clean}; {complete}: {dropped}, {lost}",
        facts.state.as_str()
    )
}

fn completeness(complete: Option<bool>) -> &'static str {
    match complete {
        Some(true) => "complete",
        Some(false) => "not complete",
        None => "completeness not known",
    }
}

fn clock(facts: &RunFacts) -> Option<String> {
    let source = facts.clock.source.as_deref()?;
    let resolution = match facts.clock.resolution_ns {
        Some(ns) => format!("{} measured", units::duration(ns)),
        None => "not measured".to_owned(),
    };
    Some(format!("{source}, resolution {resolution}"))
}

fn wall(facts: &RunFacts) -> String {
    let Some(ns) = facts.wall_ns else {
        return "not measured".to_owned();
    };
    let how = match facts.wall_source {
        WallSource::Recorded => "recorded",
        WallSource::LastEvent => {
            "until the end of the last event; the run's own end was not recorded"
        }
        WallSource::None => "",
    };
    format!("{} ({ns} ns), {how}", units::duration(ns as f64))
}

fn host(facts: &RunFacts) -> String {
    let host = &facts.host;
    [&host.name, &host.os, &host.kernel, &host.arch]
        .into_iter()
        .flatten()
        .cloned()
        .collect::<Vec<_>>()
        .join(", ")
}

fn cpu(facts: &RunFacts) -> String {
    let host = &facts.host;
    let mut parts: Vec<String> = host.cpu_model.iter().cloned().collect();
    parts.extend(host.logical_cpus.map(|n| format!("{n} logical CPUs")));
    parts.extend(
        host.memory_bytes
            .map(|bytes| format!("{} of memory", units::scaled(bytes as f64, "B"))),
    );
    parts.extend(
        host.cpu_features
            .as_ref()
            .filter(|f| !f.is_empty())
            .map(|f| f.join(" ")),
    );
    parts.join(", ")
}

fn ranks_of(facts: &RunFacts, page: &mut Page) {
    if facts.ranks.is_empty() {
        return;
    }
    let number = |n: Option<String>| n.unwrap_or_else(|| "-".to_owned());
    let rows = facts.ranks.iter().map(|rank| {
        vec![
            rank.rank.to_string(),
            rank.offset_ns.to_string(),
            number(rank.wall_ns.map(|ns| ns.to_string())),
            rank.rows.to_string(),
            number(rank.dropped.map(|rows| rows.to_string())),
            format!("{}, {}", rank.state.as_str(), completeness(rank.complete)),
        ]
    });
    let headings = ["rank", "offset_ns", "wall_ns", "rows", "dropped", "state"];
    page.text.push_str(&grid(page.room, &headings, 0, rows));
    page.text.push('\n');
}

fn tables_of(facts: &RunFacts, page: &mut Page) {
    if facts.tables.is_empty() {
        page.text.push_str("no tables: nothing was recorded\n");
        return;
    }
    let number = |n: Option<u64>| n.map_or_else(|| "-".to_owned(), |n| n.to_string());
    let rows = facts.tables.iter().map(|t| {
        vec![
            t.name.clone(),
            t.rows_read.to_string(),
            number(t.rows_lost),
            number(t.dropped),
            t.segments.to_string(),
            t.bytes.to_string(),
        ]
    });
    page.text.push_str(&grid(
        page.room,
        &["table", "rows", "lost", "dropped", "segments", "bytes"],
        1,
        rows,
    ));
}

fn problems_of(problems: &[Problem], page: &mut Page) {
    if problems.is_empty() {
        page.text.push_str("no problems\n");
    }
    for problem in problems {
        page.entry(problem.severity.shown(), &problem.text);
    }
}

struct Page {
    room: usize,
    text: String,
}

impl Page {
    const LABEL: usize = 10;

    fn fact(&mut self, label: &str, value: Option<&str>) {
        self.entry(label, value.unwrap_or("not known"));
    }

    fn entry(&mut self, label: &str, text: &str) {
        let label = width::shorten(label, Self::LABEL - 1);
        let mut lead = width::pad(&width::printable(&label), Self::LABEL, false);
        let text = width::printable(text);
        for line in width::wrap(&text, self.room.saturating_sub(Self::LABEL)) {
            let _ = writeln!(self.text, "{}", format!("{lead}{line}").trim_end());
            lead = " ".repeat(Self::LABEL);
        }
    }
}

/// Rows in aligned columns. Columns from `right_from` on are numbers. The last text column wraps.
fn grid(
    room: usize,
    headings: &[&str],
    right_from: usize,
    rows: impl Iterator<Item = Vec<String>>,
) -> String {
    let rows: Vec<Vec<String>> = rows
        .map(|row| {
            row.iter()
                .map(|cell| width::printable(cell).into_owned())
                .collect()
        })
        .collect();
    let last = headings.len() - 1;
    let numbers = |at: usize| {
        at >= right_from
            && (at < last
                || rows
                    .iter()
                    .all(|row| row[at].parse::<f64>().is_ok() || row[at] == "-"))
    };
    let widths: Vec<usize> = (0..headings.len())
        .map(|at| {
            rows.iter()
                .map(|row| width::measure(&row[at]))
                .chain([headings[at].len()])
                .max()
                .unwrap_or(0)
        })
        .collect();
    let before: usize = widths[..last].iter().map(|width| width + 2).sum();
    let mut text = String::new();
    let headings = headings.iter().map(|h| (*h).to_owned()).collect();
    for row in std::iter::once(&headings).chain(&rows) {
        let mut line: String = (0..last)
            .map(|at| width::pad(&row[at], widths[at], numbers(at)) + "  ")
            .collect();
        let rest = if numbers(last) {
            vec![width::pad(&row[last], widths[last], true)]
        } else {
            width::wrap(&row[last], room.saturating_sub(before).max(20))
        };
        for part in rest {
            let _ = writeln!(text, "{}", format!("{line}{part}").trim_end());
            line = " ".repeat(before);
        }
    }
    text
}
