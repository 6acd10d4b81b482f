//! Ceilings of a GPU: kernels executed on the host as far as they can be, and the host's side over a driver of the
//! test.

mod driver_in_process;
mod interpreter;

use std::time::Duration;

use driver_in_process::{Fake, left, state};
use interpreter::{Memory, Module};
use trueno_ceilings::gpu::{CEILINGS_PTX, GpuEffort, TENSOR_PTX, measure};
use trueno_recorder::{CeilingKind, Source};

const EFFORT: GpuEffort = GpuEffort {
    repetitions: 5,
    repetition: Duration::from_millis(5),
    warm_up: Duration::ZERO,
};

#[test]
fn each_ceiling_is_work_over_time() {
    let fake = Fake::new();
    // A tenth of a millisecond for each round or pass.
    state().timed = Some(("peak_", 1e-4));
    let mut told = Vec::new();
    let peaks = measure(&fake.device, &EFFORT, |at| told.push(at.now.to_owned())).unwrap();
    assert_eq!(told.len(), 14);
    assert_eq!(peaks.gpu.uuid, "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f");
    assert_eq!(
        (peaks.gpu.name.as_str(), peaks.gpu.l2_bytes),
        ("Fake H100", Some(1 << 20))
    );
    assert_eq!(
        peaks.clock_hz, None,
        "no clock was read, so none is made up"
    );
    assert_eq!(peaks.notes, [""; 0]);
    // 2 multiprocessors of 8 blocks of 256 threads.
    let threads = 2.0 * 8.0 * 256.0;
    let array = f64::from(16 << 20);
    let l2 = |parts: i32| f64::from((1 << 19) / parts / 4096 * 4096 * parts);
    let mma = |depth: f64| threads / 32.0 * 16.0 * 2.0 * 16.0 * 8.0 * depth;
    let expected = [
        ("DRAM", None, "read", array),
        ("DRAM", None, "copy", 2.0 * array),
        ("DRAM", None, "triad", 3.0 * array),
        ("L2", None, "read", l2(1)),
        ("L2", None, "copy", l2(2)),
        ("L2", None, "triad", l2(3)),
        ("shared", None, "read", threads * 128.0),
        ("cuda_cores", Some("f32"), "fma", threads * 256.0),
        ("cuda_cores", Some("f64"), "fma", threads * 128.0),
        ("tensor_mma_sync", Some("bf16"), "mma", mma(16.0)),
        ("tensor_mma_sync", Some("f16"), "mma", mma(16.0)),
        ("tensor_mma_sync", Some("tf32"), "mma", mma(8.0)),
        ("tensor_mma_sync", Some("i8"), "mma", mma(32.0)),
    ];
    assert_eq!(peaks.ceilings.len(), expected.len());
    for (found, (level, precision, operation, work)) in peaks.ceilings.iter().zip(expected) {
        assert_eq!(found.device, "gpu:0");
        assert_eq!(found.level.as_deref(), Some(level));
        assert_eq!(found.precision.as_deref(), precision);
        assert_eq!(found.operation.as_deref(), Some(operation));
        assert_eq!(
            (found.source, found.repetitions),
            (Source::Measured, Some(5))
        );
        assert_eq!(found.threads, None);
        let wanted = work / 1e-4;
        // Launches of 50 rounds and more have some microseconds beside them.
        assert!(
            (found.value / wanted - 1.0).abs() < 1e-3,
            "{found:?}, {wanted}"
        );
        let is_bandwidth = found.kind == CeilingKind::Bandwidth;
        assert_eq!(is_bandwidth, precision.is_none());
    }
    assert_eq!(peaks.ceilings[12].unit(), "op/s");
    assert_eq!(left(), (0, 0));
}

#[test]
fn launches_that_fail_are_noted_and_give_no_ceiling() {
    let fake = Fake::new();
    state().timed = Some(("peak_", 1e-4));
    let peaks = measure(&fake.device, &EFFORT, |_| {
        // From the first measurement on, launches fail.
        state().launch_error = if state().ran.is_empty() { 0 } else { 700 };
    });
    // The first launch after filling fails: nothing is left to be measured, and each says so.
    let peaks = peaks.unwrap();
    assert!(peaks.ceilings.is_empty());
    assert_eq!(peaks.notes.len(), 14, "{:?}", peaks.notes);
    assert!(peaks.notes[0].contains("DRAM read: not measured: cuLaunchKernel"));
}

