//! Movers of x86-64 in SSE2, AVX2 and AVX-512. A block is 8 registers of each array, of `Read`
//! 16, since two or more loads can be made in a cycle.

use std::arch::asm;

use super::{FACTOR, Mover, Operation, Place};

/// The eight registers, with a macro that gives the text for one of them.
macro_rules! eight {
    ($one:ident, $($more:literal),+) => {
        concat!(
            $one!("0", "0", $($more),+), $one!("1", "1", $($more),+),
            $one!("2", "2", $($more),+), $one!("3", "3", $($more),+),
            $one!("4", "4", $($more),+), $one!("5", "5", $($more),+),
            $one!("6", "6", $($more),+), $one!("7", "7", $($more),+),
        )
    };
}

/// The eight registers once more, eight places further on.
macro_rules! eight_more {
    ($one:ident, $($more:literal),+) => {
        concat!(
            $one!("0", "8", $($more),+), $one!("1", "9", $($more),+),
            $one!("2", "10", $($more),+), $one!("3", "11", $($more),+),
            $one!("4", "12", $($more),+), $one!("5", "13", $($more),+),
            $one!("6", "14", $($more),+), $one!("7", "15", $($more),+),
        )
    };
}

macro_rules! sum_sse {
    ($r:literal, $at:literal, $width:literal) => {
        concat!(
            "paddq xmm",
            $r,
            ", [{b} + {at} + ",
            $width,
            " * ",
            $at,
            "]\n"
        )
    };
}

macro_rules! sum_avx {
    ($r:literal, $at:literal, $reg:literal, $width:literal) => {
        concat!(
            "vpaddq ",
            $reg,
            $r,
            ", ",
            $reg,
            $r,
            ", [{b} + {at} + ",
            $width,
            " * ",
            $at,
            "]\n",
        )
    };
}

macro_rules! load {
    ($r:literal, $at:literal, $mov:literal, $reg:literal, $width:literal) => {
        concat!(
            $mov,
            " ",
            $reg,
            $r,
            ", [{b} + {at} + ",
            $width,
            " * ",
            $at,
            "]\n"
        )
    };
}

macro_rules! load_c {
    ($r:literal, $at:literal, $mov:literal, $reg:literal, $width:literal) => {
        concat!(
            $mov,
            " ",
            $reg,
            $r,
            ", [{c} + {at} + ",
            $width,
            " * ",
            $at,
            "]\n"
        )
    };
}

macro_rules! store {
    ($r:literal, $at:literal, $mov:literal, $reg:literal, $width:literal) => {
        concat!(
            $mov,
            " [{a} + {at} + ",
            $width,
            " * ",
            $at,
            "], ",
            $reg,
            $r,
            "\n"
        )
    };
}

macro_rules! triad_sse {
    ($r:literal, $at:literal, $width:literal) => {
        concat!(
            "mulpd xmm",
            $r,
            ", xmm8\naddpd xmm",
            $r,
            ", [{b} + {at} + ",
            $width,
            " * ",
            $at,
            "]\n",
        )
    };
}

macro_rules! triad_avx {
    ($r:literal, $at:literal, $reg:literal, $width:literal) => {
        concat!(
            "vfmadd213pd ",
            $reg,
            $r,
            ", ",
            $reg,
            "8, [{b} + {at} + ",
            $width,
            " * ",
            $at,
            "]\n",
        )
    };
}

macro_rules! spill {
    ($r:literal, $at:literal, $mov:literal, $reg:literal, $width:literal) => {
        concat!(
            $mov,
            " [{out} + ",
            $width,
            " * ",
            $at,
            "], ",
            $reg,
            $r,
            "\n"
        )
    };
}

macro_rules! clear {
    ($r:literal, $at:literal, $op:literal) => {
        concat!($op, " xmm", $r, ", xmm", $r, "\n")
    };
}

macro_rules! clear_avx {
    ($r:literal, $at:literal, $op:literal) => {
        concat!($op, " xmm", $r, ", xmm", $r, ", xmm", $r, "\n")
    };
}

/// Block bytes of a loop: so many registers.
macro_rules! work {
    ($name:ident, $block:literal, [$($before:expr),*], [$($body:expr),+], [$($after:expr),*]) => {
        /// SAFETY: as of [`Mover::run`].
        unsafe fn $name(place: &Place, blocks: u64) -> u64 {
            let mut sums = Sums([0; 64]);
            let factor = FACTOR;
            // SAFETY: reads and writes the arrays that the caller gave, and `sums`; all registers
            // are named.
            unsafe {
                asm!(
                    "movsd xmm8, [{factor}]",
                    $($before,)*
                    ".p2align 5",
                    "2:",
                    $($body,)+
                    concat!("add {at}, ", $block),
                    "cmp {at}, {bytes}",
                    "cmove {at}, {zero}",
                    "dec {blocks}",
                    "jnz 2b",
                    $($after,)*
                    "/* {a} {b} {c} {out} */",
                    a = in(reg) place.a,
                    b = in(reg) place.b,
                    c = in(reg) place.c,
                    bytes = in(reg) place.bytes,
                    out = in(reg) sums.0.as_mut_ptr(),
                    factor = in(reg) &raw const factor,
                    zero = in(reg) 0usize,
                    at = inout(reg) 0usize => _,
                    blocks = inout(reg) blocks => _,
                    out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _,
                    out("xmm4") _, out("xmm5") _, out("xmm6") _, out("xmm7") _,
                    out("xmm8") _, out("xmm9") _, out("xmm10") _, out("xmm11") _,
                    out("xmm12") _, out("xmm13") _, out("xmm14") _, out("xmm15") _,
                    options(nostack),
                );
            }
            sums.0.iter().fold(0, |all, word| all.wrapping_add(*word))
        }
    };
}

