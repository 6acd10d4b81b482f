//! What rules say.

use crate::class::Class;
use crate::options::General;

/// How sure a finding is.
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
    /// As tables write it.
    pub fn name(self) -> &'static str {
        ["low", "medium", "high"][self as usize]
    }
}

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Below `medium_share`.
    Low,
    /// Below `high_share`.
    Medium,
    /// From there on.
    High,
}

impl Severity {
    /// By a share of the window, or of whatever the rule says.
    pub fn from_share(share: f64, thresholds: &General) -> Self {
        if share >= thresholds.high_share {
            Self::High
        } else if share >= thresholds.medium_share {
            Self::Medium
        } else {
            Self::Low
        }
    }

    /// As tables write it.
    pub fn name(self) -> &'static str {
        ["low", "medium", "high"][self as usize]
    }
}

/// Code of a finding that is a category's part of another one.
pub const PART: &str = "category_part";

/// A finding.
#[derive(Clone, Debug, PartialEq)]
pub struct Bottleneck {
    /// What it is.
    pub class: Class,
    /// Stable name of the case, which may say more than the class.
    pub code: &'static str,
    /// What it is about: run, device, kernel, brick, category, threads, streams, ranks, memory.
    pub scope_kind: &'static str,
    /// Which one.
    pub scope: String,
    /// Where it happens (`host`, `gpu0`, a name): only findings of one place explain each other.
    pub place: String,
    /// How much it matters.
    pub severity: Severity,
    /// By how much the window would be shorter; `None`: not time, or not predicted.
    pub gain_ns: Option<i64>,
    /// That, of the window.
    pub gain_share: Option<f64>,
    /// How sure it is, and why.
    pub confidence: (Confidence, String),
    /// One line.
    pub sentence: String,
    /// What would save time, as the sentence says it.
    pub fix: String,
    /// A query that shows the rows.
    pub evidence: String,
    /// What the gain assumes.
    pub assumption: String,
    /// What else it could be, and why it is not.
    pub considered: String,
    /// What to do.
    pub suggestion: String,
    /// Number of its group, from 1; 0 until groups are made.
    pub group: u64,
}

/// What could not be judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotMeasurable {
    /// What it would have been.
    pub class: Class,
    /// What it would have been about.
    pub scope: String,
    /// The measurement that is not there.
    pub missing: String,
    /// How to record it.
    pub how: String,
}

/// All that was said.
#[derive(Clone, Debug, Default)]
pub struct Verdicts {
    /// Findings; after grouping in the order of ranks.
    pub findings: Vec<Bottleneck>,
    /// What could not be judged.
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

    /// The first of each group, at most so many.
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
