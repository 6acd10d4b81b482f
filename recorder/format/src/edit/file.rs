//! Files and folders of a run that is being made.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::run_json::RUN_JSON;

/// An action on a file that failed.
#[derive(Debug, Error)]
#[error("{}: cannot {action}: {source}", .path.display())]
pub struct FileError {
    /// The file or folder.
    pub path: PathBuf,
    /// The action.
    pub action: &'static str,
    /// The reason.
    pub source: io::Error,
}

impl FileError {
    /// Error of an action on a file, for `map_err`.
    pub fn on(path: &Path, action: &'static str) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self {
            path,
            action,
            source,
        }
    }
}

/// Writes a new file, which is on disk when this returns. One that is there may be a hard link to a file of the old run,
/// so it is never written to.
///
/// # Errors
/// It is there already, or cannot be written.
pub fn write_synced(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    let written = File::create_new(path).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()
    });
    written.map_err(FileError::on(path, "write it"))
}

/// Empties the folder of a run. `run.json` is removed last, so that what remains can be attributed to us.
pub(super) fn empty_run(folder: &Path) -> io::Result<()> {
    let entries: Vec<fs::DirEntry> = fs::read_dir(folder)?.collect::<io::Result<_>>()?;
    let (last, first): (Vec<_>, Vec<_>) = entries
        .iter()
        .partition(|entry| entry.file_name() == RUN_JSON);
    for entry in first.into_iter().chain(last) {
        if entry.file_type()?.is_dir() {
            fs::remove_dir_all(entry.path())?;
        } else {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// Removes the folder of a run, `run.json` last.
///
/// # Errors
/// The operating system refuses.
pub fn remove_run(folder: &Path) -> io::Result<()> {
    empty_run(folder)?;
    fs::remove_dir(folder)
}
