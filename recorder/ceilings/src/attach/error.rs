//! Reasons against attaching ceilings to a run.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use trueno_format::Error;
use trueno_format::edit::{FileError, StageError};

/// A reason against attaching ceilings to a run, which is then as it was.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AttachError {
    /// There is no `run.json`.
    #[error("{}: is not a run: it has no run.json (hint: give the folder that a recorder has written)", .0.display())]
    NoRun(PathBuf),
    /// Each rank is a run of its own.
    #[error("{}: holds several ranks, which may have run on different machines (hint: give one of them, such as {}/rank=0, on its machine)", .0.display(), .0.display())]
    Ranks(PathBuf),
    /// Its format is too new.
    #[error("{}: is of format {}, which this program does not know (hint: use a newer one)", .0.display(), .1)]
    Newer(PathBuf, u32),
    /// It is still being recorded.
    #[error("{}: is being recorded now (hint: wait for its end)", .0.display())]
    Recording(PathBuf),
    /// Its recorder died before the run ended.
    #[error("{}: its recording was never ended (hint: `trueno-analyze recover` it first)", .0.display())]
    Unfinished(PathBuf),
    /// The recording itself should get the ceilings, not an export of it.
    #[error("{}: is an export (hint: join the ceilings to the recording, and export that again)", .0.display())]
    Exported(PathBuf),
    /// The machine of the run is unknown.
    #[error("{}: was imported from another tool's file, which does not say on which machine it was recorded", .0.display())]
    Imported(PathBuf),
    /// Ceilings of another machine say nothing about it.
    #[error("{}: was recorded on another machine or configuration: {differs} (hint: measure on that machine, with the same settings)", .run.display())]
    Elsewhere {
        /// The run.
        run: PathBuf,
        /// The difference, with both values.
        differs: String,
    },
    /// The run is write-protected.
    #[error("{}: is read-only (hint: `chmod u+w` it, or join to a copy)", .0.display())]
    ReadOnly(PathBuf),
    /// Its files differ from those that were written.
    #[error("{}: is damaged: {file}: {problem} (hint: `trueno-analyze info` shows all of it)", .run.display())]
    Damaged {
        /// The run.
        run: PathBuf,
        /// The file, relative to it.
        file: String,
        /// The finding.
        problem: String,
    },
    /// The run already has ceilings.
    #[error("{}: holds {count} measured ceilings of its processor{said} (hint: --replace replaces them)", .run.display())]
    Already {
        /// The run.
        run: PathBuf,
        /// Their number.
        count: u64,
        /// What the run says about them, in brackets.
        said: String,
    },
    /// Another process is changing it.
    #[error("{}: another process is adding ceilings to it (hint: wait until it has finished)", .0.display())]
    Busy(PathBuf),
    /// Another file has this name.
    #[error("{}: exists and was not created by this program (hint: move it away)", .0.display())]
    InTheWay(PathBuf),
    /// It changed while the ceilings were measured.
    #[error("{}: has changed meanwhile (hint: try again)", .0.display())]
    Changed(PathBuf),
    /// The rows cannot be written.
    #[error(transparent)]
    Write(#[from] Error),
    /// The file system refused.
    #[error("{}: cannot {action}: {source}", .path.display())]
    Io {
        /// File or folder.
        path: PathBuf,
        /// The action that failed.
        action: &'static str,
        /// The system's error.
        source: Arc<io::Error>,
    },
}

impl AttachError {
    pub(super) fn io(path: &Path, action: &'static str) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io {
            path,
            action,
            source: Arc::new(source),
        }
    }

    pub(super) fn damaged(run: &Path, file: &str, problem: String) -> Self {
        Self::Damaged {
            run: run.to_owned(),
            file: file.to_owned(),
            problem,
        }
    }
}

impl From<FileError> for AttachError {
    fn from(why: FileError) -> Self {
        Self::io(&why.path, why.action)(why.source)
    }
}

impl AttachError {
    pub(super) fn stage(run: &Path, why: StageError) -> Self {
        match why {
            StageError::Busy(_) => Self::Busy(run.to_owned()),
            StageError::InTheWay(folder) => Self::InTheWay(folder),
            StageError::File(why) => why.into(),
            other => Self::io(run, "put a new one together")(io::Error::other(other)),
        }
    }
}
