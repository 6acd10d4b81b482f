//! Growth of the relative error over layers, iterations and positions.

use trueno_plugin::{Table, TableBuilder};

use crate::judge::{Judged, Verdict};
use crate::order::{Flow, Place};

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

struct Axis {
    number: fn(&Place) -> Option<u64>,
    width: u64,
    steps: Vec<Step>,
}

/// Sums up the items, in data-flow order.
pub struct Growth([Axis; 3]);

impl Growth {
    pub fn new(flow: &Flow<'_>) -> Self {
        let axis = |over, number: fn(&Place) -> Option<u64>| {
            let most = flow.places().filter_map(number).max().unwrap_or(0);
            let width = most / BUCKETS + 1;
            let step = |bucket: u64| Step {
                over,
                at: bucket * width,
                to: (bucket * width).saturating_add(width - 1).min(most),
                compared: 0,
                diverged: 0,
                error: None,
                tolerance: 0.0,
            };
            Axis {
                number,
                width,
                steps: (0..=most / width).map(step).collect(),
            }
        };
        Self([
            axis("layer", |place| {
                place.layer.and_then(|layer| u64::try_from(layer).ok())
            }),
            axis("iteration", |place| place.iteration),
            axis("position", |place| place.position),
        ])
    }

    pub fn add(&mut self, place: &Place, judged: &Judged, mut tolerance: impl FnMut() -> f64) {
        let is_compared = matches!(
            judged.verdict,
            Verdict::Identical | Verdict::Within | Verdict::Diverged
        );
        if !is_compared {
            return;
        }
        for axis in &mut self.0 {
            let Some(at) = (axis.number)(place) else {
                continue;
            };
            let step = &mut axis.steps[(at / axis.width) as usize];
            step.compared += 1;
            step.diverged += u64::from(judged.verdict == Verdict::Diverged);
            if judged.relative_error > step.error {
                step.error = judged.relative_error;
                step.tolerance = tolerance();
            }
        }
    }

    /// Rows by axis and place; empty if nothing was compared.
    pub fn into_steps(self) -> Vec<Step> {
        let steps = self.0.into_iter().flat_map(|axis| axis.steps);
        steps.filter(|step| step.compared > 0).collect()
    }
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
