//! Keys of imported runs: what they were made of, and by what.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use trueno_engine::run::add_content;
use trueno_format::schema::{FORMAT_MAJOR, FORMAT_MINOR};
use xxhash_rust::xxh3::Xxh3;

/// Cache key of an imported run: a hash of its name, the file names below `root`, their content, and this program's
/// build.
pub(super) fn of(name: &Path, root: &Path, files: &[PathBuf]) -> io::Result<String> {
    let mut hash = Xxh3::new();
    hash.update(env!("CARGO_PKG_VERSION").as_bytes());
    hash.update(&FORMAT_MAJOR.to_le_bytes());
    hash.update(&FORMAT_MINOR.to_le_bytes());
    // Two builds of one version may import differently.
    hash.update(&build().to_le_bytes());
    add_name(name.file_name().map(Path::new).unwrap_or(name), &mut hash);
    for file in files {
        add_name(file.strip_prefix(root).unwrap_or(file), &mut hash);
        add_content(file, &mut hash)?;
    }
    Ok(format!("{:032x}", hash.digest128()))
}

fn add_name(name: &Path, hash: &mut Xxh3) {
    let name = name.as_os_str().as_encoded_bytes();
    hash.update(name);
    hash.update(&name.len().to_le_bytes());
}

/// Size and modification time of the executable; 0 if unknown.
fn build() -> u128 {
    let of_executable = || -> io::Result<u128> {
        let found = fs::metadata(std::env::current_exe()?)?;
        let since = found.modified()?.duration_since(UNIX_EPOCH);
        let modified_ns = since.map_or(0, |since| since.as_nanos());
        Ok(modified_ns << 40 | u128::from(found.len()))
    };
    of_executable().unwrap_or(0)
}

/// Files directly in a folder, sorted by name.
pub(super) fn files_in(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let file = entry?.path();
        if file.is_file() {
            files.push(file);
        }
    }
    files.sort();
    Ok(files)
}
