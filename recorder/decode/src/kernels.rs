//! The kernels bricks are made of: each calls the library and records one row.

use super::backend::{Backend, Simd};
use super::kernel_names::{Kernel, KernelNames};
use super::plant::Plant;
use super::probe::{Exp, Level, Probe};
use super::simd;
use super::work::Work;
use std::cell::Cell;
use trueno_recorder::{Name, Recorder};

/// Kernels for one run of one brick. Sums up their work.
pub struct Kernels<'a> {
    names: &'a KernelNames,
    simd: Simd,
    exp: Simd,
    rec: Option<&'a Recorder>,
    tiles: bool,
    plant: Option<Plant>,
    work: Cell<Work>,
    ran: Cell<u8>,
}

impl<'a> Kernels<'a> {
    pub fn new(probe: &'a Probe, plant: Option<Plant>) -> Kernels<'a> {
        Kernels {
            names: &probe.names,
            simd: probe.simd,
            exp: match probe.exp {
                Exp::Precise => Simd::SCALAR,
                Exp::Backend => probe.simd,
            },
            rec: (probe.level >= Level::Kernel).then_some(&probe.rec),
            tiles: probe.level >= Level::Tile,
            plant,
            work: Cell::default(),
            ran: Cell::default(),
        }
    }

    pub fn spoil(&self, out: &mut [f32]) {
        if let Some(plant) = self.plant {
            plant.spoil(out);
        }
    }

    pub fn simd(&self) -> Simd {
        self.simd
    }

    pub fn tile_recorder(&self) -> Option<&'a Recorder> {
        self.rec.filter(|_| self.tiles)
    }

    pub fn work(&self) -> Work {
        self.work.get()
    }

    /// The backends that ran, or `None` if memory was only copied.
    pub fn label(&self) -> Option<Name> {
        let ran = |backend: &Backend| self.ran.get() & bit(*backend) != 0;
        let wide = [Backend::Sse2, Backend::Avx2, Backend::Avx512]
            .into_iter()
            .find(ran);
        match (wide, ran(&Backend::Scalar)) {
            (None, false) => None,
            (None, true) => Some(self.names.backend(Backend::Scalar)),
            (Some(wide), false) => Some(self.names.backend(wide)),
            (Some(wide), true) => Some(self.names.mixed(wide)),
        }
    }

    /// Runs and records one kernel that computes `elements` values.
    pub fn run<R>(
        &self,
        kernel: Kernel,
        on: Simd,
        elements: usize,
        work: Work,
        body: impl FnOnce() -> R,
    ) -> R {
        self.work.set(self.work.get().plus(work));
        self.ran.set(self.ran.get() | bit(on.backend()));
        let _row = self.rec.map(|rec| {
            let mut row = rec.kernel(self.names.kernel(kernel));
            row.backend(self.names.backend(on.backend()))
                .elements(elements as u64)
                .flops(work.flops)
                .bytes(work.bytes());
            row
        });
        body()
    }

    /// Counts values that the brick copied itself, without a kernel.
    pub fn copied(&self, values: usize) {
        self.work.set(self.work.get().plus(Work::copy(values)));
    }

    /// `out = rows · x`; row `i` starts at `i * stride`. 2mn FLOPs, 4(mn + n + m) bytes.
    pub fn matvec(&self, rows: &[f32], stride: usize, x: &[f32], out: &mut [f32]) {
        let work = Work::matvec(out.len(), x.len());
        self.run(Kernel::Matvec, self.simd, out.len(), work, || {
            simd::row_dots(self.simd, rows, stride, x, out);
            self.spoil(out);
        });
    }

    /// `out = x / rms(x) * weight`, with `1e-5` added to the mean square: a
    /// `dot` (2n, 4(2n + 1): the library reads both operands), a `scale`
    /// (n, 8n) of the weights into `scaled` and a `mul` (n, 12n).
    pub fn rms_norm(&self, x: &[f32], weight: &[f32], scaled: &mut [f32], out: &mut [f32]) {
        let n = x.len();
        let dot = Work::new(2 * n, 2 * n, 1);
        let squares = self.run(Kernel::Dot, self.simd, 1, dot, || {
            simd::sum_of_squares(self.simd, x)
        });
        self.scale(weight, 1.0 / (squares / n as f32 + 1e-5).sqrt(), scaled);
        self.mul(x, scaled, out);
    }

    /// `out = softmax(x)`: `max` (n, 4(n + 1)), `shift` by it (n, 8n; a plain
    /// loop: the library has no vector plus scalar), `exp` (n, 8n), `sum`
    /// (n, 4(n + 1)) and `scale` (n, 8n). `spare` is as long as `x`.
    pub fn softmax(&self, x: &[f32], spare: &mut [f32], out: &mut [f32]) {
        let n = x.len();
        let largest = self.run(Kernel::Max, self.simd, 1, Work::reduction(n, 1), || {
            simd::max(self.simd, x)
        });
        self.run(
            Kernel::Shift,
            Simd::SCALAR,
            n,
            Work::elementwise(n, 1, 1),
            || {
                x.iter()
                    .zip(&mut *out)
                    .for_each(|(x, out)| *out = x - largest);
            },
        );
        self.run(Kernel::Exp, self.exp, n, Work::elementwise(n, 1, 1), || {
            simd::exp(self.exp, out, spare)
        });
        let total = self.run(Kernel::Sum, self.simd, 1, Work::reduction(n, 1), || {
            simd::sum(self.simd, spare)
        });
        self.scale(spare, 1.0 / total, out);
    }

    /// `out = a * factor`. n FLOPs, 8n bytes.
    pub fn scale(&self, a: &[f32], factor: f32, out: &mut [f32]) {
        let work = Work::elementwise(a.len(), 1, 1);
        self.run(Kernel::Scale, self.simd, a.len(), work, || {
            simd::scale(self.simd, a, factor, out);
            self.spoil(out);
        });
    }

    /// `out = a + b`. n FLOPs, 12n bytes.
    pub fn add(&self, a: &[f32], b: &[f32], out: &mut [f32]) {
        let work = Work::elementwise(a.len(), 2, 1);
        self.run(Kernel::Add, self.simd, a.len(), work, || {
            simd::add(self.simd, a, b, out);
            self.spoil(out);
        });
    }

    /// `out = a * b`. n FLOPs, 12n bytes.
    pub fn mul(&self, a: &[f32], b: &[f32], out: &mut [f32]) {
        let work = Work::elementwise(a.len(), 2, 1);
        self.run(Kernel::Mul, self.simd, a.len(), work, || {
            simd::mul(self.simd, a, b, out);
            self.spoil(out);
        });
    }

    /// `out = a * b + c`. 2n FLOPs, 16n bytes.
    pub fn fma(&self, a: &[f32], b: &[f32], c: &[f32], out: &mut [f32]) {
        let work = Work::elementwise(a.len(), 3, 2);
        self.run(Kernel::Fma, self.simd, a.len(), work, || {
            simd::fma(self.simd, a, b, c, out);
            self.spoil(out);
        });
    }

    /// `out = a / (1 + e^-a)`, always scalar (see backend.rs): 4n FLOPs (negate, exp, add, divide), 8n bytes.
    pub fn silu(&self, a: &[f32], out: &mut [f32]) {
        let work = Work::elementwise(a.len(), 1, 4);
        self.run(Kernel::Silu, Simd::SCALAR, a.len(), work, || {
            simd::swish(Simd::SCALAR, a, out)
        });
    }
}

const fn bit(backend: Backend) -> u8 {
    1 << backend as u8
}
