//! The transformer: a prompt or one token through all layers.

use super::attention::{Head, NewRows, Step};
use super::brick::Brick;
use super::buffers::Buffers;
use super::head_pool::HeadPool;
use super::kernels::Kernels;
use super::probe::Probe;
use super::projection::Projector;
use super::rope::{Rope, Spare};
use super::weights::{LayerWeights, Shape, Weights};
use std::sync::atomic::Ordering::Relaxed;

pub struct Model<'a> {
    shape: Shape,
    weights: &'a Weights,
    probe: &'a Probe,
    pool: &'a HeadPool<'a>,
    rope: Rope,
    /// Heads by layer. Empty while the pool has them.
    heads: Vec<Vec<Head>>,
    projector: Projector,
    buffers: Buffers,
}

impl<'a> Model<'a> {
    /// A model with empty caches. With `blocked`, several positions at once use the blocked product, otherwise
    /// row by row.
    pub fn new(
        shape: Shape,
        weights: &'a Weights,
        probe: &'a Probe,
        pool: &'a HeadPool<'a>,
        blocked: bool,
    ) -> Model<'a> {
        let layer = |_| {
            (0..shape.heads)
                .map(|index| Head::new(&shape, index))
                .collect()
        };
        Model {
            shape,
            weights,
            probe,
            pool,
            rope: Rope::new(&shape),
            heads: (0..shape.layers).map(layer).collect(),
            projector: Projector::new(blocked),
            buffers: Buffers::default(),
        }
    }

    pub fn cache_bytes(&self) -> usize {
        self.heads.iter().flatten().map(Head::cache_bytes).sum()
    }

    /// Processes `tokens` at the positions from `start` on. Returns the logits after the last one, `vocab` of
    /// them.
    pub fn forward(&mut self, tokens: &[usize], start: usize) -> &[f32] {
        let step = Step {
            start,
            rows: tokens.len(),
        };
        self.buffers.resize(&self.shape, step.rows);
        self.embed(tokens, step);
        let weights = self.weights;
        for (number, layer) in weights.layers.iter().enumerate() {
            let _layer = self.probe.rec.layer(number as u32);
            self.probe.layer.store(number as u32, Relaxed);
            self.attention(number, layer, step);
            self.feed_forward(layer, step);
        }
        self.head(step);
        &self.buffers.logits
    }

    fn embed(&mut self, tokens: &[usize], step: Step) {
        let dim = self.shape.dim;
        let Buffers { x, .. } = &mut self.buffers;
        let of = self.probe.brick(Brick::Embedding, x.len(), |kernels| {
            for (token, row) in tokens.iter().zip(x.chunks_exact_mut(dim)) {
                row.copy_from_slice(&self.weights.embedding[token * dim..][..dim]);
            }
            kernels.copied(tokens.len() * dim);
        });
        self.probe
            .checksum(of, "Embedding", step.start, x, step.rows, dim);
    }

    fn attention(&mut self, number: usize, layer: &LayerWeights, step: Step) {
        let (dim, rows, probe) = (self.shape.dim, step.rows, self.probe);
        norm(
            probe,
            &mut self.buffers,
            &layer.attention_norm,
            "RmsNorm.attention",
            step,
        );
        let Buffers {
            x,
            sum,
            normed,
            qkv,
            query,
            key,
            attended,
            projected,
            spare,
            ..
        } = &mut self.buffers;

        let of = probe.operator(
            Brick::QkvProjection,
            [[rows, dim], [3 * dim, dim]],
            qkv.len(),
            |kernels| {
                self.projector
                    .project(kernels, &layer.qkv, normed, dim, qkv);
            },
        );
        probe.checksum(of, "QkvProjection", step.start, qkv, rows, 3 * dim);

        let [swapped, product] = spare;
        let of = probe.brick(Brick::RopeEmbedding, 2 * rows * dim, |kernels| {
            for (row, from) in qkv.chunks_exact(3 * dim).enumerate() {
                for (from, to) in [
                    (&from[..dim], &mut *query),
                    (&from[dim..2 * dim], &mut *key),
                ] {
                    let to = &mut to[row * dim..][..dim];
                    self.rope.rotate(
                        kernels,
                        step.start + row,
                        from,
                        Spare { swapped, product },
                        to,
                    );
                }
            }
        });
        probe.checksum(of, "RopeEmbedding.query", step.start, query, rows, dim);
        probe.checksum(of, "RopeEmbedding.key", step.start, key, rows, dim);

        let heads = &mut self.heads[number];
        probe.brick(Brick::KvCacheWrite, 2 * rows * dim, |kernels| {
            let rows = NewRows {
                query,
                key,
                value: &qkv[2 * dim..],
                dim,
                value_stride: 3 * dim,
            };
            heads
                .iter_mut()
                .for_each(|head| head.write(kernels, step, rows));
        });

        let taken = std::mem::take(heads);
        *heads = self.pool.attend(taken, step);

        let of = probe.operator(
            Brick::OutputProjection,
            [[rows, dim], [dim, dim]],
            rows * dim,
            |kernels| {
                gather(kernels, heads, dim, attended);
                self.projector
                    .project(kernels, &layer.output, attended, dim, projected);
            },
        );
        probe.checksum(of, "OutputProjection", step.start, projected, rows, dim);
        add_residual(probe, x, projected, sum, "Residual.attention", step);
    }

    fn feed_forward(&mut self, layer: &LayerWeights, step: Step) {
        let (dim, ffn, rows, probe) = (self.shape.dim, self.shape.ffn, step.rows, self.probe);
        norm(
            probe,
            &mut self.buffers,
            &layer.ffn_norm,
            "RmsNorm.ffn",
            step,
        );
        let Buffers {
            x,
            sum,
            normed,
            gate,
            up,
            silu,
            activated,
            projected,
            ..
        } = &mut self.buffers;

        let of = probe.operator(
            Brick::GateProjection,
            [[rows, dim], [ffn, dim]],
            gate.len(),
            |kernels| {
                self.projector
                    .project(kernels, &layer.gate, normed, dim, gate);
            },
        );
        probe.checksum(of, "GateProjection", step.start, gate, rows, ffn);
        let of = probe.operator(
            Brick::UpProjection,
            [[rows, dim], [ffn, dim]],
            up.len(),
            |kernels| {
                self.projector.project(kernels, &layer.up, normed, dim, up);
            },
        );
        probe.checksum(of, "UpProjection", step.start, up, rows, ffn);
        let of = probe.operator(
            Brick::Activation,
            [[rows, ffn]; 2],
            activated.len(),
            |kernels| {
                kernels.silu(gate, silu);
                kernels.mul(silu, up, activated);
            },
        );
        probe.checksum(of, "Activation", step.start, activated, rows, ffn);
        let of = probe.operator(
            Brick::DownProjection,
            [[rows, ffn], [dim, ffn]],
            projected.len(),
            |kernels| {
                self.projector
                    .project(kernels, &layer.down, activated, ffn, projected);
            },
        );
        probe.checksum(of, "DownProjection", step.start, projected, rows, dim);
        add_residual(probe, x, projected, sum, "Residual.ffn", step);
    }

    /// Final norm and output head, for the last position only.
    fn head(&mut self, step: Step) {
        let (dim, probe) = (self.shape.dim, self.probe);
        let last = step.end() - 1;
        let Buffers {
            x,
            normed,
            logits,
            spare: [scaled, _],
            ..
        } = &mut self.buffers;
        let (x, normed) = (&x[(step.rows - 1) * dim..], &mut normed[..dim]);
        let of = probe.brick(Brick::RmsNorm, dim, |kernels| {
            kernels.rms_norm(x, &self.weights.final_norm, scaled, normed)
        });
        probe.checksum(of, "RmsNorm.final", last, normed, 1, dim);
        let of = probe.operator(
            Brick::LmHead,
            [[1, dim], [self.shape.vocab, dim]],
            logits.len(),
            |kernels| kernels.matvec(&self.weights.lm_head, dim, normed, logits),
        );
        probe.checksum(of, "LmHead", last, logits, 1, self.shape.vocab);
    }
}

