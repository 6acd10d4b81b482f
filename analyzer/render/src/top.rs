//! Opening of a report: the first rows of table `bottleneck.top`.

use serde::Serialize;
use trueno_model::{Cell, Report, Section, SectionStatus};
use trueno_plugin::{Column, Table, counted};

use crate::opening::Opening;

pub const PLUGIN: &str = "bottleneck";
const TABLE: &str = "top";
pub const SHOWN: usize = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Judged {
    Found,
    NothingFound,
    /// The plugin is missing, was skipped or failed: see `reason`.
    NotJudged,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[allow(missing_docs, reason = "as the plugin documents its columns")]
pub struct Line {
    pub rank: u64,
    pub class: String,
    pub scope_kind: String,
    pub scope: String,
    pub severity: String,
    pub gain_ns: Option<i64>,
    pub gain_share: Option<f64>,
    pub confidence: String,
    pub sentence: String,
    pub code: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Top {
    pub status: Judged,
    pub reason: Option<String>,
    /// The first [`SHOWN`].
    pub findings: Vec<Line>,
    /// Further findings, including those that a shown one explains.
    pub more: u64,
    /// Rows of the table `not_measurable`; null if there is no such table.
    pub not_measurable: Option<u64>,
    /// The finding of the best fix that the first sentence of the report names, if it is not among `findings`.
    #[serde(skip)]
    pub best: Option<Best>,
    /// The first sentence of the report says what bounds the run.
    #[serde(skip)]
    has_limit: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Best {
    pub line: Line,
    /// The place among the shown findings of the one that it is part or cause of.
    pub below: Option<usize>,
}

impl Top {
    /// False if the plugin was not selected: then nothing is said about bottlenecks.
    pub fn is_asked(report: &Report) -> bool {
        let mut sections = report.sections.iter();
        sections.any(|section| section.plugin == PLUGIN)
    }

    pub fn from_report(report: &Report) -> Self {
        let opening = Opening::new(report);
        let has_limit = opening.is_some_and(|opening| opening.shown("bound_detail").is_some());
        let not_judged = |reason: String| Self {
            status: Judged::NotJudged,
            reason: Some(reason),
            findings: Vec::new(),
            more: 0,
            not_measurable: None,
            best: None,
            has_limit,
        };
        let Some(section) = report
            .sections
            .iter()
            .find(|section| section.plugin == PLUGIN)
        else {
            return not_judged(format!("the plugin {PLUGIN} did not run"));
        };
        let why = || {
            section
                .message
                .clone()
                .unwrap_or_else(|| "no reason given".into())
        };
        match section.status {
            SectionStatus::Ok => {}
            SectionStatus::Failed => {
                return not_judged(format!("the plugin {PLUGIN} failed: {}", why()));
            }
            SectionStatus::Skipped => {
                return not_judged(format!("the plugin {PLUGIN} was skipped: {}", why()));
            }
        }
        let lines = table(section, TABLE).map_or_else(Vec::new, lines);
        let all = table(section, "bottlenecks")
            .map_or(lines.len(), Table::rows)
            .max(lines.len());
        let findings: Vec<Line> = lines.into_iter().take(SHOWN).collect();
        Self {
            status: if findings.is_empty() {
                Judged::NothingFound
            } else {
                Judged::Found
            },
            reason: None,
            more: (all - findings.len()) as u64,
            best: best(report, &findings),
            findings,
            not_measurable: table(section, "not_measurable").map(|table| table.rows() as u64),
            has_limit,
        }
    }

    /// All findings. True if a finding is listed below one that it explains, that explains it, or that contains
    /// it.
    pub fn all(report: &Report) -> Vec<(Line, bool)> {
        let section = report.sections.iter().find(|one| one.plugin == PLUGIN);
        let Some(table) = section.and_then(|section| table(section, "bottlenecks")) else {
            return Vec::new();
        };
        let group = table.column("group").ok();
        let mut last = None;
        let lines = lines(table).into_iter().enumerate();
        let lines = lines.map(|(row, line)| {
            let of = match group.map(|column| Cell::at(column, row)) {
                Some(Cell::U64(of)) => Some(of),
                _ => None,
            };
            let is_below = of.is_some() && of == last;
            last = of;
            (line, is_below)
        });
        lines.collect()
    }

    /// The shown findings with the best fix below the one that it belongs to, else behind all, and numbered so. True if it is
    /// below one.
    pub fn with_best(self) -> Vec<(Line, bool)> {
        let mut lines: Vec<(Line, bool)> =
            self.findings.into_iter().map(|of| (of, false)).collect();
        if let Some(Best { line, below }) = self.best {
            let at = below.map_or(lines.len(), |leader| leader + 1);
            lines.insert(at, (line, below.is_some()));
        }
        for ((line, _), rank) in lines.iter_mut().zip(1..) {
            line.rank = rank;
        }
        lines
    }

    pub fn none(&self) -> String {
        match (self.status, &self.reason) {
            (Judged::NotJudged, Some(reason)) => format!("not judged: {reason}"),
            _ => {
                let lacking = self.lacking().map(|checks| format!("; {checks}"));
                let other = if self.has_limit { "other " } else { "" };
                format!("no {other}bottleneck found{}", lacking.unwrap_or_default())
            }
        }
    }

    /// Checks that lacked data, if there are any: see the table `not_measurable`.
    pub fn lacking(&self) -> Option<String> {
        let checks = self.not_measurable.filter(|checks| *checks > 0)?;
        Some(format!(
            "{} lacked data",
            counted(checks, "check", "checks")
        ))
    }
}

fn best(report: &Report, shown: &[Line]) -> Option<Best> {
    let opening = Opening::new(report)?;
    let (Cell::Text(fix), Cell::I64(gain_ns), Cell::Text(source)) = (
        opening.headline("gain_by"),
        opening.headline("gain_ns"),
        opening.headline("gain_source"),
    ) else {
        return None;
    };
    let is_finding = source.split_once('.').map(|of| of.0) == Some(PLUGIN);
    let is_best = |line: &Line| {
        let says = line.sentence.contains(&format!("; {fix} saves"));
        says && line.gain_ns == Some(gain_ns)
    };
    if !is_finding || shown.iter().any(is_best) {
        return None;
    }
    let all = Top::all(report);
    let at = all.iter().position(|(line, _)| is_best(line))?;
    let leader = all[..=at].iter().rposition(|(_, is_below)| !is_below)?;
    let leader = &all[leader].0.sentence;
    let below = shown.iter().position(|line| line.sentence == *leader);
    let line = all[at].0.clone();
    Some(Best { line, below })
}

fn table<'a>(section: &'a Section, name: &str) -> Option<&'a Table> {
    section.tables.iter().find(|table| table.name() == name)
}

/// A missing column gives empty cells.
fn lines(table: &Table) -> Vec<Line> {
    let column = |name: &str| -> Option<&Column> { table.column(name).ok() };
    let text = |name: &str, row: usize| match column(name).map(|column| Cell::at(column, row)) {
        Some(Cell::Text(text)) => text.to_owned(),
        _ => String::new(),
    };
    let row = |row: usize| Line {
        rank: row as u64 + 1,
        class: text("class", row),
        scope_kind: text("scope_kind", row),
        scope: text("scope", row),
        severity: text("severity", row),
        gain_ns: match column("gain_ns").map(|column| Cell::at(column, row)) {
            Some(Cell::I64(ns)) => Some(ns),
            _ => None,
        },
        gain_share: match column("gain_share").map(|column| Cell::at(column, row)) {
            Some(Cell::F64(share)) if share.is_finite() => Some(share),
            _ => None,
        },
        confidence: text("confidence", row),
        sentence: text("sentence", row),
        code: text("code", row),
    };
    (0..table.rows()).map(row).collect()
}

#[cfg(test)]
#[path = "top_tests.rs"]
mod tests;
