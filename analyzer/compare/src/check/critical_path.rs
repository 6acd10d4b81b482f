//! `critical_path`: how long the chain of work and waits may be.

use serde::Deserialize;
use trueno_host::window::WindowSpec;
use trueno_model::units;

use super::loss::Tables;
use super::outcome::Found;
use super::subject::Subject;
use super::types::{Condition, Declared};
use trueno_analysis::name_pattern::matches;
use trueno_host::plugin::Registry;

/// Length of the critical path, which is the wall time of its window, or of pieces of some kinds or names.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CriticalPath {
    max_duration_ms: Option<f64>,
    max_duration_us: Option<f64>,
    /// `iteration=N`, `iteration=N..M` or `id=N`; the whole run if missing.
    window: Option<String>,
    /// Only pieces of these kinds: work, transfer, launch_delay, queue, sync_wait, gap.
    kinds: Option<Vec<String>>,
    /// Only pieces of rows whose name matches.
    trace_name_pattern: Option<String>,
}

const KINDS: [&str; 6] = [
    "work",
    "transfer",
    "launch_delay",
    "queue",
    "sync_wait",
    "gap",
];

impl Declared for CriticalPath {
    const WORDS: &[&str] = &["critical_path"];
    const SHORT_FORM: Option<&str> = Some("max_duration_ms");

    fn checked(self) -> Result<Self, String> {
        match (self.max_duration_ms, self.max_duration_us) {
            (Some(max), None) | (None, Some(max)) if max >= 0.0 && max.is_finite() => {}
            _ => return Err("it needs max_duration_ms or max_duration_us, not negative".to_owned()),
        }
        if let Some(window) = &self.window {
            WindowSpec::parse(window).map_err(|problem| format!("window: {problem}"))?;
        }
        let unknown = self
            .kinds
            .iter()
            .flatten()
            .find(|kind| !KINDS.contains(&kind.as_str()));
        match unknown {
            Some(kind) => Err(format!(
                "unknown kind {kind:?} (hint: {})",
                KINDS.join(", ")
            )),
            None => Ok(self),
        }
    }
}

impl Condition for CriticalPath {
    fn tables(&self, registry: &Registry) -> Tables {
        Tables::from_plugin("critical_path", registry).without_others()
    }

    fn check(&self, subject: &Subject<'_>) -> Result<Found, String> {
        let max_ns = self.max_ns();
        let of = match (&self.kinds, &self.trace_name_pattern) {
            (None, None) => "the critical path".to_owned(),
            (kinds, name) => {
                let kinds = kinds
                    .as_ref()
                    .map_or("all pieces".to_owned(), |all| all.join(" and "));
                let names = name
                    .as_ref()
                    .map_or(String::new(), |name| format!(" named {name}"));
                format!("{kinds}{names} on the critical path")
            }
        };
        let expected = format!("{of} at most {}", units::duration(max_ns));
        let place = self
            .window
            .clone()
            .unwrap_or_else(|| "whole run".to_owned());
        let window = self.window.as_deref().map(WindowSpec::parse).transpose()?;
        let table = match subject.table("critical_path", "by_name", window.as_ref()) {
            Ok(table) => table,
            Err(why) => return Ok(Found::not_measurable(expected, why, place)),
        };
        let wrong = |error: trueno_plugin::Error| error.to_string();
        let (kinds, names) = (
            table.text("kind").map_err(wrong)?,
            table.text("name").map_err(wrong)?,
        );
        let durations = table.i64("dur_ns").map_err(wrong)?;
        let mut pieces: Vec<(i64, String)> = Vec::new();
        for row in 0..table.rows() {
            let (kind, name) = (
                kinds.get(row).unwrap_or_default(),
                names.get(row).unwrap_or_default(),
            );
            let wanted = self
                .kinds
                .as_ref()
                .is_none_or(|all| all.iter().any(|k| k == kind))
                && self
                    .trace_name_pattern
                    .as_ref()
                    .is_none_or(|pattern| matches(pattern, name));
            if wanted {
                pieces.push((durations.get(row).unwrap_or(0), format!("{name} ({kind})")));
            }
        }
        if table.rows() == 0 {
            return Ok(Found::not_measurable(
                expected,
                "the run has no critical path",
                place,
            ));
        }
        if pieces.is_empty() && self.trace_name_pattern.is_some() {
            return Ok(Found::not_measurable(
                expected,
                "no such name is on it",
                place,
            ));
        }
        let times = pieces.iter().map(|(ns, _)| *ns);
        let total = times.fold(0, i64::saturating_add);
        pieces.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
        let longest = pieces.first().map_or(String::new(), |(ns, name)| {
            format!(", {} of it in {name}", units::duration(*ns as f64))
        });
        let holds = total as f64 <= max_ns;
        // The whole path of a run is as long as its wall time, whatever lies on it; more rows only make that longer.
        let is_wall =
            self.kinds.is_none() && self.trace_name_pattern.is_none() && self.window.is_none();
        let actual = format!("{}{longest}", units::duration(total as f64));
        Ok(Found::new(holds, expected, actual, place).certain(is_wall && !holds))
    }
}

impl CriticalPath {
    fn max_ns(&self) -> f64 {
        let us = self.max_duration_us.map(|us| us * 1e3);
        us.or(self.max_duration_ms.map(|ms| ms * 1e6))
            .unwrap_or(0.0)
    }
}
