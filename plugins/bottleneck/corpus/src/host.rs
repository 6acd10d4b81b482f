//! Programs of one thread.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use trueno_recorder::Recorder;

use super::steps::steps;

pub fn recorder(path: &Path) -> Recorder {
    Recorder::builder(path)
        .overwrite(true)
        .create()
        .expect("the run can be written")
}

/// How much longer than intended waits and work took, and how long they should have taken.
static LATE_NS: AtomicU64 = AtomicU64::new(0);
static MEANT_NS: AtomicU64 = AtomicU64::new(0);

/// Records that a step meant to last `micros` took `since.elapsed()`.
pub fn took(since: Instant, micros: u64) {
    let late = since
        .elapsed()
        .saturating_sub(Duration::from_micros(micros));
    LATE_NS.fetch_add(late.as_nanos() as u64, Ordering::Relaxed);
    MEANT_NS.fetch_add(1_000 * micros, Ordering::Relaxed);
}

pub fn work(micros: u64) {
    let since = Instant::now();
    let end = since + Duration::from_micros(micros);
    while Instant::now() < end {
        std::hint::spin_loop();
    }
    took(since, micros);
}

/// Repeats the recording until its timing is close to what the case intends: on a shared machine interruptions
/// change what is true of the run. After the last try the run is kept as it is. Returns by what share it was late.
pub fn undisturbed(path: &Path, make: fn(&Path)) -> f64 {
    const TRIES: u32 = 12;
    const LATE: f64 = 0.03;
    let mut late = 0.0;
    for _ in 0..TRIES {
        LATE_NS.store(0, Ordering::Relaxed);
        MEANT_NS.store(0, Ordering::Relaxed);
        make(path);
        let meant = MEANT_NS.load(Ordering::Relaxed);
        late = LATE_NS.load(Ordering::Relaxed) as f64 / meant.max(1) as f64;
        // Sleeping takes 60 µs longer than was asked for, which is more than some programs ask for.
        if late <= LATE || meant < 20_000_000 {
            break;
        }
    }
    late
}

pub fn loader_before_work(path: &Path) {
    steps(path, 30, |rec, _| {
        {
            let _b = rec.brick("load batch");
            work(800);
        }
        let _b = rec.brick("train step");
        work(900);
    });
}

pub fn loader_small(path: &Path) {
    steps(path, 30, |rec, _| {
        {
            let _b = rec.brick("load batch");
            work(10);
        }
        let _b = rec.brick("train step");
        work(1500);
    });
}

/// A call has 100 µs of fixed cost and 1 µs for each of a few elements.
pub fn fixed_cost(path: &Path) {
    steps(path, 60, |rec, n| {
        let rows = if n % 2 == 0 { 4 } else { 12 };
        let mut b = rec.brick("encode");
        b.elements(rows);
        work(200 + 2 * rows);
    });
}

/// The cost of a call is proportional to its elements.
pub fn cost_by_element(path: &Path) {
    steps(path, 60, |rec, n| {
        let rows = if n % 2 == 0 { 40 } else { 120 };
        let mut b = rec.brick("encode");
        b.elements(rows);
        work(10 + 5 * rows);
    });
}

/// All calls have the same size, so no line can be fitted.
pub fn one_size(path: &Path) {
    steps(path, 60, |rec, _| {
        let mut b = rec.brick("encode");
        b.elements(8);
        work(210);
    });
}

pub fn an_element_a_call(path: &Path) {
    let rec = recorder(path);
    let mut sum = 0.0_f64;
    for n in 0..60_000 {
        let _b = rec.brick("axpy element");
        for k in 0..60 {
            sum += std::hint::black_box(f64::from(n + k) * 1.5);
        }
    }
    std::hint::black_box(sum);
    rec.finish().expect("the recording ends");
}

pub fn a_hash_a_call(path: &Path) {
    let rec = recorder(path);
    let mut hash = 14_695_981_039_346_656_037_u64;
    for n in 0..40_000_u64 {
        let _f = rec.function("hash key");
        for byte in 0..100 {
            hash = std::hint::black_box(hash ^ (n + byte)).wrapping_mul(1_099_511_628_211);
        }
    }
    std::hint::black_box(hash);
    rec.finish().expect("the recording ends");
}

pub fn many_real_calls(path: &Path) {
    let rec = recorder(path);
    for _ in 0..12_000 {
        let _b = rec.brick("row of the image");
        work(12);
    }
    rec.finish().expect("the recording ends");
}

pub fn few_tiny_calls(path: &Path) {
    let rec = recorder(path);
    for n in 0..2_000 {
        {
            let _b = rec.brick("index");
            std::hint::black_box(n * 7);
        }
        let _b = rec.brick("row of the image");
        work(12);
    }
    rec.finish().expect("the recording ends");
}

pub fn mask_again(path: &Path) {
    steps(path, 20, |rec, n| {
        {
            let _b = rec.brick("build mask");
            work(400);
            rec.checksum("mask", None, &[1.0_f32; 256], &[256]);
        }
        let _b = rec.brick("attend");
        work(600);
        rec.checksum("out", None, &[n as f32 + 0.5; 256], &[256]);
    });
}

pub fn two_tensors_again(path: &Path) {
    steps(path, 20, |rec, n| {
        {
            let _b = rec.brick("rotary table");
            work(500);
            rec.checksum("cos", None, &[0.3_f32; 128], &[128]);
            rec.checksum("sin", None, &[0.7_f32; 128], &[128]);
        }
        let _b = rec.brick("rotate");
        work(500);
        rec.checksum("q", None, &[n as f32; 128], &[128]);
    });
}

pub fn new_results(path: &Path) {
    steps(path, 20, |rec, n| {
        let _b = rec.brick("build mask");
        work(400);
        rec.checksum("mask", None, &[n as f32; 256], &[256]);
    });
}

/// The weights are the same each time, but the results computed from them differ. A cleared buffer is zero each
/// time.
pub fn same_weights(path: &Path) {
    steps(path, 20, |rec, n| {
        {
            let _b = rec.brick("project");
            work(400);
            rec.checksum("weights", None, &[1.5_f32; 256], &[256]);
            rec.checksum("out", None, &[n as f32 + 1.0; 256], &[256]);
        }
        let _b = rec.brick("clear");
        work(200);
        rec.checksum("buffer", None, &[0.0_f32; 256], &[256]);
    });
}
