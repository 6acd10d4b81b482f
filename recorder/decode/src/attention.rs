//! One attention head with its cache: scores, softmax, weighted values.

use super::brick::Brick;
use super::kernels::Kernels;
use super::probe::Probe;
use super::weights::Shape;
use trueno_recorder::Name;

/// One head of one layer. It owns all its data, so that it can move to another thread and back without sharing.
pub struct Head {
    pub index: usize,
    /// Rotated queries, one row per new position.
    query: Vec<f32>,
    /// Rotated keys, one row per position.
    keys: Vec<f32>,
    /// Transposed values, one row per component, so that a weighted sum over positions is a dot product of
    /// contiguous values.
    values: Vec<f32>,
    /// Scores of the new positions, then scratch space.
    scores: Vec<f32>,
    spare: Vec<f32>,
    probabilities: Vec<f32>,
    /// One row per new position.
    out: Vec<f32>,
    head_dim: usize,
    positions: usize,
}

#[derive(Clone, Copy, Debug)]
pub struct Step {
    pub start: usize,
    pub rows: usize,
}

impl Step {
    pub fn end(self) -> usize {
        self.start + self.rows
    }
}

pub struct HeadNames {
    pub task: Name,
    score: Name,
    softmax: Name,
    output: Name,
}

impl HeadNames {
    pub fn new(index: usize) -> HeadNames {
        let name = |what: &str| Name::new(&format!("{what}.head{index}"));
        HeadNames {
            task: Name::new(&format!("head {index}")),
            score: name("AttentionScore"),
            softmax: name("AttentionSoftmax"),
            output: name("AttentionOutput"),
        }
    }
}

impl Head {
    pub fn new(shape: &Shape, index: usize) -> Head {
        let (head_dim, positions) = (shape.head_dim(), shape.positions);
        Head {
            index,
            query: Vec::new(),
            keys: vec![0.0; positions * head_dim],
            values: vec![0.0; positions * head_dim],
            scores: Vec::new(),
            spare: vec![0.0; positions],
            probabilities: Vec::new(),
            out: Vec::new(),
            head_dim,
            positions,
        }
    }

    pub fn cache_bytes(&self) -> usize {
        size_of::<f32>() * (self.keys.len() + self.values.len())
    }

    /// Copies this head's part of new queries, keys and values out of rows of all heads. Rows of values are
    /// `value_stride` apart.
    pub fn write(&mut self, kernels: &Kernels, step: Step, rows: NewRows) {
        let part = self.index * self.head_dim..(self.index + 1) * self.head_dim;
        self.query.clear();
        for row in 0..step.rows {
            let position = step.start + row;
            self.query
                .extend_from_slice(&rows.query[row * rows.dim..][part.clone()]);
            let key = &rows.key[row * rows.dim..][part.clone()];
            self.keys[position * self.head_dim..][..self.head_dim].copy_from_slice(key);
            let value = &rows.value[row * rows.value_stride..][part.clone()];
            for (component, value) in value.iter().enumerate() {
                self.values[component * self.positions + position] = *value;
            }
        }
        kernels.copied(3 * step.rows * self.head_dim);
    }

    pub fn out(&self) -> &[f32] {
        &self.out
    }

    /// Causal attention of the new positions over all positions up to each.
    pub fn attend(&mut self, probe: &Probe, names: &HeadNames, step: Step) {
        let (seen, head_dim) = (step.end(), self.head_dim);
        // What a position may not see stays 0 in scores and probabilities.
        for buffer in [&mut self.scores, &mut self.probabilities] {
            buffer.clear();
            buffer.resize(step.rows * seen, 0.0);
        }
        self.out.resize(step.rows * head_dim, 0.0);
        let visible: usize = (0..step.rows).map(|row| step.start + row + 1).sum();
        let rows = (0..step.rows).map(|row| (row, step.start + row + 1));

        let of = probe.operator(
            Brick::AttentionScore,
            [[step.rows, head_dim], [seen, head_dim]],
            visible,
            |kernels| {
                for (row, n) in rows.clone() {
                    let query = &self.query[row * head_dim..][..head_dim];
                    let scores = &mut self.scores[row * seen..][..n];
                    kernels.matvec(&self.keys, head_dim, query, &mut self.spare[..n]);
                    kernels.scale(&self.spare[..n], 1.0 / (head_dim as f32).sqrt(), scores);
                }
            },
        );
        probe.checksum(of, names.score, step.start, &self.scores, step.rows, seen);

        let of = probe.operator(
            Brick::AttentionSoftmax,
            [[step.rows, seen]],
            visible,
            |kernels| {
                for (row, n) in rows.clone() {
                    let scores = &self.scores[row * seen..][..n];
                    kernels.softmax(
                        scores,
                        &mut self.spare[..n],
                        &mut self.probabilities[row * seen..][..n],
                    );
                }
            },
        );
        probe.checksum(
            of,
            names.softmax,
            step.start,
            &self.probabilities,
            step.rows,
            seen,
        );

        let of = probe.operator(
            Brick::AttentionOutput,
            [[step.rows, seen], [head_dim, seen]],
            step.rows * head_dim,
            |kernels| {
                for (row, n) in rows.clone() {
                    let probabilities = &self.probabilities[row * seen..][..n];
                    let out = &mut self.out[row * head_dim..][..head_dim];
                    kernels.matvec(&self.values, self.positions, probabilities, out);
                }
            },
        );
        probe.checksum(of, names.output, step.start, &self.out, step.rows, head_dim);
    }
}

#[derive(Clone, Copy)]
pub struct NewRows<'a> {
    pub query: &'a [f32],
    pub key: &'a [f32],
    /// Rows are `value_stride` apart.
    pub value: &'a [f32],
    pub dim: usize,
    pub value_stride: usize,
}
