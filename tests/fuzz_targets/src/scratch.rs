//! Folders in memory, for parsers that want a path.

use std::path::Path;

use tempfile::TempDir;

/// An empty folder, gone with its handle; in memory where the system has such a file system.
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
