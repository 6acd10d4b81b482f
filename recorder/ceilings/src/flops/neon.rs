//! Loops of aarch64: 16 accumulators in v0 to v15, as cores with four units need; the operands
//! in v16 and v17.

use std::arch::asm;

use super::{Lanes, Loop};

/// Repeats an instruction for each accumulator; `#` stands for its number.
macro_rules! each {
    ($one:ident $(, $more:literal)*) => {
        concat!(
            $one!("0" $(, $more)*), $one!("1" $(, $more)*), $one!("2" $(, $more)*),
            $one!("3" $(, $more)*), $one!("4" $(, $more)*), $one!("5" $(, $more)*),
            $one!("6" $(, $more)*), $one!("7" $(, $more)*), $one!("8" $(, $more)*),
            $one!("9" $(, $more)*), $one!("10" $(, $more)*), $one!("11" $(, $more)*),
            $one!("12" $(, $more)*), $one!("13" $(, $more)*), $one!("14" $(, $more)*),
            $one!("15" $(, $more)*),
        )
    };
}

macro_rules! load {
    ($number:literal) => {
        concat!("ldr q", $number, ", [{to}, #16 * ", $number, "]\n")
    };
}

macro_rules! store {
    ($number:literal) => {
        concat!("str q", $number, ", [{to}, #16 * ", $number, "]\n")
    };
}

/// `x = x * a + b` of one lane.
macro_rules! scalar {
    ($number:literal, $register:literal) => {
        concat!(
            "fmadd ", $register, $number, ", ", $register, $number, ", ", $register, "16, ",
            $register, "17\n",
        )
    };
}

/// `x = x + a * b`.
macro_rules! vector {
    ($number:literal, $instruction:literal, $to:literal, $from:literal) => {
        concat!(
            $instruction,
            " v",
            $number,
            $to,
            ", v16",
            $from,
            ", v17",
            $from,
            "\n"
        )
    };
}

/// Encodes `sdot v<n>.4s, v16.16b, v17.16b` as a number, because not every aarch64 assembler knows it.
macro_rules! dot {
    ($number:literal) => {
        concat!(".inst 0x4e919600 + ", $number, "\n")
    };
}

macro_rules! work {
    ($name:ident, [$($step:tt)+]) => {
        /// SAFETY: as of [`Loop::run`].
        unsafe fn $name(accumulators: *mut u8, operands: *const u8, rounds: u64) {
            // SAFETY: reads and writes what the caller gave; all registers are named.
            unsafe {
                asm!(
                    each!(load),
                    "ldr q16, [{from}]",
                    "ldr q17, [{from}, #64]",
                    "2:",
                    each!($($step)+),
                    each!($($step)+),
                    "subs {rounds}, {rounds}, #1",
                    "b.ne 2b",
                    each!(store),
                    to = in(reg) accumulators,
                    from = in(reg) operands,
                    rounds = inout(reg) rounds => _,
                    out("v0") _, out("v1") _, out("v2") _, out("v3") _, out("v4") _, out("v5") _,
                    out("v6") _, out("v7") _, out("v8") _, out("v9") _, out("v10") _,
                    out("v11") _, out("v12") _, out("v13") _, out("v14") _, out("v15") _,
                    out("v16") _, out("v17") _,
                    options(nostack),
                );
            }
        }
    };
}

// A scalar instruction clears the upper lanes, so a scalar's accumulators lie 16 bytes apart.
work!(scalar_f32, [scalar, "s"]);
work!(scalar_f64, [scalar, "d"]);
work!(neon_f32, [vector, "fmla", ".4s", ".4s"]);
work!(neon_f64, [vector, "fmla", ".2d", ".2d"]);
work!(neon_i8, [dot]);

const fn made(
    instructions: &'static str,
    operation: &'static str,
    lanes: Lanes,
    width_bytes: usize,
    is_there: fn() -> bool,
    run: unsafe fn(*mut u8, *const u8, u64),
) -> Loop {
    Loop {
        instructions,
        operation,
        lanes,
        width_bytes,
        accumulators: 16,
        is_there,
        run,
    }
}

fn always() -> bool {
    true
}

fn dot_product() -> bool {
    std::arch::is_aarch64_feature_detected!("dotprod")
}

pub(super) const LOOPS: [Loop; 5] = [
    made("scalar", "fma", Lanes::F32, 4, always, scalar_f32),
    made("scalar", "fma", Lanes::F64, 8, always, scalar_f64),
    made("neon", "fma", Lanes::F32, 16, always, neon_f32),
    made("neon", "fma", Lanes::F64, 16, always, neon_f64),
    made("neon", "dot", Lanes::I8, 16, dot_product, neon_i8),
];
