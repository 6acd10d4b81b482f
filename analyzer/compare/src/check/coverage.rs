//! `coverage`: how much of the wall time recorded work must explain.

use serde::Deserialize;
use trueno_host::coverage::coverage;
use trueno_model::{WallSource, units};

use super::loss::Tables;
use super::outcome::Found;
use super::subject::Subject;
use super::types::share;
use super::types::{Condition, Declared};
use trueno_host::plugin::Registry;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Coverage {
    min: f64,
}

impl Declared for Coverage {
    const WORDS: &[&str] = &["coverage"];

    fn checked(self) -> Result<Self, String> {
        share("min", Some(self.min))?;
        Ok(self)
    }
}

impl Condition for Coverage {
    fn tables(&self, registry: &Registry) -> Tables {
        Tables::from_sql(&trueno_host::coverage::running(), registry)
    }

    fn check(&self, subject: &Subject<'_>) -> Result<Found, String> {
        let expected = format!(
            "recorded work runs in at least {} of wall",
            units::percent(self.min)
        );
        let place = "whole run";
        Ok(match coverage(subject.run)? {
            Some(coverage) => {
                let holds = coverage >= self.min;
                // More rows can only cover more of a wall time that was measured by itself. Of ranks it is a mean,
                // which a missing rank changes.
                let facts = subject.run.facts();
                let is_fixed = facts.wall_source == WallSource::Recorded && facts.ranks.is_empty();
                Found::new(holds, expected, units::percent(coverage), place)
                    .certain(holds && is_fixed)
            }
            None => Found::not_measurable(expected, "no work or no wall time was recorded", place),
        })
    }
}
