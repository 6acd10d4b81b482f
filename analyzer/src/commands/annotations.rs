//! `--annotations`: what was found, beside the change that a build is of.

use std::io::Write;

use trueno_compare::check::{Outcome, Status};
use trueno_host::plugin::OwnOutput;
use trueno_model::{Report, Severity};
use trueno_render::annotations::{Weight, github};

/// Prints an annotation for each finding: an error if it fails the build, a notice if its severity is low.
pub(super) fn findings(report: &Report, fail_on: Option<Severity>) {
    for rated in report.rated() {
        let fails = rated.is_failure || fail_on.is_some_and(|least| rated.severity >= least);
        let weight = match rated.severity {
            _ if fails => Weight::Error,
            Severity::Info => continue,
            Severity::Low => Weight::Notice,
            Severity::Medium | Severity::High | Severity::Critical => Weight::Warning,
        };
        let message = match &rated.suggestion {
            Some(suggestion) => format!("{}\n{suggestion}", rated.title),
            None => rated.title.clone(),
        };
        say(
            weight,
            &format!("{} ({})", rated.plugin, rated.severity),
            &message,
        );
    }
}

/// Prints an annotation for each assertion that does not hold or cannot be measured.
pub(super) fn outcomes(outcomes: &[Outcome], run: &str) {
    for outcome in outcomes {
        let weight = match outcome.status {
            Status::Failed => Weight::Error,
            Status::NotMeasurable if outcome.fail_on_violation => Weight::Error,
            Status::Warned | Status::NotMeasurable => Weight::Warning,
            Status::Passed | Status::Disabled => continue,
        };
        let text = |part: &Option<String>| part.clone().unwrap_or_default();
        let message = format!(
            "{run}: {}: expected {}, actual {}\n{}",
            outcome.status.word(),
            text(&outcome.expected),
            text(&outcome.actual),
            text(&outcome.place)
        );
        say(weight, &outcome.name, &message);
    }
}

fn say(weight: Weight, title: &str, message: &str) {
    // With standard error gone there is nobody left to tell.
    let _ = writeln!(OwnOutput::Stderr, "{}", github(weight, title, message));
}
