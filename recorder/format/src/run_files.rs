//! The files of a run directory beside the segments.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::file_size_signal;
use crate::journal::{JOURNAL, Line};
use crate::run_json::{RUN_JSON, RunJson, sealed};

/// The open journal, and the places of the other files.
pub struct RunFiles {
    path: PathBuf,
    journal: File,
    journal_bytes: u64,
}

impl RunFiles {
    /// Makes the journal in a run directory.
    ///
    /// # Errors
    /// It is there already, or cannot be made.
    pub fn create(path: &Path) -> Result<Self, Error> {
        let journal = path.join(JOURNAL);
        let journal = File::create_new(&journal).map_err(|e| {
            let hint = "choose a folder that can be written to";
            Error::io_with_hint(&journal, "make the journal", e, hint)
        })?;
        Ok(Self {
            path: path.to_owned(),
            journal,
            journal_bytes: 0,
        })
    }

    /// The run directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends a line; it has left this process when this returns.
    ///
    /// # Errors
    /// The disk is full.
    pub fn journal(&mut self, line: &Line) -> Result<(), Error> {
        let mut write = || -> io::Result<u64> {
            let text = line.encode()?;
            self.journal.write_all(text.as_bytes())?;
            Ok(text.len() as u64)
        };
        match file_size_signal::without(&mut write) {
            Ok(bytes) => {
                self.journal_bytes += bytes;
                Ok(())
            }
            Err(error) => {
                // Readers need not meet half a line.
                let _ = self.journal.set_len(self.journal_bytes);
                Err(Error::io(
                    &self.path.join(JOURNAL),
                    "append to the journal",
                    error,
                ))
            }
        }
    }

    /// Writes `run.json` anew: readers see the old one or the new one.
    ///
    /// # Errors
    /// It cannot be written; the old one stands.
    pub fn run_json(&self, run: &RunJson) -> Result<(), Error> {
        let path = self.path.join(RUN_JSON);
        let temporary = self.path.join("run.json.tmp");
        let write = || -> io::Result<()> {
            write_new(&temporary, &sealed(run)?)?;
            fs::rename(&temporary, &path)
        };
        file_size_signal::without(write).map_err(|e| {
            // Nothing is lost by it: the old run.json still stands.
            let _ = fs::remove_file(&temporary);
            Error::io(&path, "write it", e)
        })
    }

    /// Keeps a kernel source.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn ptx(&self, hash: &str, source: &str) -> Result<(), Error> {
        let folder = self.path.join("ptx");
        if !is_folder(&folder) {
            fs::create_dir(&folder).map_err(|e| Error::io(&folder, "make the folder", e))?;
        }
        let path = folder.join(format!("{hash}.ptx"));
        file_size_signal::without(|| write_new(&path, source.as_bytes()))
            .map_err(|e| Error::io(&path, "write the source", e))
    }
}

/// True of a folder itself: a link leads to what is not the run's.
pub(crate) fn is_folder(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.is_dir())
}

/// Writes a new file in the place of what is there: a pipe would be waited for, and a link leads to what is not the
/// run's.
fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let new = match File::create_new(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            fs::remove_file(path)?;
            File::create_new(path)
        }
        new => new,
    };
    new?.write_all(bytes)
}
