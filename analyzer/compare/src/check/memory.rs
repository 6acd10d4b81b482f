//! `memory_usage`: the peak of memory, what is kept, and how much more an iteration.

use serde::Deserialize;
use trueno_engine::frame::Rows;
use trueno_engine::query::collect;
use trueno_model::units;

use super::loss::Tables;
use super::mapped::mapped_bytes;
use super::outcome::Found;
use super::subject::Subject;
use super::types::{Condition, Declared};
use trueno_host::plugin::Registry;

/// Memory that the program reported as allocated, or memory of the process in counters.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemoryUsage {
    max_bytes: Option<u64>,
    max_growth_bytes: Option<u64>,
    /// Checks the trend of live bytes at the ends of iterations, from the plugin `memory`.
    max_bytes_per_iteration: Option<f64>,
    #[serde(default)]
    tracking_mode: Mode,
    /// `host`, `heap`, `gpu0` and so on, as in `memory.places`. If missing, each place is checked.
    place: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Mode {
    #[default]
    Allocations,
    Rss,
}

struct Use {
    place: String,
    peak: f64,
    growth: f64,
    at_ns: i64,
}

impl Declared for MemoryUsage {
    const WORDS: &[&str] = &["memory_usage"];
    const SHORT_FORM: Option<&str> = Some("max_bytes");

    fn checked(self) -> Result<Self, String> {
        match self.max_bytes_per_iteration {
            Some(max) if self.max_bytes.is_some() || self.max_growth_bytes.is_some() => {
                return Err(format!(
                    "max_bytes_per_iteration = {max} must be the only limit (hint: one assertion each)"
                ));
            }
            Some(max) if !(max >= 0.0 && max.is_finite()) => {
                return Err(format!(
                    "max_bytes_per_iteration must be 0 or more, not {max}"
                ));
            }
            Some(_) if self.tracking_mode == Mode::Rss => {
                return Err(
                    "max_bytes_per_iteration goes with tracking_mode \"allocations\" only"
                        .to_owned(),
                );
            }
            None if self.max_bytes.is_none() && self.max_growth_bytes.is_none() => {
                return Err(
                    "it needs max_bytes, max_growth_bytes or max_bytes_per_iteration".to_owned(),
                );
            }
            _ => {}
        }
        if self.tracking_mode == Mode::Rss && self.place.is_some() {
            return Err("place goes with tracking_mode \"allocations\" only".to_owned());
        }
        Ok(self)
    }
}

impl Condition for MemoryUsage {
    fn tables(&self, registry: &Registry) -> Tables {
        match (self.max_bytes_per_iteration, self.tracking_mode) {
            (Some(_), _) => Tables::from_plugin("memory", registry).without_others(),
            // What the peak rests on of all that the plugin reads.
            (None, Mode::Allocations) => Tables::from_names(["allocations"]),
            (None, Mode::Rss) => Tables::from_names(["counters"]),
        }
    }

