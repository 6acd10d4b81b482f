//! The report as data. Every form of it is written from this alone.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use trueno_plugin::{Chart, Table};

use crate::{Level, Losses, Problem, Rated, RunFacts, Severity, Window};

/// A conclusion of a plugin. Missing parts are `None`, null in JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// Stable name of the case.
    pub code: String,
    pub severity: Level,
    pub title: String,
    #[serde(default)]
    pub detail: Option<String>,
    #[serde(default)]
    pub suggestion: Option<String>,
    /// A query or row ids that show it.
    #[serde(default)]
    pub evidence: Option<Value>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SectionStatus {
    Ok,
    /// It did not finish. Earlier tables and findings are kept.
    Failed,
    /// It did not run, because something it needs is missing.
    Skipped,
}

#[derive(Clone, Debug)]
pub struct Section {
    pub plugin: String,
    pub version: String,
    pub summary: String,
    pub status: SectionStatus,
    pub message: Option<String>,
    pub tables: Vec<Table>,
    pub findings: Vec<Finding>,
    pub charts: Vec<Chart>,
}

#[derive(Clone, Debug)]
pub struct Header {
    pub facts: RunFacts,
    /// Share of wall time in which any recorded work was running; `None` if unknown.
    pub coverage: Option<f64>,
    /// Rows of interval tables, to be multiplied by the cost of a span.
    pub spans: u64,
    /// `None` for the whole run.
    pub window: Option<HeaderWindow>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HeaderWindow {
    #[serde(flatten)]
    pub window: Window,
    /// Ids of plugins that analyse the window. All others analyse the whole run.
    pub plugins: Vec<String>,
}

impl Header {
    pub fn holds_events(&self) -> bool {
        self.facts.events() > 0
    }
}

/// Code of the finding that a run and its baseline have nothing in common. Plugins must not report "no difference"
/// then.
pub const NOT_COMPARABLE: &str = "not_comparable";

/// Plugins whose notes advise on recording.
const ADVISERS: [&str; 2] = ["category", "roofline"];

#[derive(Clone, Debug)]
pub struct Report {
    pub header: Header,
    /// One per plugin, in the order in which they ran.
    pub sections: Vec<Section>,
    /// In a fixed order, the run's own problems first.
    pub problems: Vec<Problem>,
}

impl Report {
    /// Findings of all sections with the plugin's id, worst first, then in report order. Notes that advise on
    /// recording come last.
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

    /// The exit code; see [`crate::exit`]. If no section finished, nothing was analysed. If the run has no
    /// events, nothing can be measured, or the import could use nothing of its file. A failed section means
    /// exit code 1, whatever else was found, because its results are unknown. So does a finding or bottleneck
    /// at or above `fail_on`. If there is none but rows are missing, they could have shown one. With a finding
    /// [`NOT_COMPARABLE`], nothing is known about the baseline.
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

    /// What the run lacks; `None` if nothing is known to be missing.
    pub fn losses(&self) -> Option<Losses> {
        Losses::find(&self.header.facts, &self.problems, &|_| true)
    }

    pub fn failures(&self) -> impl Iterator<Item = (&str, &str)> {
        let sections = self.sections.iter();
        let failed = sections.filter(|section| section.status == SectionStatus::Failed);
        failed.map(|section| {
            let why = section.message.as_deref().unwrap_or("no reason given");
            (section.plugin.as_str(), why)
        })
    }

    /// Everything that fails a check at this severity, worst first. A failed section does at any.
    pub fn culprits(&self, fail_on: Severity) -> Vec<Rated> {
        let mut all = self.rated();
        all.retain(|rated| rated.severity >= fail_on || rated.is_failure);
        all
    }
}
