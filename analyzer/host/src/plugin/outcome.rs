//! The end of a plugin's run.

use super::host::PluginOutput;

/// Outcome of a plugin's run.
#[derive(Debug)]
pub enum Outcome {
    Finished(PluginOutput),
    /// It could not, or gave something that could not be taken; what it gave before is kept.
    Failed {
        kind: FailureKind,
        /// The reason, for people.
        message: String,
        /// Results taken until then.
        taken: PluginOutput,
    },
    /// It did not run, since something it needs is not there.
    Skipped {
        /// The missing thing, for people.
        message: String,
    },
}

impl Outcome {
    /// Its name in the debug log.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Finished(_) => "finished",
            Self::Failed { .. } => "failed",
            Self::Skipped { .. } => "skipped",
        }
    }
}

/// Kind of failure of a plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// One of its queries cannot be answered.
    Query,
    /// The plugin reported it.
    Reported,
    /// The plugin reported a wrong option.
    Option,
    /// A caught panic.
    Panic,
    /// It gave what cannot be taken, or broke another rule of the interface.
    Rejected,
    /// Its process came to an end: a crash, a limit, an exit.
    Ended,
}
