//! Launches for each ceiling, and their work.

use super::product::{Parts, Product, SumType};
use crate::repeat::{Repeated, millionths, whole};
use trueno_format::Source;
use trueno_format::{Ceiling, CeilingKind};

/// Threads of a block, and blocks for each multiprocessor: 2,048 threads, as many as one holds.
pub const THREADS: u32 = 256;
pub const BLOCKS_EACH: u32 = 8;
/// Rounds of a launch whose product is checked.
pub const CHECK_ROUNDS: u32 = 2;
const ELEMENT_BYTES: u64 = 16;

/// A parameter of a kernel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum KernelArgument {
    /// The array of this index.
    Array(usize),
    /// A buffer with a word for each thread.
    Out,
    /// Elements of 16 bytes in each array.
    Count,
    /// Number of rounds, raised until a launch takes long enough.
    Rounds,
    Half(u32),
    Word(u64),
}

/// A text of kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Text {
    /// For all devices.
    All,
    /// `mma.sync`, from compute capability 8.0.
    Sm80,
    /// FP8 through `mma.sync`, for 8.9 and 12.x. On 9.0 and 10.x it compiles to conversions and f16 `HMMA`.
    Sm89,
    /// `wgmma`, of 9.0 alone.
    Sm90a,
    /// `tcgen05.mma`, of 10.0 and 10.3.
    Sm100f,
}

impl Text {
    pub const ALL: [Self; 5] = [Self::All, Self::Sm80, Self::Sm89, Self::Sm90a, Self::Sm100f];

    /// True if devices of this compute capability (90 is 9.0) can run it.
    pub fn runs_on(self, capability: u32) -> bool {
        match self {
            Self::All => true,
            Self::Sm80 => capability >= 80,
            Self::Sm89 => matches!(capability, 89 | 120 | 121),
            Self::Sm90a => capability == 90,
            Self::Sm100f => matches!(capability, 100 | 103),
        }
    }

    pub fn ptx(self) -> &'static str {
        match self {
            Self::All => super::CEILINGS_PTX,
            Self::Sm80 => super::TENSOR_PTX,
            Self::Sm89 => super::TENSOR_SM89_PTX,
            Self::Sm90a => super::TENSOR_SM90A_PTX,
            Self::Sm100f => super::TENSOR_SM100F_PTX,
        }
    }
}

/// The level whose instruction reaches the peak of tensor cores; `None`: no kernel here does.
pub fn peak_level(capability: u32, precision: &str) -> Option<&'static str> {
    match (capability, precision) {
        (90, "f64") => Some("tensor_mma_sync"),
        (90, _) => Some("tensor_wgmma"),
        (100 | 103, "f64" | "i8") => None,
        (100 | 103, _) => Some("tensor_tcgen05"),
        (80..=88, "f8") => None,
        (80..=89 | 120 | 121, _) => Some("tensor_mma_sync"),
        _ => None,
    }
}

