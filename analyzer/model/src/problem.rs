//! Problems of a run or of a report, with a level and a stable code.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

/// Some rows are not covered by a hash.
pub const NOT_VERIFIED: &str = "not_verified";
/// Rows came from the recorder's memory, which has no hashes.
pub const LIVE_ROWS: &str = "live";
/// An imported file is truncated or damaged, so a part of it is missing.
pub const IMPORT_CUT: &str = "import_cut";
/// An import could not use some records of the program's work.
pub const IMPORT_LEFT_OUT: &str = "import_left_out";
pub const IMPORT: &str = "import";
/// Reported by the recorder, or by an import of an older version.
pub const RECORDER: &str = "recorder";
/// Facts in `run.json` cannot be trusted.
pub const RUN_JSON_CHANGED: &str = "run_json_changed";

pub const CHANGED_WHILE_READ: &str = "changed_while_read";

/// Severity of a finding or a problem, in ascending order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    Info,
    Warning,
    Error,
}

impl Level {
    /// Name on the common scale of [`Severity`](crate::Severity).
    pub fn shown(self) -> &'static str {
        crate::Severity::from(self).name()
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Level::Info => "info",
            Level::Warning => "warning",
            Level::Error => "error",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// Meaning for a run: `Info`: nothing is missing. `Warning`: something could not be verified, or was left
    /// out without loss of rows. `Error`: rows or facts are lost.
    pub severity: Level,
    /// Stable name of the case, such as `segment_damaged`.
    pub code: Cow<'static, str>,
    /// Message that names the file, what was expected and what was found.
    pub text: String,
}

impl Problem {
    pub fn info(code: &'static str, text: impl Into<String>) -> Self {
        Self::new(Level::Info, code, text)
    }

    pub fn warning(code: &'static str, text: impl Into<String>) -> Self {
        Self::new(Level::Warning, code, text)
    }

    pub fn error(code: &'static str, text: impl Into<String>) -> Self {
        Self::new(Level::Error, code, text)
    }

    /// Whether shown rows or facts may be wrong or incomplete.
    pub fn is_doubt(&self) -> bool {
        match &*self.code {
            NOT_VERIFIED | RUN_JSON_CHANGED | IMPORT_CUT | CHANGED_WHILE_READ => true,
            IMPORT_LEFT_OUT => self.severity == Level::Error,
            _ => false,
        }
    }

    /// Whether it is about the source of the run, while the run's own files are fine.
    pub fn is_of_source(&self) -> bool {
        matches!(
            &*self.code,
            IMPORT | IMPORT_CUT | IMPORT_LEFT_OUT | RECORDER
        )
    }

    fn new(severity: Level, code: &'static str, text: impl Into<String>) -> Self {
        Problem {
            severity,
            code: Cow::Borrowed(code),
            text: text.into(),
        }
    }
}
