//! The interface of an exporter.

use std::fmt::Debug;
use std::io::Write;

use trueno_engine::run::Run;

use crate::error::ExportError;

pub trait Exporter: Debug + Sync {
    fn name(&self) -> &'static str;

    fn about(&self) -> &'static str;

    /// Writes `run` to `to`.
    ///
    /// # Errors
    /// See [`ExportError`].
    fn write(&self, run: &Run, to: &mut dyn Write) -> Result<Written, ExportError>;
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Rows nested deeper than [`DEEPEST`](crate::DEEPEST). They have no frames of their own; a common frame
    /// has their time.
    pub deeper: u64,
}
