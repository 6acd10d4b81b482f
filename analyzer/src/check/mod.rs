//! Assertions on a run: what must hold, in a file; what was found, one outcome each.
//!
//! `config` reads the file, and takes nothing that it does not know. `subject` is the run, with the tables of plugins.
//! Every other module is one type of assertion.

mod anti_pattern;
mod category;
mod config;
mod counts;
mod coverage;
mod critical_path;
mod expression;
mod lanes;
mod memory;
mod outcome;
mod pattern;
mod plugins;
mod regression;
pub mod render;
mod subject;

pub use config::{Assertion, CheckError, Config, Kind};
pub use outcome::{Found, Outcome, Status, exit_code};
pub use subject::Subject;

/// Checks all assertions of a file, in its order.
///
/// # Errors
/// An assertion cannot mean anything: its SQL is wrong, or names a part of the run that is not there.
pub fn check(
    config: &Config,
    subject: &Subject<'_>,
    before_each: &dyn Fn(&str),
) -> Result<Vec<Outcome>, CheckError> {
    let mut outcomes = Vec::new();
    for assertion in &config.assertions {
        let found = if assertion.enabled {
            before_each(&assertion.name);
            Some(
                assertion
                    .kind
                    .check(subject)
                    .map_err(|problem| CheckError::Assertion {
                        file: config.file.clone(),
                        name: assertion.name.clone(),
                        problem,
                    })?,
            )
        } else {
            None
        };
        outcomes.push(Outcome::new(assertion, found));
    }
    Ok(outcomes)
}

impl Kind {
    fn check(&self, subject: &Subject<'_>) -> Result<Found, String> {
        match self {
            Kind::CriticalPath(assertion) => assertion.check(subject),
            Kind::SpanCount(assertion) => assertion.check(subject),
            Kind::MemoryUsage(assertion) => assertion.check(subject),
            Kind::CategoryShare(assertion) => assertion.check(subject),
            Kind::Coverage(assertion) => assertion.check(subject),
            Kind::AntiPattern(assertion) => assertion.check(subject),
            Kind::Regression(assertion) => assertion.check(subject),
            Kind::Expression(assertion) => assertion.check(subject),
            Kind::RooflineEfficiency(assertion) => assertion.check(subject),
            Kind::Divergence(assertion) => assertion.check(subject),
        }
    }
}
