//! A cache-blocked matrix product: packed panels, macro, midi and micro tiles.
//!
//! `out = x · weightsᵀ` with `x` of `m x k` and `weights` of `n x k`, both
//! row-major, so both run along the reduction and a panel of either is a set
//! of short contiguous rows. A macro tile is one `NC x KC` panel of the
//! weights, packed once and small enough for the L2 cache, against all rows of
//! `x`; a midi tile takes `MC` packed rows of `x` through it; a micro tile adds
//! `MR x NR` dot products of `KC` values, by the SIMD library.

use super::kernel_names::Kernel;
use super::kernels::Kernels;
use super::simd;
use super::work::Work;
use trueno_recorder::TileLevel;

/// Rows of `x` in a midi tile.
const MC: usize = 8;
/// Rows of the weights in a macro tile.
const NC: usize = 64;
/// Length along the reduction of a macro tile: a panel of 64 x 256 is 64 KiB.
const KC: usize = 256;
/// Rows of `x` in a micro tile.
const MR: usize = 4;
/// Rows of the weights in a micro tile.
const NR: usize = 8;

#[derive(Default)]
pub struct Panels {
    x: Vec<f32>,
    weights: Vec<f32>,
}

/// The two factors, row-major along the reduction `k`.
#[derive(Clone, Copy)]
pub struct Factors<'a> {
    /// `m x k`.
    pub x: &'a [f32],
    /// `n x k`.
    pub weights: &'a [f32],
    pub k: usize,
}

/// `out = x · weightsᵀ`, `m x n`, recorded as one kernel and its tiles.
/// 2mnk FLOPs, 4(mk + kn + mn) bytes.
pub fn multiply(kernels: &Kernels, panels: &mut Panels, factors: Factors, out: &mut [f32]) {
    let (m, n) = (
        factors.x.len() / factors.k,
        factors.weights.len() / factors.k,
    );
    assert_eq!(out.len(), m * n, "output has another size than the product");
    let work = Work::matmul(m, n, factors.k);
    kernels.run(Kernel::MatmulBlocked, kernels.simd(), m * n, work, || {
        out.fill(0.0);
        for (depth, k0) in (0..factors.k).step_by(KC).enumerate() {
            for (col, n0) in (0..n).step_by(NC).enumerate() {
                let block = Block {
                    k0,
                    kc: KC.min(factors.k - k0),
                    n0,
                    nc: NC.min(n - n0),
                    n,
                    depth,
                    col,
                };
                block.multiply(kernels, panels, factors, out);
            }
        }
        kernels.spoil(out);
    });
}

struct Block {
    k0: usize,
    kc: usize,
    n0: usize,
    nc: usize,
    n: usize,
    depth: usize,
    col: usize,
}

impl Block {
    fn multiply(&self, kernels: &Kernels, panels: &mut Panels, factors: Factors, out: &mut [f32]) {
        let m = factors.x.len() / factors.k;
        let _macro = self.tile(
            kernels,
            TileLevel::Macro,
            (0, self.col),
            Work::block(m, self.nc, self.kc),
            m * self.nc,
        );
        {
            let _pack = self.pack_tile(kernels, (0, self.col), self.nc);
            self.pack(
                factors.weights,
                factors.k,
                self.n0..self.n0 + self.nc,
                &mut panels.weights,
            );
        }
        for (row, m0) in (0..m).step_by(MC).enumerate() {
            let mc = MC.min(m - m0);
            let work = Work::block(mc, self.nc, self.kc);
            let _midi = self.tile(
                kernels,
                TileLevel::Midi,
                (row, self.col),
                work,
                mc * self.nc,
            );
            {
                let _pack = self.pack_tile(kernels, (row, self.depth), mc);
                self.pack(factors.x, factors.k, m0..m0 + mc, &mut panels.x);
            }
            self.micro_tiles(kernels, panels, m0, out);
        }
    }

    /// Computes all micro tiles of the packed rows, of which the first is row `m0` of the output.
    fn micro_tiles(&self, kernels: &Kernels, panels: &Panels, m0: usize, out: &mut [f32]) {
        for (j, weights) in panels.weights.chunks(NR * self.kc).enumerate() {
            for (i, x) in panels.x.chunks(MR * self.kc).enumerate() {
                let (rows, cols) = (x.len() / self.kc, weights.len() / self.kc);
                let place = ((m0 / MR) + i, (self.n0 / NR) + j);
                let work = Work::block(rows, cols, self.kc);
                let _micro = self.tile(kernels, TileLevel::Micro, place, work, rows * cols);
                let first = (m0 + i * MR) * self.n + self.n0 + j * NR;
                simd::add_products(
                    kernels.simd(),
                    x,
                    weights,
                    self.kc,
                    &mut out[first..],
                    self.n,
                );
            }
        }
    }

    /// Copies this block's part of some rows into a dense panel.
    fn pack(&self, from: &[f32], k: usize, rows: std::ops::Range<usize>, panel: &mut Vec<f32>) {
        panel.clear();
        for row in rows {
            panel.extend_from_slice(&from[row * k + self.k0..][..self.kc]);
        }
    }

    fn pack_tile<'a>(
        &self,
        kernels: &Kernels<'a>,
        place: (usize, usize),
        rows: usize,
    ) -> impl Sized + use<'a> {
        self.tile(
            kernels,
            TileLevel::Pack,
            place,
            Work::copy(rows * self.kc),
            rows * self.kc,
        )
    }

    /// Opens a tile at (row, column) of its level. Its depth is the block along the reduction.
    fn tile<'a>(
        &self,
        kernels: &Kernels<'a>,
        level: TileLevel,
        place: (usize, usize),
        work: Work,
        elements: usize,
    ) -> impl Sized + use<'a> {
        kernels.tile_recorder().map(|rec| {
            let mut tile = rec.tile(level, place.0 as u32, place.1 as u32);
            tile.depth(self.depth as u32)
                .elements(elements as u64)
                .flops(work.flops)
                .bytes(work.bytes());
            tile
        })
    }
}
