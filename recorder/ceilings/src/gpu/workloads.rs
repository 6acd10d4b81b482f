//! Launches for each ceiling, and their work.

use crate::repeat::{Repeated, millionths, whole};
use trueno_format::Source;
use trueno_format::{Ceiling, CeilingKind};

/// Threads of a block, and blocks for each multiprocessor: 2,048 threads, as many as one holds.
pub const THREADS: u32 = 256;
pub const BLOCKS_EACH: u32 = 8;
/// Bytes of an element that a thread moves at once.
const ELEMENT_BYTES: u64 = 16;

/// A parameter of a kernel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum KernelArgument {
    /// The nth array.
    Array(usize),
    /// A buffer with room for a word of each thread.
    Out,
    /// Elements of 16 bytes in each array.
    Count,
    /// The count that is raised until a launch takes long enough.
    Rounds,
    Half(u32),
    Word(u64),
}

/// A ceiling to be measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    pub kernel: &'static str,
    pub is_tensor: bool,
    pub arguments: Vec<KernelArgument>,
    kind: CeilingKind,
    pub level: &'static str,
    pub precision: Option<&'static str>,
    pub operation: &'static str,
    /// Bytes of each array; 0: none.
    pub array_bytes: u64,
    work: Work,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Work {
    /// Arrays read or written in each round.
    Arrays(u64),
    /// Amount of each thread in each round.
    Thread(u64),
    /// Amount of each warp in each round.
    Warp(u64),
}

impl Step {
    /// The name for people.
    pub fn name(&self) -> String {
        let precision = self.precision.map_or(String::new(), |of| format!(" {of}"));
        format!("{}{precision} {}", self.level, self.operation)
    }

    /// Elements of 16 bytes in each array.
    pub fn count(&self) -> u64 {
        self.array_bytes / ELEMENT_BYTES
    }

    /// Operations or bytes of a launch of `threads` threads.
    pub fn amount(&self, threads: u64, rounds: u64) -> f64 {
        let (each, of) = match self.work {
            Work::Arrays(arrays) => (arrays * ELEMENT_BYTES, self.count()),
            Work::Thread(each) => (each, threads),
            Work::Warp(each) => (each, threads / 32),
        };
        each as f64 * of as f64 * rounds as f64
    }

    pub fn ceiling(&self, device: u32, found: Repeated) -> Ceiling {
        Ceiling {
            level: Some(self.level.into()),
            precision: self.precision.map(Into::into),
            operation: Some(self.operation.into()),
            median: Some(whole(found.median)),
            spread: Some(millionths(found.spread)),
            repetitions: Some(found.repetitions),
            settled: Some(found.is_settled),
            ..Ceiling::new(
                format!("gpu:{device}"),
                self.kind,
                whole(found.reached),
                Source::Measured,
            )
        }
    }
}

/// Bytes of each of three arrays that do not fit a cache: eight times the cache, at least 256 MiB, and not more than
/// a fourth of what is free. The second value: whether that is as much as it should be.
pub fn array_bytes(l2_bytes: u64, free_bytes: u64) -> (u64, bool) {
    let wanted = (8 * l2_bytes).max(256 << 20);
    let bytes = wanted.min(free_bytes / 4) / 4096 * 4096;
    (bytes, bytes >= 8 * l2_bytes)
}

