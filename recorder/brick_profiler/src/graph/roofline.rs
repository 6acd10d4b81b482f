//! Kernels below a roof.

use std::collections::HashMap;

use trueno_analysis::roofline::model::{Place, Roof, Work, place};

use super::{ExecutionGraph, ExecutionNode, ExecutionNodeId};

/// A kernel that has no distance from the roof.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnplacedKernel {
    /// The kernel.
    pub id: ExecutionNodeId,
    /// The figure that is missing or wrong, in words.
    pub reason: String,
}

impl ExecutionGraph {
    /// Distances of kernels from the roof: 1 − achieved / min(peak, intensity × bandwidth), by the model that the plugin
    /// `roofline` uses. 0 is at the roof, below 0 above it: then figures and peaks contradict each other. A kernel without
    /// figures, or with ones that are none, is left out: see [`ExecutionGraph::unplaced_kernels`].
    ///
    /// Figures and peaks are the caller's; nothing of it is measured here.
    pub fn roofline_distance(
        &self,
        peak_tflops: f32,
        peak_bandwidth_gb_s: f32,
    ) -> HashMap<ExecutionNodeId, f32> {
        let placed = self.placed(peak_tflops, peak_bandwidth_gb_s);
        let distances = placed.filter_map(|(id, place)| Some((id, place.ok()?.distance() as f32)));
        distances.collect()
    }

    /// Kernels that [`ExecutionGraph::roofline_distance`] leaves out, and why.
    pub fn unplaced_kernels(
        &self,
        peak_tflops: f32,
        peak_bandwidth_gb_s: f32,
    ) -> Vec<UnplacedKernel> {
        let placed = self.placed(peak_tflops, peak_bandwidth_gb_s);
        let left_out = placed.filter_map(|(id, place)| {
            let reason = place.err()?;
            Some(UnplacedKernel { id, reason })
        });
        left_out.collect()
    }

    fn placed(
        &self,
        peak_tflops: f32,
        peak_bandwidth_gb_s: f32,
    ) -> impl Iterator<Item = (ExecutionNodeId, Result<Place, String>)> {
        let roof = Roof {
            compute: f64::from(peak_tflops) * 1e12,
            bandwidth: f64::from(peak_bandwidth_gb_s) * 1e9,
        };
        let kernels = self.kernel_nodes();
        kernels.map(move |(id, node)| (id, below(node, &roof)))
    }
}

fn below(kernel: &ExecutionNode, roof: &Roof) -> Result<Place, String> {
    let given = |value: Option<f32>, what: &str| {
        let value = value.ok_or_else(|| format!("no {what} was given"))?;
        if value.is_finite() && value > 0.0 {
            return Ok(f64::from(value));
        }
        Err(format!("the {what} is {value}"))
    };
    let intensity = given(kernel.arithmetic_intensity(), "arithmetic intensity")?;
    let flops = given(kernel.achieved_tflops(), "rate of FLOPs")? * 1e12;
    let work = Work {
        flops,
        bytes: flops / intensity,
        dur_ns: 1e9,
    };
    place(&work, roof).map_err(|reason| reason.to_string())
}