/// Where `Read` leaves its registers.
#[repr(align(64))]
struct Sums([u64; 64]);

work!(
    read_sse2,
    "256",
    [eight!(clear, "pxor")],
    [eight!(sum_sse, "16"), eight_more!(sum_sse, "16")],
    [eight!(spill, "movaps", "xmm", "16")]
);
work!(
    read_avx2,
    "512",
    [eight!(clear_avx, "vpxor")],
    [
        eight!(sum_avx, "ymm", "32"),
        eight_more!(sum_avx, "ymm", "32")
    ],
    [eight!(spill, "vmovaps", "ymm", "32"), "vzeroupper"]
);
work!(
    read_avx512,
    "1024",
    [eight!(clear_avx, "vpxor")],
    [
        eight!(sum_avx, "zmm", "64"),
        eight_more!(sum_avx, "zmm", "64")
    ],
    [eight!(spill, "vmovaps", "zmm", "64"), "vzeroupper"]
);
work!(
    copy_sse2,
    "128",
    [],
    [
        eight!(load, "movaps", "xmm", "16"),
        eight!(store, "movaps", "xmm", "16")
    ],
    []
);
work!(
    copy_avx2,
    "256",
    [],
    [
        eight!(load, "vmovaps", "ymm", "32"),
        eight!(store, "vmovaps", "ymm", "32")
    ],
    ["vzeroupper"]
);
work!(
    copy_avx512,
    "512",
    [],
    [
        eight!(load, "vmovaps", "zmm", "64"),
        eight!(store, "vmovaps", "zmm", "64")
    ],
    ["vzeroupper"]
);
work!(
    stream_sse2,
    "128",
    [],
    [
        eight!(load, "movaps", "xmm", "16"),
        eight!(store, "movntps", "xmm", "16")
    ],
    ["sfence"]
);
work!(
    stream_avx2,
    "256",
    [],
    [
        eight!(load, "vmovaps", "ymm", "32"),
        eight!(store, "vmovntps", "ymm", "32")
    ],
    ["sfence", "vzeroupper"]
);
work!(
    stream_avx512,
    "512",
    [],
    [
        eight!(load, "vmovaps", "zmm", "64"),
        eight!(store, "vmovntps", "zmm", "64")
    ],
    ["sfence", "vzeroupper"]
);
work!(
    triad_sse2,
    "128",
    ["unpcklpd xmm8, xmm8"],
    [
        eight!(load_c, "movaps", "xmm", "16"),
        eight!(triad_sse, "16"),
        eight!(store, "movaps", "xmm", "16")
    ],
    []
);
work!(
    triad_avx2,
    "256",
    ["vbroadcastsd ymm8, xmm8"],
    [
        eight!(load_c, "vmovaps", "ymm", "32"),
        eight!(triad_avx, "ymm", "32"),
        eight!(store, "vmovaps", "ymm", "32")
    ],
    ["vzeroupper"]
);
work!(
    triad_avx512,
    "512",
    ["vbroadcastsd zmm8, xmm8"],
    [
        eight!(load_c, "vmovaps", "zmm", "64"),
        eight!(triad_avx, "zmm", "64"),
        eight!(store, "vmovaps", "zmm", "64")
    ],
    ["vzeroupper"]
);

/// Those this processor can run, narrow ones first.
pub(super) fn movers(operation: Operation) -> Vec<Mover> {
    type Run = unsafe fn(&Place, u64) -> u64;
    let runs: [Run; 3] = match operation {
        Operation::Read => [read_sse2, read_avx2, read_avx512],
        Operation::Copy => [copy_sse2, copy_avx2, copy_avx512],
        Operation::CopyStreaming => [stream_sse2, stream_avx2, stream_avx512],
        Operation::Triad => [triad_sse2, triad_avx2, triad_avx512],
    };
    let is_there = [
        true,
        is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma"),
        is_x86_feature_detected!("avx512f"),
    ];
    let registers = if operation == Operation::Read { 16 } else { 8 };
    let all = runs.into_iter().zip([16, 32, 64]).zip(is_there);
    all.filter(|(_, is_there)| *is_there)
        .map(|((run, width), _)| Mover {
            operation,
            block_bytes: width * registers,
            run,
        })
        .collect()
}
