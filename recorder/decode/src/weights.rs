//! The model's size and its random weights.

use super::random::Random;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    pub layers: usize,
    /// Width of the residual stream.
    pub dim: usize,
    /// `dim` must be a multiple of it.
    pub heads: usize,
    pub ffn: usize,
    pub vocab: usize,
    pub positions: usize,
}

impl Shape {
    pub fn head_dim(&self) -> usize {
        self.dim / self.heads
    }
}

/// Weights of one layer. Matrices are row-major, with one row per output.
pub struct LayerWeights {
    /// RMSNorm before attention, `dim`.
    pub attention_norm: Vec<f32>,
    /// Query, key and value rows one after the other, `3 dim x dim`.
    pub qkv: Vec<f32>,
    /// `dim x dim`.
    pub output: Vec<f32>,
    /// RMSNorm before the feed-forward network, `dim`.
    pub ffn_norm: Vec<f32>,
    /// `ffn x dim`.
    pub gate: Vec<f32>,
    /// `ffn x dim`.
    pub up: Vec<f32>,
    /// `dim x ffn`.
    pub down: Vec<f32>,
}

pub struct Weights {
    /// One row per token, `vocab x dim`.
    pub embedding: Vec<f32>,
    pub layers: Vec<LayerWeights>,
    /// RMSNorm before the head, `dim`.
    pub final_norm: Vec<f32>,
    /// `vocab x dim`.
    pub lm_head: Vec<f32>,
}

impl Weights {
    /// Random weights. Projections preserve the variance of their input.
    pub fn random(shape: &Shape, seed: u64) -> Weights {
        let random = &mut Random::new(seed, 1);
        let (dim, ffn) = (shape.dim, shape.ffn);
        Weights {
            embedding: matrix(random, shape.vocab, dim, 1.0),
            layers: (0..shape.layers)
                .map(|_| LayerWeights {
                    attention_norm: norm(random, dim),
                    qkv: projection(random, 3 * dim, dim),
                    output: projection(random, dim, dim),
                    ffn_norm: norm(random, dim),
                    gate: projection(random, ffn, dim),
                    up: projection(random, ffn, dim),
                    down: projection(random, dim, ffn),
                })
                .collect(),
            final_norm: norm(random, dim),
            lm_head: projection(random, shape.vocab, dim),
        }
    }

    pub fn bytes(&self) -> usize {
        let layer = |l: &LayerWeights| {
            let norms = l.attention_norm.len() + l.ffn_norm.len();
            norms + l.qkv.len() + l.output.len() + l.gate.len() + l.up.len() + l.down.len()
        };
        let layers: usize = self.layers.iter().map(layer).sum();
        size_of::<f32>()
            * (self.embedding.len() + layers + self.final_norm.len() + self.lm_head.len())
    }
}

fn matrix(random: &mut Random, rows: usize, cols: usize, deviation: f32) -> Vec<f32> {
    (0..rows * cols).map(|_| random.spread(deviation)).collect()
}

fn projection(random: &mut Random, rows: usize, cols: usize) -> Vec<f32> {
    matrix(random, rows, cols, 1.0 / (cols as f32).sqrt())
}

fn norm(random: &mut Random, dim: usize) -> Vec<f32> {
    (0..dim).map(|_| 1.0 + random.spread(0.1)).collect()
}
