//! Calls of a decoder, which are as many for each token: the contract of a decoding run.
//!
//! Calls = tokens × layers × a number that the model fixes. The model is not known here, so that its number is that of
//! most iterations. Only bricks are judged whose calls no model lets vary: the head and the norms in each iteration
//! and layer, the attention scores between the layers of one iteration (long contexts may cut them into more calls).

use std::collections::{BTreeMap, BTreeSet};

use trueno_plugin::{Result, Run, Severity, rank};

use crate::check::{Check, Spec};
use crate::tallies::Marked;

const DECODE: Spec = Spec {
    name: "decode_calls",
    fault: "call counts that differ between iterations or layers",
    expected: "equally often in each iteration and layer",
    severity: Severity::Warning,
    suggestion: "a replayed graph or a switch hides bricks in some iterations: their times and rates there are too low",
};
const BY_LAYER: &str = "AttentionScore";
/// Below this number of iterations, without the first, none can be called different from most.
const MIN_ITERATIONS: usize = 3;

type Calls = BTreeMap<(Option<i64>, u64), u64>;

#[derive(Default)]
struct Decoder {
    iterations: BTreeSet<u64>,
    bricks: BTreeMap<String, Calls>,
}

/// Counts how often bricks were called, and marks counts that differ from the others.
///
/// # Errors
/// The input lacks a column or has it in another type.
pub fn read(run: &mut Run) -> Result<Marked> {
    let mut ranks: BTreeMap<i64, Decoder> = BTreeMap::new();
    let mut batches = run.batches("decode_calls")?;
    while let Some(batch) = batches.next_batch()? {
        let (kind, name) = (batch.text("kind")?, batch.text("name")?);
        let (thread, layer) = (batch.i64("thread")?, batch.i64("layer")?);
        let (iteration, calls) = (batch.u64("iteration")?, batch.i64("calls")?);
        for row in 0..batch.rows() {
            let known = (name.get(row), iteration.get(row), calls.get(row));
            let (Some(name), Some(iteration), Some(more)) = known else {
                continue;
            };
            let rank = rank::of_place(thread.get(row).unwrap_or(0)).0;
            let decoder = ranks.entry(rank).or_default();
            decoder.iterations.insert(iteration);
            if kind.get(row) != Some("iteration") {
                let of = decoder.bricks.entry(name.to_owned()).or_default();
                let sum = of.entry((layer.get(row), iteration)).or_default();
                *sum = sum.saturating_add(u64::try_from(more).unwrap_or(0));
            }
        }
    }
    let mut all = Marked::default();
    for decoder in ranks.values() {
        all.merge(&judge(decoder));
    }
    Ok(all)
}

fn judge(decoder: &Decoder) -> Marked {
    // The prompt comes first, and may be cut into pieces or need no head.
    let steady: Vec<u64> = decoder.iterations.iter().skip(1).copied().collect();
    let mut counts = Marked::default();
    if steady.len() < MIN_ITERATIONS {
        return counts;
    }
    for (name, calls) in &decoder.bricks {
        let mut layers: Vec<Option<i64>> = calls.keys().map(|key| key.0).collect();
        layers.dedup();
        let of = |layer: Option<i64>, iteration: u64| {
            calls.get(&(layer, iteration)).copied().unwrap_or(0)
        };
        if name == BY_LAYER {
            for &iteration in &steady {
                counts.add(layers.iter().map(|&layer| of(layer, iteration)).collect());
            }
        } else {
            for &layer in &layers {
                counts.add(steady.iter().map(|&at| of(layer, at)).collect());
            }
        }
    }
    counts
}

impl Marked {
    /// Adds numbers that should be equal, and marks those that differ from the median.
    fn add(&mut self, numbers: Vec<u64>) {
        let mut sorted = numbers;
        sorted.sort_unstable();
        let middle = sorted[sorted.len() / 2];
        let odd = sorted.iter().filter(|number| **number != middle).count();
        self.merge(&Self {
            all: sorted.len() as u64,
            marked: odd as u64,
        });
    }
}

/// Check `decode_calls`. Not measurable if rows are missing; `nothing_dropped` reports those.
pub fn check(calls: &Marked, nothing_missing: bool) -> Check {
    if calls.all == 0 {
        return DECODE.not_measurable(
            "LmHead, RmsNorm and AttentionScore are not recorded in four iterations or more",
        );
    }
    if !nothing_missing {
        return DECODE.not_measurable("rows are missing, or may be");
    }
    let sql = "SELECT name, layer, calls, COUNT(*) AS iterations FROM ( \
               SELECT name, layer, iteration, COUNT(*) AS calls FROM bricks WHERE kind = 'brick' \
               AND iteration IS NOT NULL AND (name = 'LmHead' OR name = 'RmsNorm' OR name = 'AttentionScore') \
               GROUP BY name, layer, iteration) AS counted \
               GROUP BY name, layer, calls ORDER BY name, layer, calls";
    DECODE
        .counted(
            calls.marked,
            format!(
                "of {} call counts by iteration and layer, without the first iteration",
                calls.all
            ),
        )
        .evidence(sql)
}
