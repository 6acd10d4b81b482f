//! `regression`: nothing may be slower than in the golden run.

use serde::Deserialize;
use trueno_engine::query::QueryError;
use trueno_host::name_tables;
use trueno_model::name_groups::NameGroups;
use trueno_model::units;

use super::loss::Tables;
use super::outcome::Found;
use super::subject::Subject;
use super::types::share;
use super::types::{Condition, Declared};
use crate::runs::{self, Compared, Kind, Options, Verdict};
use trueno_analysis::name_pattern::matches;
use trueno_format::schema::interval_tables;
use trueno_host::plugin::Registry;

/// With the statistics of `compare`, over names that fit.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Regression {
    /// Smaller changes of the median are none: 0.05 is 5 %.
    threshold: Option<f64>,
    /// 1 less the rate of false discoveries.
    confidence: Option<f64>,
    /// Names that fit; all when not given.
    name_pattern: Option<String>,
    /// brick, kernel, iteration, category, …; all when not given.
    kinds: Option<Vec<Kind>>,
}

impl Declared for Regression {
    const WORDS: &[&str] = &["regression"];

    fn checked(self) -> Result<Self, String> {
        share("threshold", self.threshold)?;
        match self.confidence {
            Some(confidence) if !(0.5..1.0).contains(&confidence) => Err(format!(
                "confidence must lie between 0.5 and 1, not {confidence}"
            )),
            _ => Ok(self),
        }
    }
}

impl Condition for Regression {
    fn tables(&self, _: &Registry) -> Tables {
        Tables::from_names(interval_tables().map(|table| table.name)).and_golden()
    }

    fn check(&self, subject: &Subject<'_>) -> Result<Found, String> {
        let mut options = Options::default();
        options.threshold = self.threshold.unwrap_or(options.threshold);
        options.alpha = self
            .confidence
            .map_or(options.alpha, |confidence| 1.0 - confidence);
        let of = self.name_pattern.as_deref().unwrap_or("*");
        let expected = format!(
            "{of} not slower by more than {}, at a confidence of {}",
            units::percent(options.threshold),
            units::percent(1.0 - options.alpha)
        );
        let Some((golden, shown)) = &subject.golden else {
            let why = "there is no golden run (hint: --golden RUN)";
            return Ok(Found::not_measurable(expected, why, "medians of names"));
        };
        let place = format!("medians of names, against {shown}");
        let groups = || -> Result<NameGroups, QueryError> {
            let database = subject.run.sql_context();
            let database = database.map_err(|error| QueryError::Failed(error.to_string()))?;
            name_tables::learn(&database)
        };
        let mut groups = groups().map_err(|error| error.to_string())?;
        let of_golden = golden.name_groups().map_err(|error| error.to_string())?;
        groups.merge(&of_golden);
        let read = |shown: &str, run| {
            runs::read(shown, run, subject.rules, &groups, None, &options, &|_| {})
                .map_err(|error| error.to_string())
        };
        let (mut base, mut run) = (
            read(shown, golden.run())?,
            read(&subject.shown, subject.run)?,
        );
        golden.complete(&mut base, &options);
        let is_wanted = |name: &runs::Name| {
            matches(of, &name.name)
                && self
                    .kinds
                    .as_ref()
                    .is_none_or(|all| all.contains(&name.kind))
        };
        base.names.retain(|name, _| is_wanted(name));
        run.names.retain(|name, _| is_wanted(name));
        let comparison = runs::compare(&[base], &[run], &groups, &options);
        let slower: Vec<&Compared> = comparison
            .names
            .iter()
            .filter(|name| name.verdict == Verdict::Slower)
            .collect();
        let counts = format!(
            "{} slower, {} faster, {} same, {} cannot be told",
            slower.len(),
            comparison.with(Verdict::Faster),
            comparison.with(Verdict::Same),
            comparison.with(Verdict::CannotTell)
        );
        if let Some(worst) = slower.first() {
            let shown: Vec<String> = slower.iter().take(3).map(|name| one(name)).collect();
            let more = match slower.len() - shown.len() {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            let place = format!(
                "{} {}, against {}",
                worst.name.kind.word(),
                worst.name.name,
                comparison.base.join(", ")
            );
            return Ok(Found::new(
                false,
                expected,
                format!("{}{more}; {counts}", shown.join("; ")),
                place,
            ));
        }
        if comparison.with(Verdict::Same) + comparison.with(Verdict::Faster) == 0 {
            return Ok(Found::not_measurable(
                expected,
                format!("nothing could be told: {counts}"),
                place,
            ));
        }
        Ok(Found::new(true, expected, counts, place))
    }
}

fn one(name: &Compared) -> String {
    let change = name.ratio.map_or(String::new(), |ratio| {
        format!(
            " by {:.1} % ({:.1} to {:.1} %)",
            (ratio.value - 1.0) * 100.0,
            (ratio.low - 1.0) * 100.0,
            (ratio.high - 1.0) * 100.0
        )
    });
    format!(
        "{} {} slower{change}",
        name.name.kind.word(),
        name.name.name
    )
}
