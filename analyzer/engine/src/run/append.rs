//! A new run out of another one, whose files it shares, and further rows.
//!
//! Nothing of the old run is touched: its segments are in the new run too, as second names of the
//! same files or as copies, its journal goes on in the new one, and `run.json` says what was added.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;
use trueno_format::edit::{FileError, NOT_LINKED, added_rows, link_or_copy, write_synced};
use trueno_format::regular_file;
use trueno_format::run_json::{Joined, RUN_JSON, RunJson, State, Table, resealed};
use trueno_format::run_writer::RunWriter;

use super::{manifest, rank_folders};

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AddError {
    /// There is no `run.json` in which to record the addition.
    #[error("{}: run.json is missing or damaged, so that rows cannot be added (hint: import or record the run again)", .0.display())]
    Unknown(PathBuf),
    /// Each rank is a run of its own.
    #[error("{}: holds several ranks (hint: give one of them, such as {}/rank=0)", .0.display(), .0.display())]
    Ranks(PathBuf),
    #[error("{}: its recording has not ended (hint: wait for its end, or `trueno-analyze recover` it)", .0.display())]
    Unfinished(PathBuf),
    #[error(transparent)]
    Write(#[from] trueno_format::Error),
    #[error("{}: cannot {action}: {source}", .path.display())]
    Io {
        path: PathBuf,
        action: &'static str,
        source: io::Error,
    },
}

fn failed(path: &Path, action: &'static str) -> impl FnOnce(io::Error) -> AddError {
    let path = path.to_path_buf();
    move |source| AddError::Io {
        path,
        action,
        source,
    }
}

impl From<FileError> for AddError {
    fn from(why: FileError) -> Self {
        failed(&why.path, why.action)(why.source)
    }
}

pub struct Adding {
    from: PathBuf,
    to: PathBuf,
    rows: RunWriter,
}

impl Adding {
    /// Begins a run at `to`, which must not exist, that will contain everything in `from`.
    ///
    /// # Errors
    /// See [`AddError`].
    pub fn begin(from: &Path, to: &Path) -> Result<Self, AddError> {
        if let rank_folders::Found::Ranks(_) = rank_folders::find(from) {
            return Err(AddError::Ranks(from.to_path_buf()));
        }
        match manifest::read(from, &mut Vec::new()) {
            Ok(Some(run)) if run.state == State::Recording => {
                return Err(AddError::Unfinished(from.to_path_buf()));
            }
            Ok(Some(_)) => {}
            Ok(None) | Err(_) => return Err(AddError::Unknown(from.to_path_buf())),
        }
        fs::create_dir(to).map_err(failed(to, "make the folder"))?;
        let rows = added_rows::writer(to)?;
        Ok(Self {
            from: from.to_path_buf(),
            to: to.to_path_buf(),
            rows,
        })
    }

    pub fn rows(&mut self) -> &mut RunWriter {
        &mut self.rows
    }

    /// Assembles the run. `joined` describes the added rows; its segments are filled in.
    ///
    /// # Errors
    /// A file system operation failed.
    pub fn finish(self, mut joined: Joined) -> Result<(), AddError> {
        let Self { from, to, rows } = self;
        let added = rows.finish(None)?;
        link_or_copy(&from, &to, &|name| {
            NOT_LINKED.iter().any(|out| name == *out)
        })?;
        joined.segments = added_rows::join(&from, &to, &added, &|_| false)?;
        run_json(&from, &to, &added, &joined)
    }
}

/// Writes the old `run.json`, including unknown members, with updated counts and a record of the addition.
fn run_json(from: &Path, to: &Path, added: &RunJson, joined: &Joined) -> Result<(), AddError> {
    let path = from.join(RUN_JSON);
    let read = || -> io::Result<(Vec<u8>, Value)> {
        let text = regular_file::read(&path)?;
        let run = serde_json::from_slice(&text)?;
        Ok((text, run))
    };
    let (old, mut run) = read().map_err(failed(&path, "read it"))?;
    for (table, counts) in &added.tables {
        added_rows::count(&mut run, table, &Table::default(), counts);
    }
    let path = to.join(RUN_JSON);
    let done = added_rows::state(&mut run, added.format.minor, joined, |_| true)
        .and_then(|()| resealed(&old, &run));
    let text = done.map_err(|error| failed(&path, "write it")(error.into()))?;
    Ok(write_synced(&path, &text)?)
}
