//! Loops of x86-64: 14 accumulators in registers 0 to 13, the operands in 14 and 15. With 12, a
//! multiplication and an addition that needs it just fill their latency, and only now and then come
//! to what the units can do.
//!
//! On Zen 5, 12 differed by 9 % from run to run.

use std::arch::asm;

use super::{Lanes, Loop};

/// Repeats a line for each accumulator; `\r` stands for the number.
macro_rules! each {
    ($($text:literal),+) => {
        concat!(".irp r, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13\n", $($text,)+ "\n.endr\n")
    };
}

macro_rules! work {
    ($name:ident, $register:literal, $mov:literal, $width:literal, [$(($before:literal, $after:literal)),+], $end:literal) => {
        /// SAFETY: as of [`Loop::run`].
        unsafe fn $name(accumulators: *mut u8, operands: *const u8, rounds: u64) {
            // SAFETY: reads and writes what the caller gave; all registers are named.
            unsafe {
                asm!(
                    each!($mov, " ", $register, "\\r, [{to} + ", $width, " * \\r]"),
                    concat!($mov, " ", $register, "14, [{from}]"),
                    concat!($mov, " ", $register, "15, [{from} + 64]"),
                    ".p2align 5",
                    "2:",
                    $(each!($before, "\\r", $after),)+
                    $(each!($before, "\\r", $after),)+
                    "dec {rounds}",
                    "jnz 2b",
                    each!($mov, " [{to} + ", $width, " * \\r], ", $register, "\\r"),
                    $end,
                    to = in(reg) accumulators,
                    from = in(reg) operands,
                    rounds = inout(reg) rounds => _,
                    out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _,
                    out("xmm4") _, out("xmm5") _, out("xmm6") _, out("xmm7") _,
                    out("xmm8") _, out("xmm9") _, out("xmm10") _, out("xmm11") _,
                    out("xmm12") _, out("xmm13") _, out("xmm14") _, out("xmm15") _,
                    options(nostack),
                );
            }
        }
    };
}

work!(
    scalar_f32,
    "xmm",
    "movss",
    "4",
    [("mulss xmm", ", xmm14"), ("addss xmm", ", xmm15")],
    ""
);
work!(
    scalar_f64,
    "xmm",
    "movsd",
    "8",
    [("mulsd xmm", ", xmm14"), ("addsd xmm", ", xmm15")],
    ""
);
work!(
    sse2_f32,
    "xmm",
    "movups",
    "16",
    [("mulps xmm", ", xmm14"), ("addps xmm", ", xmm15")],
    ""
);
work!(
    sse2_f64,
    "xmm",
    "movupd",
    "16",
    [("mulpd xmm", ", xmm14"), ("addpd xmm", ", xmm15")],
    ""
);
work!(
    avx2_f32,
    "ymm",
    "vmovups",
    "32",
    [("vfmadd213ps ymm", ", ymm14, ymm15")],
    "vzeroupper"
);
work!(
    avx2_f64,
    "ymm",
    "vmovupd",
    "32",
    [("vfmadd213pd ymm", ", ymm14, ymm15")],
    "vzeroupper"
);
work!(
    avx2_i8,
    "ymm",
    "vmovups",
    "32",
    [("{{vex}} vpdpbusd ymm", ", ymm14, ymm15")],
    "vzeroupper"
);
work!(
    avx512_f32,
    "zmm",
    "vmovups",
    "64",
    [("vfmadd213ps zmm", ", zmm14, zmm15")],
    "vzeroupper"
);
work!(
    avx512_f64,
    "zmm",
    "vmovupd",
    "64",
    [("vfmadd213pd zmm", ", zmm14, zmm15")],
    "vzeroupper"
);
work!(
    avx512_i8,
    "zmm",
    "vmovups",
    "64",
    [("vpdpbusd zmm", ", zmm14, zmm15")],
    "vzeroupper"
);

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
        accumulators: 14,
        is_there,
        run,
    }
}

fn always() -> bool {
    true
}

fn avx2() -> bool {
    is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")
}

fn avx512() -> bool {
    is_x86_feature_detected!("avx512f")
}

fn avx_vnni() -> bool {
    avx2() && is_x86_feature_detected!("avxvnni")
}

fn avx512_vnni() -> bool {
    avx512() && is_x86_feature_detected!("avx512vnni")
}

/// `scalar` and `sse2` use what every x86-64 has: no FMA, so a multiplication and an addition.
pub(super) const LOOPS: [Loop; 10] = [
    made("scalar", "mul_add", Lanes::F32, 4, always, scalar_f32),
    made("scalar", "mul_add", Lanes::F64, 8, always, scalar_f64),
    made("sse2", "mul_add", Lanes::F32, 16, always, sse2_f32),
    made("sse2", "mul_add", Lanes::F64, 16, always, sse2_f64),
    made("avx2", "fma", Lanes::F32, 32, avx2, avx2_f32),
    made("avx2", "fma", Lanes::F64, 32, avx2, avx2_f64),
    made("avx2", "dot", Lanes::I8, 32, avx_vnni, avx2_i8),
    made("avx512", "fma", Lanes::F32, 64, avx512, avx512_f32),
    made("avx512", "fma", Lanes::F64, 64, avx512, avx512_f64),
    made("avx512", "dot", Lanes::I8, 64, avx512_vnni, avx512_i8),
];
