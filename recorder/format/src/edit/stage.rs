//! The hidden folder in which a new run is put together.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::file::{FileError, empty_run, write_synced};
use super::{NEW_RUN_JSON, put_in_place, sync_parent};
use crate::file_lock::FileLock;
use crate::folder::Folder;
use crate::regular_file;
use crate::run_json::{RUN_JSON, RunJson};

/// The folder, locked; it is removed when this is dropped.
#[derive(Debug)]
pub struct Stage {
    folder: PathBuf,
    old: Folder,
    _lock: FileLock,
}

/// A reason why there is no [`Stage`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StageError {
    /// Another process is putting a run together there.
    #[error("{}: another process is changing it (hint: try again when it has finished)", .0.display())]
    Busy(PathBuf),
    /// Another file has the name.
    #[error("{}: exists and was not created by this program (hint: move it away)", .0.display())]
    InTheWay(PathBuf),
    /// The operating system returned an error.
    #[error(transparent)]
    File(#[from] FileError),
}

impl Stage {
    /// Makes `.<run>.<purpose>` beside a run, with a `run.json` that says whose it is; what another process left
    /// there when it was stopped is removed.
    ///
    /// # Errors
    /// See [`StageError`].
    pub fn beside(
        run: &Path,
        purpose: &str,
        run_id: &str,
        run_json: &[u8],
    ) -> Result<Self, StageError> {
        let mut hidden = OsString::from(".");
        hidden.push(run.file_name().unwrap_or_default());
        hidden.push(".");
        hidden.push(purpose);
        let folder = run.with_file_name(hidden);
        let old = Folder::open_no_link(run).map_err(FileError::on(run, "open it"))?;
        match fs::create_dir(&folder) {
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {
                clear(&folder, run_id, run_json)?;
            }
            made => made.map_err(FileError::on(&folder, "make the folder"))?,
        }
        let lock = lock(&folder).inspect_err(|why| {
            // Empty as it is, unless another process has it.
            if !matches!(why, StageError::Busy(_)) {
                let _ = fs::remove_dir(&folder);
            }
        })?;
        // From here on it goes whatever fails.
        let stage = Self {
            folder,
            old,
            _lock: lock,
        };
        let folder = &stage.folder;
        // First: it says whose folder this is.
        stage.write_run_json(run_json)?;
        let permissions = fs::metadata(run).map(|found| found.permissions());
        permissions
            .and_then(|permissions| fs::set_permissions(folder, permissions))
            .map_err(FileError::on(folder, "set its permissions"))?;
        Ok(stage)
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Writes `run.json` in one step: whenever this is stopped, the folder says whose it is.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write_run_json(&self, run_json: &[u8]) -> Result<(), FileError> {
        let (new, file) = (self.folder.join(NEW_RUN_JSON), self.folder.join(RUN_JSON));
        write_synced(&new, run_json)?;
        fs::rename(&new, &file).map_err(FileError::on(&file, "put it there"))
    }

    /// The new run takes the place of the old one, which is removed when this is dropped.
    ///
    /// # Errors
    /// It cannot, or another run has come to its path; what is there stays there.
    pub fn publish(&self, run: &Path, run_json: &[u8]) -> Result<(), FileError> {
        self.write_run_json(run_json)?;
        put_in_place(&self.folder, run, &self.old)
            .map_err(FileError::on(run, "put the run there"))?;
        let parent = run.parent().unwrap_or(Path::new("/"));
        sync_parent(run).map_err(FileError::on(parent, "write it to disk"))
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        // What cannot be removed now is the next time.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn lock(folder: &Path) -> Result<FileLock, StageError> {
    let file = File::open(folder).map_err(FileError::on(folder, "open it"))?;
    FileLock::take(file).ok_or_else(|| StageError::Busy(folder.to_owned()))
}

fn clear(folder: &Path, run_id: &str, run_json: &[u8]) -> Result<(), StageError> {
    let _lock = lock(folder)?;
    let failed = || FileError::on(folder, "empty it");
    let entries: io::Result<Vec<_>> = fs::read_dir(folder).and_then(Iterator::collect);
    let entries = entries.map_err(failed())?;
    let text = regular_file::read(&folder.join(RUN_JSON)).ok();
    let of = text.and_then(|text| serde_json::from_slice::<RunJson>(&text).ok());
    // Stopped a moment after it was made, or where the disk was full, it holds no more than the
    // beginning of its first file.
    let is_beginning = |entry: &fs::DirEntry| {
        let name = entry.file_name();
        (name == RUN_JSON || name == NEW_RUN_JSON)
            && regular_file::read(&entry.path()).is_ok_and(|text| run_json.starts_with(&text))
    };
    let is_begun = || entries.len() <= 1 && entries.iter().all(is_beginning);
    if !of.map_or_else(is_begun, |of| of.run_id == run_id) {
        return Err(StageError::InTheWay(folder.to_owned()));
    }
    Ok(empty_run(folder).map_err(failed())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUN: &[u8] =
        br#"{"format":{"name":"trueno-run","major":1,"minor":3},"run_id":"a","state":"finished"}"#;

    fn run(folder: &Path) -> PathBuf {
        let run = folder.join("my.run");
        fs::create_dir(&run).unwrap();
        fs::write(run.join(RUN_JSON), RUN).unwrap();
        run
    }

    #[test]
    fn the_runs_path_holds_the_old_run_or_the_new_one() {
        let folder = tempfile::tempdir().unwrap();
        let run = run(folder.path());
        let stage = Stage::beside(&run, "edit", "a", RUN).unwrap();
        fs::write(stage.folder().join("more"), b"rows").unwrap();
        assert!(!run.join("more").exists());
        stage.publish(&run, b"{}").unwrap();
        assert!(run.join("more").exists());
        drop(stage);
        assert_eq!(fs::read(run.join(RUN_JSON)).unwrap(), b"{}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_run_that_took_its_place_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let old = run(folder.path());
        let stage = Stage::beside(&old, "edit", "a", RUN).unwrap();
        fs::rename(&old, folder.path().join("moved.run")).unwrap();
        let other = run(folder.path());
        fs::write(other.join("theirs"), b"rows").unwrap();
        assert!(stage.publish(&other, b"{}").is_err());
        drop(stage);
        assert!(other.join("theirs").exists());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn one_process_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let run = run(folder.path());
        let _stage = Stage::beside(&run, "edit", "a", RUN).unwrap();
        let second = Stage::beside(&run, "edit", "a", RUN);
        assert!(matches!(second, Err(StageError::Busy(_))));
    }

    #[test]
    fn what_was_left_is_removed_if_it_is_ours() {
        let folder = tempfile::tempdir().unwrap();
        let run = run(folder.path());
        let left = folder.path().join(".my.run.edit");
        // Wherever an earlier one was stopped: the folder, part of its first file, and that under its name.
        for (file, text, is_ours) in [
            ("", &b""[..], true),
            (NEW_RUN_JSON, &RUN[..20], true),
            (RUN_JSON, RUN, true),
            ("of.somebody", b"else", false),
            (RUN_JSON, br#"{"format":{"name":"trueno-run","major":1,"minor":3},"run_id":"b","state":"finished"}"#, false),
        ] {
            fs::create_dir(&left).unwrap();
            if !file.is_empty() {
                fs::write(left.join(file), text).unwrap();
            }
            match Stage::beside(&run, "edit", "a", RUN) {
                Ok(_) => assert!(is_ours, "{file}"),
                Err(StageError::InTheWay(path)) => assert!(!is_ours && path == left, "{file}"),
                Err(other) => panic!("{other}"),
            }
            let _ = fs::remove_dir_all(&left);
        }
    }
}
