//! A row for each operator and shape, with its work and its place below the roof.

use std::collections::BTreeMap;

use trueno_analysis::roofline::ceilings::{Ceilings, Need};
use trueno_analysis::roofline::model::Bound;

use crate::calls::Recorded;
use crate::groups::{Sums, TimedOn};
use crate::work::Work;

#[derive(Clone, Debug)]
pub struct Row {
    pub name: String,
    pub recorded: Recorded,
    pub sums: Sums,
    pub kernels: BTreeMap<String, i64>,
    /// Work of one call, or why it is unknown.
    pub work: Result<Work, String>,
    /// Place below the roof, or why it has none; `None` if it has no work or no time.
    pub place: Option<Result<Place, String>>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    /// Time at the roof: FLOPs / compute ceiling or bytes / bandwidth, whichever is longer.
    pub roof_ns: f64,
    pub efficiency: f64,
    /// Which of the two is longer.
    pub bound: Bound,
    /// Source of the binding ceiling: `measured` or `nominal`.
    pub source: String,
    /// Indexes of the compute ceiling, if it computes, and of the memory ceiling.
    pub ceilings: (Option<usize>, usize),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Total {
    pub flops: f64,
    pub bytes: f64,
    pub time_ns: i64,
}

impl Total {
    pub fn per_s(&self, amount: f64) -> f64 {
        amount / (self.time_ns as f64 / 1e9)
    }

    pub fn intensity(&self) -> Option<f64> {
        (self.bytes > 0.0).then(|| self.flops / self.bytes)
    }
}

impl Row {
    /// Work of all calls that `Sums::timed` measures.
    pub fn total(&self, on: TimedOn) -> Option<Total> {
        let (time_ns, calls) = self.sums.timed(on)?;
        let work = self.work.as_ref().ok()?;
        Some(Total {
            flops: work.flops as f64 * calls as f64,
            bytes: work.moved_bytes as f64 * calls as f64,
            time_ns,
        })
    }

    /// Work and time of the part that is counted, so that sums over rows count nothing twice.
    pub fn counted(&self) -> Option<Total> {
        let work = self.work.as_ref().ok()?;
        let calls = self.sums.counted_calls as f64;
        (self.sums.counted_ns > 0).then_some(Total {
            flops: work.flops as f64 * calls,
            bytes: work.moved_bytes as f64 * calls,
            time_ns: self.sums.counted_ns,
        })
    }

    pub fn placed(&self) -> Option<&Place> {
        self.place.as_ref()?.as_ref().ok()
    }

    pub fn judge(&mut self, on: TimedOn, ceilings: &Ceilings) {
        let (Some(total), Ok(work)) = (self.total(on), &self.work) else {
            return;
        };
        if work.family == "collective" {
            self.place = Some(Err(NO_NETWORK.to_owned()));
            return;
        }
        let device = match on {
            TimedOn::Device => format!("gpu:{}", self.sums.device),
            TimedOn::Host => "cpu".to_owned(),
        };
        self.place = Some(place(&total, &device, work, ceilings));
    }
}

pub const NO_NETWORK: &str = "the network bounds a collective, and its ceiling is not known";

/// Ceiling level of the vector units of a GPU.
const VECTOR_UNITS: &str = "cuda_cores";

fn place(total: &Total, device: &str, work: &Work, ceilings: &Ceilings) -> Result<Place, String> {
    let by_memory = ceilings.bandwidth(device, "dram", &mut Vec::new())?;
    let memory_ns = total.bytes / ceilings.rows[by_memory].value * 1e9;
    let (mut roof_ns, mut bound, mut binding) = (memory_ns, Bound::Memory, by_memory);
    let mut by_compute = None;
    if total.flops > 0.0 {
        let precision = work.precision.as_deref();
        let precision = precision.ok_or("its element type has no roof")?;
        let need = if work.is_matrix || device == "cpu" {
            (None, precision)
        } else {
            (Some(VECTOR_UNITS), vector_precision(precision))
        };
        let compute = ceilings.choose(&Need {
            device,
            instruction_set: need.0,
            precision: need.1,
            memory: "dram",
        });
        let compute = match compute {
            Ok(choice) => Some(choice.compute),
            // No roof of vector units is known; that of memory is one all the same.
            Err(_) if !work.is_matrix => None,
            Err(why) => return Err(why),
        };
        by_compute = compute;
        let compute_ns = |at: usize| total.flops / ceilings.rows[at].value * 1e9;
        if let Some(at) = compute.filter(|at| compute_ns(*at) > memory_ns) {
            (roof_ns, bound, binding) = (compute_ns(at), Bound::Compute, at);
        }
    }
    let efficiency = roof_ns / total.time_ns as f64;
    if !efficiency.is_finite() || efficiency <= 0.0 {
        return Err("no work".to_owned());
    }
    if efficiency > 1.0 + 1e-9 {
        let bound = bound.name();
        return Err(format!(
            "above the roof: {efficiency:.3} times what {bound} allows"
        ));
    }
    Ok(Place {
        roof_ns,
        efficiency,
        bound,
        source: ceilings.rows[binding].source.clone(),
        ceilings: (by_compute, by_memory),
    })
}

/// Precision in which vector units compute: PyTorch's elementwise kernels widen 8-bit and 16-bit floats to FP32.
fn vector_precision(of: &str) -> &str {
    match of {
        "f16" | "bf16" | "f8" | "tf32" => "f32",
        other => other,
    }
}
