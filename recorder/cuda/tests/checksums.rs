//! Checksums of tensors on a device, from the call to the row.

mod driver_in_process;
mod interpreter;

use std::path::Path;

use driver_in_process::{Fake, left, state};
use trueno_cupti::driver::StreamHandle;
use trueno_recorder::{BrickId, Element, Recorder, Strided, fingerprint};
use trueno_recorder_cuda::checksum::{Checksums, DeviceTensor};

fn bytes<T: Element>(data: &[T]) -> &[u8] {
    // SAFETY: elements are plain numbers.
    unsafe { std::slice::from_raw_parts(data.as_ptr().cast(), size_of_val(data)) }
}

fn numbers(count: usize) -> Vec<f32> {
    let number = |i: usize| ((i as u32).wrapping_mul(0x9E37_79B9) >> 8) as f32 / 1000.0 - 8000.0;
    (0..count).map(number).collect()
}

/// Rows of `checksums`, each with all its columns as text.
fn rows(run: &Path) -> Vec<Vec<String>> {
    use arrow_array::cast::AsArray;
    let mut rows = Vec::new();
    let Ok(folder) = std::fs::read_dir(run.join("checksums")) else {
        return rows;
    };
    let mut files: Vec<_> = folder.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    for file in files {
        let reader =
            arrow_ipc::reader::FileReader::try_new(std::fs::File::open(file).unwrap(), None);
        for batch in reader.unwrap() {
            let batch = batch.unwrap();
            for row in 0..batch.num_rows() {
                let cell = |column: &arrow_array::ArrayRef| {
                    if column.is_null(row) {
                        return "null".to_owned();
                    }
                    if let Some(words) = column.as_any_dictionary_opt() {
                        let key = words.normalized_keys()[row];
                        return words.values().as_string::<i32>().value(key).to_owned();
                    }
                    format!("{:?}", column.slice(row, 1))
                };
                rows.push(batch.columns().iter().map(cell).collect());
            }
        }
    }
    rows
}

fn timeless(run: &Path) -> Vec<Vec<String>> {
    let time = trueno_format::schema::table("checksums")
        .unwrap()
        .columns
        .iter()
        .position(|column| column.name.ends_with("_ns"))
        .unwrap();
    let mut rows = rows(run);
    for row in &mut rows {
        row.remove(time);
    }
    rows
}

const STREAM: StreamHandle = StreamHandle::DEFAULT;

#[test]
fn rows_are_those_of_the_host_and_nothing_waits() {
    let fake = Fake::new();
    let folder = tempfile::tempdir().unwrap();
    let (on_host, on_device) = (
        folder.path().join("host.run"),
        folder.path().join("device.run"),
    );
    let data = numbers(5000);
    // Two passes of `fold`: 4 bytes * 2048 * 300 are 300 blocks.
    let large: Vec<f32> = numbers(300 * 2048 + 5);
    {
        let rec = Recorder::create(&on_host).unwrap();
        let _iteration = rec.iteration(3);
        let _layer = rec.layer(1);
        let _brick = rec.brick(BrickId::QkvProjection);
        rec.checksum("qkv.out", Some(7), &data, &[50, 100]);
        rec.checksum("large", None, &large, &[large.len()]);
        rec.checksum_strided(
            "transposed",
            None,
            Strided::new(&data, &[100, 50], &[1, 100]).unwrap(),
        );
        rec.checksum("nothing", None, &data[..0], &[0]);
    }
    let rec = Recorder::create(&on_device).unwrap();
    let (at, at_large) = (fake.lend(bytes(&data)), fake.lend(bytes(&large)));
    let checksums = Checksums::new(&rec, &fake.device).unwrap();
    {
        let _iteration = rec.iteration(3);
        let _layer = rec.layer(1);
        let _brick = rec.brick(BrickId::QkvProjection);
        let shape = [large.len()];
        let tensor = |address, shape| DeviceTensor::<f32>::new(address, shape).unwrap();
        // SAFETY: memory of the fake.
        unsafe {
            checksums
                .checksum("qkv.out", Some(7), tensor(at, &[50, 100]), STREAM)
                .unwrap();
            checksums
                .checksum("large", None, tensor(at_large, &shape), STREAM)
                .unwrap();
            let transposed = DeviceTensor::<f32>::strided(at, &[100, 50], &[1, 100]).unwrap();
            checksums
                .checksum("transposed", None, transposed, STREAM)
                .unwrap();
            checksums
                .checksum("nothing", None, tensor(at, &[0]), STREAM)
                .unwrap();
        }
    }
    assert_eq!(
        state().ran.len(),
        0,
        "nothing ran, so nothing was waited for"
    );
    assert_eq!(
        (checksums.under_way(), checksums.collect().unwrap()),
        (4, 0)
    );
    fake.run();
    assert_eq!(checksums.collect().unwrap(), 4);
    assert_eq!(
        state().ran,
        [
            "fingerprint_f32",
            "fingerprint_f32",
            "fold",
            "strided_f32",
            "fingerprint_f32"
        ]
    );
    drop(checksums);
    assert_eq!(left(), (0, 0), "all is freed");
    rec.finish().unwrap();
    let found = timeless(&on_device);
    assert_eq!(found.len(), 4);
    assert_eq!(
        found,
        timeless(&on_host),
        "names, bricks, layers, hashes, statistics: all"
    );
}

