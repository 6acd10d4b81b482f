//! Checks, and how they are reported.

use trueno_plugin::{Finding, Severity, Table, TableBuilder};

/// Verdict of a check, in the order of reports: what matters most comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    Fail,
    /// The run does not hold what would tell.
    NotMeasurable,
    Pass,
}

impl Verdict {
    pub fn name(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::NotMeasurable => "not measurable",
        }
    }
}

/// Specification of a check, whatever the run.
#[derive(Clone, Copy, Debug)]
pub struct Spec {
    /// Name of the check and code of its finding.
    pub name: &'static str,
    /// Expectation of a sane run.
    pub expected: &'static str,
    /// Severity of the finding when it fails.
    pub severity: Severity,
    /// Suggestion of the finding when it fails.
    pub suggestion: &'static str,
}

/// One check of one run.
#[derive(Clone, Debug)]
pub struct Check {
    pub spec: Spec,
    pub verdict: Verdict,
    /// Value that the run shows; `None` when that is nothing.
    pub found: Option<String>,
    /// Rows that are not as expected.
    pub count: Option<u64>,
    /// Reason, in a sentence.
    pub detail: String,
    /// A query that shows the rows.
    pub evidence: Option<String>,
}

impl Spec {
    fn check(
        self,
        verdict: Verdict,
        found: Option<String>,
        count: Option<u64>,
        detail: impl Into<String>,
    ) -> Check {
        Check {
            spec: self,
            verdict,
            found,
            count,
            detail: detail.into(),
            evidence: None,
        }
    }

    pub fn pass(self, found: impl Into<String>, detail: impl Into<String>) -> Check {
        self.check(Verdict::Pass, Some(found.into()), Some(0), detail)
    }

    /// Not as expected in `count` rows.
    pub fn fail(self, found: impl Into<String>, count: u64, detail: impl Into<String>) -> Check {
        self.check(Verdict::Fail, Some(found.into()), Some(count), detail)
    }

    /// The run does not hold what would tell.
    pub fn not_measurable(self, detail: impl Into<String>) -> Check {
        self.check(Verdict::NotMeasurable, None, None, detail)
    }

    /// Passes when no row is bad.
    pub fn counted(self, bad: u64, detail: impl Into<String>) -> Check {
        let verdict = if bad == 0 {
            Verdict::Pass
        } else {
            Verdict::Fail
        };
        self.check(verdict, Some(bad.to_string()), Some(bad), detail)
    }
}

impl Check {
    /// Adds a query that shows the rows.
    pub fn evidence(self, sql: impl Into<String>) -> Self {
        Self {
            evidence: Some(sql.into()),
            ..self
        }
    }

    /// The finding of a check that failed.
    pub fn finding(&self) -> Option<Finding> {
        if self.verdict != Verdict::Fail {
            return None;
        }
        let found = self.found.as_deref().unwrap_or("nothing");
        let title = format!(
            "{}: found {found}, expected {}",
            self.spec.name.replace('_', " "),
            self.spec.expected
        );
        let finding = Finding::new(self.spec.name, self.spec.severity, title)
            .detail(self.detail.clone())
            .suggestion(self.spec.suggestion);
        Some(match &self.evidence {
            Some(sql) => finding.evidence(sql.clone()),
            None => finding,
        })
    }
}

/// Table `checks`: `check`; `verdict` (pass, fail, not measurable); `found` and
/// `expected` in words; `count` of rows that are not as expected, null when
/// nothing was counted; `detail`.
pub fn table(checks: &[Check]) -> TableBuilder {
    Table::build("checks")
        .text("check", checks.iter().map(|check| check.spec.name))
        .text("verdict", checks.iter().map(|check| check.verdict.name()))
        .text("found", checks.iter().map(|check| check.found.as_ref()))
        .text("expected", checks.iter().map(|check| check.spec.expected))
        .u64("count", checks.iter().map(|check| check.count))
        .text("detail", checks.iter().map(|check| &check.detail))
}
