//! Staging of a recovered run, and the swap that puts it in its place.

use std::ffi::{CString, OsString};
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use trueno_format::run_json::{RUN_JSON, RunJson};

use super::RecoverError;

/// The paths of one recovery.
pub(super) struct Place {
    old: PathBuf,
    /// A hidden folder beside the target.
    stage: PathBuf,
    target: PathBuf,
}

/// The lock of a log. It is unlocked explicitly: a child that another thread forks meanwhile shares the open file until
/// it executes its program, and a file that is only closed here would stay locked for that long.
pub(super) struct Lock(File);

impl Drop for Lock {
    fn drop(&mut self) {
        // Where that fails the lock goes with the last that has the file.
        let _ = self.0.unlock();
    }
}

impl Place {
    /// In place, or at `to`, where nothing may be yet.
    pub(super) fn of(run: &Path, to: Option<&Path>) -> Result<Place, RecoverError> {
        if let Some(to) = to.filter(|to| to.symlink_metadata().is_ok()) {
            return Err(RecoverError::Exists(to.to_path_buf()));
        }
        // Links are followed: the folder itself changes, not what points to it.
        let old = fs::canonicalize(run).unwrap_or_else(|_| run.to_path_buf());
        let target = to.map_or_else(|| old.clone(), Path::to_path_buf);
        let Some(name) = target.file_name() else {
            return Err(RecoverError::Nameless(run.to_path_buf()));
        };
        let mut hidden = OsString::from(".");
        hidden.push(name);
        hidden.push(".recover");
        Ok(Place {
            stage: target.with_file_name(hidden),
            old,
            target,
        })
    }

    pub(super) fn old(&self) -> &Path {
        &self.old
    }

    pub(super) fn stage(&self) -> &Path {
        &self.stage
    }

    pub(super) fn target(&self) -> &Path {
        &self.target
    }

    fn is_in_place(&self) -> bool {
        self.target == self.old
    }

    /// Keeps other recoveries out, as the recorder kept out everyone while it lived. A run
    /// without a log has no lock.
    pub(super) fn lock(&self) -> Result<Option<Lock>, RecoverError> {
        let path = self.old.join("live").join("log.jsonl");
        let Ok(log) = File::open(&path) else {
            return Ok(None);
        };
        let taken = || RecoverError::Recording(self.old.clone());
        match log.try_lock() {
            Ok(()) => {}
            Err(fs::TryLockError::WouldBlock) => return Err(taken()),
            // A file system without locks.
            Err(fs::TryLockError::Error(_)) => return Ok(None),
        }
        let log = Lock(log);
        // Another recovery may have come to its end meanwhile.
        let same = |a: &fs::Metadata, b: &fs::Metadata| (a.dev(), a.ino()) == (b.dev(), b.ino());
        match (log.0.metadata(), fs::metadata(&path)) {
            (Ok(locked), Ok(there)) if same(&locked, &there) => Ok(Some(log)),
            _ => Err(taken()),
        }
    }

    /// Removes what an earlier recovery of this run left.
    pub(super) fn clear(&self, run_id: &str) -> Result<(), RecoverError> {
        let stage = &self.stage;
        if stage.symlink_metadata().is_err() {
            return Ok(());
        }
        let ours = || {
            let mut entries = fs::read_dir(stage).ok()?;
            let text = fs::read(stage.join(RUN_JSON)).ok();
            let run = text.and_then(|text| serde_json::from_slice::<RunJson>(&text).ok());
            // Made a moment before it was stopped, it is empty.
            Some(run.map_or_else(|| entries.next().is_none(), |run| run.run_id == run_id))
        };
        if !ours().unwrap_or(false) {
            return Err(RecoverError::InTheWay(stage.clone()));
        }
        remove(stage).map_err(RecoverError::io(stage, "remove it"))
    }

    /// The recovered run gets its name. In place, the old one gets that of the stage.
    pub(super) fn publish(&self) -> Result<(), RecoverError> {
        let done = if self.is_in_place() {
            exchange(&self.stage, &self.target)
        } else {
            // Not over a folder that has come there meanwhile, be it empty.
            match rename_with(&self.stage, &self.target, libc::RENAME_NOREPLACE) {
                // A file system that cannot promise it; there was nothing a moment ago.
                Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
                    fs::rename(&self.stage, &self.target)
                }
                done => done,
            }
        };
        done.map_err(RecoverError::io(
            &self.target,
            "put the recovered run there",
        ))
    }

    /// Makes sure that it is there also after a loss of power.
    pub(super) fn sync(&self) -> Result<(), RecoverError> {
        let parent = self.target.parent().filter(|p| !p.as_os_str().is_empty());
        let parent = parent.unwrap_or(Path::new("."));
        File::open(parent)
            .and_then(|folder| folder.sync_all())
            .map_err(RecoverError::io(parent, "write it to disk"))
    }
}

/// `run.json` goes last: with it, what is left says whose it is.
fn remove(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_name() == RUN_JSON {
            continue;
        }
        if entry.file_type()?.is_dir() {
            fs::remove_dir_all(entry.path())?;
        } else {
            fs::remove_file(entry.path())?;
        }
    }
    match fs::remove_file(folder.join(RUN_JSON)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    fs::remove_dir(folder)
}

fn exchange(a: &Path, b: &Path) -> io::Result<()> {
    rename_with(a, b, libc::RENAME_EXCHANGE)
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
