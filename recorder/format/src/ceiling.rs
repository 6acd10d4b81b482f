//! What the machine can do at most, as the program found it.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::record::TableNumber;
use crate::recorder::Recorder;
use crate::session_state::Request;
use crate::source::Source;

/// What a ceiling limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CeilingKind {
    /// Arithmetic operations a second.
    Compute,
    /// Bytes a second.
    Bandwidth,
}

impl CeilingKind {
    /// As it stands in column `ceilings.kind`.
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
    /// What it limits.
    pub kind: CeilingKind,
    /// `L1`, `L2`, `L3`, `DRAM`, or an instruction set: `scalar`, `sse2`, `avx2`, `avx512`, `neon`; of a GPU
    /// `L2`, `DRAM`, `shared`, `cuda_cores`, `tensor_mma_sync`.
    pub level: Option<Cow<'static, str>>,
    /// `f32`, `f64`, `i8`, ...
    pub precision: Option<Cow<'static, str>>,
    /// Threads it was measured with.
    pub threads: Option<u32>,
    /// In [`Ceiling::unit`]; of a measured ceiling what several moments reached.
    pub value: f64,
    /// [`Source::Measured`] or [`Source::Nominal`].
    pub source: Source,
    /// What ran: `read`, `copy`, `copy_nt`, `triad`, `fma`, `mul_add`, `dot`, `mma`.
    pub operation: Option<Cow<'static, str>>,
    /// Median of the repetitions.
    pub median: Option<f64>,
    /// Interquartile range of the repetitions over their median.
    pub spread: Option<f64>,
    /// How often it was measured.
    pub repetitions: Option<u32>,
    /// Whether no moment was faster by more than 3 %, and there were several. Files of older versions
    /// do not say.
    #[serde(default)]
    pub settled: Option<bool>,
    /// What the measurement that was kept for this machine before gave; `None`: none was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub earlier: Option<f64>,
}

impl Ceiling {
    /// A ceiling of which no more is known.
    ///
    /// ```
    /// use trueno_recorder::{Ceiling, CeilingKind, Source};
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

    /// As it stands in column `ceilings.unit`: of computing `flop/s`, with integers `op/s`.
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
    /// Gives them; may take seconds, where they are measured now. Why there are none is one of the values: that
    /// never keeps a run from being recorded.
    fn recorded(&self) -> RecordedCeilings;
}

impl Recorder {
    /// Records ceilings, and in `run.json` what they are.
    pub fn ceilings(&self, source: &dyn CeilingSource) {
        self.recorded_ceilings(source.recorded());
    }

    pub(crate) fn recorded_ceilings(&self, recorded: RecordedCeilings) {
        for ceiling in recorded.ceilings {
            self.ceiling(ceiling);
        }
        for (key, text) in recorded.values {
            self.value(key, text);
        }
    }

    /// Records a ceiling of the machine.
    pub fn ceiling(&self, ceiling: Ceiling) {
        if self.records(TableNumber::Ceilings) {
            self.shared().request(Request::Ceiling(ceiling));
        }
    }
}
