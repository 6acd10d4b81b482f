//! Growth of the relative error over layers, iterations and positions.

use std::collections::BTreeMap;

use trueno_plugin::{Table, TableBuilder};

use crate::judge::Verdict;
use crate::tables::All;

/// Maximum number of rows of an axis. With more places, each row covers a range of equal width.
const BUCKETS: u64 = 1000;

pub struct Step {
    over: &'static str,
    at: u64,
    to: u64,
    compared: u64,
    diverged: u64,
    error: Option<f64>,
    tolerance: f64,
}

/// Rows by axis and place; empty if nothing was compared.
pub fn growth(all: &All) -> Vec<Step> {
    let mut steps = Vec::new();
    type Number = fn(&crate::order::Place) -> Option<u64>;
    let axes: [(&str, Number); 3] = [
        ("layer", |place| {
            place.layer.and_then(|layer| u64::try_from(layer).ok())
        }),
        ("iteration", |place| place.iteration),
        ("position", |place| place.position),
    ];
    for (over, number) in axes {
        let most = all
            .groups
            .places
            .iter()
            .filter_map(number)
            .max()
            .unwrap_or(0);
        let width = most / BUCKETS + 1;
        let mut rows: BTreeMap<u64, Step> = BTreeMap::new();
        for (item, judged) in all.items.iter().zip(all.judged) {
            let compared = matches!(
                judged.verdict,
                Verdict::Identical | Verdict::Within | Verdict::Diverged
            );
            let Some(at) = number(&all.groups.places[item.group as usize]).filter(|_| compared)
            else {
                continue;
            };
            let bucket = at / width;
            let step = rows.entry(bucket).or_insert(Step {
                over,
                at: bucket * width,
                to: (bucket * width).saturating_add(width - 1).min(most),
                compared: 0,
                diverged: 0,
                error: None,
                tolerance: 0.0,
            });
            step.compared += 1;
            step.diverged += u64::from(judged.verdict == Verdict::Diverged);
            if judged.relative_error > step.error {
                step.error = judged.relative_error;
                step.tolerance = judged.tolerance;
            }
        }
        steps.extend(rows.into_values());
    }
    steps
}

pub fn table(steps: &[Step]) -> TableBuilder {
    Table::build("growth")
        .text("over", steps.iter().map(|step| step.over))
        .u64("at", steps.iter().map(|step| step.at))
        .u64("to", steps.iter().map(|step| step.to))
        .u64("compared", steps.iter().map(|step| step.compared))
        .u64("diverged", steps.iter().map(|step| step.diverged))
        .f64("max_relative_error", steps.iter().map(|step| step.error))
        .f64(
            "tolerance",
            steps.iter().map(|step| step.error.map(|_| step.tolerance)),
        )
}
