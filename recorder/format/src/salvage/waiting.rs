//! Rows that waited for their batch.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::Ordering;

use super::live_folder::LiveFolder;
use super::on_disk::OnDisk;
use super::table::SalvageTables;
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
        // A link that leads nowhere is there, and cannot be read.
        if path.symlink_metadata().is_err() {
            if found.has_rows.contains(&number) {
                let text = "no longer exists; the rows that waited in it are lost, and their number is not known";
                found.problem(&path, text);
                found.lost_rows.insert(number);
            }
            continue;
        }
        let (memory, bytes) = match Mapping::copy_of(&path) {
            Ok(copy) => copy,
            Err(error) => {
                found.problem(&path, &format!("cannot be read: {error}"));
                found.lost_rows.insert(number);
                continue;
            }
        };
        if !FileKind::is_finished_in(&memory, bytes) {
            if found.has_rows.contains(&number) && bytes < HEADER_BYTES {
                found.problem(&path, "cut short; the rows that waited in it are lost");
                found.lost_rows.insert(number);
            }
            continue;
        }
        let Some(rows) = WaitingFile::new(&memory, bytes, table) else {
            found.problem(&path, "damaged, or of another version; its rows are lost");
            found.lost_rows.insert(number);
            continue;
        };
        let on_disk = disk.get(table.name).copied().unwrap_or_default();
        if on_disk.batches > rows.batches() {
            // Written just before the process died, and not yet forgotten here.
            continue;
        }
        if on_disk.batches == rows.batches() {
            waiting.insert(table.name, rows.count());
        }
        let damaged = rows.copy(found, number, tables);
        if damaged > 0 {
            found.problem(&path, &format!("{damaged} rows are damaged and left out"));
            found.lost_rows.insert(number);
        }
    }
    waiting
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
