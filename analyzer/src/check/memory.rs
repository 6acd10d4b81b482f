//! `memory_usage`: the peak of memory, and what is kept.

use serde::Deserialize;

use super::outcome::Found;
use super::subject::Subject;
use crate::allocated::allocated;
use crate::query::collect;
use crate::report::units;
use crate::rows::Rows;

/// Of what the program said it took, or of the process as counters read it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemoryUsage {
    max_bytes: Option<u64>,
    max_growth_bytes: Option<u64>,
    #[serde(default)]
    tracking_mode: Mode,
    /// `host` or `device N`; else each place by itself.
    place: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Mode {
    #[default]
    Allocations,
    Rss,
}

/// Peak, growth, and when the peak was, of one place.
struct Use {
    place: String,
    peak: f64,
    growth: f64,
    at_ns: i64,
}

impl MemoryUsage {
    pub(super) fn checked(self) -> Result<Self, String> {
        if self.max_bytes.is_none() && self.max_growth_bytes.is_none() {
            return Err("it needs max_bytes or max_growth_bytes".to_owned());
        }
        if self.tracking_mode == Mode::Rss && self.place.is_some() {
            return Err("place goes with tracking_mode \"allocations\" only".to_owned());
        }
        Ok(self)
    }

    pub(super) fn check(&self, subject: &Subject<'_>) -> Result<Found, String> {
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
            Mode::Allocations => (allocations(subject)?, "allocations"),
            Mode::Rss => (rss(subject)?, "counters"),
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
        if holds && self.tracking_mode == Mode::Allocations && subject.is_incomplete() {
            let why = format!("{actual}, and rows are missing from the run");
            return Ok(Found::not_measurable(expected, why, table));
        }
        Ok(Found::new(holds, expected, actual, table))
    }
}

fn allocations(subject: &Subject<'_>) -> Result<Vec<Use>, String> {
    let places = allocated(&subject.database).map_err(|error| error.to_string())?;
    let uses = places.into_iter().map(|(device, memory)| Use {
        place: device.map_or_else(|| "host".to_owned(), |device| format!("device {device}")),
        peak: memory.peak_bytes as f64,
        growth: memory.kept_bytes as f64,
        at_ns: memory.peak_ns,
    });
    Ok(uses.collect())
}

/// Counters `rss` or `rss_bytes`, in bytes; growth is the last reading less the first.
fn rss(subject: &Subject<'_>) -> Result<Vec<Use>, String> {
    let sql = "SELECT time_ns, value FROM counters WHERE (name = 'rss' OR name = 'rss_bytes') \
               AND source = 'measured' ORDER BY time_ns, value";
    let frame = collect(&subject.database, sql).map_err(|error| error.to_string())?;
    let rows = Rows::new(&frame);
    let times = rows.i64("time_ns").map_err(|error| error.to_string())?;
    let values = rows.f64("value").map_err(|error| error.to_string())?;
    let readings: Vec<(i64, f64)> = times
        .iter()
        .zip(values.iter())
        .filter_map(|(time, value)| Some((time?, value?)))
        .collect();
    let (Some(first), Some(last)) = (readings.first(), readings.last()) else {
        return Ok(Vec::new());
    };
    let peak = readings.iter().fold(
        *first,
        |peak, reading| {
            if reading.1 > peak.1 { *reading } else { peak }
        },
    );
    Ok(vec![Use {
        place: "process".to_owned(),
        peak: peak.1,
        growth: last.1 - first.1,
        at_ns: peak.0,
    }])
}
