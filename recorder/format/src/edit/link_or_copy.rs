//! A run's files taken over into another folder: as hard links, else as copies.

use std::ffi::OsStr;
use std::path::Path;
use std::{fs, io};

use super::file::FileError;

/// Takes over the files of folder `from` into folder `to`, both there: as hard links, and as copies where the file
/// system has none. What lies in `from` itself under a name that is `left_out` stays behind.
///
/// # Errors
/// The first file that cannot be read or made.
pub fn link_or_copy(
    from: &Path,
    to: &Path,
    left_out: &dyn Fn(&OsStr) -> bool,
) -> Result<(), FileError> {
    let entries = fs::read_dir(from).and_then(Iterator::collect::<io::Result<Vec<_>>>);
    for entry in entries.map_err(FileError::on(from, "list the folder"))? {
        let name = entry.file_name();
        if left_out(&name) {
            continue;
        }
        let (was, new) = (entry.path(), to.join(name));
        let kind = entry
            .file_type()
            .map_err(FileError::on(&was, "look at it"))?;
        if kind.is_dir() {
            fs::create_dir(&new).map_err(FileError::on(&new, "make the folder"))?;
            link_or_copy(&was, &new, &|_| false)?;
        } else if fs::hard_link(&was, &new).is_err() {
            // A pipe would be waited for, and what a link leads to may have no end.
            let copied = if kind.is_file() {
                fs::copy(&was, &new)
            } else {
                Err(io::Error::other("expected a regular file"))
            };
            copied.map_err(FileError::on(&new, "copy it"))?;
        }
    }
    Ok(())
}

/// The number after that of the last segment in a table's folder.
///
/// # Errors
/// The folder cannot be listed.
pub fn next_segment(folder: &Path) -> Result<u64, FileError> {
    let entries = fs::read_dir(folder).map_err(FileError::on(folder, "list the folder"))?;
    let number = |name: &str| name.split('.').next()?.parse::<u64>().ok();
    let last = entries
        .flatten()
        .filter_map(|entry| number(entry.file_name().to_str()?))
        .max();
    Ok(last.map_or(0, |last| last + 1))
}