    fn check(&self, subject: &Subject<'_>) -> Result<Found, String> {
        if let Some(max) = self.max_bytes_per_iteration {
            return self.check_trend(max, subject);
        }
        let show = |bytes: f64| units::scaled(bytes, "B");
        let mut limits = Vec::new();
        limits.extend(
            self.max_bytes
                .map(|max| format!("peak at most {}", show(max as f64))),
        );
        limits.extend(
            self.max_growth_bytes
                .map(|max| format!("growth at most {}", show(max as f64))),
        );
        let expected = limits.join(", ");
        let (uses, table) = match self.tracking_mode {
            Mode::Allocations => (allocations(subject)?, "memory.places"),
            Mode::Rss => (rss(subject)?, "counters"),
        };
        if self.tracking_mode == Mode::Allocations
            && !uses.as_ref().is_ok_and(|uses| !uses.is_empty())
            && let Some(found) = self.check_mapped(&expected, subject)?
        {
            return Ok(found);
        }
        let uses = match uses {
            Ok(uses) => uses,
            Err(why) => return Ok(Found::not_measurable(expected, why, table)),
        };
        let wanted = |used: &Use| self.place.as_ref().is_none_or(|place| *place == used.place);
        let uses: Vec<Use> = uses.into_iter().filter(wanted).collect();
        if uses.is_empty() {
            let why = match self.tracking_mode {
                Mode::Allocations => "no allocation was recorded there",
                Mode::Rss => "no counter named rss was recorded",
            };
            return Ok(Found::not_measurable(expected, why, table));
        }
        let exceeds = |used: &&Use| {
            self.max_bytes.is_some_and(|max| used.peak > max as f64)
                || self
                    .max_growth_bytes
                    .is_some_and(|max| used.growth > max as f64)
        };
        let worst = uses.iter().find(exceeds);
        let holds = worst.is_none();
        let shown = worst.or_else(|| uses.iter().max_by(|a, b| a.peak.total_cmp(&b.peak)));
        let actual = shown.map_or(String::new(), |used| {
            let at = units::duration(used.at_ns as f64);
            format!(
                "{}: peak {} at {at}, growth {}",
                used.place,
                show(used.peak),
                show(used.growth)
            )
        });
        let above = |used: &Use| self.max_bytes.is_some_and(|max| used.peak > max as f64);
        let is_above = worst.is_some_and(above);
        let found = Found::new(holds, expected, actual, table);
        Ok(match self.tracking_mode {
            // A reading is one by itself.
            Mode::Rss => found.certain(is_above),
            // What is live is a sum: a missing release makes it too large, what comes later does not.
            Mode::Allocations => found.certain_without_end(is_above),
        })
    }
}

impl MemoryUsage {
    /// For recorded system calls: the budget holds, or it cannot be measured.
    fn check_mapped(&self, expected: &str, subject: &Subject<'_>) -> Result<Option<Found>, String> {
        let (Some(max), None, None) = (self.max_bytes, self.max_growth_bytes, &self.place) else {
            return Ok(None);
        };
        Ok(mapped_bytes(subject)?.map(|bytes| {
            let most = units::scaled(bytes as f64, "B");
            if bytes <= max { Found::new(
                    true,
                    expected.to_owned(),
                    format!("process: at most {most}, all that was mapped"),
                    "calls",
                ) } else { Found::not_measurable(
                    expected.to_owned(),
                    format!(
                        "{most} were mapped in total, and what was unmapped is not recorded (hint: record allocations, or \
                         tracking_mode = \"rss\")"
                    ),
                    "calls",
                ) }
        }))
    }

    /// Growth that chance explains does not count. Not measurable if the plugin cannot tell.
    fn check_trend(&self, max: f64, subject: &Subject<'_>) -> Result<Found, String> {
        let show = |bytes: f64| units::scaled(bytes, "B");
        let expected = format!("at most {} more per iteration", show(max));
        let from = "memory.growth";
        let table = match subject.table("memory", "growth", None) {
            Ok(table) => table,
            Err(why) => return Ok(Found::not_measurable(expected, why, from)),
        };
        let wrong = |error: trueno_plugin::Error| error.to_string();
        let (place, verdict) = (
            table.text("place").map_err(wrong)?,
            table.text("verdict").map_err(wrong)?,
        );
        let (slope, iterations) = (
            table.f64("bytes_per_iteration").map_err(wrong)?,
            table.u64("iterations").map_err(wrong)?,
        );
        // The first row of a place is of all its tags.
        let mut seen = Vec::new();
        let (mut worst, mut unclear): (Option<(f64, String)>, Option<String>) = (None, None);
        for row in 0..table.rows() {
            let name = place.get(row).unwrap_or_default();
            if seen.contains(&name) || self.place.as_deref().is_some_and(|place| place != name) {
                continue;
            }
            seen.push(name);
            let of = format!("of {} iterations", iterations.get(row).unwrap_or(0));
            let (grows, words) = match (verdict.get(row), slope.get(row)) {
                (Some("grows"), Some(slope)) => (slope, format!("{name}: {} {of}", show(slope))),
                (Some("cannot tell") | None, _) => {
                    unclear.get_or_insert(format!("{name}: cannot tell {of}"));
                    continue;
                }
                (Some(verdict), _) => (0.0, format!("{name}: {verdict} {of}")),
            };
            if worst.as_ref().is_none_or(|(most, _)| grows > *most) {
                worst = Some((grows, words));
            }
        }
        Ok(match (worst, unclear) {
            (Some((grows, words)), _) if grows > max => Found::new(false, expected, words, from),
            (_, Some(why)) => Found::not_measurable(expected, why, from),
            (None, None) => {
                Found::not_measurable(expected, "no allocation was recorded there", from)
            }
            (Some((_, words)), None) => Found::new(true, expected, words, from),
        })
    }
}

