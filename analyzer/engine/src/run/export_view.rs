//! A run as an export writes it down: rows as they are stored, sources, facts.

use std::path::{Path, PathBuf};
use std::{fs, io};

use polars::prelude::{LazyFrame, PolarsResult, col};
use trueno_format::run_json::RunJson;

use super::open::table_segments;
use super::{Run, exported};

const SOURCES: &str = "ptx";

impl Run {
    /// Columns of a table in the order in which they were written, with one plan per segment.
    ///
    /// # Errors
    /// The engine fails to plan a scan.
    pub fn segment_frames(&self, table: &str, columns: &[String]) -> PolarsResult<Vec<LazyFrame>> {
        let Some(published) = self.published(table) else {
            return Ok(Vec::new());
        };
        let mut frames = Vec::new();
        for segment in table_segments(self.segments(), table) {
            if segment.rows_read > 0 {
                let columns: Vec<_> = columns.iter().map(|name| col(name.as_str())).collect();
                frames.push(published.frame(&[segment])?.select(columns));
            }
        }
        Ok(frames)
    }

    /// `run.json` for an export of this run. The counts of its files are not filled in.
    pub fn describe_export(&self) -> RunJson {
        exported::describe(self, self.manifest())
    }

    /// Copies the kernel sources into the folder `to` of another run directory.
    ///
    /// # Errors
    /// A file could not be read or written; the error names it.
    pub fn copy_sources(&self, to: &Path) -> Result<(), (PathBuf, io::Error)> {
        let from = self.path().join(SOURCES);
        let entries = match fs::read_dir(&from) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err((from, error)),
        };
        // The table of the same name has its segments there, and its export its files.
        let to = to.join(SOURCES);
        fs::create_dir_all(&to).map_err(|error| (to.clone(), error))?;
        for entry in entries {
            let file = entry.map_err(|error| (from.clone(), error))?;
            let path = file.path();
            if path.is_file() && path.extension().is_some_and(|ending| ending == SOURCES) {
                fs::copy(&path, to.join(file.file_name())).map_err(|error| (path, error))?;
            }
        }
        Ok(())
    }
}
