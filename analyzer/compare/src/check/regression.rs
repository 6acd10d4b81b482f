//! `regression`: nothing may be slower than in the golden run, and no name may be gone.

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
use crate::golden::Opened;
use crate::runs::{self, Compared, Kind, Member, Naming, Options, Verdict};
use trueno_analysis::name_pattern::matches;
use trueno_format::schema::interval_tables;
use trueno_host::plugin::Registry;

/// Uses the statistics of `compare`, for names that match.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Regression {
    /// Smaller changes of the median are ignored: 0.05 is 5 %.
    threshold: Option<f64>,
    /// 1 minus the false discovery rate.
    confidence: Option<f64>,
    name_pattern: Option<String>,
    /// brick, kernel, iteration, category, …; all if missing.
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
            "{of} still present, and not slower by more than {}, at a confidence of {}",
            units::percent(options.threshold),
            units::percent(1.0 - options.alpha)
        );
        let Some((golden, shown)) = &subject.golden else {
            let why = "there is no golden run (hint: --golden RUN)";
            return Ok(Found::not_measurable(expected, why, "medians of names"));
        };
        let place = format!("medians of names, against {shown}");
        let (mut base, mut run, groups) = read_sides(subject, golden, shown, &options)?;
        let is_wanted = |name: &runs::Name| {
            let kinds = self.kinds.as_ref();
            matches(of, &name.name) && kinds.is_none_or(|all| all.contains(&name.kind))
        };
        base.names.retain(|name, _| is_wanted(name));
        run.names.retain(|name, _| is_wanted(name));
        if self.name_pattern.is_some() && base.names.is_empty() && run.names.is_empty() {
            let why = "no name of either run matches the pattern".to_owned();
            return Ok(Found::new(false, expected, why, place));
        }
        let gone = self.gone(&base, &run);
        let comparison = runs::compare(&[base], &[run], &groups, &options);
        let names = comparison.names.iter();
        let slower: Vec<&Compared> = names
            .filter(|name| name.verdict == Verdict::Slower)
            .collect();
        let counts = format!(
            "{} slower, {} faster, {} same, {} unclear",
            slower.len(),
            comparison.with(Verdict::Faster),
            comparison.with(Verdict::Same),
            comparison.with(Verdict::CannotTell)
        );
        let mut violations: Vec<String> = Vec::new();
        if !slower.is_empty() {
            violations.push(first_of(slower.iter().map(|name| one(name))));
        }
        if !gone.is_empty() {
            let each = gone.iter();
            violations.push(first_of(
                each.map(|name| format!("{} is gone", shown_name(name))),
            ));
        }
        let worst = slower.first().map(|name| &name.name).or(gone.first());
        if let Some(worst) = worst {
            let place = format!(
                "{}, against {}",
                shown_name(worst),
                comparison.base.join(", ")
            );
            let actual = format!("{}; {counts}", violations.join("; "));
            return Ok(Found::new(false, expected, actual, place));
        }
        if comparison.with(Verdict::Same) + comparison.with(Verdict::Faster) == 0 {
            let why = format!("nothing could be decided: {counts}");
            return Ok(Found::not_measurable(expected, why, place));
        }
        Ok(Found::new(true, expected, counts, place))
    }
}

impl Regression {
    /// Names that only the golden run has. Categories disappear with their names, so they count only if `kinds`
    /// is given.
    fn gone(&self, base: &Member, run: &Member) -> Vec<runs::Name> {
        let counts = |name: &&runs::Name| {
            let is_category = matches!(name.kind, Kind::Category | Kind::DeviceCategory);
            self.kinds.is_some() || !is_category
        };
        let is_gone = |name: &&runs::Name| !run.names.contains_key(name);
        let names = base.names.keys();
        names.filter(is_gone).filter(counts).cloned().collect()
    }
}

/// Reads the golden run and the checked run with the same groups of names.
fn read_sides(
    subject: &Subject<'_>,
    golden: &Opened,
    shown: &str,
    options: &Options,
) -> Result<(Member, Member, NameGroups), String> {
    let learned = || -> Result<NameGroups, QueryError> {
        let database = subject.run.sql_context();
        let database = database.map_err(|error| QueryError::Failed(error.to_string()))?;
        name_tables::learn(&database)
    };
    let mut groups = learned().map_err(|error| error.to_string())?;
    let of_golden = golden.name_groups().map_err(|error| error.to_string())?;
    groups.merge(&of_golden);
    let read = |shown: &str, run| {
        let naming = Naming::as_recorded(&groups);
        runs::read(shown, run, subject.rules, &naming, None, options, &|_| {})
            .map_err(|error| error.to_string())
    };
    let mut base = read(shown, golden.run())?;
    let run = read(&subject.shown, subject.run)?;
    golden.complete(&mut base, options);
    Ok((base, run, groups))
}

const LISTED: usize = 3;

fn first_of(texts: impl ExactSizeIterator<Item = String>) -> String {
    let more = texts.len().saturating_sub(LISTED);
    let listed: Vec<String> = texts.take(LISTED).collect();
    let listed = listed.join("; ");
    if more == 0 {
        return listed;
    }
    format!("{listed} and {more} more")
}

fn shown_name(name: &runs::Name) -> String {
    format!("{} {}", name.kind.word(), name.name)
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
    format!("{} slower{change}", shown_name(&name.name))
}
