//! The end of a plugin's run.

use super::host::PluginOutput;

#[derive(Debug)]
pub enum Outcome {
    Finished(PluginOutput),
    /// It failed, or returned something invalid. Earlier results are kept.
    Failed {
        kind: FailureKind,
        message: String,
        taken: PluginOutput,
    },
    /// It did not run, because something it needs is missing.
    Skipped {
        message: String,
    },
}

impl Outcome {
    pub fn word(&self) -> &'static str {
        match self {
            Self::Finished(_) => "finished",
            Self::Failed { .. } => "failed",
            Self::Skipped { .. } => "skipped",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    Query,
    Reported,
    Option,
    Panic,
    /// It returned something invalid, or broke another rule of the interface.
    Rejected,
    Ended,
}
