//! `roofline_efficiency` and `divergence`: what the plugins of these names say.

use std::collections::BTreeSet;

use serde::Deserialize;
use trueno_engine::frame::Rows;
use trueno_engine::query::{Database, QueryError, collect};
use trueno_model::units;
use trueno_plugin::Table;

use super::loss::Tables;
use super::outcome::Found;
use super::subject::Subject;
use super::types::share;
use super::types::{Condition, Declared};
use crate::tolerances::{Tensor, Tolerances};
use trueno_analysis::name_pattern::matches;
use trueno_host::plugin::Registry;

/// Minimum share of what the machine can do, for each matching name in `roofline.points`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RooflineEfficiency {
    min_efficiency: f64,
    name_pattern: Option<String>,
}

impl Declared for RooflineEfficiency {
    const WORDS: &[&str] = &["roofline_efficiency"];

    fn checked(self) -> Result<Self, String> {
        share("min_efficiency", Some(self.min_efficiency))?;
        Ok(self)
    }
}

impl Condition for RooflineEfficiency {
    fn tables(&self, registry: &Registry) -> Tables {
        Tables::from_plugin("roofline", registry).without_others()
    }

    fn check(&self, subject: &Subject<'_>) -> Result<Found, String> {
        let of = self.name_pattern.as_deref().unwrap_or("*");
        let expected = format!(
            "{of} at {} of the roof or more",
            units::percent(self.min_efficiency)
        );
        let place = "roofline.points";
        let table = match subject.table("roofline", "points", None) {
            Ok(table) => table,
            Err(why) => return Ok(Found::not_measurable(expected, why, place)),
        };
        let wrong = |error: trueno_plugin::Error| error.to_string();
        let names = table.text("name").map_err(wrong)?;
        let values = table.f64("efficiency_share").map_err(wrong)?;
        let is_valid = table.bool("is_valid").map_err(wrong)?;
        let fitting =
            (0..table.rows()).filter(|row| matches(of, names.get(*row).unwrap_or_default()));
        // Above the roof, work was declared wrongly: that is no efficiency. Without one, most calls are above.
        let (mut valid, mut above) = (Vec::new(), None);
        for row in fitting {
            let name = names.get(row).unwrap_or_default();
            let value = values.get(row).filter(|value| value.is_finite());
            match (value, is_valid.get(row)) {
                (Some(value), Some(true)) => valid.push((value, name)),
                (Some(value), Some(false)) if above.is_none() => {
                    above = Some(format!(
                        "{name} at {}, above its roof",
                        units::percent(value)
                    ));
                }
                (None, Some(false)) if above.is_none() => {
                    above = Some(format!("{name}, most calls of which are above its roof"));
                }
                _ => {}
            }
        }
        valid.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(b.1)));
        let Some((least, name)) = valid.first() else {
            let why =
                above.unwrap_or_else(|| "no point with such a name has an efficiency".to_owned());
            return Ok(Found::not_measurable(expected, why, place));
        };
        let actual = format!(
            "{name} at {}, the least of {}",
            units::percent(*least),
            valid.len()
        );
        let holds = *least >= self.min_efficiency;
        Ok(match above {
            Some(above) if holds => {
                Found::not_measurable(expected, format!("{actual}; {above}"), place)
            }
            _ => Found::new(holds, expected, actual, place),
        })
    }
}

/// Limit on tensors that differ from the golden run, from `divergence.summary`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Divergence {
    #[serde(default)]
    max_diverged: u64,
    max_only_in_one: Option<u64>,
    rtol: Option<f64>,
    atol: Option<f64>,
    /// Tolerances by name pattern: tables `[[assertion.tensor]]`.
    #[serde(default)]
    tensor: Vec<Tensor>,
}

impl Declared for Divergence {
    const WORDS: &[&str] = &["divergence"];

    fn checked(self) -> Result<Self, String> {
        self.tolerances().checked()?;
        Ok(self)
    }
}

impl Condition for Divergence {
    fn tables(&self, registry: &Registry) -> Tables {
        Tables::from_plugin("divergence", registry)
    }

