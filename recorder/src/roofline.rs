//! What the machine can do at most, as the program found it.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::event::Source;
use crate::record::TableNumber;
use crate::recorder::Recorder;
use crate::shared::Request;

/// What a ceiling limits; decides its unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum CeilingKind {
    /// Floating-point operations a second.
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

    /// As it stands in column `ceilings.unit`.
    pub const fn unit(self) -> &'static str {
        match self {
            Self::Compute => "flop/s",
            Self::Bandwidth => "bytes/s",
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
    /// `l1`, `l2`, `l3`, `dram`, or an instruction set.
    pub level: Option<Cow<'static, str>>,
    /// `f32`, `f64`, `i8`, ...
    pub precision: Option<Cow<'static, str>>,
    /// Threads it was measured with.
    pub threads: Option<u32>,
    /// FLOP/s or bytes/s, by kind.
    pub value: f64,
    /// [`Source::Measured`] or [`Source::Nominal`].
    pub source: Source,
}

impl Recorder {
    /// Records a ceiling of the machine.
    pub fn ceiling(&self, ceiling: Ceiling) {
        if self.records(TableNumber::Ceilings) {
            self.shared().request(Request::Ceiling(ceiling));
        }
    }
}