/// A ceiling to be measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    pub kernel: &'static str,
    pub text: Text,
    /// Threads of a block, and blocks for each multiprocessor.
    pub shape: (u32, u32),
    /// What the kernel computes, to be checked before it is timed.
    pub product: Option<(Product, SumType)>,
    pub arguments: Vec<KernelArgument>,
    pub kind: CeilingKind,
    pub level: &'static str,
    pub precision: Option<&'static str>,
    pub operation: &'static str,
    /// Bytes of each array; 0: none.
    pub array_bytes: u64,
    work: Work,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Work {
    Arrays(u64),
    Thread(u64),
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

/// All ceilings of a device with such a cache (0: not known), such arrays and such a compute capability (90 is 9.0).
/// Kernels that could break the context come last.
pub fn plan(l2_bytes: u64, array_bytes: u64, capability: u32) -> Vec<Step> {
    use KernelArgument::{Array, Count, Half, Out, Rounds, Word};
    let mut steps = Vec::new();
    let plain = Step {
        kernel: "",
        text: Text::All,
        shape: (THREADS, BLOCKS_EACH),
        product: None,
        arguments: Vec::new(),
        kind: CeilingKind::Bandwidth,
        level: "",
        precision: None,
        operation: "read",
        array_bytes: 0,
        work: Work::Arrays(1),
    };
    let moved = |level, bytes: u64, operation, kernel, arguments: &[KernelArgument], arrays| Step {
        kernel,
        arguments: arguments.to_vec(),
        level,
        operation,
        array_bytes: bytes / 4096 * 4096,
        work: Work::Arrays(arrays),
        ..plain.clone()
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
    steps.push(Step {
        kernel: "peak_shared",
        arguments: vec![Out, Rounds, Half(0)],
        level: "shared",
        work: Work::Thread(8 * 16),
        ..plain.clone()
    });
    // Numbers that stay where they are: x * 0.75 + 0.25 goes to 1.
    let (x, y) = (0.75f32, 0.25f32);
    let wide = |value: f32| Word(f64::from(value).to_bits());
    let half = |value: f32| Half(value.to_bits());
    for (kernel, precision, chains, x, y) in [
        ("peak_ffma", "f32", 16, half(x), half(y)),
        ("peak_dfma", "f64", 8, wide(x), wide(y)),
    ] {
        steps.push(Step {
            kernel,
            arguments: vec![Out, Rounds, x, y],
            kind: CeilingKind::Compute,
            level: "cuda_cores",
            precision: Some(precision),
            operation: "fma",
            work: Work::Thread(8 * chains * 2),
            ..plain.clone()
        });
    }
    let tensor = TENSOR.iter().filter(|step| step.runs_on(capability));
    steps.extend(tensor.map(|step| step.made(&plain)));
    steps
}

struct Tensor {
    kernel: &'static str,
    text: Text,
    precision: &'static str,
    instruction: &'static str,
    parts: Parts,
    depth: u32,
    values: (u64, u64),
}

const fn tensor(
    kernel: &'static str,
    text: Text,
    precision: &'static str,
    instruction: &'static str,
    (parts, depth): (Parts, u32),
    values: (u64, u64),
) -> Tensor {
    Tensor {
        kernel,
        text,
        precision,
        instruction,
        parts,
        depth,
        values,
    }
}

const BF16: (u64, u64) = (0x3f80_3f80, 0x4000_4000);
const F16: (u64, u64) = (0x3c00_3c00, 0x4000_4000);
const TF32: (u64, u64) = (0x3f80_0000, 0x4000_0000);
const F8: (u64, u64) = (0x3838_3838, 0x4040_4040);
const I8: (u64, u64) = (0x0101_0101, 0x0202_0202);
const F64: (u64, u64) = (0x3ff0_0000_0000_0000, 0x4000_0000_0000_0000);

const TENSOR: &[Tensor] = &[
    tensor(
        "peak_mma_bf16",
        Text::Sm80,
        "bf16",
        "mma.sync.m16n8k16",
        (Parts::Warp16, 16),
        BF16,
    ),
    tensor(
        "peak_mma_f16",
        Text::Sm80,
        "f16",
        "mma.sync.m16n8k16",
        (Parts::Warp16, 16),
        F16,
    ),
    tensor(
        "peak_mma_f16_acc",
        Text::Sm80,
        "f16_acc",
        "mma.sync.m16n8k16",
        (Parts::Warp16, 16),
        F16,
    ),
    tensor(
        "peak_mma_tf32",
        Text::Sm80,
        "tf32",
        "mma.sync.m16n8k8",
        (Parts::Warp16, 8),
        TF32,
    ),
    tensor(
        "peak_mma_i8",
        Text::Sm80,
        "i8",
        "mma.sync.m16n8k32",
        (Parts::Warp16, 32),
        I8,
    ),
    tensor(
        "peak_mma_f64",
        Text::Sm80,
        "f64",
        "mma.sync.m8n8k4",
        (Parts::Warp8, 4),
        F64,
    ),
    tensor(
        "peak_mma_f8",
        Text::Sm89,
        "f8",
        "mma.sync.m16n8k32",
        (Parts::Warp16, 32),
        F8,
    ),
    tensor(
        "peak_mma_f64_k16",
        Text::Sm90a,
        "f64",
        "mma.sync.m16n8k16",
        (Parts::Warp16, 16),
        F64,
    ),
    tensor(
        "peak_wgmma_bf16",
        Text::Sm90a,
        "bf16",
        "wgmma.m64n256k16",
        (Parts::WarpGroup, 16),
        BF16,
    ),
    tensor(
        "peak_wgmma_f16",
        Text::Sm90a,
        "f16",
        "wgmma.m64n256k16",
        (Parts::WarpGroup, 16),
        F16,
    ),
    tensor(
        "peak_wgmma_f16_acc",
        Text::Sm90a,
        "f16_acc",
        "wgmma.m64n256k16",
        (Parts::WarpGroup, 16),
        F16,
    ),
    tensor(
        "peak_wgmma_tf32",
        Text::Sm90a,
        "tf32",
        "wgmma.m64n256k8",
        (Parts::WarpGroup, 8),
        TF32,
    ),
    tensor(
        "peak_wgmma_f8",
        Text::Sm90a,
        "f8",
        "wgmma.m64n256k32",
        (Parts::WarpGroup, 32),
        F8,
    ),
    tensor(
        "peak_wgmma_i8",
        Text::Sm90a,
        "i8",
        "wgmma.m64n256k32",
        (Parts::WarpGroup, 32),
        I8,
    ),
    tensor(
        "peak_tcgen05_bf16",
        Text::Sm100f,
        "bf16",
        "tcgen05.m128n256k16",
        (Parts::Lanes, 16),
        BF16,
    ),
    tensor(
        "peak_tcgen05_f16",
        Text::Sm100f,
        "f16",
        "tcgen05.m128n256k16",
        (Parts::Lanes, 16),
        F16,
    ),
    tensor(
        "peak_tcgen05_tf32",
        Text::Sm100f,
        "tf32",
        "tcgen05.m128n256k8",
        (Parts::Lanes, 8),
        TF32,
    ),
    tensor(
        "peak_tcgen05_f8",
        Text::Sm100f,
        "f8",
        "tcgen05.m128n256k32",
        (Parts::Lanes, 32),
        F8,
    ),
];

impl Tensor {
    fn runs_on(&self, capability: u32) -> bool {
        // The devices with tensor cores for FP64; others have next to none, and 9.0 needs a larger instruction.
        let has_f64 = matches!(capability, 80 | 100 | 103) || self.text == Text::Sm90a;
        self.text.runs_on(capability) && (self.precision != "f64" || has_f64)
    }

    fn made(&self, plain: &Step) -> Step {
        use KernelArgument::{Half, Out, Rounds, Word};
        let (rows, columns, level) = match self.parts {
            Parts::Warp8 => (8, 8, "tensor_mma_sync"),
            Parts::Warp16 => (16, 8, "tensor_mma_sync"),
            // Of four warps.
            Parts::WarpGroup => (64 / 4, 256, "tensor_wgmma"),
            Parts::Lanes => (128 / 4, 256, "tensor_tcgen05"),
        };
        let is_group = matches!(self.parts, Parts::WarpGroup | Parts::Lanes);
        let sum = match self.precision {
            "f64" => SumType::F64,
            "i8" => SumType::I32,
            _ => SumType::F32,
        };
        let value = |value: u64| match sum {
            SumType::F64 => Word(value),
            _ => Half(value as u32),
        };
        let product = Product {
            parts: self.parts,
            depth: self.depth,
        };
        Step {
            kernel: self.kernel,
            text: self.text,
            // Two groups a multiprocessor: one computes while the other waits for its sums.
            shape: if is_group { (128, 2) } else { plain.shape },
            product: Some((product, sum)),
            arguments: vec![Out, Rounds, value(self.values.0), value(self.values.1)],
            kind: CeilingKind::Compute,
            level,
            precision: Some(self.precision),
            operation: self.instruction,
            // Sixteen instructions a round.
            work: Work::Warp(u64::from(16 * 2 * rows * columns * self.depth)),
            ..plain.clone()
        }
    }
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
        let all = plan(50 << 20, 400 << 20, 90);
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
                "tensor_mma_sync bf16 mma.sync.m16n8k16",
                "tensor_mma_sync f16 mma.sync.m16n8k16",
                "tensor_mma_sync f16_acc mma.sync.m16n8k16",
                "tensor_mma_sync tf32 mma.sync.m16n8k8",
                "tensor_mma_sync i8 mma.sync.m16n8k32",
                "tensor_mma_sync f64 mma.sync.m16n8k16",
                "tensor_wgmma bf16 wgmma.m64n256k16",
                "tensor_wgmma f16 wgmma.m64n256k16",
                "tensor_wgmma f16_acc wgmma.m64n256k16",
                "tensor_wgmma tf32 wgmma.m64n256k8",
                "tensor_wgmma f8 wgmma.m64n256k32",
                "tensor_wgmma i8 wgmma.m64n256k32",
            ]
        );
        assert_eq!(all[5].array_bytes, (25 << 20) / 3 / 4096 * 4096);
        let few = plan(0, 256 << 20, 75);
        assert_eq!(
            few.len(),
            6,
            "no L2 of unknown size, no kernel for tensor cores"
        );
        assert!(few.iter().all(|step| step.array_bytes.is_multiple_of(4096)));
    }

    /// What a kernel is a ceiling of follows from the device.
    #[test]
    fn each_device_gets_the_instructions_it_has() {
        let levels = |capability| -> Vec<(&str, &str)> {
            let steps = plan(0, 256 << 20, capability);
            let tensor = steps.iter().filter(|step| step.product.is_some());
            tensor
                .map(|step| (step.level, step.precision.unwrap()))
                .collect()
        };
        assert_eq!(levels(80).len(), 6);
        assert!(!levels(86).contains(&("tensor_mma_sync", "f64")));
        assert!(levels(89).contains(&("tensor_mma_sync", "f8")));
        assert!(levels(103).contains(&("tensor_tcgen05", "f8")));
        assert!(levels(120).iter().all(|found| found.0 == "tensor_mma_sync"));
        for capability in [80, 86, 89, 90, 100, 103, 120] {
            for precision in ["bf16", "f16", "tf32", "f8", "i8", "f64"] {
                if let Some(level) = peak_level(capability, precision)
                    && (precision != "f64" || matches!(capability, 80 | 90))
                {
                    assert!(
                        levels(capability).contains(&(level, precision)),
                        "{capability} {precision}"
                    );
                }
            }
        }
    }

    /// Every sum must be one that an accumulator of 16 bits, or one of FP8 with 14, holds exactly.
    #[test]
    fn products_are_exact_in_every_accumulator() {
        for step in plan(0, 256 << 20, 90)
            .iter()
            .chain(&plan(0, 256 << 20, 103))
        {
            let Some((product, _)) = step.product else {
                continue;
            };
            let most = f64::from(16 * CHECK_ROUNDS * product.depth) * 4.0;
            let limit = if step.precision == Some("f16_acc") {
                2048.0
            } else {
                8192.0
            };
            assert!(most <= limit, "{}: {most}", step.name());
        }
    }

    #[test]
    fn amounts_follow_from_the_kernels() {
        let all = plan(48 << 20, 384 << 20, 90);
        let of = |name: &str| all.iter().find(|step| step.name() == name).unwrap();
        assert_eq!(of("DRAM copy").amount(1, 2), f64::from(2 * 2 * (384 << 20)));
        assert_eq!(of("L2 triad").amount(1, 1), f64::from(24 << 20));
        assert_eq!(
            of("cuda_cores f32 fma").amount(1024, 3),
            1024.0 * 3.0 * 256.0
        );
        let bf16 = of("tensor_mma_sync bf16 mma.sync.m16n8k16");
        assert_eq!(bf16.amount(64, 10), 2.0 * 10.0 * 16.0 * 4096.0);
        let f8 = of("tensor_wgmma f8 wgmma.m64n256k32");
        assert_eq!(f8.amount(128, 1), 16.0 * 2.0 * 64.0 * 256.0 * 32.0);
    }
}