    fn check(&self, subject: &Subject<'_>) -> Result<Found, String> {
        let mut expected = format!(
            "at most {} tensors diverged from the golden run",
            self.max_diverged
        );
        if let Some(max) = self.max_only_in_one {
            expected.push_str(&format!(", at most {max} in one run only"));
        }
        let place = "divergence.summary";
        if subject.golden.is_none() {
            let why = "there is no golden run (hint: --golden RUN)";
            return Ok(Found::not_measurable(expected, why, place));
        }
        let table =
            match subject.table_by("divergence", "summary", None, self.tolerances().options()) {
                Ok(table) => table,
                Err(why) => return Ok(Found::not_measurable(expected, why, place)),
            };
        let wrong = |error: trueno_plugin::Error| error.to_string();
        let verdicts = table.text("verdict").map_err(wrong)?;
        let tensors = table.u64("tensors").map_err(wrong)?;
        let count = |verdict: &str| -> u64 {
            let rows = (0..table.rows()).filter(|row| verdicts.get(*row) == Some(verdict));
            rows.filter_map(|row| tensors.get(row)).sum()
        };
        let (diverged, alone) = (count("diverged"), count("only_in_one"));
        let alike = count("identical") + count("within_tolerance");
        let other_form = count("not_comparable");
        let mut actual = format!("{diverged} diverged, {alike} alike, {alone} in one run only");
        if other_form > 0 {
            actual.push_str(&format!(", {other_form} with a different dtype or shape"));
        }
        if diverged + alike == 0 {
            return Ok(Found::not_measurable(
                expected,
                format!("no pair of tensors could be compared: {actual}"),
                place,
            ));
        }
        if diverged > 0 && subject.reference.is_some() {
            let pairs =
                subject.table_by("divergence", "pairs", None, self.tolerances().options())?;
            actual.push_str(&format!("; {}", moved(&pairs, diverged).map_err(wrong)?));
        }
        let gone = self.gone(subject)?;
        if let [first, others @ ..] = gone.as_slice() {
            let more = match others.len() {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            actual.push_str(&format!(
                "; no tensor of the run is named {first}{more} (hint: max_only_in_one = {alone} allows it)"
            ));
        }
        let holds = diverged <= self.max_diverged
            && gone.is_empty()
            && self.max_only_in_one.is_none_or(|max| alone <= max);
        if holds && other_form > 0 {
            let why = format!("not all pairs can be compared: {actual}");
            return Ok(Found::not_measurable(expected, why, place));
        }
        // Pairs that diverge stay, whatever either run did later; those without a partner may find one.
        let is_over = diverged > self.max_diverged;
        Ok(Found::new(holds, expected, actual, place).certain_without_end(is_over))
    }
}

impl Divergence {
    /// Names of tensors that only the golden run has. Empty if the file limits their number instead.
    fn gone(&self, subject: &Subject<'_>) -> Result<Vec<String>, String> {
        let Some((golden, _)) = subject
            .golden
            .as_ref()
            .filter(|_| self.max_only_in_one.is_none())
        else {
            return Ok(Vec::new());
        };
        let names = |database: &Database| -> Result<BTreeSet<String>, QueryError> {
            let sql = "SELECT DISTINCT CAST(name AS VARCHAR) AS name FROM checksums";
            let frame = collect(database, sql)?;
            let names = Rows::new(&frame).text("name")?;
            Ok(names.iter().flatten().map(str::to_owned).collect())
        };
        let database = golden.run().sql_context();
        let database = database.map_err(|error| error.to_string())?;
        let failed = |error: QueryError| error.to_string();
        let expected = names(&database).map_err(failed)?;
        let found = names(&subject.database).map_err(failed)?;
        Ok(expected.difference(&found).cloned().collect())
    }

    fn tolerances(&self) -> Tolerances {
        Tolerances {
            rtol: self.rtol,
            atol: self.atol,
            tensor: self.tensor.clone(),
        }
    }
}

/// Which side is farther from a third run than the tolerance allows, counted over diverging pairs.
fn moved(pairs: &Table, diverged: u64) -> trueno_plugin::Result<String> {
    let (verdict, moved) = (pairs.text("verdict")?, pairs.text("moved")?);
    let rows = || (0..pairs.rows()).filter(|row| verdict.get(*row) == Some("diverged"));
    let count = |side: &str| rows().filter(|row| moved.get(*row) == Some(side)).count();
    let (run, golden) = (count("run"), count("baseline"));
    let (both, neither) = (count("both"), count("neither"));
    let listed = rows().count() as u64;
    let known = run + golden + both + neither;
    if known == 0 {
        return Ok("the reference has no such tensor".to_owned());
    }
    let mut said = format!(
        "compared with the reference, the run moved in {run}, the golden run in {golden}, both in {both}, neither in {neither}"
    );
    if listed > known as u64 {
        said.push_str(&format!(
            ", {} of them are not in the reference",
            listed - known as u64
        ));
    }
    if diverged > listed {
        said.push_str(&format!(" (of the {listed} that are listed)"));
    }
    Ok(said)
}
