//! Formats as an enumeration, until the command goes by [`IMPORTERS`](crate::IMPORTERS).

use std::path::Path;

use crate::{Error, importer};

/// A format that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Chrome's trace events.
    Kineto,
    /// Nsight Systems, exported to sqlite.
    NsysSqlite,
    /// Nsight Compute, exported to CSV.
    NcuCsv,
    /// Renacer's JSON.
    Renacer,
    /// The text of strace.
    Strace,
}

impl Format {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Kineto,
        Self::NsysSqlite,
        Self::NcuCsv,
        Self::Renacer,
        Self::Strace,
    ];

    /// As it is typed and shown.
    pub fn name(self) -> &'static str {
        crate::IMPORTERS[self as usize].name()
    }
}

/// Reads the beginning of a file and tells its format.
///
/// # Errors
/// It cannot be read, is empty, or is of no format that is known.
pub fn detect(path: &Path) -> Result<Format, Error> {
    let found = importer::detect(path)?.name();
    let format = Format::ALL
        .into_iter()
        .find(|format| format.name() == found);
    Ok(format.unwrap_or(Format::Kineto))
}
