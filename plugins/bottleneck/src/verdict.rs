//! Results of rules.

use crate::class::Class;
use crate::options::General;

/// Confidence of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Confidence {
    /// It fits, and so would something else.
    Low,
    /// It follows from rows, with an assumption that was not measured.
    Medium,
    /// It follows from rows.
    High,
}

impl Confidence {
    pub fn name(self) -> &'static str {
        ["low", "medium", "high"][self as usize]
    }
}

/// Severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Below `medium_share`.
    Low,
    /// Below `high_share`.
    Medium,
    /// Below `critical_share`.
    High,
    /// `critical_share` and above: half of the time goes there.
    Critical,
}

impl Severity {
    /// By a share of the window, or of whatever the rule says.
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

/// Code of a finding that is a category's part of another one.
pub const PART: &str = "category_part";

#[derive(Clone, Debug, PartialEq)]
pub struct Bottleneck {
    pub class: Class,
    /// Stable name of the case, which may say more than the class.
    pub code: &'static str,
    /// Kind of its scope: run, device, kernel, brick, category, threads, streams, ranks, memory.
    pub scope_kind: &'static str,
    /// Name of its scope.
    pub scope: String,
    /// Its place (`host`, `gpu0`, a name): only findings of one place explain each other.
    pub place: String,
    pub severity: Severity,
    /// By how much the window would be shorter; `None`: not time, or not predicted.
    pub gain_ns: Option<i64>,
    /// The gain as a share of the window.
    pub gain_share: Option<f64>,
    /// Its confidence, and the reason.
    pub confidence: (Confidence, String),
    /// The finding in one line.
    pub sentence: String,
    /// The fix, as the sentence says it.
    pub fix: String,
    /// A query that shows the rows.
    pub evidence: String,
    /// Assumption of the gain.
    pub assumption: String,
    /// Other explanations, and why they do not hold.
    pub considered: String,
    pub suggestion: String,
    /// Number of its group, from 1; 0 until groups are made.
    pub group: u64,
}

/// A class that could not be judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotMeasurable {
    pub class: Class,
    pub scope: String,
    /// The measurement that is not there.
    pub missing: String,
    /// Advice how to record it.
    pub how: String,
}

/// Verdicts of all rules.
#[derive(Clone, Debug, Default)]
pub struct Verdicts {
    /// Findings; after grouping in the order of ranks.
    pub findings: Vec<Bottleneck>,
    /// A class that could not be judged.
    pub not_measurable: Vec<NotMeasurable>,
}

impl Verdicts {
    /// Notes what is missing.
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

    /// The first of each group, at most `most`.
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
