//! Checks, and how they are reported.

use trueno_plugin::{Finding, Severity, Table, TableBuilder};

/// Result of a check. Reports show them in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    Fail,
    /// The run lacks the data to decide.
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

/// What a check expects, independent of the run.
#[derive(Clone, Copy, Debug)]
pub struct Spec {
    /// Name of the check, and code of its finding.
    pub name: &'static str,
    /// What a failed check found, as the start of the finding's title.
    pub fault: &'static str,
    pub expected: &'static str,
    pub severity: Severity,
    pub suggestion: &'static str,
}

#[derive(Clone, Debug)]
pub struct Check {
    pub spec: Spec,
    pub verdict: Verdict,
    /// The value in this run, if there is one.
    pub found: Option<String>,
    pub count: Option<u64>,
    /// Reason, as a phrase.
    pub detail: String,
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

    pub fn fail(self, found: impl Into<String>, count: u64, detail: impl Into<String>) -> Check {
        self.check(Verdict::Fail, Some(found.into()), Some(count), detail)
    }

    pub fn not_measurable(self, detail: impl Into<String>) -> Check {
        self.check(Verdict::NotMeasurable, None, None, detail)
    }

    /// Passes if `bad` is 0.
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
    pub fn evidence(self, sql: impl Into<String>) -> Self {
        Self {
            evidence: Some(sql.into()),
            ..self
        }
    }

    pub fn finding(&self) -> Option<Finding> {
        if self.verdict != Verdict::Fail {
            return None;
        }
        let found = self.found.as_deref().unwrap_or("nothing");
        let Spec {
            fault, expected, ..
        } = self.spec;
        let title = if expected.starts_with("0 ") {
            format!("{fault}: {found}")
        } else {
            format!("{fault}: {found} (expected: {expected})")
        };
        let finding = Finding::new(self.spec.name, self.spec.severity, title)
            .detail(self.detail.clone())
            .suggestion(self.spec.suggestion);
        Some(match &self.evidence {
            Some(sql) => finding.evidence(sql.clone()),
            None => finding,
        })
    }
}

/// Table `checks`.
///
/// `verdict`: pass, fail or not measurable; `found` and `expected`: as text; `count`: rows that are not as
/// expected, null if nothing was counted.
pub fn table(checks: &[Check]) -> TableBuilder {
    Table::build("checks")
        .text("check", checks.iter().map(|check| check.spec.name))
        .text("verdict", checks.iter().map(|check| check.verdict.name()))
        .text("found", checks.iter().map(|check| check.found.as_ref()))
        .text("expected", checks.iter().map(|check| check.spec.expected))
        .u64("count", checks.iter().map(|check| check.count))
        .text("detail", checks.iter().map(|check| &check.detail))
}
