//! Rows that waited for their batch.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::Ordering;

use super::live_folder::LiveFolder;
use super::on_disk::OnDisk;
use super::table::SalvageTables;
use crate::kept_rows::kept_files;
use crate::live::rows_name;
use crate::mapped_file::{FileKind, HEADER_BYTES};
use crate::mapping::Mapping;
use crate::schema::{CellSink, ColumnType, TABLES, Table};
use crate::segment::BATCH_ROWS;
use crate::text::{Text, Texts};
use crate::waiting_rows::{
    COLUMN_STRIDE, MAGIC_ROWS, RowOrigin, RowsHeader, VALUES_AT, rows_words,
};

/// Takes the waiting rows of all tables that are not on disk already. For tables whose next batch was still in
/// memory, returns the number of rows found here: 0 while they are being forgotten, from the first one on.
pub(super) fn take(
    live: &Path,
    found: &mut LiveFolder,
    disk: &BTreeMap<String, OnDisk>,
    tables: &mut SalvageTables,
) -> BTreeMap<&'static str, u64> {
    let mut waiting = BTreeMap::new();
    for (number, table) in TABLES.iter().enumerate() {
        let path = live.join(rows_name(table.name));
        let (kept, is_torn) = kept_files(live, table.name).unwrap_or_default();
        if is_torn {
            let text = "some files of full batches no longer exist; their rows are lost, and their number is not known";
            found.problem(&path, text);
            found.lost_rows.insert(number);
        }
        let mut paths = kept;
        // A link that leads nowhere is there, and cannot be read.
        if path.symlink_metadata().is_ok() {
            paths.push(path);
        } else if found.has_rows.contains(&number) && paths.is_empty() {
            let text = "no longer exists; the rows that waited in it are lost, and their number is not known";
            found.problem(&path, text);
            found.lost_rows.insert(number);
        }
        for (nth, path) in paths.into_iter().enumerate() {
            let on_disk = disk.get(table.name).copied().unwrap_or_default();
            if let Some(rows) = take_file(&path, number, nth == 0, found, on_disk, tables) {
                *waiting.entry(table.name).or_default() += rows;
            }
        }
    }
    waiting
}

/// Takes the rows of one file, the oldest of the table or not. The number of rows found in it, if its batch was still in memory.
fn take_file(
    path: &Path,
    number: usize,
    is_oldest: bool,
    found: &mut LiveFolder,
    on_disk: OnDisk,
    tables: &mut SalvageTables,
) -> Option<u64> {
    let table = &TABLES[number];
    let (memory, bytes) = match Mapping::copy_of(path) {
        Ok(copy) => copy,
        Err(error) => {
            found.problem(path, &format!("cannot be read: {error}"));
            found.lost_rows.insert(number);
            return None;
        }
    };
    if !FileKind::is_finished_in(&memory, bytes) {
        if found.has_rows.contains(&number) && bytes < HEADER_BYTES {
            found.problem(path, "cut short; the rows that waited in it are lost");
            found.lost_rows.insert(number);
        }
        return None;
    }
    let Some(rows) = WaitingFile::new(&memory, bytes, table) else {
        found.problem(path, "damaged, or of another version; its rows are lost");
        found.lost_rows.insert(number);
        return None;
    };
    if let (true, Some(rows)) = (is_oldest, rows.header.rows_before()) {
        found.set_discarded(number, rows);
    }
    if on_disk.batches > rows.batches() {
        // Written just before the process died, and not yet forgotten here.
        return None;
    }
    let waits = (on_disk.batches == rows.batches()).then(|| rows.count());
    let damaged = rows.copy(found, number, tables);
    if damaged > 0 {
        found.problem(path, &format!("{damaged} rows are damaged and left out"));
        found.lost_rows.insert(number);
    }
    waits
}

struct WaitingFile<'a> {
    table: &'static Table,
    /// Number of columns in the file. Older versions wrote only the first columns of the table.
    columns: usize,
    header: &'a RowsHeader,
    words: &'a [u64],
}

impl<'a> WaitingFile<'a> {
    fn new(memory: &'a Mapping, bytes: usize, table: &'static Table) -> Option<Self> {
        let fits =
            |columns: &usize| bytes == HEADER_BYTES + rows_words(*columns) * size_of::<u64>();
        let columns = (1..=table.columns.len()).rfind(fits)?;
        if table.columns[columns..].iter().any(|added| !added.nullable) {
            return None;
        }
        let count = rows_words(columns);
        // SAFETY: long enough, aligned to a page; any bits are valid in it.
        let header: &RowsHeader = unsafe { memory.base().cast().as_ref() };
        // SAFETY: the words lie behind the header inside the copy, initialised.
        let words = unsafe {
            let base = memory.base().as_ptr().add(HEADER_BYTES).cast::<u64>();
            std::slice::from_raw_parts(base, count)
        };
        let capacity = header.kind.capacity_of(MAGIC_ROWS, columns as u32)?;
        (capacity == BATCH_ROWS as u64).then_some(Self {
            table,
            columns,
            header,
            words,
        })
    }

    fn batches(&self) -> u64 {
        self.header.batches.load(Ordering::Acquire)
    }

    fn count(&self) -> u64 {
        let rows = self.words[..BATCH_ROWS].iter();
        rows.take_while(|origin| **origin != 0).count() as u64
    }

    fn value(&self, column: usize, row: usize) -> u64 {
        if self.header.varies.load(Ordering::Relaxed) >> column & 1 == 1 {
            self.words[VALUES_AT + column * COLUMN_STRIDE + row]
        } else {
            self.words[BATCH_ROWS + column]
        }
    }

    fn is_there(&self, column: usize, row: usize) -> bool {
        column < self.columns && self.value(self.columns, row) >> column & 1 == 1
    }

    /// Copies the rows that count. Returns the number of rows that could not be copied.
    fn copy(&self, found: &LiveFolder, number: usize, tables: &mut SalvageTables) -> u64 {
        let mut damaged = 0;
        for row in 0..BATCH_ROWS {
            let origin = self.words[row];
            if origin == 0 || !is_committed(found, origin) {
                break;
            }
            if !self.names_are_known(row, tables) {
                damaged += 1;
                continue;
            }
            let Some((columns, _)) = tables.room(number, 1) else {
                return damaged;
            };
            columns.fill_own_row(|to| {
                for (at, column) in self.table.columns.iter().enumerate() {
                    if column.nullable {
                        to.optional(self.is_there(at, row).then(|| self.value(at, row)));
                    } else {
                        to.value(self.value(at, row));
                    }
                }
            });
        }
        damaged
    }

    fn names_are_known(&self, row: usize, tables: &mut SalvageTables) -> bool {
        let mut columns = self.table.columns.iter().enumerate();
        columns.all(|(at, column)| {
            column.ty != ColumnType::Text
                || (column.nullable && !self.is_there(at, row))
                || tables
                    .texts
                    .get(Text::from_number(self.value(at, row) as u32))
                    .is_some()
        })
    }
}

/// True if the ring's tail has passed the record of a row. A ring that does not exist was read to its end.
fn is_committed(found: &LiveFolder, origin: u64) -> bool {
    RowOrigin::record_of(origin).is_none_or(|(number, position)| {
        let ring = found.rings.iter().find(|ring| ring.number() == number);
        ring.is_none_or(|ring| position < ring.header().positions.tail())
    })
}
