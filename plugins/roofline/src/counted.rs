//! Work that was counted: by a profiler for single kernels, by the CPU for single bricks.
//!
//! Counts stay in `counters`: `kernels.work_source` is one word for FLOPs and bytes, of which a profile may have either,
//! and a recorded segment is never rewritten. So both are read, and points say which they used.

use trueno_analysis::hash::FastMap;
use trueno_analysis::interner::Texts;
use trueno_analysis::roofline::model::Reason;
use trueno_plugin::{Result, Run};

use crate::label::Provenance;

#[derive(Clone, Copy, Debug)]
pub struct Counted {
    /// Sum over all precisions; `None`: not counted.
    pub flops: Option<f64>,
    pub precision: Option<u32>,
    pub is_mixed: bool,
    pub bytes: Option<f64>,
}

impl Counted {
    /// FLOPs and bytes rounded to integers, or why they cannot be used. Without counted bytes, uses `declared`
    /// ones.
    pub fn work(
        &self,
        declared: Option<u64>,
    ) -> std::result::Result<(f64, f64, Provenance), Reason> {
        if self.is_mixed {
            return Err(Reason::MixedPrecision);
        }
        let flops = self.flops.ok_or(Reason::NoFlops)?.round();
        match (self.bytes, declared) {
            (Some(bytes), _) => Ok((flops, bytes.round(), Provenance::Counted)),
            (None, Some(bytes)) => Ok((flops, bytes as f64, Provenance::CountedFlops)),
            (None, None) => Err(Reason::NoBytes),
        }
    }
}

/// Rounds a count to an integer, so that sums do not depend on the order.
///
/// # Errors
/// It is none: no number, negative, or of more than 64 bits.
pub fn whole(figure: f64) -> std::result::Result<u64, Reason> {
    let figure = figure.round();
    // The smallest power of two that does not fit; what is no number compares as false.
    if (0.0..u64::MAX as f64).contains(&figure) {
        Ok(figure as u64)
    } else {
        Err(Reason::OutOfRange)
    }
}

/// Counters by id of the kernel or brick.
///
/// # Errors
/// The input lacks a column or has it in another type.
pub fn read(run: &mut Run, input: &str, texts: &mut Texts) -> Result<FastMap<u64, Counted>> {
    let table = run.table(input)?;
    let (span, name, value) = (table.u64("span")?, table.text("name")?, table.f64("value")?);
    let mut out: FastMap<u64, Counted> = FastMap::default();
    for row in 0..table.rows() {
        let (Some(span), Some(name), Some(value)) = (span.get(row), name.get(row), value.get(row))
        else {
            continue;
        };
        let counted = out.entry(span).or_insert(Counted {
            flops: None,
            precision: None,
            is_mixed: false,
            bytes: None,
        });
        if name == "flops" {
            // Of all precisions together: which one is not known.
            counted.flops = Some(counted.flops.unwrap_or(0.0) + value);
            continue;
        }
        match name.strip_prefix("flops_") {
            Some(precision) => {
                counted.flops = Some(counted.flops.unwrap_or(0.0) + value);
                // A kernel that could count two precisions but used one is of that one.
                if value != 0.0 {
                    let precision = texts.number(precision);
                    counted.is_mixed |= counted.precision.is_some_and(|known| known != precision);
                    counted.precision = Some(precision);
                }
            }
            None => counted.bytes = Some(counted.bytes.unwrap_or(0.0) + value),
        }
    }
    Ok(out)
}
