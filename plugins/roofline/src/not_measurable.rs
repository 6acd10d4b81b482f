//! Rows and points without an efficiency, and the reasons.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use trueno_analysis::roofline::model::Reason;

use crate::label::Source;
use crate::points::Point;
use crate::sums::Sums;

#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    pub source: Source,
    pub reason: String,
    pub calls: u64,
    /// Sum of durations; `None` if they mean nothing.
    pub dur_ns: Option<i64>,
    pub names: u64,
    pub example: String,
}

/// Rows sorted by time, longest first. Includes points that lie above their roof or have no ceiling.
pub fn rows(sums: &Sums, points: &[Point]) -> Vec<Row> {
    type Names = BTreeMap<String, (u64, i64)>;
    let mut found: BTreeMap<(Source, String, bool), Names> = BTreeMap::new();
    let mut add = |source, reason: String, has_time, name: &str, calls, dur_ns| {
        let names = found.entry((source, reason, has_time)).or_default();
        let sum = names.entry(name.to_owned()).or_default();
        sum.0 = u64::saturating_add(sum.0, calls);
        sum.1 = i64::saturating_add(sum.1, dur_ns);
    };
    for ((source, reason, name), sum) in &sums.excluded {
        let has_time = !matches!(reason, Reason::BoundRow | Reason::InvalidRow);
        let name = sums.texts.text(*name);
        add(
            *source,
            reason.to_string(),
            has_time,
            name,
            sum.calls,
            sum.dur_ns,
        );
    }
    for point in points.iter().filter(|point| point.sum.calls > 0) {
        if let Some(reason) = &point.reason {
            let name = sums.texts.text(point.label.name);
            let reason = match point.place {
                Some(place) if place.is_above() => format!("above the roof: {reason}"),
                // How many each, `points` says.
                Some(_) => "at least half of the calls lie above the roof".to_owned(),
                None => reason.clone(),
            };
            let source = point.label.source;
            add(
                source,
                reason,
                true,
                name,
                point.sum.calls,
                point.sum.dur_ns,
            );
        }
    }
    let mut out: Vec<Row> = found
        .into_iter()
        .map(|((source, reason, has_time), names)| Row {
            source,
            reason,
            calls: names.values().map(|sum| sum.0).fold(0, u64::saturating_add),
            dur_ns: has_time.then(|| names.values().map(|sum| sum.1).fold(0, i64::saturating_add)),
            names: names.len() as u64,
            example: names
                .iter()
                .min_by_key(|(name, sum)| (Reverse(sum.1), Reverse(sum.0), *name))
                .map(|(name, _)| name.clone())
                .unwrap_or_default(),
        })
        .collect();
    out.sort_by_key(|row| {
        (
            Reverse(row.dur_ns),
            Reverse(row.calls),
            row.source,
            row.reason.clone(),
        )
    });
    out
}