fn words(bytes: &[u8]) -> Vec<u32> {
    let word = |chunk: &[u8]| u32::from_le_bytes(chunk.try_into().unwrap());
    bytes.chunks_exact(4).map(word).collect()
}

#[test]
fn moves_move_what_they_count() {
    let module = Module::parse_some(
        CEILINGS_PTX,
        &["peak_fill", "peak_copy", "peak_triad", "peak_read"],
    );
    let mut memory = Memory::default();
    // Not a multiple of what a round of all threads takes.
    let count = 5 * 64 + 17u64;
    let bytes = count as usize * 16;
    let [a, b, c] = [0; 3].map(|_| memory.reserve(bytes));
    let shape = (2, 32);
    let of = u64::to_le_bytes;
    for (at, size) in [(a, count), (b, count)] {
        module.launch(
            "peak_fill",
            shape,
            &[&of(at), &of(size)],
            &mut memory,
            false,
        );
    }
    let filled = words(memory.bytes(a));
    let value = |bits: &u32| f32::from_bits(*bits);
    assert!(
        filled
            .iter()
            .map(value)
            .all(|value| (1.0..2.0).contains(&value))
    );
    let passes = 2u32.to_le_bytes();
    module.launch(
        "peak_copy",
        shape,
        &[&of(c), &of(a), &of(count), &passes],
        &mut memory,
        false,
    );
    assert_eq!(words(memory.bytes(c)), filled);
    let arguments = [&of(c)[..], &of(a), &of(b), &of(count), &passes];
    module.launch("peak_triad", shape, &arguments, &mut memory, false);
    let sums: Vec<f32> = words(memory.bytes(c)).iter().map(value).collect();
    let wanted: Vec<f32> = filled
        .iter()
        .map(value)
        .map(|a| a.mul_add(3.0, a))
        .collect();
    assert_eq!(sums, wanted);
    let out = memory.reserve(32 * 4);
    module.launch(
        "peak_read",
        shape,
        &[&of(out), &of(a), &of(count), &passes],
        &mut memory,
        false,
    );
}

#[test]
fn chains_are_as_long_as_they_are_counted() {
    let module = Module::parse_some(CEILINGS_PTX, &["peak_ffma", "peak_dfma"]);
    let mut memory = Memory::default();
    let out = memory.reserve(32 * 8);
    let rounds = 3u32;
    let arguments = [
        &out.to_le_bytes()[..],
        &rounds.to_le_bytes(),
        &0.75f32.to_le_bytes(),
        &0.25f32.to_le_bytes(),
    ];
    module.launch("peak_ffma", (1, 32), &arguments, &mut memory, false);
    for (thread, found) in words(memory.bytes(out)).iter().take(32).enumerate() {
        let chain = |i: usize| {
            let start = 0.75 * (thread + i) as f32;
            (0..rounds * 8).fold(start, |chain, _| chain.mul_add(0.75, 0.25))
        };
        let wanted = (0..16).map(chain).fold(0.0f32, |sum, chain| sum + chain);
        assert_eq!(f32::from_bits(*found), wanted, "thread {thread}");
    }
    let arguments = [
        &out.to_le_bytes()[..],
        &rounds.to_le_bytes(),
        &0.75f64.to_le_bytes(),
        &0.25f64.to_le_bytes(),
    ];
    module.launch("peak_dfma", (1, 32), &arguments, &mut memory, false);
    let found = f64::from_le_bytes(memory.bytes(out)[..8].try_into().unwrap());
    let chain = |i: i32| {
        let start = 0.75 * f64::from(i);
        (0..rounds * 8).fold(start, |chain, _| chain.mul_add(0.75, 0.25))
    };
    assert_eq!(found, (0..8).map(chain).fold(0.0, |sum, chain| sum + chain));
}

#[test]
fn tensor_kernels_are_there() {
    let names = Module::parse_known(TENSOR_PTX);
    assert_eq!(
        names.names(),
        [
            "peak_mma_bf16",
            "peak_mma_f16",
            "peak_mma_i8",
            "peak_mma_tf32"
        ]
    );
}
