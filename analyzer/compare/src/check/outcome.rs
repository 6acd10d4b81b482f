//! Outcomes of assertions.

use serde::Serialize;
use trueno_model::Level;

use super::config::Assertion;
use super::loss::Missing;

#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// `None` if it cannot be measured.
    pub holds: Option<bool>,
    pub expected: String,
    pub actual: String,
    /// Where in the run: a table, a name, a time.
    pub place: String,
    pub(super) certainty: Certainty,
}

/// Which rows may be missing without changing a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Certainty {
    /// Any row could change it.
    Doubtful,
    /// Rows after the last recorded one cannot change it.
    WithoutEnd,
    Certain,
}

impl Found {
    pub fn new(holds: bool, expected: String, actual: String, place: impl Into<String>) -> Self {
        Self {
            holds: Some(holds),
            expected,
            actual,
            place: place.into(),
            certainty: Certainty::Doubtful,
        }
    }

    pub fn not_measurable(
        expected: String,
        why: impl Into<String>,
        place: impl Into<String>,
    ) -> Self {
        Self {
            holds: None,
            expected,
            actual: why.into(),
            place: place.into(),
            certainty: Certainty::Doubtful,
        }
    }

    /// Marks a result that more rows cannot change, if `is_certain`.
    pub(super) fn certain(self, is_certain: bool) -> Self {
        self.with_certainty(is_certain, Certainty::Certain)
    }

    /// Marks a result that more rows at the end cannot change, if `is_certain`.
    pub(super) fn certain_without_end(self, is_certain: bool) -> Self {
        self.with_certainty(is_certain, Certainty::WithoutEnd)
    }

    fn with_certainty(self, is_so: bool, certainty: Certainty) -> Self {
        if is_so {
            Self { certainty, ..self }
        } else {
            self
        }
    }

    /// Applies missing rows: a result that they could change becomes not measurable.
    pub(super) fn with_missing(self, missing: &Missing) -> Self {
        let is_certain = match self.certainty {
            Certainty::Certain => true,
            Certainty::WithoutEnd => missing.is_end_only,
            Certainty::Doubtful => false,
        };
        if is_certain {
            let actual = format!("{}; {}, which cannot change it", self.actual, missing.words);
            Self { actual, ..self }
        } else {
            let actual = format!("{}, and {}", self.actual, missing.words);
            let holds = None;
            Self {
                holds,
                actual,
                ..self
            }
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    Passed,
    Failed,
    Warned,
    NotMeasurable,
    Disabled,
}

impl Status {
    pub fn word(self) -> &'static str {
        match self {
            Status::Passed => "passed",
            Status::Failed => "FAILED",
            Status::Warned => "warning",
            Status::NotMeasurable => "not measurable",
            Status::Disabled => "disabled",
        }
    }
}

#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    pub name: String,
    #[serde(rename = "type")]
    pub kind: &'static str,
    pub status: Status,
    pub severity: Level,
    pub fail_on_violation: bool,
    pub expected: Option<String>,
    pub actual: Option<String>,
    pub place: Option<String>,
}

impl Outcome {
    /// `found` is `None` for a disabled assertion.
    pub fn new(assertion: &Assertion, found: Option<Found>) -> Self {
        let status = match found.as_ref().map(|found| found.holds) {
            None => Status::Disabled,
            Some(None) => Status::NotMeasurable,
            Some(Some(true)) => Status::Passed,
            Some(Some(false)) if assertion.fail_on_violation => Status::Failed,
            Some(Some(false)) => Status::Warned,
        };
        let (expected, actual, place) = match found {
            Some(found) => (Some(found.expected), Some(found.actual), Some(found.place)),
            None => (None, None, None),
        };
        Self {
            name: assertion.name.clone(),
            kind: assertion.kind,
            status,
            severity: assertion.severity,
            fail_on_violation: assertion.fail_on_violation,
            expected,
            actual,
            place,
        }
    }
}

#[derive(Clone, Debug, Serialize)]
pub struct CheckedRun {
    pub run: String,
    pub wall_ns: Option<i64>,
    pub golden: Option<String>,
    pub exit_code: u8,
    /// In the order of the file.
    #[serde(rename = "assertions")]
    pub outcomes: Vec<Outcome>,
}

/// Exit code of several runs: a violation in one takes precedence over what cannot be measured in another.
pub fn worst(runs: &[CheckedRun]) -> u8 {
    let any = |code: u8| runs.iter().any(|run| run.exit_code == code);
    let order = [
        trueno_model::exit::CHECK_FAILED,
        trueno_model::exit::NOT_MEASURABLE,
    ];
    let found = order.into_iter().find(|code| any(*code));
    found.unwrap_or(trueno_model::exit::FINE)
}

/// A violation takes precedence over what cannot be measured. Warnings count as neither.
pub fn exit_code(outcomes: &[Outcome]) -> u8 {
    let any = |status: Status| {
        let counted = outcomes.iter().filter(|outcome| outcome.fail_on_violation);
        counted.into_iter().any(|outcome| outcome.status == status)
    };
    if any(Status::Failed) {
        trueno_model::exit::CHECK_FAILED
    } else if any(Status::NotMeasurable) {
        trueno_model::exit::NOT_MEASURABLE
    } else {
        trueno_model::exit::FINE
    }
}