#[test]
fn memory_is_used_again_and_the_end_waits() {
    let fake = Fake::new();
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("a.run");
    let rec = Recorder::create(&run).unwrap();
    let data = numbers(100);
    let at = fake.lend(bytes(&data));
    let checksums = Checksums::new(&rec, &fake.device).unwrap();
    let tensor = DeviceTensor::<f32>::new(at, &[100]).unwrap();
    for _ in 0..50 {
        // SAFETY: memory of the fake.
        unsafe { checksums.checksum("x", None, tensor, STREAM).unwrap() };
        fake.run();
    }
    assert!(state().allocated <= 4, "{} allocations", state().allocated);
    // SAFETY: as above.
    let now = unsafe { checksums.fingerprint(tensor, STREAM).unwrap() };
    assert_eq!(now, fingerprint(&data));
    // SAFETY: as above.
    unsafe { checksums.checksum("last", None, tensor, STREAM).unwrap() };
    drop(checksums);
    rec.finish().unwrap();
    let rows = rows(&run);
    assert_eq!(rows.len(), 51);
}

#[test]
fn what_is_not_recorded_is_not_computed() {
    let fake = Fake::new();
    let folder = tempfile::tempdir().unwrap();
    let at = fake.lend(bytes(&numbers(100)));
    let tensor = DeviceTensor::<f32>::new(at, &[100]).unwrap();
    let off = Recorder::builder(folder.path().join("a.run"))
        .without_table("checksums")
        .create()
        .unwrap();
    for rec in [off, Recorder::disabled()] {
        let checksums = Checksums::new(&rec, &fake.device).unwrap();
        // SAFETY: memory of the fake.
        unsafe { checksums.checksum("x", None, tensor, STREAM).unwrap() };
        fake.run();
        assert_eq!((checksums.under_way(), state().ran.len()), (0, 0));
    }
}

#[test]
fn a_failed_launch_is_said_and_leaves_nothing_behind() {
    let fake = Fake::new();
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("a.run");
    let rec = Recorder::create(&run).unwrap();
    let at = fake.lend(bytes(&numbers(100)));
    let tensor = DeviceTensor::<f32>::new(at, &[100]).unwrap();
    let checksums = Checksums::new(&rec, &fake.device).unwrap();
    state().launch_error = 700;
    // SAFETY: memory of the fake.
    let error = unsafe { checksums.checksum("x", None, tensor, STREAM) }.unwrap_err();
    let text = "cuLaunchKernel: an illegal memory access was encountered (error 700)";
    assert_eq!(error.to_string(), text);
    assert_eq!(checksums.under_way(), 0);
    drop(checksums);
    assert_eq!(state().allocated, 0);
    rec.finish().unwrap();
    assert_eq!(rows(&run).len(), 0);
}
