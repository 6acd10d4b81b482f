//! The files of a run directory beside the segments.

use std::io::{self, Write};
use std::sync::Arc;

use crate::edit::NEW_RUN_JSON;
use crate::error::Error;
use crate::file_lock::FileLock;
use crate::file_size_signal;
use crate::folder::Folder;
use crate::held_file::HeldFile;
use crate::journal::{JOURNAL, Line};
use crate::run_directory::NewRun;
use crate::run_json::{RUN_JSON, RunJson, sealed};

const PTX: &str = "ptx";

/// The open journal, and the folder of the other files.
pub struct RunFiles {
    folder: Arc<Folder>,
    /// Prevents others from creating or replacing a run in the folder.
    lock: Option<FileLock>,
    journal: HeldFile,
    journal_bytes: u64,
}

impl RunFiles {
    /// Makes the journal in the folder of a run.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn create(run: NewRun) -> Result<Self, Error> {
        let journal = HeldFile::create(&run.folder, JOURNAL).map_err(|e| {
            let hint = "choose a folder that can be written to";
            Error::io_with_hint(
                &run.folder.path().join(JOURNAL),
                "make the journal",
                e,
                hint,
            )
        })?;
        Ok(Self {
            folder: Arc::new(run.folder),
            lock: Some(run.lock),
            journal,
            journal_bytes: 0,
        })
    }

    /// The run directory.
    pub fn folder(&self) -> &Arc<Folder> {
        &self.folder
    }

    /// Gives the folder's lock back, once the log in `live/` says that the run is being recorded. (A forked child
    /// would hold it for longer than the recording goes on.)
    pub fn unlock(&mut self) {
        self.lock = None;
    }

    /// Appends a line; it has left this process when this returns.
    ///
    /// # Errors
    /// The disk is full.
    pub fn journal(&mut self, line: &Line) -> Result<(), Error> {
        let mut write = || -> io::Result<u64> {
            let text = line.encode()?;
            let folder = &self.folder;
            self.journal
                .append(|name| folder.open_appended(name), text.as_bytes())?;
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
                Err(self.error(JOURNAL, "append to the journal", error))
            }
        }
    }

    /// Removes the last line, whose chunk could not be written: readers would count its rows as lost beside those that
    /// the writer counts as dropped.
    pub(crate) fn take_back(&mut self, line: &Line) {
        let bytes = line.encode().map_or(0, |text| text.len() as u64);
        self.journal_bytes = self.journal_bytes.saturating_sub(bytes);
        let _ = self.journal.set_len(self.journal_bytes);
    }

    /// Writes `run.json` anew: readers see the old one or the new one.
    ///
    /// # Errors
    /// It cannot be written; the old one stands.
    pub fn run_json(&self, run: &RunJson) -> Result<(), Error> {
        let write = || -> io::Result<()> {
            write_new(&self.folder, NEW_RUN_JSON, &sealed(run)?)?;
            self.folder.rename(NEW_RUN_JSON, RUN_JSON)
        };
        file_size_signal::without(write).map_err(|e| {
            // Nothing is lost by it: the old run.json still stands.
            let _ = self.folder.remove_file(NEW_RUN_JSON);
            self.error(RUN_JSON, "write it", e)
        })
    }

    /// Keeps a kernel source.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn ptx(&self, hash: &str, source: &str) -> Result<(), Error> {
        let folder = self.folder_of(PTX)?;
        let name = format!("{hash}.ptx");
        file_size_signal::without(|| write_new(&folder, &name, source.as_bytes()))
            .map_err(|e| self.error(&format!("{PTX}/{name}"), "write the source", e))
    }

    pub(crate) fn folder_of(&self, name: &str) -> Result<Folder, Error> {
        let made = self.folder.create_folder(name);
        let folder = match made {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => self.folder.folder(name),
            made => made,
        };
        folder.map_err(|e| self.error(name, "make the folder", e))
    }

    pub(crate) fn error(&self, name: &str, action: &'static str, error: io::Error) -> Error {
        Error::io(&self.folder.path().join(name), action, error)
    }
}

/// Writes a new file in place of an existing entry. Writing to the entry itself could block on a pipe or follow a
/// link out of the run.
fn write_new(folder: &Folder, name: &str, bytes: &[u8]) -> io::Result<()> {
    let new = match folder.create_file(name) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            folder.remove_file(name)?;
            folder.create_file(name)
        }
        new => new,
    };
    new?.write_all(bytes)
}
