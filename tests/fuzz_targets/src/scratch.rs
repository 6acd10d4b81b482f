//! Folders in memory, for parsers that want a path.

use std::path::Path;

use tempfile::TempDir;

/// An empty folder that is removed with its handle. It lies in memory if the system has such a file system.
pub fn folder() -> TempDir {
    let memory = Path::new("/dev/shm");
    let builder = tempfile::Builder::new().prefix("trueno-fuzz-").to_owned();
    let folder = if memory.is_dir() {
        builder.tempdir_in(memory)
    } else {
        builder.tempdir()
    };
    folder.expect("a folder for scratch files")
}
