//! The activations of a step.

use super::weights::Shape;

/// Activations of one step, one row per position.
#[derive(Default)]
pub struct Buffers {
    /// The residual stream, `dim`.
    pub x: Vec<f32>,
    /// The next value of the residual stream, `dim`.
    pub sum: Vec<f32>,
    /// RMSNorm of the residual stream, `dim`.
    pub normed: Vec<f32>,
    /// Query, key and value, `3 dim`.
    pub qkv: Vec<f32>,
    /// Rotated, `dim`.
    pub query: Vec<f32>,
    /// Rotated, `dim`.
    pub key: Vec<f32>,
    /// All heads side by side, `dim`.
    pub attended: Vec<f32>,
    /// Output of a branch, to be added to the residual stream, `dim`.
    pub projected: Vec<f32>,
    /// `ffn`.
    pub gate: Vec<f32>,
    /// `ffn`.
    pub up: Vec<f32>,
    /// SiLU of the gate, `ffn`.
    pub silu: Vec<f32>,
    /// SiLU of the gate times `up`, `ffn`.
    pub activated: Vec<f32>,
    /// For the last position only, `vocab`.
    pub logits: Vec<f32>,
    /// Scratch space of one row each, `dim`.
    pub spare: [Vec<f32>; 2],
}

impl Buffers {
    /// Makes room for `rows` positions. Existing values stay or are cut off.
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
