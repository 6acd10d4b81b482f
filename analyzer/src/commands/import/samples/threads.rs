//! Threads of both runs, by their numbers in the operating system.

use std::collections::{BTreeMap, BTreeSet};

use polars::prelude::DataFrame;
use trueno_engine::frame::{text_at, u64_at};
use trueno_format::run_writer::RunWriter;
use trueno_format::schema::ThreadRow;

pub(super) struct Sampled {
    name: Option<String>,
    os_id: u64,
    /// Its row in the new run; `None` if it is of another process.
    pub row: Option<u32>,
    pub is_used: bool,
}

pub(super) struct Threads {
    process: Option<u64>,
    recorded: BTreeMap<u64, u32>,
    /// First thread number after those of threads that recorded themselves.
    first_new: u32,
    next: u32,
    pub sampled: BTreeMap<u32, Sampled>,
}

impl Threads {
    pub fn new(recorded: &DataFrame, process: Option<u32>) -> Self {
        let number = |row| u64_at(recorded, "thread", row).and_then(|n| u32::try_from(n).ok());
        let rows = 0..recorded.height();
        let numbers: BTreeSet<u32> = rows.clone().filter_map(number).collect();
        let by_id = rows.filter_map(|row| Some((u64_at(recorded, "os_id", row)?, number(row)?)));
        let first_new = numbers.last().map_or(0, |last| last.saturating_add(1));
        Self {
            process: process.map(u64::from),
            recorded: by_id.collect(),
            first_new,
            next: first_new,
            sampled: BTreeMap::new(),
        }
    }

    pub fn of_samples(&mut self, threads: &DataFrame) {
        for row in 0..threads.height() {
            let number = u64_at(threads, "thread", row).and_then(|n| u32::try_from(n).ok());
            let (Some(number), Some(os_id)) = (number, u64_at(threads, "os_id", row)) else {
                continue;
            };
            let is_own = self.process.is_some() && u64_at(threads, "process", row) == self.process;
            let row_of_it = is_own.then(|| {
                *self.recorded.entry(os_id).or_insert_with(|| {
                    self.next += 1;
                    self.next - 1
                })
            });
            let thread = Sampled {
                name: text_at(threads, "name", row).map(str::to_owned),
                os_id,
                row: row_of_it,
                is_used: false,
            };
            self.sampled.insert(number, thread);
        }
    }

    /// Writes the threads that have samples but did not record themselves. Their rows follow the others.
    pub fn add(&self, rows: &mut RunWriter) -> anyhow::Result<u64> {
        let mut added = BTreeMap::new();
        for thread in self.sampled.values().filter(|thread| thread.is_used) {
            if let Some(row) = thread.row.filter(|row| *row >= self.first_new) {
                added.insert(row, thread);
            }
        }
        for (row, thread) in &added {
            let name = thread.name.as_ref().map(|name| rows.text(name));
            rows.add(&ThreadRow {
                thread: *row,
                name,
                os_id: Some(thread.os_id),
                process: self.process,
                ..ThreadRow::default()
            })?;
        }
        Ok(added.len() as u64)
    }
}
