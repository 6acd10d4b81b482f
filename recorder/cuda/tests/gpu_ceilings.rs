//! Ceilings of a GPU: kernels executed on the host as far as they can be, and the host's side over a driver of the
//! test.

mod driver_in_process;
mod interpreter;

use std::time::Duration;

use driver_in_process::{Fake, left, state};
use interpreter::{Memory, Module};
use trueno_ceilings::gpu::{Blas, CEILINGS_PTX, GpuEffort, measure};
use trueno_recorder::{CeilingKind, Source};

const EFFORT: GpuEffort = GpuEffort {
    repetitions: 5,
    repetition: Duration::from_millis(5),
    warm_up: Duration::ZERO,
};

fn no_library() -> Result<Blas, String> {
    Err("libcublas.so.13: not here".to_owned())
}

#[test]
fn each_ceiling_is_work_over_time() {
    let fake = Fake::new();
    // A tenth of a millisecond for each round or pass.
    state().timed = Some(("peak_", 1e-4));
    let mut told = Vec::new();
    let peaks = measure(&fake.device, &EFFORT, no_library, |at| {
        told.push(at.now.to_owned())
    })
    .unwrap();
    assert_eq!(told.len(), 22);
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
    // Two groups of four warps each.
    let wgmma = |depth: f64| 2.0 * 2.0 * 16.0 * 2.0 * 64.0 * 256.0 * depth;
    let [mma_sync, group] = ["tensor_mma_sync", "tensor_wgmma"];
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
        (mma_sync, Some("bf16"), "mma.sync.m16n8k16", mma(16.0)),
        (mma_sync, Some("f16"), "mma.sync.m16n8k16", mma(16.0)),
        (mma_sync, Some("f16_acc"), "mma.sync.m16n8k16", mma(16.0)),
        (mma_sync, Some("tf32"), "mma.sync.m16n8k8", mma(8.0)),
        (mma_sync, Some("i8"), "mma.sync.m16n8k32", mma(32.0)),
        (mma_sync, Some("f64"), "mma.sync.m16n8k16", mma(16.0)),
        (group, Some("bf16"), "wgmma.m64n256k16", wgmma(16.0)),
        (group, Some("f16"), "wgmma.m64n256k16", wgmma(16.0)),
        (group, Some("f16_acc"), "wgmma.m64n256k16", wgmma(16.0)),
        (group, Some("tf32"), "wgmma.m64n256k8", wgmma(8.0)),
        (group, Some("f8"), "wgmma.m64n256k32", wgmma(32.0)),
        (group, Some("i8"), "wgmma.m64n256k32", wgmma(32.0)),
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
    assert_eq!(peaks.ceilings[13].unit(), "op/s");
    assert_eq!(left(), (0, 0));
}

/// Nothing is timed if the instruction is missing from a text or has another type.
#[test]
fn a_kernel_that_computes_something_else_gives_no_ceiling() {
    let fake = Fake::new();
    state().timed = Some(("peak_", 1e-4));
    state().replaced = Some((
        "m16n8k16.row.col.f32.bf16.bf16.f32",
        "m16n8k16.row.col.f32.f16.f16.f32",
    ));
    let peaks = measure(&fake.device, &EFFORT, no_library, |_| ()).unwrap();
    let has = |level: &str, precision: &str| {
        let mut rows = peaks.ceilings.iter();
        rows.any(|row| {
            row.level.as_deref() == Some(level) && row.precision.as_deref() == Some(precision)
        })
    };
    assert!(!has("tensor_mma_sync", "bf16") && has("tensor_mma_sync", "f16"));
    let said =
        "tensor_mma_sync bf16 mma.sync.m16n8k16: not measured: its product is wrong: thread 0 has";
    assert!(
        peaks.notes.iter().any(|note| note.starts_with(said)),
        "{:?}",
        peaks.notes
    );
}

