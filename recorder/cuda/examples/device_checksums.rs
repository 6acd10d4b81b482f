//! Compares fingerprints of the first GPU with those of the host, and measures their speed.
//!
//! `cargo run --release -p trueno-recorder-cuda --example device_checksums`
//!
//! A line for each check: its name, `pass`, `FAIL` or `skipped`, and what was found, with tabs between. Exit code 0:
//! nothing failed; 1: something did; 3: there is no GPU.

use std::process::ExitCode;
use std::sync::Arc;

use trueno_cupti::driver::{
    Api, Argument, Buffer, Context, Device, DriverError, Event, Launch, Pinned, StreamHandle,
};
use trueno_recorder::{Bf16, Element, F16, Fingerprint, Recorder, Strided, fingerprint};
use trueno_recorder_cuda::checksum::{
    Checksums, DeviceTensor, FINGERPRINT_PTX, HEAD_WORDS, PARTIAL_WORDS, decode,
};

const STREAM: StreamHandle = StreamHandle::DEFAULT;
const RUNS: usize = 100;

fn main() -> ExitCode {
    let device = match Api::load().map(Arc::new).and_then(|api| Device::all(&api)) {
        Ok(mut devices) => devices.remove(0),
        Err(error) => {
            println!("device checksums\tskipped\t{error}");
            return ExitCode::from(3);
        }
    };
    match checks(&device) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::from(1),
        Err(error) => {
            println!("device checksums\tFAIL\t{error}");
            ExitCode::from(1)
        }
    }
}

fn checks(device: &Device) -> Result<u32, DriverError> {
    let rec = Recorder::disabled();
    let checksums = Checksums::new(&rec, device)?;
    let context = device.context()?;
    let mut failed = 0;
    let mut say = |name: &str, is_right: bool, found: String| {
        let verdict = if is_right { "pass" } else { "FAIL" };
        println!("{name}\t{verdict}\t{found}");
        failed += u32::from(!is_right);
    };
    // Some blocks, and a tail that is no whole word; more than 256 blocks need a second kernel.
    let lengths = [0, 1, 63, 2047, 2049, 100_003, 3_000_001];
    macro_rules! types {
        ($($type:ty, $of:expr;)*) => {$({
            let mut right = 0;
            for length in lengths {
                let data: Vec<$type> = (0..length as u64).map(|i| $of(bits(i))).collect();
                right += u32::from(is_as_on_the_host(&checksums, &context, &data)?);
            }
            let name = format!("device = host, {}", <$type>::DTYPE);
            say(&name, right == 7, format!("{right} of 7 lengths"));
        })*};
    }
    types! {
        f32, |bits: u64| f32::from_bits(bits as u32);
        f64, f64::from_bits;
        F16, |bits: u64| F16(bits as u16);
        Bf16, |bits: u64| Bf16(bits as u16);
        i8, |bits: u64| bits as i8;
        i16, |bits: u64| bits as i16;
        i32, |bits: u64| bits as i32;
        i64, |bits: u64| bits as i64;
        u8, |bits: u64| bits as u8;
        u16, |bits: u64| bits as u16;
        u32, |bits: u64| bits as u32;
        u64, |bits: u64| bits;
    }
    let data: Vec<f32> = (0..500_009u64)
        .map(|i| (bits(i) >> 40) as f32 / 1e3 - 8e3)
        .collect();
    let on_host = fingerprint(&data);
    let there = device_copy(&context, &data)?;

    let mut same = 0;
    for _ in 0..RUNS {
        let tensor = tensor::<f32>(there.address(), &[500_009]);
        // SAFETY: `there` has the elements.
        same += usize::from(unsafe { checksums.fingerprint(tensor, STREAM)? } == on_host);
    }
    say(
        "the same in 100 runs",
        same == RUNS,
        format!("{same} of {RUNS}"),
    );

    let mut same = 0;
    for nth in 0..RUNS as u32 {
        let launch = Launch {
            blocks: 1 + nth * 7,
            threads: 32 * (1 + nth % 32),
            shared_bytes: 0,
        };
        same += usize::from(in_shape(&context, &there, 500_009, launch)? == on_host);
    }
    say(
        "the same in 100 launch shapes",
        same == RUNS,
        format!("{same} of {RUNS}"),
    );

    let view = Strided::new(&data, &[700, 650], &[1, 701]);
    if let Some(view) = view {
        let (shape, strides) = ([700, 650], [1, 701]);
        if let Ok(tensor) = DeviceTensor::<f32>::strided(there.address(), &shape, &strides) {
            // SAFETY: as above.
            let found = unsafe { checksums.fingerprint(tensor, STREAM)? };
            say(
                "strided = host",
                found == view.fingerprint(),
                format!("{:016x}", found.hash),
            );
        }
    }
    let mut swapped = data;
    swapped.swap(17, 400_000);
    let there = device_copy(&context, &swapped)?;
    // SAFETY: as above.
    let found =
        unsafe { checksums.fingerprint(tensor::<f32>(there.address(), &[500_009]), STREAM)? };
    let is_seen = found.hash != on_host.hash;
    say(
        "a permutation is seen",
        is_seen,
        format!("{:016x}", found.hash),
    );

    for (name, gb_per_s) in speeds(&context, &checksums)? {
        println!("{name}\tpass\t{gb_per_s:.0} GB/s");
    }
    Ok(failed)
}