/// Places from the plugin `memory`. The inner error says why there are none.
fn allocations(subject: &Subject<'_>) -> Result<Result<Vec<Use>, String>, String> {
    let tables = match subject.tables("memory", None) {
        Ok(tables) => tables,
        Err(why) => return Ok(Err(why)),
    };
    let Some(table) = tables.iter().find(|table| table.name() == "places") else {
        return Ok(Ok(Vec::new()));
    };
    let wrong = |error: trueno_plugin::Error| error.to_string();
    let place = table.text("place").map_err(wrong)?;
    let (peak, at) = (
        table.i64("peak_bytes").map_err(wrong)?,
        table.i64("peak_ns").map_err(wrong)?,
    );
    let (before, end) = (
        table.i64("before_bytes").map_err(wrong)?,
        table.i64("end_bytes").map_err(wrong)?,
    );
    let uses = (0..table.rows()).map(|row| Use {
        place: place.get(row).unwrap_or_default().to_owned(),
        // Without a peak nothing was ever live.
        peak: peak.get(row).unwrap_or(0) as f64,
        growth: end.get(row).unwrap_or(0) as f64 - before.get(row).unwrap_or(0) as f64,
        at_ns: at.get(row).unwrap_or(0),
    });
    Ok(Ok(uses.collect()))
}

/// Counters `rss` or `rss_bytes`, in bytes. Growth is the last reading minus the first. The inner error says why
/// they cannot be used.
fn rss(subject: &Subject<'_>) -> Result<Result<Vec<Use>, String>, String> {
    let sql = "SELECT time_ns, value, CAST(unit AS VARCHAR) AS unit FROM counters WHERE (name = 'rss' OR name = 'rss_bytes') \
               AND source = 'measured' ORDER BY time_ns, value";
    let frame = collect(&subject.database, sql).map_err(|error| error.to_string())?;
    let rows = Rows::new(&frame);
    let times = rows.i64("time_ns").map_err(|error| error.to_string())?;
    let values = rows.f64("value").map_err(|error| error.to_string())?;
    let units = rows.text("unit").map_err(|error| error.to_string())?;
    let mut units = units.iter().flatten();
    if let Some(unit) = units.find(|unit| !["bytes", "byte", "B"].contains(unit)) {
        return Ok(Err(format!("counter rss is in {unit:?}, not in bytes")));
    }
    let readings: Vec<(i64, f64)> = times
        .iter()
        .zip(values.iter())
        .filter_map(|(time, value)| Some((time?, value?)))
        .collect();
    let (Some(first), Some(last)) = (readings.first(), readings.last()) else {
        return Ok(Ok(Vec::new()));
    };
    let peak = readings.iter().fold(
        *first,
        |peak, reading| {
            if reading.1 > peak.1 { *reading } else { peak }
        },
    );
    Ok(Ok(vec![Use {
        place: "process".to_owned(),
        peak: peak.1,
        growth: last.1 - first.1,
        at_ns: peak.0,
    }]))
}