#[test]
fn more_than_the_data_sheet_is_not_believed() {
    let fake = Fake::new();
    // A thousandth of the time that two multiprocessors need.
    state().timed = Some(("peak_", 1e-9));
    let peaks = measure(&fake.device, &EFFORT, no_library, |_| ()).unwrap();
    // Neither is known of the L2 cache, nor of memory whose clock the driver does not say.
    assert!(
        peaks
            .ceilings
            .iter()
            .all(|row| matches!(row.level.as_deref(), Some("L2" | "DRAM")))
    );
    let of = |start: &str| {
        peaks
            .notes
            .iter()
            .find(|note| note.starts_with(start))
            .unwrap()
    };
    let said = of("tensor_wgmma f8");
    // 2 multiprocessors * 8192 a clock * 1.98 GHz.
    assert!(
        said.contains("more than the 32.4403 T/s that its data sheet allows"),
        "{said}"
    );
    assert!(of("cuda_cores f32").contains("more than the 1.0138 T/s"));
}

/// A MIG part of a device does not save its ceilings under the id of the whole device.
#[test]
fn a_part_of_a_device_has_an_id_of_its_own() {
    let fake = Fake::new();
    assert!(fake.device.uuid().unwrap().starts_with("GPU-0001"));
    state().is_part = true;
    assert_eq!(
        fake.device.uuid().unwrap(),
        "MIG-40414243-4445-4647-4849-4a4b4c4d4e4f"
    );
}

/// The test's cuBLAS: writes only the parts of the product that are checked, and takes 10 ms.
mod library {
    use std::ffi::{c_int, c_void};

    use super::Blas;
    use super::driver_in_process::{Work, state};

    pub const BLAS: Blas = Blas {
        create,
        destroy,
        set_stream,
        gemm,
    };
    pub const WRONG: Blas = Blas {
        gemm: nothing,
        ..BLAS
    };

    // SAFETY of all below: called by the code under test with what cuBLAS's API says.
    unsafe extern "C" fn create(handle: *mut *mut c_void) -> c_int {
        unsafe { *handle = 0x33 as *mut c_void };
        0
    }

    unsafe extern "C" fn destroy(handle: *mut c_void) -> c_int {
        assert_eq!(handle as usize, 0x33);
        0
    }

    unsafe extern "C" fn set_stream(_: *mut c_void, stream: *mut c_void) -> c_int {
        assert_eq!(stream as usize, 0x22);
        0
    }

    fn value(bytes: &[u8], of: c_int) -> f64 {
        match of {
            0 => f64::from(f32::from_le_bytes(bytes[..4].try_into().unwrap())),
            1 => f64::from_le_bytes(bytes[..8].try_into().unwrap()),
            // Ones and twos: 0x3c00 and 0x4000 of f16, 0x3f80 and 0x4000 of bf16.
            2 | 14 => {
                if bytes[1] == 0x40 {
                    2.0
                } else {
                    1.0
                }
            }
            3 => f64::from(bytes[0]),
            other => panic!("type {other}"),
        }
    }

    fn size(of: c_int) -> u64 {
        match of {
            0 | 10 => 4,
            1 => 8,
            2 | 14 => 2,
            3 => 1,
            other => panic!("type {other}"),
        }
    }

    #[allow(clippy::too_many_arguments, reason = "as cuBLAS has it")]
    unsafe extern "C" fn gemm(
        _: *mut c_void,
        ta: c_int,
        tb: c_int,
        m: c_int,
        n: c_int,
        k: c_int,
        _: *const c_void,
        a: u64,
        a_type: c_int,
        lda: c_int,
        b: u64,
        b_type: c_int,
        ldb: c_int,
        _: *const c_void,
        c: u64,
        c_type: c_int,
        ldc: c_int,
        _: c_int,
        _: c_int,
    ) -> c_int {
        assert_eq!((ta, tb), (0, 0));
        assert!([n, k, lda, ldb, ldc].iter().all(|side| *side == m));
        let mut state = state();
        state.run();
        let side = m as u64;
        let count = (side * 8).min(4096);
        for at in (0..count).chain(side * side - count..side * side) {
            let (row, column) = (at % side, at / side);
            // Its rows and columns are of one value each: the first stands for all.
            let from = [
                (a + row * size(a_type), a_type),
                (b + column * side * size(b_type), b_type),
            ];
            let [x, y] = from.map(|(from, of)| value(state.memory.bytes(from), of));
            let product = x * y * k as f64;
            let word = match c_type {
                0 => (product as f32).to_bits().to_le_bytes().to_vec(),
                1 => product.to_le_bytes().to_vec(),
                _ => (product as i32).to_le_bytes().to_vec(),
            };
            state.memory.write(c + at * size(c_type), &word);
        }
        state.queue.push_back(Work::Wait(1e-2));
        0
    }

