//! Movers of aarch64. A block is 128 bytes of each array, by pairs of registers.

use std::arch::asm;

use super::{FACTOR, Mover, Operation, Place};

macro_rules! work {
    ($name:ident, [$($before:literal),*], [$($body:literal),+], [$($after:literal),*]) => {
        /// SAFETY: as of [`Mover::run`].
        unsafe fn $name(place: &mut Place, blocks: u64) -> u64 {
            let mut sums = [0u64; 16];
            // SAFETY: reads and writes the arrays that the caller gave, and `sums`; all registers
            // are named.
            unsafe {
                asm!(
                    $($before,)*
                    "2:",
                    "add {pa}, {a}, {at}",
                    "add {pb}, {b}, {at}",
                    "add {pc}, {c}, {at}",
                    $($body,)+
                    "add {at}, {at}, #128",
                    "cmp {at}, {bytes}",
                    "csel {at}, xzr, {at}, eq",
                    "subs {blocks}, {blocks}, #1",
                    "b.ne 2b",
                    $($after,)*
                    "// {out} {factor}",
                    a = in(reg) place.a,
                    b = in(reg) place.b,
                    c = in(reg) place.c,
                    bytes = in(reg) place.bytes,
                    out = in(reg) sums.as_mut_ptr(),
                    factor = in(reg) FACTOR.to_bits(),
                    at = inout(reg) place.at,
                    blocks = inout(reg) blocks => _,
                    pa = out(reg) _,
                    pb = out(reg) _,
                    pc = out(reg) _,
                    out("v0") _, out("v1") _, out("v2") _, out("v3") _, out("v4") _, out("v5") _,
                    out("v6") _, out("v7") _, out("v16") _, out("v17") _, out("v18") _,
                    out("v19") _, out("v20") _, out("v21") _, out("v22") _, out("v23") _,
                    out("v24") _,
                    options(nostack),
                );
            }
            sums.iter().fold(0, |all, word| all.wrapping_add(*word))
        }
    };
}

work!(
    read,
    [
        "movi v0.2d, #0",
        "movi v1.2d, #0",
        "movi v2.2d, #0",
        "movi v3.2d, #0",
        "movi v4.2d, #0",
        "movi v5.2d, #0",
        "movi v6.2d, #0",
        "movi v7.2d, #0"
    ],
    [
        "ldp q16, q17, [{pb}]",
        "ldp q18, q19, [{pb}, #32]",
        "ldp q20, q21, [{pb}, #64]",
        "ldp q22, q23, [{pb}, #96]",
        "add v0.2d, v0.2d, v16.2d",
        "add v1.2d, v1.2d, v17.2d",
        "add v2.2d, v2.2d, v18.2d",
        "add v3.2d, v3.2d, v19.2d",
        "add v4.2d, v4.2d, v20.2d",
        "add v5.2d, v5.2d, v21.2d",
        "add v6.2d, v6.2d, v22.2d",
        "add v7.2d, v7.2d, v23.2d"
    ],
    [
        "stp q0, q1, [{out}]",
        "stp q2, q3, [{out}, #32]",
        "stp q4, q5, [{out}, #64]",
        "stp q6, q7, [{out}, #96]"
    ]
);
work!(
    copy,
    [],
    [
        "ldp q0, q1, [{pb}]",
        "ldp q2, q3, [{pb}, #32]",
        "ldp q4, q5, [{pb}, #64]",
        "ldp q6, q7, [{pb}, #96]",
        "stp q0, q1, [{pa}]",
        "stp q2, q3, [{pa}, #32]",
        "stp q4, q5, [{pa}, #64]",
        "stp q6, q7, [{pa}, #96]"
    ],
    []
);
work!(
    stream,
    [],
    [
        "ldp q0, q1, [{pb}]",
        "ldp q2, q3, [{pb}, #32]",
        "ldp q4, q5, [{pb}, #64]",
        "ldp q6, q7, [{pb}, #96]",
        "stnp q0, q1, [{pa}]",
        "stnp q2, q3, [{pa}, #32]",
        "stnp q4, q5, [{pa}, #64]",
        "stnp q6, q7, [{pa}, #96]"
    ],
    []
);
work!(
    triad,
    ["dup v24.2d, {factor}"],
    [
        "ldp q0, q1, [{pb}]",
        "ldp q2, q3, [{pb}, #32]",
        "ldp q4, q5, [{pb}, #64]",
        "ldp q6, q7, [{pb}, #96]",
        "ldp q16, q17, [{pc}]",
        "ldp q18, q19, [{pc}, #32]",
        "ldp q20, q21, [{pc}, #64]",
        "ldp q22, q23, [{pc}, #96]",
        "fmla v0.2d, v16.2d, v24.2d",
        "fmla v1.2d, v17.2d, v24.2d",
        "fmla v2.2d, v18.2d, v24.2d",
        "fmla v3.2d, v19.2d, v24.2d",
        "fmla v4.2d, v20.2d, v24.2d",
        "fmla v5.2d, v21.2d, v24.2d",
        "fmla v6.2d, v22.2d, v24.2d",
        "fmla v7.2d, v23.2d, v24.2d",
        "stp q0, q1, [{pa}]",
        "stp q2, q3, [{pa}, #32]",
        "stp q4, q5, [{pa}, #64]",
        "stp q6, q7, [{pa}, #96]"
    ],
    []
);

/// Every aarch64 has these instructions.
pub(super) fn movers(operation: Operation) -> Vec<Mover> {
    vec![Mover {
        operation,
        block_bytes: 128,
        run: match operation {
            Operation::Read => read,
            Operation::Copy => copy,
            Operation::CopyStreaming => stream,
            Operation::Triad => triad,
        },
    }]
}
