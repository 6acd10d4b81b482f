//! The workspace as its sources and manifests state it: packages, dependencies, modules, and which file uses which.

mod cycles;
mod modules;
mod packages;
mod references;

use std::path::{Path, PathBuf};

pub use cycles::cycles;
pub use modules::{Crate, Module};
pub use packages::{Package, packages, tree};

pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors()
        .nth(2)
        .expect("this crate lies in tests/structure")
        .to_path_buf()
}

/// A path relative to the workspace, for messages.
pub fn relative(path: &Path) -> String {
    path.strip_prefix(root())
        .unwrap_or(path)
        .display()
        .to_string()
}

/// All files below the workspace's source folders, sorted by path, without build products.
pub fn files() -> Vec<PathBuf> {
    let mut found = vec![root().join("Cargo.toml")];
    let mut open: Vec<PathBuf> = ["analyzer", "recorder", "plugins", "tests"]
        .map(|folder| root().join(folder))
        .into();
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if !path.is_dir() {
                found.push(path);
            } else if path.file_name().is_none_or(|name| name != "target") {
                open.push(path);
            }
        }
    }
    found.sort();
    found
}

pub fn rust_files() -> Vec<PathBuf> {
    let mut files = files();
    files.retain(|file| file.extension().is_some_and(|ending| ending == "rs"));
    files
}

pub fn text(file: &Path) -> String {
    std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}