    #[allow(clippy::too_many_arguments, reason = "as cuBLAS has it")]
    unsafe extern "C" fn nothing(
        _: *mut c_void,
        _: c_int,
        _: c_int,
        _: c_int,
        _: c_int,
        _: c_int,
        _: *const c_void,
        _: u64,
        _: c_int,
        _: c_int,
        _: u64,
        _: c_int,
        _: c_int,
        _: *const c_void,
        _: u64,
        _: c_int,
        _: c_int,
        _: c_int,
        _: c_int,
    ) -> c_int {
        0
    }
}

/// Turing has tensor cores, but no kernel here uses them; Blackwell has an instruction for most types.
#[test]
fn where_no_instruction_reaches_the_peak_a_library_does_and_is_named() {
    let fake = Fake::new();
    (state().timed, state().capability) = (Some(("peak_", 1e-4)), 75);
    let peaks = measure(&fake.device, &EFFORT, || Ok(library::BLAS), |_| ()).unwrap();
    let of_library: Vec<_> = peaks
        .ceilings
        .iter()
        .filter(|row| row.level.as_deref() == Some("cublas"))
        .collect();
    let precisions: Vec<_> = of_library
        .iter()
        .map(|row| row.precision.as_deref().unwrap())
        .collect();
    assert_eq!(precisions, ["f16", "i8"], "{:?}", peaks.notes);
    assert_eq!(of_library[0].operation.as_deref(), Some("gemm 2048"));
    let wanted = 2.0 * 2048f64.powi(3) / 1e-2;
    assert!(
        (of_library[0].value / wanted - 1.0).abs() < 1e-2,
        "{}",
        of_library[0].value
    );
    // One that gives another product is not believed, and one that is not there is said.
    let wrong = measure(&fake.device, &EFFORT, || Ok(library::WRONG), |_| ()).unwrap();
    assert!(
        wrong
            .notes
            .iter()
            .any(|note| note.contains("cublas f16 gemm: not measured: its product is wrong")),
        "{:?}",
        wrong.notes
    );
    let none = measure(&fake.device, &EFFORT, no_library, |_| ()).unwrap();
    let said = "f16, i8: no ceiling of the tensor cores: no kernel here reaches it, and there is no cuBLAS: libcublas.so.13: not here";
    assert!(
        none.notes.iter().any(|note| note == said),
        "{:?}",
        none.notes
    );
    assert_eq!(left(), (0, 0));
}

#[test]
fn launches_that_fail_are_noted_and_give_no_ceiling() {
    let fake = Fake::new();
    state().timed = Some(("peak_", 1e-4));
    let peaks = measure(&fake.device, &EFFORT, no_library, |_| {
        // From the first measurement on, launches fail.
        state().launch_error = if state().ran.is_empty() { 0 } else { 700 };
    });
    // The first launch after filling fails: nothing is left to be measured, and each says so.
    let peaks = peaks.unwrap();
    assert!(peaks.ceilings.is_empty());
    let said = |start: &str| peaks.notes.iter().any(|note| note.starts_with(start));
    assert!(
        said("DRAM read: not measured: cuLaunchKernel"),
        "{:?}",
        peaks.notes
    );
    assert!(said(
        "tensor_wgmma i8 wgmma.m64n256k32: not measured: cuLaunchKernel"
    ));
    assert!(said(
        "bf16, f16, tf32, i8, f64: no ceiling of the tensor cores"
    ));
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
