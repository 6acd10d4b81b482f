//! Folders of a job's tables that are made for databases: no runs, and told as what they are.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

pub const TABLES_JSON: &str = "tables.json";

pub fn is_table_folder(path: &Path) -> bool {
    path.join(TABLES_JSON).is_file()
}

/// A file in a folder of tables that does not belong there, if any.
///
/// # Errors
/// A folder cannot be listed.
pub fn foreign_in_table_folder(path: &Path) -> io::Result<Option<PathBuf>> {
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        let is_told = entry.file_name() == TABLES_JSON && entry.file_type()?.is_file();
        let is_of_tables = is_told || (entry.file_type()?.is_dir() && is_table(&entry.path())?);
        if !is_of_tables {
            return Ok(Some(entry.path()));
        }
    }
    Ok(None)
}

/// The folder contains only ranks, and these contain only Parquet files.
fn is_table(folder: &Path) -> io::Result<bool> {
    for rank in fs::read_dir(folder)? {
        let rank = rank?;
        let is_rank = rank.file_name().to_string_lossy().starts_with("rank=");
        if !is_rank || !rank.file_type()?.is_dir() {
            return Ok(false);
        }
        for file in fs::read_dir(rank.path())? {
            let file = file?.path();
            if file.extension().is_none_or(|ending| ending != "parquet") || !file.is_file() {
                return Ok(false);
            }
        }
    }
    Ok(true)
}
