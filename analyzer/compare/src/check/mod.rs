//! Assertions on a run: what must hold, in a file; what was found, one outcome each.
//!
//! `config` reads the file, and takes nothing that it does not know. `subject` is the run, with the tables of plugins.
//! `loss` says what is missing of the tables that an assertion rests on: nothing holds because of rows that are not there.
//! Every other module is one type of assertion.
//!
//! An assertion that cannot be measured is not one that holds: exit code 3, unless it was only to warn. A count at
//! most is not known where rows were dropped; a key that is not known is an error.

mod anti_pattern;
mod category;
mod config;
mod counts;
mod coverage;
mod critical_path;
mod expression;
mod lanes;
mod loss;
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

use loss::Tables;

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
    /// What is found; nobody can say where rows are missing that could change it.
    fn check(&self, subject: &Subject<'_>) -> Result<Found, String> {
        let found = self.found(subject)?;
        Ok(match subject.missing(&self.rests_on(subject)) {
            Some(missing) => found.with_missing(&missing),
            None => found,
        })
    }

    fn rests_on(&self, subject: &Subject<'_>) -> Tables {
        let of_plugin = |id: &str| Tables::of_plugin(id, subject.registry);
        match self {
            Kind::CriticalPath(_) => of_plugin("critical_path"),
            Kind::SpanCount(assertion) => Tables::of(assertion.tables()),
            Kind::MemoryUsage(assertion) => match assertion.table() {
                Some(table) => Tables::of([table]),
                None => of_plugin("memory"),
            },
            Kind::CategoryShare(_) => of_plugin("category"),
            Kind::Coverage(_) => Tables::of_sql(trueno_host::coverage::RUNNING, subject.registry),
            Kind::AntiPattern(assertion) => Tables::of(assertion.tables().iter().copied()),
            Kind::Regression(_) => {
                let tables = ["bricks", "kernels", "tiles", "transfers", "calls", "syncs"];
                Tables::of(tables).and_golden()
            }
            Kind::Expression(assertion) => assertion.tables(subject.registry),
            Kind::RooflineEfficiency(_) => of_plugin("roofline"),
            Kind::Divergence(_) => of_plugin("divergence"),
        }
    }

    fn found(&self, subject: &Subject<'_>) -> Result<Found, String> {
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
