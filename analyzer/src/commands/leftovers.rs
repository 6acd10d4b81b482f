//! Hidden files and folders in which a result is made, beside its place: their names, and what killed commands left of them.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Path of `.<name>.<doing>-<process>` beside `place`; those of processes that are gone are removed.
pub(super) fn beside(place: &Path, doing: &str) -> PathBuf {
    let name = place.file_name().unwrap_or_default();
    let mut begin = OsString::from(".");
    begin.push(name);
    begin.push(format!(".{doing}-"));
    let folder = place.parent().filter(|folder| *folder != Path::new(""));
    let entries = fs::read_dir(folder.unwrap_or(Path::new(".")));
    for entry in entries.into_iter().flatten().flatten() {
        if process(&entry.file_name(), &begin).is_some_and(is_gone) {
            // What cannot be removed has a name that says what it is.
            let _ = remove(&entry.path());
        }
    }
    begin.push(std::process::id().to_string());
    place.with_file_name(begin)
}

/// The process in the name of a file or folder of ours.
fn process(name: &OsStr, begin: &OsStr) -> Option<libc::pid_t> {
    let number = name
        .as_encoded_bytes()
        .strip_prefix(begin.as_encoded_bytes())?;
    std::str::from_utf8(number)
        .ok()?
        .parse()
        .ok()
        .filter(|id| *id > 0)
}

fn is_gone(process: libc::pid_t) -> bool {
    // SAFETY: signal 0 only asks.
    let asked = unsafe { libc::kill(process, 0) };
    asked != 0 && io::Error::last_os_error().raw_os_error() == Some(libc::ESRCH)
}

fn remove(path: &Path) -> io::Result<()> {
    match path.symlink_metadata()?.is_dir() {
        true => fs::remove_dir_all(path),
        false => fs::remove_file(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_process_that_is_gone_has_left_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let gone = std::process::Command::new("true").spawn().unwrap();
        let id = gone.id();
        gone.wait_with_output().unwrap();
        let mine = std::process::id();
        let left = [
            format!(".o.run.importing-{id}"),
            format!(".o.run.importing-{mine}"),
        ];
        let others = [
            "o.run",
            ".o.run.importing-",
            ".o.run.importing-x",
            ".p.run.importing-1",
        ];
        for name in left.iter().map(String::as_str).chain(others) {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        let work = beside(&folder.path().join("o.run"), "importing");
        assert_eq!(work, folder.path().join(&left[1]));
        assert!(!folder.path().join(&left[0]).exists());
        assert!(work.exists());
        assert!(others.iter().all(|name| folder.path().join(name).exists()));
    }
}
