//! Programs with two problems.

use std::path::Path;

use super::devices::{NEW, OLD};
use crate::host::{recorder, work};
use crate::simulated::{Machine, Way};
use crate::threads::rounds;

const US: i64 = 1_000;
const MS: i64 = 1_000_000;
const MB: i64 = 1_000_000;

pub fn loader_and_tiny_kernels() -> String {
    let mut m = Machine::new(OLD);
    for _ in 0..16 {
        m.host(
            "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
            2 * MS,
        );
        for _ in 0..200 {
            m.launch("pointwise", 20, 3 * US, 500);
        }
    }
    m.wait();
    m.trace()
}

pub fn loader_and_leak(path: &Path) {
    let rec = recorder(path);
    for n in 0..40_u64 {
        let _iteration = rec.iteration(n);
        {
            let _b = rec.brick("load batch");
            work(900);
            rec.allocation("batch", 2 * MB, 0x1000_0000 + n * 0x20_0000);
        }
        let _b = rec.brick("train step");
        work(1_000);
    }
    rec.finish().expect("the recording ends");
}

pub fn slow_part_and_mask(path: &Path) {
    let rec = recorder(path);
    for n in 0..12_u64 {
        let _iteration = rec.iteration(n);
        {
            let _b = rec.brick("build mask");
            work(4_000);
            rec.checksum("mask", None, &[0.75_f32; 100], &[10, 10]);
        }
        rounds(&rec, 1, &["rows", "columns", "corner"], |_, index| {
            if index == 2 { 9_000 } else { 3_000 }
        });
    }
    rec.finish().expect("the recording ends");
}

pub fn cold_and_copying() -> String {
    let mut m = Machine::new(NEW);
    m.call("cudaFree", 120 * MS);
    for _ in 0..40 {
        m.copy(Way::Up, 7, 21 * MB, false);
        m.launch("convolve", 7, 2 * MS, 2_000);
    }
    m.wait();
    m.trace()
}
