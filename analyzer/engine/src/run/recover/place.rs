//! Staging of a recovered run, and the swap that puts it in its place.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use trueno_format::edit::{FileLock, put_in_place, remove_run, rename_new, sync_parent};
use trueno_format::folder::Folder;
use trueno_format::regular_file;
use trueno_format::run_json::{RUN_JSON, RunJson};

use super::RecoverError;

pub(super) struct Place {
    old: PathBuf,
    held: Option<Folder>,
    stage: PathBuf,
    target: PathBuf,
}

impl Place {
    /// In place, or at `to`, which must not exist.
    pub(super) fn new(run: &Path, to: Option<&Path>) -> Result<Place, RecoverError> {
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
            held: Folder::open(&old).ok(),
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

    /// Excludes other recoveries, as the recorder excluded everyone while it lived. A run without a log has no
    /// lock.
    pub(super) fn lock(&self) -> Result<Option<FileLock>, RecoverError> {
        let path = self.old.join("live").join("log.jsonl");
        let Ok(log) = regular_file::open(&path) else {
            return Ok(None);
        };
        let opened = log.metadata();
        let taken = || RecoverError::Recording(self.old.clone());
        let lock = FileLock::take(log).ok_or_else(taken)?;
        // Another recovery may have come to its end meanwhile.
        let same = |a: &fs::Metadata, b: &fs::Metadata| (a.dev(), a.ino()) == (b.dev(), b.ino());
        match (opened, fs::metadata(&path)) {
            (Ok(locked), Ok(there)) if same(&locked, &there) => Ok(Some(lock)),
            _ => Err(taken()),
        }
    }

    pub(super) fn clear(&self, run_id: &str) -> Result<(), RecoverError> {
        let stage = &self.stage;
        if stage.symlink_metadata().is_err() {
            return Ok(());
        }
        let ours = || {
            let mut entries = fs::read_dir(stage).ok()?;
            let text = regular_file::read(&stage.join(RUN_JSON)).ok();
            let run = text.and_then(|text| serde_json::from_slice::<RunJson>(&text).ok());
            // Made a moment before it was stopped, it is empty.
            Some(run.map_or_else(|| entries.next().is_none(), |run| run.run_id == run_id))
        };
        if !ours().unwrap_or(false) {
            return Err(RecoverError::InTheWay(stage.clone()));
        }
        remove_run(stage).map_err(RecoverError::io(stage, "remove it"))
    }

    /// Renames the recovered run to its final name. In place, the old run gets the name of the stage.
    pub(super) fn publish(&self) -> Result<(), RecoverError> {
        let done = match &self.held {
            Some(old) if self.is_in_place() => put_in_place(&self.stage, &self.target, old),
            _ => rename_new(&self.stage, &self.target),
        };
        done.map_err(RecoverError::io(
            &self.target,
            "put the recovered run there",
        ))
    }

    /// Syncs the rename to disk.
    pub(super) fn sync(&self) -> Result<(), RecoverError> {
        let parent = self.target.parent().filter(|p| !p.as_os_str().is_empty());
        let parent = parent.unwrap_or(Path::new("."));
        sync_parent(&self.target).map_err(RecoverError::io(parent, "write it to disk"))
    }
}
