//! Loops of arithmetic that wait for nothing but the arithmetic units.
//!
//! A loop keeps 14 (NEON: 16) independent accumulators in registers, more than latency times
//! units of the processors at hand (4 to 5 cycles, 2 units), and touches no memory. The loops are
//! written in assembly: no compiler can fold, vectorise or spoil them, at any optimisation level.
//! Each leaves its accumulators behind, and a test computes them again another way.
//!
//! The loops of aarch64 were built and run without such a machine: by Debian's `rustc` and `libstd-rust-dev:arm64`, under
//! `qemu-aarch64 -cpu max`, with `trueno-record peaks` as a whole and the tests that compute every accumulator and element
//! anew. Their rates there are qemu's.

#[cfg(target_arch = "aarch64")]
mod neon;
#[cfg(test)]
mod tests;
#[cfg(target_arch = "x86_64")]
mod x86;

const ACCUMULATOR_BYTES: usize = 16 * 64;
const OPERAND_BYTES: usize = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lanes {
    F32,
    F64,
    /// Products of bytes, summed in fours into 32 bits.
    I8,
}

impl Lanes {
    pub fn precision(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F64 => "f64",
            Self::I8 => "i8",
        }
    }

    const fn bytes(self) -> usize {
        match self {
            Self::F64 => 8,
            Self::F32 | Self::I8 => 4,
        }
    }

    /// Operations per lane and step: a multiplication and an addition, or four of each.
    const fn operations(self) -> usize {
        match self {
            Self::F32 | Self::F64 => 2,
            Self::I8 => 8,
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Loop {
    /// Column `level`.
    pub instructions: &'static str,
    /// Column `operation`.
    pub operation: &'static str,
    pub lanes: Lanes,
    width_bytes: usize,
    accumulators: usize,
    is_there: fn() -> bool,
    /// Runs `rounds` rounds of [`STEPS`] on every accumulator.
    ///
    /// SAFETY: needs the instructions of `is_there`, [`ACCUMULATOR_BYTES`] that may be written,
    /// and two operands of [`OPERAND_BYTES`] to read; rounds are not 0.
    run: unsafe fn(accumulators: *mut u8, operands: *const u8, rounds: u64),
}

const STEPS: usize = 2;

impl Loop {
    /// Loops that this processor can run.
    pub fn all() -> Vec<Self> {
        #[cfg(target_arch = "x86_64")]
        let known = x86::LOOPS;
        #[cfg(target_arch = "aarch64")]
        let known = neon::LOOPS;
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        let known: [Self; 0] = [];
        known.into_iter().filter(|l| (l.is_there)()).collect()
    }

    /// Operations of one round.
    pub fn operations(&self) -> u64 {
        let lanes = self.width_bytes / self.lanes.bytes();
        (lanes * self.accumulators * STEPS * self.lanes.operations()) as u64
    }
}

/// Operands of a loop. Values stay finite for ever: `x * 0.5 + 1` tends to 2.
#[repr(C, align(64))]
pub(super) struct Registers {
    accumulators: [u8; ACCUMULATOR_BYTES],
    operands: [u8; 2 * OPERAND_BYTES],
}

impl Registers {
    pub fn new(lanes: Lanes) -> Self {
        let mut registers = Self {
            accumulators: [0; ACCUMULATOR_BYTES],
            operands: [0; 2 * OPERAND_BYTES],
        };
        let (first, second) = registers.operands.split_at_mut(OPERAND_BYTES);
        match lanes {
            Lanes::F32 => {
                fill(first, 0.5f32.to_ne_bytes());
                fill(second, 1f32.to_ne_bytes());
            }
            Lanes::F64 => {
                fill(first, 0.5f64.to_ne_bytes());
                fill(second, 1f64.to_ne_bytes());
            }
            Lanes::I8 => {
                fill(first, [3]);
                fill(second, (-2i8).to_ne_bytes());
            }
        }
        registers
    }

    /// Runs rounds of `work`, which has to be one of [`Loop::all`] with the lanes given.
    pub fn run(&mut self, work: &Loop, rounds: u64) {
        assert!((work.is_there)(), "{} is not there", work.instructions);
        if rounds > 0 {
            // SAFETY: the processor has the instructions, the memory is as large as is asked,
            // and there are rounds.
            unsafe {
                (work.run)(
                    self.accumulators.as_mut_ptr(),
                    self.operands.as_ptr(),
                    rounds,
                );
            }
        }
    }
}

fn fill<const N: usize>(to: &mut [u8], value: [u8; N]) {
    to.as_chunks_mut::<N>().0.fill(value);
}
