//! A run as Parquet: sorted by time, in row groups with statistics, smaller than it was recorded.
//!
//! The folder is a run of its own, with the journal that segments have: a line for each row
//! group. Its rows pass through in windows of time, so memory does not grow with the run.

mod by_table;
mod encode;
mod part;
mod table_folder;

pub use by_table::to_table_folders;
pub use table_folder::{StoredColumn, StoredTable, TableFolder};

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use part::Part;
use polars::prelude::DataFrame;
use trueno_engine::panic_guard::guarded;
use trueno_engine::run::Run;
use trueno_engine::time_order::{Order, Ordered};
use trueno_format::journal::JOURNAL;
use trueno_format::run_json::{RUN_JSON, Table, sealed};

use super::rows::{Source, Stored};
use crate::error::ExportError;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Rows in a row group: enough to compress well, and few enough for skipping by statistics.
    pub group_rows: usize,
    /// Row groups in a file, so that a file has about as many rows as a segment.
    pub part_groups: usize,
}

impl Default for Sizes {
    fn default() -> Self {
        Sizes {
            group_rows: 1 << 17,
            part_groups: 8,
        }
    }
}

/// Writes `run` as a run of Parquet files into the empty folder `to`. `on_rows` receives the number of rows written
/// since its last call.
///
/// # Errors
/// See [`ExportError`]. What was written until then is left behind.
pub fn to_folder(
    run: &Run,
    to: &Path,
    sizes: Sizes,
    on_rows: &mut dyn FnMut(u64),
) -> Result<(), ExportError> {
    let mut json = run.describe_export();
    let mut export = Export {
        run,
        to,
        sizes,
        journal: String::new(),
        on_rows,
    };
    for table in Source::open(run)?.tables() {
        if table.rows > 0 {
            let counts = json.tables.entry(table.name.clone()).or_default();
            export.table(&table, counts)?;
        }
    }
    let whole = |table: &Table| table.rows + table.dropped + table.lost > 0;
    json.tables.retain(|_, table| whole(table));
    run.copy_sources(to)
        .map_err(|(path, error)| named(&path, error))?;
    write_file(&to.join(JOURNAL), export.journal.as_bytes())?;
    let bytes = sealed(&json).map_err(std::io::Error::from)?;
    // Last: a folder without it is seen not to be done.
    write_file(&to.join(RUN_JSON), &bytes)
}

struct Export<'a> {
    run: &'a Run,
    to: &'a Path,
    sizes: Sizes,
    journal: String,
    on_rows: &'a mut dyn FnMut(u64),
}

impl Export<'_> {
    fn table(&mut self, table: &Stored, counts: &mut Table) -> Result<(), ExportError> {
        let failed = |reason| ExportError::Rows {
            table: table.name.clone(),
            reason,
        };
        let frames = self.run.segment_frames(&table.name, &table.columns);
        let frames = frames.map_err(|error| failed(error.to_string()))?;
        let has = |name: &&str| table.columns.iter().any(|column| column == name);
        let time = ["start_ns", "time_ns"].into_iter().find(has);
        let order = time.map(|time| Order {
            time: time.to_owned(),
            then_down: None,
        });
        let folder = self.to.join(&table.name);
        fs::create_dir(&folder).map_err(|error| named(&folder, error))?;

        let group_rows = self.sizes.group_rows.max(1);
        let mut part = None;
        let mut waiting = DataFrame::empty();
        for window in Ordered::new(frames, order).map_err(failed)? {
            let window = window.map_err(failed)?;
            if waiting.height() == 0 {
                waiting = window;
            } else {
                let joined = guarded(|| waiting.vstack_mut(&window).map(|_| ()));
                joined.map_err(failed)?;
            }
            let mut written = 0;
            while waiting.height() - written >= group_rows {
                let group = waiting.slice(written as i64, group_rows);
                part = self.group(&table.name, part, &group, counts)?;
                written += group_rows;
            }
            waiting = waiting.slice(written as i64, usize::MAX);
        }
        if waiting.height() > 0 {
            part = self.group(&table.name, part, &waiting, counts)?;
        }
        if let Some(part) = part {
            counts.bytes += part.finish(&mut self.journal)?;
        }
        Ok(())
    }

    /// Adds a row group to `part`, or to a new file. Returns the file if it is still open.
    fn group(
        &mut self,
        table: &str,
        part: Option<Part>,
        rows: &DataFrame,
        counts: &mut Table,
    ) -> Result<Option<Part>, ExportError> {
        let mut part = match part {
            Some(part) => part,
            None => {
                let number = counts.segments;
                counts.segments += 1;
                let name = format!("{table}/{number:06}.parquet");
                Part::create(self.to, table, name, rows)?
            }
        };
        part.write(rows)?;
        counts.rows += rows.height() as u64;
        (self.on_rows)(rows.height() as u64);
        if part.groups() < self.sizes.part_groups {
            return Ok(Some(part));
        }
        counts.bytes += part.finish(&mut self.journal)?;
        Ok(None)
    }
}

fn write_file(path: &Path, bytes: &[u8]) -> Result<(), ExportError> {
    let write = || {
        let mut file = File::create_new(path)?;
        file.write_all(bytes)?;
        file.sync_all()
    };
    write().map_err(|error| named(path, error))
}

fn named(path: &Path, reason: std::io::Error) -> ExportError {
    ExportError::File {
        path: path.to_path_buf(),
        reason,
    }
}
