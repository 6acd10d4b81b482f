//! The place that a folder is the mirror of, and who reads it now.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind};
use std::path::Path;

use anyhow::Context;
use serde::{Deserialize, Serialize};

pub const FOLDER: &str = ".trueno-mirror";
/// File that readers and writers of the mirror lock.
pub const READERS: &str = "readers";

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    pub uri: String,
    /// The endpoint, if the environment had one.
    pub endpoint: Option<String>,
    /// Version of its files; `None` if it is incomplete.
    pub version: Option<String>,
}

/// Locks a mirror against changes as long as the file is open. `None` if a process is changing it.
///
/// # Errors
/// It is no mirror, or not to be written.
pub fn try_hold(folder: &Path) -> io::Result<Option<File>> {
    let readers = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(folder.join(FOLDER).join(READERS))?;
    match readers.try_lock_shared() {
        Ok(()) => Ok(Some(readers)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

impl Source {
    /// The source of a mirror; `None` if the folder is not a mirror.
    ///
    /// # Errors
    /// The record in the folder cannot be read.
    pub fn read(folder: &Path) -> anyhow::Result<Option<Self>> {
        let file = folder.join(FOLDER).join("source.json");
        match fs::read(&file) {
            Ok(text) => {
                let source = serde_json::from_slice(&text);
                source.map(Some).with_context(|| file.display().to_string())
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error).with_context(|| file.display().to_string()),
        }
    }
}