/// All ceilings of a device with such a cache (0: not known) and such arrays.
pub fn plan(l2_bytes: u64, array_bytes: u64, has_tensor: bool) -> Vec<Step> {
    use KernelArgument::{Array, Count, Half, Out, Rounds, Word};
    let mut steps = Vec::new();
    let moved = |level, bytes: u64, operation, kernel, arguments: &[KernelArgument], arrays| Step {
        kernel,
        is_tensor: false,
        arguments: arguments.to_vec(),
        kind: CeilingKind::Bandwidth,
        level,
        precision: None,
        operation,
        array_bytes: bytes / 4096 * 4096,
        work: Work::Arrays(arrays),
    };
    let read = [Out, Array(0), Count, Rounds];
    let copy = [Array(0), Array(1), Count, Rounds];
    let triad = [Array(0), Array(1), Array(2), Count, Rounds];
    for (level, all) in [("DRAM", None), ("L2", Some(l2_bytes / 2))] {
        if all == Some(0) {
            continue;
        }
        let each = |arrays| all.map_or(array_bytes, |all| all / arrays);
        steps.push(moved(level, each(1), "read", "peak_read", &read, 1));
        steps.push(moved(level, each(2), "copy", "peak_copy", &copy, 2));
        steps.push(moved(level, each(3), "triad", "peak_triad", &triad, 3));
    }
    let computed = |kernel, level, precision, work, x, y| Step {
        kernel,
        is_tensor: matches!(work, Work::Warp(_)),
        arguments: vec![Out, Rounds, x, y],
        kind: CeilingKind::Compute,
        level,
        precision: Some(precision),
        operation: if matches!(work, Work::Warp(_)) {
            "mma"
        } else {
            "fma"
        },
        array_bytes: 0,
        work,
    };
    steps.push(Step {
        kernel: "peak_shared",
        arguments: vec![Out, Rounds, Half(0)],
        kind: CeilingKind::Bandwidth,
        precision: None,
        operation: "read",
        ..computed("", "shared", "", Work::Thread(8 * 16), Out, Out)
    });
    // Numbers that stay where they are: x * 0.75 + 0.25 goes to 1.
    let (x, y) = (0.75f32, 0.25f32);
    let wide = |value: f32| Word(f64::from(value).to_bits());
    let half = |value: f32| Half(value.to_bits());
    let ffma = Work::Thread(8 * 16 * 2);
    let dfma = Work::Thread(8 * 8 * 2);
    steps.extend([
        computed("peak_ffma", "cuda_cores", "f32", ffma, half(x), half(y)),
        computed("peak_dfma", "cuda_cores", "f64", dfma, wide(x), wide(y)),
    ]);
    if has_tensor {
        // Sixteen instructions a round, 2 * 16 * 8 * K operations each.
        for (kernel, precision, depth, one) in [
            ("peak_mma_bf16", "bf16", 16, 0x3f80_3f80),
            ("peak_mma_f16", "f16", 16, 0x3c00_3c00),
            ("peak_mma_tf32", "tf32", 8, 0x3f80_0000),
            ("peak_mma_i8", "i8", 32, 0x0101_0101),
        ] {
            let work = Work::Warp(16 * 2 * 16 * 8 * depth);
            let level = "tensor_mma_sync";
            steps.push(computed(
                kernel,
                level,
                precision,
                work,
                Half(one),
                Half(one),
            ));
        }
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_do_not_fit_the_cache_or_it_is_said() {
        assert_eq!(array_bytes(50 << 20, 80 << 30), (400 << 20, true));
        assert_eq!(array_bytes(4 << 20, 80 << 30), (256 << 20, true));
        assert_eq!(array_bytes(50 << 20, 400 << 20), (100 << 20, false));
    }

    #[test]
    fn the_plan_has_each_ceiling_once() {
        let names = |steps: &[Step]| -> Vec<String> { steps.iter().map(Step::name).collect() };
        let all = plan(50 << 20, 400 << 20, true);
        assert_eq!(
            names(&all),
            [
                "DRAM read",
                "DRAM copy",
                "DRAM triad",
                "L2 read",
                "L2 copy",
                "L2 triad",
                "shared read",
                "cuda_cores f32 fma",
                "cuda_cores f64 fma",
                "tensor_mma_sync bf16 mma",
                "tensor_mma_sync f16 mma",
                "tensor_mma_sync tf32 mma",
                "tensor_mma_sync i8 mma"
            ]
        );
        assert_eq!(all[5].array_bytes, (25 << 20) / 3 / 4096 * 4096);
        let few = plan(0, 256 << 20, false);
        assert_eq!(few.len(), 6, "no L2 of unknown size, no tensor cores");
        assert!(few.iter().all(|step| step.array_bytes.is_multiple_of(4096)));
    }

    #[test]
    fn amounts_follow_from_the_kernels() {
        let all = plan(48 << 20, 384 << 20, true);
        let of = |name: &str| all.iter().find(|step| step.name() == name).unwrap();
        assert_eq!(of("DRAM copy").amount(1, 2), f64::from(2 * 2 * (384 << 20)));
        assert_eq!(of("L2 triad").amount(1, 1), f64::from(24 << 20));
        assert_eq!(
            of("cuda_cores f32 fma").amount(1024, 3),
            1024.0 * 3.0 * 256.0
        );
        let bf16 = of("tensor_mma_sync bf16 mma");
        assert_eq!(bf16.amount(64, 10), 2.0 * 10.0 * 16.0 * 4096.0);
    }
}
