//! Ceilings of the GPUs of this machine, measured by kernels of our own.
//!
//! The kernels are PTX texts in this crate, which the driver compiles for the device it has; no CUDA library but
//! the driver is needed, and none at build time. **Not verified on a GPU yet:** all texts are assembled by NVIDIA's
//! `ptxas` for every device they are for, those without tensor cores and those of `mma.sync` and `wgmma` were executed on
//! the host, and the host's side ran over a driver of the tests.
//!
//! - **bandwidth** of `DRAM` (arrays of eight times the L2 cache and more) and of `L2` (half of it in all) by `read`,
//!   `copy` and `triad`, past the L1 caches, counting bytes read and written; of `shared` memory by `read`.
//! - **compute** of `cuda_cores` by `fma` in `f32` and `f64`, and of tensor cores by the instruction that `level` and
//!   `operation` name:
//!
//! | level | compute capability | types |
//! | --- | --- | --- |
//! | `tensor_mma_sync` | 8.0 and later | `bf16`, `f16`, `tf32`, `i8`; `f8` (e4m3) of 8.9 and 12.x; `f64` of 8.0, 9.0, 10.0 and 10.3 |
//! | `tensor_wgmma` | 9.0 | `bf16`, `f16`, `tf32`, `f8`, `i8` |
//! | `tensor_tcgen05` | 10.0 and 10.3 | `bf16`, `f16`, `tf32`, `f8` |
//! | `cublas` | where none of them reaches the peak | what `cublasGemmEx` has, if libcublas is on the loader's path |
//!
//! Sums are kept in 32 bits; `f16_acc` keeps them in `f16`. On 9.0 and 10.x `mma.sync` is no roof over the kernels of
//! libraries, which use the other instruction. A ceiling of `cublas` is what that library reached, and no limit of the
//! device.
//!
//! Rates are work over the time between two CUDA events around one launch, which is made long enough for their
//! resolution of half a microsecond. The device is kept busy first, so that its clocks have risen. Before a kernel of
//! tensor cores is timed, its product is compared with the known one. A rate above the data sheet's at the highest clock
//! (operations a clock and multiprocessor by compute capability, bus width and clock of the memory) is refused.

mod cache;
mod library;
mod measure;
mod product;
mod rates;
mod workloads;

pub use library::{Blas, Gemm};
pub use measure::measure;

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::CacheError;
use trueno_format::{Ceiling, CeilingSource, RecordedCeilings, utc};

/// Kernels for all devices.
pub const CEILINGS_PTX: &str = include_str!("gpu/ceilings.ptx");
/// Kernels for those with compute capability 8.0 and later.
pub const TENSOR_PTX: &str = include_str!("gpu/tensor.ptx");
/// FP8, of 8.9 and 12.x.
pub const TENSOR_SM89_PTX: &str = include_str!("gpu/tensor_sm89.ptx");
/// `wgmma`, and FP64, of 9.0.
pub const TENSOR_SM90A_PTX: &str = include_str!("gpu/tensor_sm90a.ptx");
/// `tcgen05.mma`, of 10.0 and 10.3.
pub const TENSOR_SM100F_PTX: &str = include_str!("gpu/tensor_sm100f.ptx");

/// Amount of time a measurement takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GpuEffort {
    /// Number of times each ceiling is measured.
    pub repetitions: u32,
    /// Shortest time of one repetition.
    pub repetition: Duration,
    /// Time for which the device is kept busy first.
    pub warm_up: Duration,
}

impl Default for GpuEffort {
    /// 15 repetitions of 5 ms after half a second; two to three seconds a device.
    fn default() -> Self {
        Self {
            repetitions: 15,
            repetition: Duration::from_millis(5),
            warm_up: Duration::from_millis(500),
        }
    }
}

/// A device, as its driver describes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gpu {
    /// In this process: `CUDA_VISIBLE_DEVICES` changes it.
    pub number: u32,
    /// Name, such as `NVIDIA H100`.
    pub name: String,
    /// Identifies the device, wherever it is seen from.
    pub uuid: String,
    /// Compute capability, such as `9.0`.
    pub compute_capability: Option<String>,
    /// Their number.
    pub multiprocessors: Option<u32>,
    /// Bytes of the L2 cache.
    pub l2_bytes: Option<u64>,
    /// Bytes of memory.
    pub memory_bytes: Option<u64>,
    /// The highest clock of the processors, as the driver names it.
    pub highest_clock_hz: Option<u64>,
}

/// Ceilings of a device and how they came about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GpuCeilings {
    /// Version of the measuring code.
    pub code_version: u32,
    /// The device they hold for.
    pub gpu: Gpu,
    /// Seconds since the Unix epoch.
    pub measured_at_s: u64,
    /// Clock of the processors, measured after the ceilings; of one that does next to nothing else.
    pub clock_hz: Option<f64>,
    /// Gaps in the measurement with their reasons, and other remarks.
    pub notes: Vec<String>,
    /// The ceilings, bandwidth first; device `gpu:<number>`.
    pub ceilings: Vec<Ceiling>,
}

impl GpuCeilings {
    fn summary(&self) -> String {
        let (count, gpu, at) = (
            self.ceilings.len(),
            &self.gpu,
            utc(self.measured_at_s.cast_signed()),
        );
        let (name, uuid) = (&gpu.name, &gpu.uuid);
        format!("{count} ceilings of {name} {uuid}, measured {at}")
    }
}

/// As NVIDIA's tools print it: `GPU-8a3c...`.
pub use trueno_cupti::driver::{mig_uuid_text, uuid_text};

impl GpuCeilings {
    /// Those of a device that has this number in a run.
    pub fn recorded_as(&self, number: u32) -> RecordedCeilings {
        let mut ceilings = self.ceilings.clone();
        for ceiling in &mut ceilings {
            ceiling.device = format!("gpu:{number}").into();
        }
        let key = format!("peaks.gpu:{number}");
        let mut values = vec![(key.clone(), self.summary())];
        if !self.notes.is_empty() {
            values.push((format!("{key}.notes"), self.notes.join("; ")));
        }
        RecordedCeilings { ceilings, values }
    }

    /// Those that are kept for a device, which has this number in a run; why they cannot be used is one of the values.
    pub fn cached_as(number: u32, uuid: &str) -> RecordedCeilings {
        match Self::cached(uuid) {
            Ok(found) => found.recorded_as(number),
            Err(CacheError::Missing { .. } | CacheError::NoFolder) => RecordedCeilings::default(),
            Err(problem) => RecordedCeilings {
                ceilings: Vec::new(),
                values: vec![(
                    format!("peaks.gpu:{number}"),
                    format!("not available: {problem}"),
                )],
            },
        }
    }
}

/// Stored in `run.json` as `peaks.gpu:<number>`, with the device's number in this process.
impl CeilingSource for GpuCeilings {
    fn recorded(&self) -> RecordedCeilings {
        self.recorded_as(self.gpu.number)
    }
}