/// Random bits, including odd floats.
fn bits(i: u64) -> u64 {
    let mut z = (i + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z ^= z >> 27;
    match i % 97 {
        0 => 0,
        1 => 0x8000_0000_8000_8000,
        2 => 0x7ff0_0000_7f80_7c00,
        3 => f64::NAN.to_bits(),
        // Squares of f64 overflow otherwise, and there is nothing to compare.
        _ => z & !(1 << 62) | 1 << 61,
    }
}

fn tensor<T: Element>(address: u64, shape: &[usize]) -> DeviceTensor<'_, T> {
    DeviceTensor::new(address, shape).expect("an aligned address")
}

fn device_copy<T: Element>(context: &Context, data: &[T]) -> Result<Buffer, DriverError> {
    // SAFETY: elements are plain numbers without padding.
    let bytes =
        unsafe { std::slice::from_raw_parts(data.as_ptr().cast::<u8>(), size_of_val(data)) };
    let there = Buffer::new(context, bytes.len())?;
    there.fill(bytes)?;
    Ok(there)
}

fn is_as_on_the_host<T: Element>(
    checksums: &Checksums,
    context: &Context,
    data: &[T],
) -> Result<bool, DriverError> {
    let there = device_copy(context, data)?;
    let shape = [data.len()];
    // SAFETY: `there` has the elements.
    let found = unsafe { checksums.fingerprint(tensor::<T>(there.address(), &shape), STREAM)? };
    Ok(found == fingerprint(data))
}

fn in_shape(
    context: &Context,
    there: &Buffer,
    elements: u64,
    launch: Launch,
) -> Result<Fingerprint, DriverError> {
    let function = context
        .module(FINGERPRINT_PTX)?
        .function("fingerprint_f32")?;
    let words = HEAD_WORDS + elements.div_ceil(2048) as usize * PARTIAL_WORDS;
    let result = Buffer::new(context, words * 8)?;
    let mut host = Pinned::new(context, words)?;
    let done = Event::new(context)?;
    let arguments = [
        Argument::Word(result.address() + HEAD_WORDS as u64 * 8),
        Argument::Word(result.address()),
        Argument::Word(there.address()),
        Argument::Word(elements),
    ];
    // SAFETY: the kernel's arguments; all lives until the wait is over.
    unsafe {
        function.launch(launch, STREAM, &arguments)?;
        host.receive(result.address(), words, STREAM)?;
        done.record(STREAM)?;
        done.wait()?;
        Ok(decode::<f32>(host.read(), elements).0)
    }
}

/// Bytes of a tensor divided by the time of its kernels, the best of ten.
fn speeds(context: &Context, checksums: &Checksums) -> Result<Vec<(String, f64)>, DriverError> {
    const BYTES: usize = 1 << 30;
    let there = Buffer::new(context, BYTES)?;
    let (from, to) = (Event::new(context)?, Event::new(context)?);
    let mut speeds = Vec::new();
    macro_rules! types {
        ($($type:ty)*) => {$({
            let shape = [BYTES / size_of::<$type>()];
            let mut best = f64::INFINITY;
            for _ in 0..10 {
                from.record(STREAM)?;
                // SAFETY: `there` has as many; what they are does not matter.
                unsafe { checksums.fingerprint(tensor::<$type>(there.address(), &shape), STREAM)? };
                to.record(STREAM)?;
                to.wait()?;
                best = best.min(from.seconds_to(&to)?);
            }
            speeds.push((format!("speed, 1 GiB of {}", <$type>::DTYPE), BYTES as f64 / best / 1e9));
        })*};
    }
    types! { f32 f64 F16 Bf16 i8 i64 }
    Ok(speeds)
}
