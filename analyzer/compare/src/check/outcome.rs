//! Outcomes of assertions.

use serde::Serialize;
use trueno_model::Level;

use super::config::Assertion;
use super::loss::Missing;

/// Finding of a check.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// `None`: it cannot be measured.
    pub holds: Option<bool>,
    /// The state that must be.
    pub expected: String,
    /// The state that is; or why it cannot be measured.
    pub actual: String,
    /// Place in the run: a table, a name, a time.
    pub place: String,
    /// What could be missing from the run and not change it.
    pub(super) certainty: Certainty,
}

/// Rows that may be missing without changing an outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Certainty {
    /// None: any row could change it.
    Doubtful,
    /// Those after the last one that was recorded.
    WithoutEnd,
    Certain,
}

impl Found {
    /// A measured one.
    pub fn new(holds: bool, expected: String, actual: String, place: impl Into<String>) -> Self {
        Self {
            holds: Some(holds),
            expected,
            actual,
            place: place.into(),
            certainty: Certainty::Doubtful,
        }
    }

    /// One that cannot be measured.
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

    /// Marks an outcome that more rows could not change, if it is so.
    pub(super) fn certain(self, is_certain: bool) -> Self {
        self.with_certainty(is_certain, Certainty::Certain)
    }

    /// Marks an outcome that more rows at the end could not change, if it is so.
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

    /// Weakens an outcome for what is missing: only what is certain stays.
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

/// End of an assertion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    Passed,
    /// It does not, and the check fails.
    Failed,
    /// It does not, and was only to warn.
    Warned,
    /// It cannot be measured.
    NotMeasurable,
    /// It was turned off.
    Disabled,
}

impl Status {
    /// The word for people.
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

/// One assertion and how it ended.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    pub name: String,
    #[serde(rename = "type")]
    pub kind: &'static str,
    pub status: Status,
    pub severity: Level,
    /// The check fails with it.
    pub fail_on_violation: bool,
    /// The state that must be.
    pub expected: Option<String>,
    /// The state that is, or why it cannot be measured.
    pub actual: Option<String>,
    /// Place in the run.
    pub place: Option<String>,
}

impl Outcome {
    /// `found`: nothing for one that is turned off.
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

/// A run and how its assertions ended.
#[derive(Clone, Debug, Serialize)]
pub struct CheckedRun {
    /// The path as typed.
    pub run: String,
    /// Wall time of the run, where it is known.
    pub wall_ns: Option<i64>,
    /// The golden run as typed.
    pub golden: Option<String>,
    /// See [`exit_code`].
    pub exit_code: u8,
    /// In the order of the file.
    #[serde(rename = "assertions")]
    pub outcomes: Vec<Outcome>,
}

/// Exit code of several runs: a violation in one comes before what cannot be measured in another.
pub fn worst(runs: &[CheckedRun]) -> u8 {
    let any = |code: u8| runs.iter().any(|run| run.exit_code == code);
    let order = [
        trueno_model::exit::CHECK_FAILED,
        trueno_model::exit::NOT_MEASURABLE,
    ];
    let found = order.into_iter().find(|code| any(*code));
    found.unwrap_or(trueno_model::exit::FINE)
}

/// Exit code: a violation comes before what cannot be measured; what only warns is neither.
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