fn norm(probe: &Probe, buffers: &mut Buffers, weight: &[f32], name: &'static str, step: Step) {
    let dim = weight.len();
    let Buffers {
        x,
        normed,
        spare: [scaled, _],
        ..
    } = buffers;
    let of = probe.brick(Brick::RmsNorm, x.len(), |kernels| {
        for (x, out) in x.chunks_exact(dim).zip(normed.chunks_exact_mut(dim)) {
            kernels.rms_norm(x, weight, scaled, out);
        }
    });
    probe.checksum(of, name, step.start, normed, step.rows, dim);
}

/// `x += branch`. Goes through `sum`, so that the addition can be repeated.
fn add_residual(
    probe: &Probe,
    x: &mut Vec<f32>,
    branch: &[f32],
    sum: &mut Vec<f32>,
    name: &'static str,
    step: Step,
) {
    let dims = [step.rows, x.len() / step.rows];
    let of = probe.operator(Brick::Residual, [dims; 2], sum.len(), |kernels| {
        kernels.add(x, branch, sum)
    });
    std::mem::swap(x, sum);
    probe.checksum(of, name, step.start, x, step.rows, x.len() / step.rows);
}

/// Copies the heads' outputs side by side, one row of `dim` per position.
fn gather(kernels: &Kernels, heads: &[Head], dim: usize, out: &mut [f32]) {
    let width = dim / heads.len();
    for (head, part) in heads.iter().enumerate() {
        for (from, row) in part
            .out()
            .chunks_exact(width)
            .zip(out.chunks_exact_mut(dim))
        {
            row[head * width..][..width].copy_from_slice(from);
        }
    }
    kernels.copied(out.len());
}
