//! Problems of a run or of a report, with a level and a stable code.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

/// The code of a problem: no hash vouches for some of the rows that are read.
pub const NOT_VERIFIED: &str = "not_verified";
/// The code of a problem: rows were still in the memory of the recorder, which has no hashes.
pub const LIVE_ROWS: &str = "live";
/// The code of a problem: a file that was imported is cut or damaged, and a part of it is missing.
pub const IMPORT_CUT: &str = "import_cut";
/// The code of a problem: an import could not use some records of the program's work.
pub const IMPORT_LEFT_OUT: &str = "import_left_out";
/// The code of a problem: a warning of an import.
pub const IMPORT: &str = "import";
/// The code of a problem: the recorder, or an import of an older version, has written it down.
pub const RECORDER: &str = "recorder";
/// The code of a problem: nothing that `run.json` says is certain.
pub const RUN_JSON_CHANGED: &str = "run_json_changed";

/// The code of a problem: files of the run changed while it was read.
pub const CHANGED_WHILE_READ: &str = "changed_while_read";

/// Severity of a finding or a problem, least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    Info,
    /// Worth acting on.
    Warning,
    /// Must not be so.
    Error,
}

impl Level {
    /// The word for people, on the one scale of [`Severity`](crate::Severity).
    pub fn shown(self) -> &'static str {
        crate::Severity::from(self).name()
    }

    /// The lower-case word of plugins and JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Level::Info => "info",
            Level::Warning => "warning",
            Level::Error => "error",
        }
    }
}

/// Something that is wrong with a run, with what can be read of it, or with the report itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// Severity. Of a run, `Info`: nothing is missing; `Warning`: something could not be verified, or was
    /// left out without loss of rows; `Error`: rows or facts are lost.
    pub severity: Level,
    /// Stable name of the case, such as `segment_damaged`.
    pub code: Cow<'static, str>,
    /// For people: names the file, what was expected and what was found.
    pub text: String,
}

impl Problem {
    /// A problem of the level `Info`.
    pub fn info(code: &'static str, text: impl Into<String>) -> Self {
        Self::new(Level::Info, code, text)
    }

    /// A problem of the level `Warning`.
    pub fn warning(code: &'static str, text: impl Into<String>) -> Self {
        Self::new(Level::Warning, code, text)
    }

    /// A problem of the level `Error`.
    pub fn error(code: &'static str, text: impl Into<String>) -> Self {
        Self::new(Level::Error, code, text)
    }

    /// Tells whether rows or facts that are shown may be others than those that were recorded, or are a part of them.
    pub fn is_doubt(&self) -> bool {
        match &*self.code {
            NOT_VERIFIED | RUN_JSON_CHANGED | IMPORT_CUT | CHANGED_WHILE_READ => true,
            IMPORT_LEFT_OUT => self.severity == Level::Error,
            _ => false,
        }
    }

    /// Tells whether it says something of the source of the run, and nothing is wrong with the run's own files.
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
