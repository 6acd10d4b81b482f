//! Projections, a matrix with one row an output.

use super::blocked_matmul::{self, Factors, Panels};
use super::kernels::Kernels;

pub struct Projector {
    blocked: bool,
    panels: Panels,
}

impl Projector {
    /// With `blocked`, several rows at once use the blocked product.
    pub fn new(blocked: bool) -> Projector {
        Projector {
            blocked,
            panels: Panels::default(),
        }
    }

    /// `out = x · weightsᵀ` with rows of `cols` values.
    pub fn project(
        &mut self,
        kernels: &Kernels,
        weights: &[f32],
        x: &[f32],
        cols: usize,
        out: &mut [f32],
    ) {
        let rows = x.len() / cols;
        if self.blocked && rows > 1 {
            let factors = Factors {
                x,
                weights,
                k: cols,
            };
            return blocked_matmul::multiply(kernels, &mut self.panels, factors, out);
        }
        for (x, out) in x
            .chunks_exact(cols)
            .zip(out.chunks_exact_mut(weights.len() / cols))
        {
            kernels.matvec(weights, cols, x, out);
        }
    }
}
