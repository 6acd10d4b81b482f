//! Facts of a recording, and of its end.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Facts {
    pub pid: u32,
    pub ppid: u32,
    pub argv: Vec<String>,
    /// `RANK` of its environment, which launchers of distributed programs set.
    pub rank: Option<u32>,
    pub recorder_version: String,
    /// Time 0 of the run, `CLOCK_REALTIME`.
    pub start_realtime_ns: i64,
    /// The same moment, `CLOCK_MONOTONIC`.
    pub start_monotonic_ns: i64,
    /// The level that was asked for.
    pub level: String,
    /// Of CUPTI; `None`: only ranges are recorded, so far.
    pub cupti: Option<CuptiFacts>,
}

/// The library and the kinds recorded with it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CuptiFacts {
    /// File it was loaded from.
    pub path: String,
    /// Its own version: 130001 is 13.0.1.
    pub version: u32,
    /// The driver's version: 13000 is 13.0.
    pub driver_version: Option<u32>,
    /// Libraries that were tried before, with the reason why not.
    pub passed_over: Vec<String>,
    /// Kinds of records that are made.
    pub enabled: Vec<String>,
    /// Requests that were refused, with the reason.
    pub refused: BTreeMap<String, String>,
    /// Functions whose calls are not recorded, as programs call them all the time.
    pub muted: Vec<String>,
    /// True if numbers of threads are those of the operating system.
    pub system_threads: bool,
    /// Bytes of a record, by kind, as the library itself steps over them.
    pub record_bytes: BTreeMap<String, usize>,
}

/// Severity of a note.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    #[default]
    Info,
    Warning,
    Error,
}

impl Severity {
    /// Text in `diagnostics`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// A remark of the recorder.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Note {
    /// Time of the remark, `CLOCK_REALTIME`.
    pub realtime_ns: i64,
    pub severity: Severity,
    /// Stable name of the case.
    pub code: String,
    pub text: String,
}

/// The process ended as it should.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct End {
    /// Time of the end, `CLOCK_REALTIME`.
    pub realtime_ns: i64,
    /// Time of the end, `CLOCK_MONOTONIC`.
    pub monotonic_ns: i64,
    /// True if all work of the devices was over, and all records were delivered.
    pub synchronized: bool,
}
