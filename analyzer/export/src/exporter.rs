//! The interface of an exporter.

use std::fmt::Debug;
use std::io::Write;

use trueno_engine::run::Run;

use crate::error::ExportError;

/// Writer of runs in one format, as one file.
pub trait Exporter: Debug + Sync {
    /// Name, as `export` takes it.
    fn name(&self) -> &'static str;

    fn about(&self) -> &'static str;

    /// Writes `run` to `to`.
    ///
    /// # Errors
    /// See [`ExportError`].
    fn write(&self, run: &Run, to: &mut dyn Write) -> Result<Written, ExportError>;
}

/// Rows that were not written as they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Rows deeper than [`DEEPEST`](crate::DEEPEST), which have no frame of their own in a stack; their time is in
    /// one for all.
    pub deeper: u64,
}
