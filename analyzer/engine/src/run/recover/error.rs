//! The reason why a run was not recovered.

use std::io;
use std::path::{Path, PathBuf};

use trueno_format::edit::FileError;

use crate::run::RunError;

/// Why a run was not recovered. It is unchanged then.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecoverError {
    #[error(transparent)]
    Run(#[from] RunError),
    /// Its writer is alive, or another process is recovering it.
    #[error("{}: is being recorded or recovered now (hint: wait for its end)", .0.display())]
    Recording(PathBuf),
    #[error("{}: holds several ranks (hint: recover each of them, such as {}/rank=0)", .0.display(), .0.display())]
    Ranks(PathBuf),
    /// Without `run.json` it is unknown whether the recording has ended.
    #[error("{}: run.json is missing or damaged, so how the recording ended is unknown (hint: other commands read what is left)", .0.display())]
    Unknown(PathBuf),
    #[error("{}: already exists (hint: choose another path)", .0.display())]
    Exists(PathBuf),
    /// Something unknown is where the new run is to be assembled.
    #[error("{}: is in the way, and was not left by a recovery (hint: move it away)", .0.display())]
    InTheWay(PathBuf),
    /// The path has no last component from which to derive the name of a folder beside it.
    #[error("{}: has no name (hint: give the run's own path, such as ../my.run)", .0.display())]
    Nameless(PathBuf),
    #[error("{}: the recovered run differs from it: {difference}; nothing was changed (hint: please report it)", .path.display())]
    Differs {
        path: PathBuf,
        /// What was compared, expected and found.
        difference: String,
    },
    #[error("{}: cannot {action}: {source} (hint: `-o NEW` makes the recovered run somewhere else)", .path.display())]
    Io {
        path: PathBuf,
        action: &'static str,
        source: io::Error,
    },
}

impl RecoverError {
    pub(super) fn io(path: &Path, action: &'static str) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| RecoverError::Io {
            path,
            action,
            source,
        }
    }
}

impl From<FileError> for RecoverError {
    fn from(why: FileError) -> Self {
        RecoverError::io(&why.path, why.action)(why.source)
    }
}
