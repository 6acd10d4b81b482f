//! Status of a recording, and its summary.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::lock::lock;
use crate::session_state::SessionState;
use trueno_format::schema::TABLES;

/// One table of a [`Status`] or [`Summary`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TableStatus {
    /// Rows recorded: while recording, those the writer has taken; at the end, those on disk.
    pub rows: u64,
    /// Dropped rows: the ring was full, or the writer had failed.
    pub dropped: u64,
}

/// Status of a recording, from [`Recorder::status`](crate::Recorder::status).
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Status {
    /// Tables with rows or drops, by name.
    pub tables: BTreeMap<&'static str, TableStatus>,
    /// Rows recorded, all tables.
    pub rows: u64,
    /// Dropped rows, all tables.
    pub dropped: u64,
    /// Events after [`Recorder::finish`](crate::Recorder::finish), in no table.
    pub late: u64,
    /// Threads that can record now.
    pub threads: usize,
    /// Problems of the writer, in words.
    pub problems: Vec<String>,
}

/// Summary of a recording, from [`Recorder::finish`](crate::Recorder::finish).
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Summary {
    /// The run directory, absolute, at its current place if it was renamed; empty for a disabled recorder.
    pub path: PathBuf,
    /// Time from *recorder ready* to `finish`.
    pub wall_ns: u64,
    /// Tables with rows or drops, by name.
    pub tables: BTreeMap<&'static str, TableStatus>,
    /// Rows on disk, all tables.
    pub rows: u64,
    /// Dropped rows, all tables.
    pub dropped: u64,
    /// Rows that had left a rolling window ([`Builder::keep_last`](crate::Builder::keep_last)), all tables.
    pub discarded: u64,
    /// Rows that were still open when the recording ended, and are in no table: guards that were
    /// dropped after [`Recorder::finish`](crate::Recorder::finish), or never.
    pub open: u64,
}

pub(crate) fn tables(shared: &SessionState) -> (BTreeMap<&'static str, TableStatus>, u64, u64) {
    let mut tables = BTreeMap::new();
    let (mut rows, mut dropped) = (0, 0);
    for (number, table) in TABLES.iter().enumerate().take(TABLES.len()) {
        let status = TableStatus {
            rows: shared.counts.rows.get(number),
            dropped: shared.dropped(number),
        };
        rows += status.rows;
        dropped = u64::saturating_add(dropped, status.dropped);
        if status != TableStatus::default() {
            tables.insert(table.name, status);
        }
    }
    (tables, rows, dropped)
}

impl Status {
    pub(crate) fn read(shared: &SessionState) -> Self {
        let (tables, rows, dropped) = tables(shared);
        let mut problems = lock(&shared.mailbox.problems).clone();
        problems.extend(shared.live.trouble());
        let threads = lock(&shared.threads.recording).len();
        Self {
            tables,
            rows,
            dropped,
            late: shared.late(),
            threads,
            problems,
        }
    }
}
