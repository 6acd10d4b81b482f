//! The activations of a step.

use super::weights::Shape;

/// Activations of one step, one row a position.
#[derive(Default)]
pub struct Buffers {
    /// The residual stream, `dim`.
    pub x: Vec<f32>,
    /// Its next value, `dim`.
    pub sum: Vec<f32>,
    /// RMSNorm of it, `dim`.
    pub normed: Vec<f32>,
    /// Query, key, value, `3 dim`.
    pub qkv: Vec<f32>,
    /// Rotated, `dim`.
    pub query: Vec<f32>,
    /// Rotated, `dim`.
    pub key: Vec<f32>,
    /// All heads side by side, `dim`.
    pub attended: Vec<f32>,
    /// A branch on its way back, `dim`.
    pub projected: Vec<f32>,
    /// `ffn`.
    pub gate: Vec<f32>,
    /// `ffn`.
    pub up: Vec<f32>,
    /// SiLU of the gate, `ffn`.
    pub silu: Vec<f32>,
    /// Times the other half, `ffn`.
    pub activated: Vec<f32>,
    /// After the last position only, `vocab`.
    pub logits: Vec<f32>,
    /// Intermediate values of one row each, `dim`.
    pub spare: [Vec<f32>; 2],
}

impl Buffers {
    /// Room for `rows` positions; what was there stays or is cut.
    pub fn resize(&mut self, shape: &Shape, rows: usize) {
        let Buffers {
            x,
            sum,
            normed,
            query,
            key,
            attended,
            projected,
            ..
        } = self;
        for buffer in [x, sum, normed, query, key, attended, projected] {
            buffer.resize(rows * shape.dim, 0.0);
        }
        for buffer in [
            &mut self.gate,
            &mut self.up,
            &mut self.silu,
            &mut self.activated,
        ] {
            buffer.resize(rows * shape.ffn, 0.0);
        }
        self.qkv.resize(rows * 3 * shape.dim, 0.0);
        self.logits.resize(shape.vocab, 0.0);
        self.spare
            .iter_mut()
            .for_each(|row| row.resize(shape.dim, 0.0));
    }
}
