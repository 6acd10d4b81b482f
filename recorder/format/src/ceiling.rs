//! Ceilings: what a machine can do at most, and where such a value comes from.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};

/// Provenance of a value, as columns named `source` have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Source {
    /// Read from a clock or a counter.
    Measured = 0,
    /// Stated by the program.
    Declared = 1,
    /// Calculated from measured and declared values.
    Computed = 2,
    /// From a data sheet.
    Nominal = 3,
}

impl Source {
    /// Every source, by number.
    pub const ALL: [Self; 4] = [
        Self::Measured,
        Self::Declared,
        Self::Computed,
        Self::Nominal,
    ];

    /// Text in columns named `source`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::Declared => "declared",
            Self::Computed => "computed",
            Self::Nominal => "nominal",
        }
    }
}

/// The resource that a ceiling limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CeilingKind {
    /// Arithmetic operations per second.
    Compute,
    /// Bytes per second.
    Bandwidth,
}

impl CeilingKind {
    /// Text in column `ceilings.kind`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Compute => "compute",
            Self::Bandwidth => "bandwidth",
        }
    }
}

/// A row of `ceilings`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ceiling {
    /// `cpu` or `gpu:<number>`.
    pub device: Cow<'static, str>,
    /// The resource that it limits.
    pub kind: CeilingKind,
    /// `L1`, `L2`, `L3`, `DRAM`, or an instruction set: `scalar`, `sse2`, `avx2`, `avx512`, `neon`; of a GPU
    /// `L2`, `DRAM`, `shared`, `cuda_cores`, `tensor_mma_sync`, `tensor_wgmma`, `tensor_tcgen05`, `cublas`.
    pub level: Option<Cow<'static, str>>,
    /// `f32`, `f64`, `i8`, ...
    pub precision: Option<Cow<'static, str>>,
    /// Threads it was measured with.
    pub threads: Option<u32>,
    /// In [`Ceiling::unit`]; of a measured ceiling what several moments reached.
    pub value: f64,
    /// [`Source::Measured`] or [`Source::Nominal`].
    pub source: Source,
    /// Operation that ran: `read`, `copy`, `copy_nt`, `triad`, `fma`, `mul_add`, `dot`, an instruction of tensor cores.
    pub operation: Option<Cow<'static, str>>,
    /// Median of the repetitions.
    pub median: Option<f64>,
    /// Interquartile range of the repetitions over their median.
    pub spread: Option<f64>,
    /// Number of measurements.
    pub repetitions: Option<u32>,
    /// No moment was faster by more than 3 %, and there were several. Files of older versions
    /// do not say.
    #[serde(default)]
    pub settled: Option<bool>,
    /// Value of the measurement that was kept for this machine before; `None`: none was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub earlier: Option<f64>,
}

impl Ceiling {
    /// A ceiling of which no more is known.
    ///
    /// ```
    /// use trueno_format::{Ceiling, CeilingKind, Source};
    /// let nominal = Ceiling {
    ///     level: Some("DRAM".into()),
    ///     ..Ceiling::new("gpu:0", CeilingKind::Bandwidth, 3.35e12, Source::Nominal)
    /// };
    /// assert_eq!(nominal.unit(), "bytes/s");
    /// ```
    pub fn new(
        device: impl Into<Cow<'static, str>>,
        kind: CeilingKind,
        value: f64,
        source: Source,
    ) -> Self {
        Self {
            device: device.into(),
            kind,
            level: None,
            precision: None,
            threads: None,
            value,
            source,
            operation: None,
            median: None,
            spread: None,
            repetitions: None,
            settled: None,
            earlier: None,
        }
    }

    /// Text in column `ceilings.unit`: of computing `flop/s`, with integers `op/s`.
    pub fn unit(&self) -> &'static str {
        let integers = |name: &str| name.starts_with(['i', 'u']);
        match self.kind {
            CeilingKind::Bandwidth => "bytes/s",
            CeilingKind::Compute if self.precision.as_deref().is_some_and(integers) => "op/s",
            CeilingKind::Compute => "flop/s",
        }
    }
}

/// Rows of `ceilings`, and what `run.json` says of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecordedCeilings {
    /// The rows.
    pub ceilings: Vec<Ceiling>,
    /// Entries of `values`.
    pub values: Vec<(String, String)>,
}

/// Ceilings that were measured, or will be when they are asked for.
pub trait CeilingSource: fmt::Debug + Send + Sync {
    /// Returns the ceilings; may take seconds if they are measured now. If there are none, one of the values
    /// says why: that never prevents a recording.
    fn recorded(&self) -> RecordedCeilings;
}
