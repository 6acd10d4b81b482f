//! Files of a run, compared with those that were read.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

const MAX_FILES: usize = 20_000;
/// Depth of nested folders: a job, a rank, a table.
const MAX_DEPTH: usize = 4;

/// A file's path, length, inode and time of change.
type FileStamp = (String, u64, u64, i64, i64);

/// The files of a folder; `None` if it is gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stamp(Option<Vec<FileStamp>>);

impl Stamp {
    pub(super) fn of(folder: &Path) -> Self {
        let mut files = Vec::new();
        let found = fs::metadata(folder).is_ok();
        add(folder, MAX_DEPTH, &mut files);
        files.sort();
        Self(found.then_some(files))
    }

    pub(super) fn difference(&self, folder: &Path) -> Option<String> {
        let now = Self::of(folder);
        if now == *self {
            return None;
        }
        Some(match now.0 {
            None => format!(
                "{} is gone; what is shown was read before",
                folder.display()
            ),
            Some(_) => "its files have changed since they were read".to_owned(),
        })
    }
}

fn add(folder: &Path, depth: usize, files: &mut Vec<FileStamp>) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        let Ok(metadata) = fs::metadata(entry.path()) else {
            continue;
        };
        if metadata.is_dir() {
            if depth > 0 {
                add(&entry.path(), depth - 1, files);
            }
        } else if files.len() < MAX_FILES {
            let name = entry.path().to_string_lossy().into_owned();
            let (seconds, ns) = (metadata.mtime(), metadata.mtime_nsec());
            files.push((name, metadata.len(), metadata.ino(), seconds, ns));
        }
    }
}
