//! Files of a run that somebody changes while it is read.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::Run;
use super::hash_of_files::files;

/// Identifies a version of a file: length, modification time, inode number.
type Stamp = (u64, Option<SystemTime>, u64);

#[derive(Debug, Default)]
pub struct FilesAtOnce {
    folders: Vec<PathBuf>,
    files: BTreeMap<PathBuf, Stamp>,
}

impl Run {
    pub fn files_now(&self) -> FilesAtOnce {
        let own = std::iter::once(self.path());
        let ranks = self.ranks().into_iter().map(|(_, run)| run.path());
        let folders: Vec<PathBuf> = own.chain(ranks).map(Path::to_owned).collect();
        FilesAtOnce {
            files: stamps(&folders),
            folders,
        }
    }
}

impl FilesAtOnce {
    pub fn changed(&self) -> Vec<PathBuf> {
        let now = stamps(&self.folders);
        let before = self.files.iter();
        let gone = before.filter(|(path, stamp)| now.get(*path) != Some(*stamp));
        let new = now.keys().filter(|path| !self.files.contains_key(*path));
        let mut out: Vec<PathBuf> = gone.map(|(path, _)| path).chain(new).cloned().collect();
        out.sort();
        out
    }
}

fn stamps(folders: &[PathBuf]) -> BTreeMap<PathBuf, Stamp> {
    let files = folders
        .iter()
        .flat_map(|folder| files(folder).unwrap_or_default());
    files
        .filter_map(|path| {
            let metadata = fs::metadata(&path).ok()?;
            let stamp = (metadata.len(), metadata.modified().ok(), metadata.ino());
            Some((path, stamp))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_are_written_added_or_removed_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let folders = vec![folder.path().to_owned()];
        let file = |name: &str| folder.path().join(name);
        for name in ["kept", "cut", "gone", "replaced"] {
            fs::write(file(name), name).unwrap();
        }
        let before = FilesAtOnce {
            files: stamps(&folders),
            folders,
        };
        assert!(before.changed().is_empty());
        fs::write(file("cut"), "").unwrap();
        fs::remove_file(file("gone")).unwrap();
        fs::write(file("new"), "").unwrap();
        fs::write(file("other"), "replaced").unwrap();
        fs::rename(file("other"), file("replaced")).unwrap();
        let changed = ["cut", "gone", "new", "replaced"].map(file);
        assert_eq!(before.changed(), changed);
    }
}
