//! Rotary position embedding (Su et al. 2021), the half-split form.

use super::kernels::Kernels;
use super::weights::Shape;

const BASE: f64 = 10_000.0;

/// Cosines and sines of all positions, in the layout of the rows they rotate.
pub struct Rope {
    cos: Vec<f32>,
    sin: Vec<f32>,
    dim: usize,
    head_dim: usize,
}

impl Rope {
    pub fn new(shape: &Shape) -> Rope {
        let (mut cos, mut sin) = (Vec::new(), Vec::new());
        for position in 0..shape.positions {
            for i in 0..shape.dim {
                let angle = angle(position, i % shape.head_dim(), shape.head_dim());
                cos.push(angle.cos() as f32);
                sin.push(angle.sin() as f32);
            }
        }
        Rope {
            cos,
            sin,
            dim: shape.dim,
            head_dim: shape.head_dim(),
        }
    }

    /// `out` = the heads of `row` rotated to `position`. Per element: a copy into `swapped`, a `mul` and an
    /// `fma`.
    pub fn rotate(
        &self,
        kernels: &Kernels,
        position: usize,
        row: &[f32],
        spare: Spare,
        out: &mut [f32],
    ) {
        let table = position * self.dim..(position + 1) * self.dim;
        let half = self.head_dim / 2;
        for (from, to) in row
            .chunks_exact(self.head_dim)
            .zip(spare.swapped.chunks_exact_mut(self.head_dim))
        {
            to[half..].copy_from_slice(&from[..half]);
            for (from, to) in from[half..].iter().zip(&mut to[..half]) {
                *to = -from;
            }
        }
        kernels.copied(self.dim);
        kernels.mul(spare.swapped, &self.sin[table.clone()], spare.product);
        kernels.fma(row, &self.cos[table], spare.product, out);
    }
}

/// Scratch space for one row, `dim` each.
pub struct Spare<'a> {
    /// The halves of each head swapped, with the first one negated.
    pub swapped: &'a mut [f32],
    /// `swapped` times the sines.
    pub product: &'a mut [f32],
}

/// Angle of value `i` of a head at a position. Both halves have the same angles.
pub fn angle(position: usize, i: usize, head_dim: usize) -> f64 {
    let pair = i % (head_dim / 2);
    position as f64 * BASE.powf(-2.0 * pair as f64 / head_dim as f64)
}
