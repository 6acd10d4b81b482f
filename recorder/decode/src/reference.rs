//! The same model in `f64`, as slow and obvious as can be.

use crate::rope;
use crate::weights::{LayerWeights, Shape, Weights};

/// The logits after each position of `tokens`, each position computed from scratch.
pub fn logits(shape: &Shape, weights: &Weights, tokens: &[usize]) -> Vec<Vec<f64>> {
    let embedding = |token: &usize| wide(&weights.embedding[token * shape.dim..][..shape.dim]);
    let mut rows: Vec<Vec<f64>> = tokens.iter().map(embedding).collect();
    for layer in &weights.layers {
        rows = layer_output(shape, layer, &rows);
    }
    rows.iter()
        .map(|row| times(&weights.lm_head, &norm(row, &weights.final_norm)))
        .collect()
}

fn layer_output(shape: &Shape, layer: &LayerWeights, rows: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let (dim, width) = (shape.dim, shape.head_dim());
    let qkv: Vec<Vec<f64>> = rows
        .iter()
        .map(|row| times(&layer.qkv, &norm(row, &layer.attention_norm)))
        .collect();
    let mut out = Vec::new();
    for (position, row) in rows.iter().enumerate() {
        let mut heads = Vec::new();
        for head in 0..shape.heads {
            let part = |position: usize, which: usize| {
                &qkv[position][which * dim + head * width..][..width]
            };
            let query = rotated(part(position, 0), position);
            let scores: Vec<f64> = (0..=position)
                .map(|other| dot(&query, &rotated(part(other, 1), other)) / (width as f64).sqrt())
                .collect();
            let exps: Vec<f64> = scores.iter().map(|score| score.exp()).collect();
            let total: f64 = exps.iter().sum();
            for component in 0..width {
                heads.push(
                    (0..=position)
                        .map(|other| exps[other] / total * part(other, 2)[component])
                        .sum(),
                );
            }
        }
        let row = sum(row, &times(&layer.output, &heads));
        let normed = norm(&row, &layer.ffn_norm);
        let silu = |x: f64| x / (1.0 + (-x).exp());
        let gated: Vec<f64> = times(&layer.gate, &normed)
            .iter()
            .zip(times(&layer.up, &normed))
            .map(|(g, u)| silu(*g) * u)
            .collect();
        out.push(sum(&row, &times(&layer.down, &gated)));
    }
    out
}

fn wide(values: &[f32]) -> Vec<f64> {
    values.iter().map(|value| f64::from(*value)).collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn sum(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a + b).collect()
}

fn times(matrix: &[f32], x: &[f64]) -> Vec<f64> {
    matrix
        .chunks_exact(x.len())
        .map(|row| dot(&wide(row), x))
        .collect()
}

fn norm(x: &[f64], weight: &[f32]) -> Vec<f64> {
    let rms = (dot(x, x) / x.len() as f64 + 1e-5).sqrt();
    x.iter()
        .zip(weight)
        .map(|(x, weight)| x / rms * f64::from(*weight))
        .collect()
}

/// Rotates pairs (i, i + half) by their angle, as complex numbers.
fn rotated(x: &[f64], position: usize) -> Vec<f64> {
    let half = x.len() / 2;
    let mut out = vec![0.0; x.len()];
    for i in 0..half {
        let (sin, cos) = rope::angle(position, i, x.len()).sin_cos();
        out[i] = x[i] * cos - x[i + half] * sin;
        out[i + half] = x[i] * sin + x[i + half] * cos;
    }
    out
}
