//! The one scale of what a report found: findings of plugins, bottlenecks, sections that failed.

use std::fmt;

use trueno_plugin::Table;

use crate::report::NOT_COMPARABLE;
use crate::{Cell, Level, Report, Section, SectionStatus};

/// In ascending order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    Info,
    /// Worth a look if there is time.
    Low,
    /// Worth acting on; findings of level `warning`.
    Medium,
    /// A serious problem; findings of level `error`, and failed sections.
    High,
    /// Affects most of the run.
    Critical,
}

impl Severity {
    pub const ALL: [Self; 5] = [
        Self::Info,
        Self::Low,
        Self::Medium,
        Self::High,
        Self::Critical,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Critical => "critical",
        }
    }

    /// Parses the name of a severity or of a finding's level.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "warning" => Some(Self::Medium),
            "error" => Some(Self::High),
            name => Self::ALL.into_iter().find(|one| one.name() == name),
        }
    }
}

impl From<Level> for Severity {
    fn from(level: Level) -> Self {
        match level {
            Level::Info => Self::Info,
            Level::Warning => Self::Medium,
            Level::Error => Self::High,
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A finding, bottleneck or failed section with its severity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rated {
    pub plugin: String,
    pub severity: Severity,
    pub title: String,
    pub suggestion: Option<String>,
    pub is_failure: bool,
}

/// The plugin whose findings have severities of their own, and its table of all of them.
const BOTTLENECKS: (&str, &str) = ("bottleneck", "bottlenecks");

impl Report {
    /// All findings, worst first, then in report order. Findings that cannot be rated are left out.
    pub fn rated(&self) -> Vec<Rated> {
        let mut all: Vec<Rated> = self.sections.iter().flat_map(of_section).collect();
        all.sort_by_key(|rated| std::cmp::Reverse(rated.severity));
        all
    }
}

fn of_section(section: &Section) -> Vec<Rated> {
    let rated = |severity, title: String, suggestion: Option<String>| Rated {
        plugin: section.plugin.clone(),
        severity,
        title,
        suggestion,
        is_failure: false,
    };
    let failed = (section.status == SectionStatus::Failed).then(|| {
        let why = section.message.as_deref().unwrap_or("no reason given");
        let title = format!("the section failed, and what it would have found is not known: {why}");
        Rated {
            is_failure: true,
            ..rated(Severity::High, title, None)
        }
    });
    let mut all: Vec<Rated> = failed.into_iter().collect();
    let mut tables = section.tables.iter();
    let bottlenecks = tables.find(|table| table.name() == BOTTLENECKS.1);
    match bottlenecks.filter(|_| section.plugin == BOTTLENECKS.0) {
        // Its findings are the first of these, on the scale of three levels.
        Some(table) => all.extend((0..table.rows()).filter_map(|row| {
            let severity = Severity::from_name(text(table, "severity", row)?)?;
            let title = text(table, "sentence", row)?.to_owned();
            let suggestion = text(table, "suggestion", row).map(str::to_owned);
            Some(rated(severity, title, suggestion))
        })),
        None => {
            let findings = section.findings.iter();
            let findings = findings.filter(|finding| finding.code != NOT_COMPARABLE);
            all.extend(findings.map(|finding| {
                let severity = finding.severity.into();
                rated(severity, finding.title.clone(), finding.suggestion.clone())
            }));
        }
    }
    all
}

fn text<'a>(table: &'a Table, column: &str, row: usize) -> Option<&'a str> {
    match Cell::at(table.column(column).ok()?, row) {
        Cell::Text(text) => Some(text),
        _ => None,
    }
}
