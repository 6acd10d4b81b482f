//! The report as data. Every form of it is written from this alone.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use trueno_plugin::{Chart, Table};

use crate::{Level, Losses, Problem, Rated, RunFacts, Severity, Window};

/// A conclusion of a plugin. Parts it did not give are `None`, null in JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// Stable name of the case.
    pub code: String,
    pub severity: Level,
    /// Title, in one line.
    pub title: String,
    #[serde(default)]
    pub detail: Option<String>,
    #[serde(default)]
    pub suggestion: Option<String>,
    /// A query, or ids of rows, that show it.
    #[serde(default)]
    pub evidence: Option<Value>,
}

/// Outcome of a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SectionStatus {
    /// The plugin finished.
    Ok,
    /// It did not; tables and findings it gave before are kept.
    Failed,
    /// It did not run, since something it needs is not there.
    Skipped,
}

/// Results of one plugin.
#[derive(Clone, Debug)]
pub struct Section {
    pub plugin: String,
    pub version: String,
    /// Its summary, one line.
    pub summary: String,
    pub status: SectionStatus,
    /// The reason why it failed or was skipped.
    pub message: Option<String>,
    /// Tables in the plugin's order.
    pub tables: Vec<Table>,
    /// Findings in the plugin's order.
    pub findings: Vec<Finding>,
    /// Charts of its tables.
    pub charts: Vec<Chart>,
}

/// The run the report is about.
#[derive(Clone, Debug)]
pub struct Header {
    pub facts: RunFacts,
    /// Share of the wall time in which anything was recorded as running; `None`: not known.
    pub coverage: Option<f64>,
    /// Intervals recorded (rows of the tables that have a duration): what the recorder's own cost is multiplied with.
    pub spans: u64,
    /// The part of the run that was asked for; `None`: all of it.
    pub window: Option<HeaderWindow>,
}

/// A part of a run, and who looks at it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HeaderWindow {
    /// Start and end of the window.
    #[serde(flatten)]
    pub window: Window,
    /// Ids of the plugins that look at this part; all others look at the whole run.
    pub plugins: Vec<String>,
}

impl Header {
    /// Tells whether the program recorded anything that could be read.
    pub fn holds_events(&self) -> bool {
        self.facts.events() > 0
    }
}

/// Code of the finding that a run and its baseline have nothing in common: no plugin may leave that at "no difference".
pub const NOT_COMPARABLE: &str = "not_comparable";

/// Plugins whose notes advise on recording.
const ADVISERS: [&str; 2] = ["category", "roofline"];

#[derive(Clone, Debug)]
pub struct Report {
    pub header: Header,
    /// Sections, one a plugin, in the order they ran.
    pub sections: Vec<Section>,
    /// Problems in a fixed order: the run's own first.
    pub problems: Vec<Problem>,
}

impl Report {
    /// Findings of all sections with the plugin's id, worst first, then in report order, notes on what was not
    /// categorised or has no ceiling last.
    pub fn findings(&self) -> Vec<(&str, &Finding)> {
        let mut all: Vec<(&str, &Finding)> = self
            .sections
            .iter()
            .flat_map(|section| {
                section
                    .findings
                    .iter()
                    .map(|finding| (section.plugin.as_str(), finding))
            })
            .collect();
        all.sort_by_key(|(plugin, finding)| {
            let is_advice = finding.severity == Level::Info && ADVISERS.contains(plugin);
            (std::cmp::Reverse(finding.severity), is_advice)
        });
        all
    }

    /// The exit code: see [`crate::exit`]. When no section finished, nothing was analysed; when the run holds no
    /// event, there is nothing to measure, or the import could use nothing of its file. A section that failed is
    /// exit code 1, whatever else was found: what it would have found is not known. With `fail_on`, so is a finding or
    /// bottleneck of that severity or above; where there is none, and the run lacks rows or its end, nothing can be
    /// said of what they would have shown. When a section says [`NOT_COMPARABLE`], nothing can be said of the baseline.
    pub fn exit_code(&self, fail_on: Option<Severity>) -> u8 {
        use crate::exit;
        let has = |status| self.sections.iter().any(|section| section.status == status);
        if !has(SectionStatus::Ok) {
            return exit::CANNOT_ANALYSE;
        }
        if !self.header.holds_events() {
            // The program did something, and the import could use nothing of it.
            return match self.header.facts.import_lost() {
                0 => exit::NOT_MEASURABLE,
                _ => exit::CANNOT_ANALYSE,
            };
        }
        let mut findings = self.sections.iter().flat_map(|section| &section.findings);
        let is_culpable = fail_on.is_some_and(|severity| !self.culprits(severity).is_empty());
        if has(SectionStatus::Failed) || is_culpable {
            exit::CHECK_FAILED
        } else if findings.any(|finding| finding.code == NOT_COMPARABLE)
            || fail_on.is_some() && self.losses().is_some()
        {
            exit::NOT_MEASURABLE
        } else {
            exit::FINE
        }
    }

    /// Rows that the run lacks, or its end; `None`: nothing is known to be missing.
    pub fn losses(&self) -> Option<Losses> {
        Losses::find(&self.header.facts, &self.problems, &|_| true)
    }

    /// Sections that failed, each with the reason.
    pub fn failures(&self) -> impl Iterator<Item = (&str, &str)> {
        let sections = self.sections.iter();
        let failed = sections.filter(|section| section.status == SectionStatus::Failed);
        failed.map(|section| {
            let why = section.message.as_deref().unwrap_or("no reason given");
            (section.plugin.as_str(), why)
        })
    }

    /// All that fails a check at this severity, worst first: a section that failed does at any.
    pub fn culprits(&self, fail_on: Severity) -> Vec<Rated> {
        let mut all = self.rated();
        all.retain(|rated| rated.severity >= fail_on || rated.is_failure);
        all
    }
}
