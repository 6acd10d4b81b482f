//! The loops do what they are counted for.

use super::*;

/// The accumulators after `steps`, computed one by one.
fn expected(work: &Loop, steps: u64) -> Vec<u8> {
    let lanes = work.accumulators * work.width_bytes / work.lanes.bytes();
    // Of NEON's vectors, the products are added to what is there.
    let adds = work.instructions == "neon";
    let fused = work.operation == "fma";
    let mut bytes = Vec::new();
    for _ in 0..lanes {
        match work.lanes {
            Lanes::F32 => {
                let step = |x: f32| match (adds, fused) {
                    (true, _) => x + 0.5,
                    (_, true) => x.mul_add(0.5, 1.0),
                    _ => x * 0.5 + 1.0,
                };
                bytes.extend((0..steps).fold(0f32, |x, _| step(x)).to_ne_bytes());
            }
            Lanes::F64 => {
                let step = |x: f64| match (adds, fused) {
                    (true, _) => x + 0.5,
                    (_, true) => x.mul_add(0.5, 1.0),
                    _ => x * 0.5 + 1.0,
                };
                bytes.extend((0..steps).fold(0f64, |x, _| step(x)).to_ne_bytes());
            }
            Lanes::I8 => bytes.extend((-24 * steps as i32).to_ne_bytes()),
        }
    }
    bytes
}

#[test]
fn every_step_of_every_accumulator_is_done() {
    let loops = Loop::all();
    assert!(!loops.is_empty() || !cfg!(any(target_arch = "x86_64", target_arch = "aarch64")));
    for work in loops {
        // Few rounds: with more of them `x * 0.5 + 1` no longer changes.
        for rounds in [1, 2, 7] {
            let mut registers = Registers::new(work.lanes);
            registers.run(&work, rounds);
            let expected = expected(&work, rounds * STEPS as u64);
            let is_apart = cfg!(target_arch = "aarch64") && work.instructions == "scalar";
            let found: Vec<u8> = if is_apart {
                let whole = registers.accumulators.chunks(16).take(work.accumulators);
                whole
                    .flat_map(|lane| &lane[..work.width_bytes])
                    .copied()
                    .collect()
            } else {
                registers.accumulators[..expected.len()].to_vec()
            };
            assert_eq!(
                found, expected,
                "{} {:?}, {rounds} rounds",
                work.instructions, work.lanes
            );
        }
    }
}

#[test]
fn operations_are_those_of_the_registers() {
    for work in Loop::all() {
        let (lanes, each) = (
            work.width_bytes / work.lanes.bytes(),
            work.lanes.operations(),
        );
        let (lanes_here, each_here) = match (work.instructions, work.lanes) {
            ("scalar", _) => (1, 2),
            ("sse2" | "neon", Lanes::F32) => (4, 2),
            ("sse2" | "neon", Lanes::F64) => (2, 2),
            ("neon", Lanes::I8) => (4, 8),
            ("avx2", Lanes::F32) => (8, 2),
            ("avx2", Lanes::F64) => (4, 2),
            ("avx2", Lanes::I8) => (8, 8),
            ("avx512", Lanes::F32) => (16, 2),
            ("avx512", Lanes::F64) => (8, 2),
            ("avx512", Lanes::I8) => (16, 8),
            other => panic!("{other:?}"),
        };
        assert_eq!((lanes, each), (lanes_here, each_here));
        assert_eq!(
            work.operations(),
            (work.accumulators * STEPS * lanes * each) as u64
        );
    }
}

#[test]
fn no_rounds_change_nothing() {
    for work in Loop::all() {
        let mut registers = Registers::new(work.lanes);
        registers.run(&work, 0);
        assert_eq!(registers.accumulators, [0; ACCUMULATOR_BYTES]);
    }
}
