//! Recording around the model's work, and its repetitions.

use super::backend::Simd;
use super::brick::Brick;
use super::kernel_names::KernelNames;
use super::kernels::Kernels;
use super::plant::Plant;
use super::slow::Slow;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use trueno_recorder::{BrickGuard, Element, Name, Operand, Recorder, SpanId};

/// Depth of the recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub enum Level {
    /// Iterations, layers, bricks, tasks and waits.
    Brick,
    /// Bricks and each kernel.
    Kernel,
    /// Kernels and the tiles of the blocked products.
    Tile,
}

/// Source of the `exp` that a softmax uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Exp {
    /// The library's scalar one: within rounding of the true value.
    Precise,
    /// The chosen backend's own: up to 4 % off on SSE2 and AVX-512 (see backend.rs).
    Backend,
}

impl Exp {
    /// The word of `--exp`, kept in the run.
    pub const fn name(self) -> &'static str {
        match self {
            Exp::Precise => "precise",
            Exp::Backend => "backend",
        }
    }
}

/// Shared by all threads of a run.
pub struct Probe {
    /// The recorder; disabled under `--no-record`.
    pub rec: Recorder,
    /// The instruction set that computes.
    pub simd: Simd,
    /// Source of `exp`.
    pub exp: Exp,
    /// Depth of the recording.
    pub level: Level,
    /// True if the output of each brick is fingerprinted.
    pub checksums: bool,
    /// Interned once for all threads.
    pub names: KernelNames,
    /// An error put in.
    pub plant: Option<Plant>,
    /// True if the heads are taken from the last to the first.
    pub reverse_heads: bool,
    /// The iteration that runs.
    pub iteration: AtomicU64,
    /// The layer that runs.
    pub layer: AtomicU32,
    slow: Option<Slow>,
    slow_calls: AtomicU64,
}

impl Probe {
    /// Everything recorded, nothing slowed.
    pub fn new(rec: Recorder, simd: Simd) -> Probe {
        Probe {
            rec,
            simd,
            exp: Exp::Precise,
            level: Level::Tile,
            checksums: true,
            names: KernelNames::new(),
            plant: None,
            reverse_heads: false,
            iteration: AtomicU64::new(0),
            layer: AtomicU32::new(0),
            slow: None,
            slow_calls: AtomicU64::new(0),
        }
    }

    /// Slows one brick down.
    pub fn slow(mut self, slow: Option<Slow>) -> Probe {
        self.slow = slow;
        self
    }

    /// Does the work of a brick that gives `elements` values, and records it.
    ///
    /// `work` reads its inputs and writes its outputs but never both to one
    /// place, so doing it again changes nothing but the time. The declared
    /// work and the backend are those of the kernels that really ran.
    pub fn brick(&self, brick: Brick, elements: usize, work: impl FnMut(&Kernels)) -> SpanId {
        self.measured(self.rec.brick(brick.recorded()), brick, elements, work)
    }

    /// As [`Probe::brick`], of an operator: a matrix product and so on, on operands of these dimensions.
    pub fn operator<const N: usize>(
        &self,
        brick: Brick,
        dims: [[usize; 2]; N],
        elements: usize,
        work: impl FnMut(&Kernels),
    ) -> SpanId {
        let mut guard = self.rec.brick(brick.recorded());
        guard.shapes(&dims.each_ref().map(|dims| Operand::new(dims, "f32")));
        self.measured(guard, brick, elements, work)
    }

    fn measured(
        &self,
        mut guard: BrickGuard<'_>,
        brick: Brick,
        elements: usize,
        mut work: impl FnMut(&Kernels),
    ) -> SpanId {
        let kernels = Kernels::new(self, self.planted(brick));
        for _ in 0..self.repetitions(brick) {
            work(&kernels);
        }
        let done = kernels.work();
        guard
            .elements(elements as u64)
            .flops(done.flops)
            .bytes(done.read_bytes, done.written_bytes);
        if let Some(label) = kernels.label() {
            guard.backend(label);
        }
        guard.id()
    }

    /// Fingerprints the `rows x cols` output of a brick whose first row stands
    /// at sequence position `position`. Taken after the brick ended, so that
    /// its duration stays its own.
    pub fn checksum<T: Element>(
        &self,
        of: SpanId,
        name: impl Into<Name>,
        position: usize,
        data: &[T],
        rows: usize,
        cols: usize,
    ) {
        if self.checksums {
            self.rec
                .checksum_of(of, name, Some(position as u64), data, &[rows, cols]);
        }
    }

    /// The error that belongs into this brick here and now.
    fn planted(&self, brick: Brick) -> Option<Plant> {
        let here = |plant: &Plant| {
            plant.brick == brick
                && plant.layer == self.layer.load(Relaxed)
                && plant.iteration <= self.iteration.load(Relaxed)
        };
        self.plant.filter(here)
    }

    fn repetitions(&self, brick: Brick) -> u64 {
        match self.slow {
            Some(slow) if slow.brick == brick => {
                slow.repetitions(self.slow_calls.fetch_add(1, Relaxed))
            }
            _ => 1,
        }
    }
}
