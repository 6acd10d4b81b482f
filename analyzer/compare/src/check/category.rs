//! `category_share`: how much of the time a category may take.

use serde::Deserialize;
use trueno_model::units;

use super::loss::Tables;
use super::outcome::Found;
use super::subject::Subject;
use super::types::{Condition, Declared};
use super::types::{did_you_mean, share};
use trueno_host::plugin::Registry;

/// Self time of a category divided by busy or wall time, as in the plugin `category`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CategoryShare {
    category: String,
    max_share: Option<f64>,
    min_share: Option<f64>,
    #[serde(default)]
    of: Of,
    #[serde(default)]
    lane_kind: LaneKind,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Of {
    #[default]
    Busy,
    Wall,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum LaneKind {
    #[default]
    Host,
    Device,
}

impl Declared for CategoryShare {
    const WORDS: &[&str] = &["category_share"];

    fn checked(self) -> Result<Self, String> {
        if self.max_share.is_none() && self.min_share.is_none() {
            return Err("it needs max_share or min_share".to_owned());
        }
        share("max_share", self.max_share)?;
        share("min_share", self.min_share)?;
        Ok(self)
    }
}

impl Condition for CategoryShare {
    fn tables(&self, registry: &Registry) -> Tables {
        Tables::from_plugin("category", registry).without_others()
    }

    fn check(&self, subject: &Subject<'_>) -> Result<Found, String> {
        let of = match self.of {
            Of::Busy => "busy",
            Of::Wall => "wall",
        };
        let lanes = match self.lane_kind {
            LaneKind::Host => "host",
            LaneKind::Device => "device",
        };
        let mut limits = Vec::new();
        limits.extend(
            self.min_share
                .map(|min| format!("at least {}", units::percent(min))),
        );
        limits.extend(
            self.max_share
                .map(|max| format!("at most {}", units::percent(max))),
        );
        let expected = format!("{} {} of {of} time", self.category, limits.join(" and "));
        let place = format!("category.by_category, {lanes}");
        let table = match subject.table("category", "by_category", None) {
            Ok(table) => table,
            Err(why) => return Ok(Found::not_measurable(expected, why, place)),
        };
        let wrong = |error: trueno_plugin::Error| error.to_string();
        let kinds = table.text("lane_kind").map_err(wrong)?;
        let categories = table.text("category").map_err(wrong)?;
        let shares = table.f64(&format!("{of}_share")).map_err(wrong)?;
        let rows: Vec<usize> = (0..table.rows())
            .filter(|row| kinds.get(*row) == Some(lanes))
            .collect();
        if !rows
            .iter()
            .any(|row| shares.get(*row).is_some_and(|share| share > 0.0))
        {
            let why = format!("no {lanes} time was recorded");
            return Ok(Found::not_measurable(expected, why, place));
        }
        let found = rows.iter().find(|row| {
            categories
                .get(**row)
                .is_some_and(|name| name.eq_ignore_ascii_case(&self.category))
        });
        let share = match found {
            None => 0.0,
            Some(row) => match shares.get(*row) {
                Some(share) => share,
                None => {
                    return Ok(Found::not_measurable(
                        expected,
                        "its share was not measured",
                        place,
                    ));
                }
            },
        };
        // A limit of zero says that it may be absent.
        let is_allowed = found.is_some() || [self.max_share, self.min_share].contains(&Some(0.0));
        let holds = is_allowed
            && self.max_share.is_none_or(|max| share <= max)
            && self.min_share.is_none_or(|min| share >= min);
        let actual = match found {
            None if is_allowed => "0 %: no row has this category".to_owned(),
            None => {
                let known = rows.iter().filter_map(|row| categories.get(*row));
                format!(
                    "0 %: no row has this category{} (hint: max_share = 0 or min_share = 0 allows it)",
                    did_you_mean(&self.category, known)
                )
            }
            Some(_) => units::percent(share),
        };
        Ok(Found::new(holds, expected, actual, place))
    }
}
