//! Movers of x86-64 in SSE2, AVX2 and AVX-512. A block is 8 registers of each array, of `Read`
//! 16, since two or more loads can be made in a cycle.

use std::arch::asm;

use super::{FACTOR, Mover, Operation, Place};

/// Repeats a line for each of the registers 0 to 7; `\r` stands for the number.
macro_rules! eight {
    ($($text:literal),+) => {
        concat!(".irp r, 0, 1, 2, 3, 4, 5, 6, 7\n", $($text,)+ "\n.endr\n")
    };
}

/// A loop over blocks of `$registers` registers of `$width` bytes, with the instructions before it,
/// in each block, and after it.
macro_rules! work {
    ($name:ident, $registers:literal * $width:literal, $before:expr, [$($body:expr),+], $after:expr) => {
        /// SAFETY: as of [`Mover::run`].
        unsafe fn $name(place: &mut Place, blocks: u64) -> u64 {
            let mut sums = Sums([0; 64]);
            let factor = FACTOR;
            // SAFETY: reads and writes the arrays that the caller gave, and `sums`; all registers
            // are named.
            unsafe {
                asm!(
                    "movsd xmm8, [{factor}]",
                    $before,
                    ".p2align 5",
                    "2:",
                    $($body,)+
                    concat!("add {at}, ", $registers, " * ", $width),
                    "cmp {at}, {bytes}",
                    "cmove {at}, {zero}",
                    "dec {blocks}",
                    "jnz 2b",
                    $after,
                    "/* {a} {b} {c} {out} */",
                    a = in(reg) place.a,
                    b = in(reg) place.b,
                    c = in(reg) place.c,
                    bytes = in(reg) place.bytes,
                    out = in(reg) sums.0.as_mut_ptr(),
                    factor = in(reg) &raw const factor,
                    zero = in(reg) 0usize,
                    at = inout(reg) place.at,
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

#[repr(align(64))]
struct Sums([u64; 64]);

/// The code that AVX2 and AVX-512 share, in registers of `$width` bytes.
macro_rules! avx {
    ($reg:literal, $width:literal, $read:ident, $copy:ident, $stream:ident, $triad:ident) => {
        work!(
            $read,
            16 * $width,
            eight!("vpxor xmm\\r, xmm\\r, xmm\\r"),
            [
                eight!(
                    "vpaddq ",
                    $reg,
                    "\\r, ",
                    $reg,
                    "\\r, [{b} + {at} + ",
                    $width,
                    " * \\r]"
                ),
                eight!(
                    "vpaddq ",
                    $reg,
                    "\\r, ",
                    $reg,
                    "\\r, [{b} + {at} + ",
                    $width,
                    " * (8 + \\r)]"
                )
            ],
            concat!(
                eight!("vmovaps [{out} + ", $width, " * \\r], ", $reg, "\\r"),
                "vzeroupper"
            )
        );
        work!(
            $copy,
            8 * $width,
            "",
            [
                eight!("vmovaps ", $reg, "\\r, [{b} + {at} + ", $width, " * \\r]"),
                eight!("vmovaps [{a} + {at} + ", $width, " * \\r], ", $reg, "\\r")
            ],
            "vzeroupper"
        );
        work!(
            $stream,
            8 * $width,
            "",
            [
                eight!("vmovaps ", $reg, "\\r, [{b} + {at} + ", $width, " * \\r]"),
                eight!("vmovntps [{a} + {at} + ", $width, " * \\r], ", $reg, "\\r")
            ],
            "sfence\nvzeroupper"
        );
        work!(
            $triad,
            8 * $width,
            concat!("vbroadcastsd ", $reg, "8, xmm8"),
            [
                eight!("vmovaps ", $reg, "\\r, [{c} + {at} + ", $width, " * \\r]"),
                eight!(
                    "vfmadd213pd ",
                    $reg,
                    "\\r, ",
                    $reg,
                    "8, [{b} + {at} + ",
                    $width,
                    " * \\r]"
                ),
                eight!("vmovaps [{a} + {at} + ", $width, " * \\r], ", $reg, "\\r")
            ],
            "vzeroupper"
        );
    };
}

avx!("ymm", 32, read_avx2, copy_avx2, stream_avx2, triad_avx2);
avx!(
    "zmm",
    64,
    read_avx512,
    copy_avx512,
    stream_avx512,
    triad_avx512
);

work!(
    read_sse2,
    16 * 16,
    eight!("pxor xmm\\r, xmm\\r"),
    [
        eight!("paddq xmm\\r, [{b} + {at} + 16 * \\r]"),
        eight!("paddq xmm\\r, [{b} + {at} + 16 * (8 + \\r)]")
    ],
    eight!("movaps [{out} + 16 * \\r], xmm\\r")
);
work!(
    copy_sse2,
    8 * 16,
    "",
    [
        eight!("movaps xmm\\r, [{b} + {at} + 16 * \\r]"),
        eight!("movaps [{a} + {at} + 16 * \\r], xmm\\r")
    ],
    ""
);
work!(
    stream_sse2,
    8 * 16,
    "",
    [
        eight!("movaps xmm\\r, [{b} + {at} + 16 * \\r]"),
        eight!("movntps [{a} + {at} + 16 * \\r], xmm\\r")
    ],
    "sfence"
);
work!(
    triad_sse2,
    8 * 16,
    "unpcklpd xmm8, xmm8",
    [
        eight!("movaps xmm\\r, [{c} + {at} + 16 * \\r]"),
        eight!("mulpd xmm\\r, xmm8\naddpd xmm\\r, [{b} + {at} + 16 * \\r]"),
        eight!("movaps [{a} + {at} + 16 * \\r], xmm\\r")
    ],
    ""
);

/// Those that this processor supports, narrow registers first.
pub(super) fn movers(operation: Operation) -> Vec<Mover> {
    type Run = unsafe fn(&mut Place, u64) -> u64;
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
