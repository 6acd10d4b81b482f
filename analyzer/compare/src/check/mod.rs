//! Assertions on a run: what must hold, in a file; what was found, one outcome each.
//!
//! `config` reads the file, and takes nothing that it does not know. `subject` is the run, with the tables of plugins.
//! `loss` says what is missing of the tables that an assertion rests on: nothing holds because of rows that are not there.
//! A type of assertion is a file with a struct of its keys that implements the traits of `types`, named in this file: as a
//! module and in the list of types.
//!
//! An assertion that cannot be measured is not one that holds: exit code 3, unless it was only to warn. What a run lacks
//! (rows, its end) makes an assertion not measurable, unless the condition marks its outcome as certain. A pattern that
//! matches nothing and a name that is gone are violations; a key that is not known is an error.

mod anti_pattern;
mod category;
mod config;
mod counts;
mod coverage;
mod critical_path;
mod expression;
mod lanes;
mod loss;
mod mapped;
mod memory;
mod outcome;
mod plugins;
mod regression;
pub mod render;
mod subject;
mod types;

pub use config::{Assertion, CheckError, Config};
pub use outcome::{CheckedRun, Found, Outcome, Status, exit_code, worst};
pub use subject::Subject;

use types::{AssertionType, Condition};

const TYPES: &[AssertionType] = &[
    AssertionType::declare::<critical_path::CriticalPath>(),
    AssertionType::declare::<counts::SpanCount>(),
    AssertionType::declare::<memory::MemoryUsage>(),
    AssertionType::declare::<category::CategoryShare>(),
    AssertionType::declare::<coverage::Coverage>(),
    AssertionType::declare::<anti_pattern::AntiPattern>(),
    AssertionType::declare::<regression::Regression>(),
    AssertionType::declare::<expression::Expression>(),
    AssertionType::declare::<plugins::RooflineEfficiency>(),
    AssertionType::declare::<plugins::Divergence>(),
];

/// Checks all assertions of a file, in order.
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
                checked(assertion.condition.as_ref(), subject).map_err(|problem| {
                    CheckError::Assertion {
                        file: config.file.clone(),
                        name: assertion.name.clone(),
                        problem,
                    }
                })?,
            )
        } else {
            None
        };
        outcomes.push(Outcome::new(assertion, found));
    }
    Ok(outcomes)
}

/// Checks a condition. Not measurable if missing rows could change the result.
fn checked(condition: &dyn Condition, subject: &Subject<'_>) -> Result<Found, String> {
    let found = condition.check(subject)?;
    Ok(match subject.missing(&condition.tables(subject.registry)) {
        Some(missing) => found.with_missing(&missing),
        None => found,
    })
}
