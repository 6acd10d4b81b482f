//! Swap of the new run with the old.

use std::ffi::CString;
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::folder::{Folder, moved};

/// Two folders change places in one step.
///
/// # Errors
/// One of them is not there, or the file system cannot do it.
pub fn exchange(a: &Path, b: &Path) -> io::Result<()> {
    rename_with(a, b, libc::RENAME_EXCHANGE)
}

/// Renames a folder to where nothing is: not over a folder that has come there meanwhile, be it empty.
///
/// # Errors
/// Something is there, or the operating system refuses.
pub fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    match rename_with(from, to, libc::RENAME_NOREPLACE) {
        // A file system that cannot promise it; there was nothing a moment ago.
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => fs::rename(from, to),
        done => done,
    }
}

/// Puts folder `new` at path `place` in the stead of `old`, which then is at `new`.
///
/// # Errors
/// Another folder than `old` is at `place`, or the operating system refuses; `place` then is as it was.
pub fn put_in_place(new: &Path, place: &Path, old: &Folder) -> io::Result<()> {
    if !old.is_at(place) {
        return Err(moved());
    }
    match exchange(new, place) {
        Ok(()) if old.is_at(new) => Ok(()),
        Ok(()) => {
            // It came in that very moment.
            exchange(new, place)?;
            Err(moved())
        }
        // A file system that cannot do it in one step.
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
            let aside = beside(new);
            rename_new(place, &aside)?;
            if !old.is_at(&aside) {
                rename_new(&aside, place)?;
                return Err(moved());
            }
            if let Err(error) = rename_new(new, place) {
                rename_new(&aside, place)?;
                return Err(error);
            }
            rename_new(&aside, new)
        }
        Err(error) => Err(error),
    }
}

fn beside(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".old");
    path.with_file_name(name)
}

/// Makes sure that an entry of a folder is there also after a loss of power.
///
/// # Errors
/// The folder cannot be opened or synced.
pub fn sync_parent(path: &Path) -> io::Result<()> {
    let parent = path.parent().filter(|p| !p.as_os_str().is_empty());
    File::open(parent.unwrap_or(Path::new("."))).and_then(|folder| folder.sync_all())
}

fn rename_with(from: &Path, to: &Path, how: libc::c_uint) -> io::Result<()> {
    let [from, to] = [from, to].map(|path| CString::new(path.as_os_str().as_bytes()));
    let (from, to) = (from?, to?);
    let here = libc::AT_FDCWD;
    // SAFETY: both are texts that end with a zero and outlive the call.
    match unsafe { libc::renameat2(here, from.as_ptr(), here, to.as_ptr(), how) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
