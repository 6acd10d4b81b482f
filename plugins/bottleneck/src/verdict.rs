//! Results of rules.

use crate::class::Class;
use crate::options::General;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Confidence {
    /// The rows are consistent with it, but also with something else.
    Low,
    /// Follows from the rows with an assumption that was not measured.
    Medium,
    /// Follows from the rows.
    High,
}

impl Confidence {
    pub fn name(self) -> &'static str {
        ["low", "medium", "high"][self as usize]
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    Low,
    Medium,
    High,
    Critical,
}

impl Severity {
    /// `share` is of the window, or of whatever else the rule chooses.
    pub fn from_share(share: f64, thresholds: &General) -> Self {
        if share >= thresholds.critical_share {
            Self::Critical
        } else if share >= thresholds.high_share {
            Self::High
        } else if share >= thresholds.medium_share {
            Self::Medium
        } else {
            Self::Low
        }
    }

    pub fn name(self) -> &'static str {
        ["low", "medium", "high", "critical"][self as usize]
    }
}

pub const PART: &str = "category_part";
/// An idle gap that calls of the finding `set_up` fill.
pub const IN_SET_UP: &str = "set_up_gap";

#[derive(Clone, Debug, PartialEq)]
pub struct Bottleneck {
    pub class: Class,
    /// Stable name of the case; may be more specific than the class.
    pub code: &'static str,
    /// One of run, device, kernel, brick, category, threads, streams, ranks, memory.
    pub scope_kind: &'static str,
    pub scope: String,
    /// Where it was found (`host`, `gpu0`, a name): only findings at the same place explain each other.
    pub place: String,
    pub severity: Severity,
    /// By how much the window would be shorter; `None`: not about time, or not predicted.
    pub gain_ns: Option<i64>,
    pub gain_share: Option<f64>,
    /// Time of its rows as a share of the window; `None`: it has a gain, or too few rows.
    pub time_share: Option<f64>,
    pub confidence: (Confidence, String),
    pub sentence: String,
    /// The fix, in the words of the sentence.
    pub fix: String,
    pub evidence: String,
    pub assumption: String,
    pub considered: String,
    pub suggestion: String,
    /// Number of its group from 1; 0 before grouping.
    pub group: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotMeasurable {
    pub class: Class,
    pub scope: String,
    pub missing: String,
    pub how: String,
}

#[derive(Clone, Debug, Default)]
pub struct Verdicts {
    /// Sorted by group after grouping.
    pub findings: Vec<Bottleneck>,
    pub not_measurable: Vec<NotMeasurable>,
    /// Names of the one-time calls that were found.
    pub set_up_names: Vec<String>,
}

impl Verdicts {
    pub fn not_measurable(
        &mut self,
        class: Class,
        scope: &str,
        missing: impl Into<String>,
        how: impl Into<String>,
    ) {
        self.not_measurable.push(NotMeasurable {
            class,
            scope: scope.to_owned(),
            missing: missing.into(),
            how: how.into(),
        });
    }

    pub fn leaders(&self, most: usize) -> Vec<usize> {
        let mut seen = Vec::new();
        let mut out = Vec::new();
        for (at, finding) in self.findings.iter().enumerate() {
            if !seen.contains(&finding.group) {
                seen.push(finding.group);
                out.push(at);
            }
        }
        out.truncate(most);
        out
    }
}
