//! A run's files taken over into a folder beside it, so that rows can join a finished run.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::{fs, io};

use thiserror::Error;

/// What could not be done with which file.
#[derive(Debug, Error)]
#[error("{}: cannot {doing}: {source}", .path.display())]
pub struct LinkError {
    /// The file or folder.
    pub path: PathBuf,
    /// What was tried.
    pub doing: &'static str,
    /// Why not.
    pub source: io::Error,
}

fn failed(path: &Path, doing: &'static str) -> impl FnOnce(io::Error) -> LinkError {
    let path = path.to_owned();
    move |source| LinkError {
        path,
        doing,
        source,
    }
}

/// Takes over the files of folder `from` into folder `to`, both there: as hard links, and as copies where the file
/// system has none. What lies in `from` itself under a name that is `left_out` stays behind.
///
/// # Errors
/// The first file that cannot be read or made.
pub fn link_or_copy(
    from: &Path,
    to: &Path,
    left_out: &dyn Fn(&OsStr) -> bool,
) -> Result<(), LinkError> {
    let entries = fs::read_dir(from).and_then(Iterator::collect::<io::Result<Vec<_>>>);
    for entry in entries.map_err(failed(from, "list the folder"))? {
        let name = entry.file_name();
        if left_out(&name) {
            continue;
        }
        let (was, new) = (entry.path(), to.join(name));
        let kind = entry.file_type().map_err(failed(&was, "look at it"))?;
        if kind.is_dir() {
            fs::create_dir(&new).map_err(failed(&new, "make the folder"))?;
            link_or_copy(&was, &new, &|_| false)?;
        } else if fs::hard_link(&was, &new).is_err() {
            fs::copy(&was, &new).map_err(failed(&new, "copy it"))?;
        }
    }
    Ok(())
}

/// The number after that of the last segment in a table's folder.
///
/// # Errors
/// The folder cannot be listed.
pub fn next_segment(folder: &Path) -> Result<u64, LinkError> {
    let entries = fs::read_dir(folder).map_err(failed(folder, "list the folder"))?;
    let number = |name: &str| name.split('.').next()?.parse::<u64>().ok();
    let last = entries
        .flatten()
        .filter_map(|entry| number(entry.file_name().to_str()?))
        .max();
    Ok(last.map_or(0, |last| last + 1))
}
