//! The row of `bricks`, or kernel of the host, that a moment of a thread lies in: the innermost one.

use std::collections::BTreeMap;

use trueno_analysis::hash::FastMap;
use trueno_analysis::interner::{Interner, Texts};
use trueno_analysis::name_groups::NameGroups;
use trueno_analysis::start_order::{Interval, sort_by_start};
use trueno_analysis::sweep::OpenIntervals;
use trueno_plugin::{Batch, Result, Run};

use crate::sums::BrickKey;

const KERNEL: &str = "kernel";

#[derive(Clone, Copy, Debug)]
struct Row {
    start_ns: i64,
    end_ns: i64,
    id: u64,
    label: u32,
}

impl Interval for Row {
    fn times(&self) -> (i64, i64, u64) {
        (self.start_ns, self.end_ns, self.id)
    }
}

/// Rows of each thread, sorted by start.
#[derive(Debug, Default)]
pub struct Enclosing {
    threads: BTreeMap<i64, Vec<Row>>,
    labels: Interner<(u32, u32)>,
    texts: Texts,
}

impl Enclosing {
    /// Reads the rows.
    ///
    /// # Errors
    /// An input lacks a column or has it in another type.
    pub fn read(run: &mut Run) -> Result<Self> {
        let mut out = Self::default();
        let groups = NameGroups::read(run)?;
        let kinds = out.texts.read_distinct(run, "brick_kinds")?;
        let mut brick_names = out.texts.read_distinct(run, "brick_names")?;
        let mut kernel_names = out.texts.read_distinct(run, "kernel_names")?;
        groups.apply(&mut brick_names, &mut out.texts);
        groups.apply(&mut kernel_names, &mut out.texts);
        let mut batches = run.batches("bricks")?;
        while let Some(batch) = batches.next_batch()? {
            let kind_id = batch.i64("kind_id")?;
            out.add(&batch, &brick_names, |row| {
                kinds.get(&kind_id.get(row)?).copied()
            })?;
        }
        drop(batches);
        let kernel = out.texts.number(KERNEL);
        let mut batches = run.batches("kernels")?;
        while let Some(batch) = batches.next_batch()? {
            out.add(&batch, &kernel_names, |_| Some(kernel))?;
        }
        for rows in out.threads.values_mut() {
            sort_by_start(rows);
        }
        Ok(out)
    }

    fn add(
        &mut self,
        batch: &Batch<'_>,
        names: &FastMap<i64, u32>,
        kind: impl Fn(usize) -> Option<u32>,
    ) -> Result<()> {
        let (id, thread) = (batch.u64("id")?, batch.i64("thread")?);
        let (start_ns, dur_ns) = (batch.i64("start_ns")?, batch.i64("dur_ns")?);
        let name_id = batch.i64("name_id")?;
        let read = |row: usize| {
            let start_ns = start_ns.get(row)?;
            let end_ns = start_ns.checked_add(dur_ns.get(row)?)?;
            let name = names.get(&name_id.get(row)?).copied()?;
            let times = (start_ns, end_ns, id.get(row)?);
            Some((thread.get(row)?, times, (kind(row)?, name)))
        };
        // A row that lasts less than nothing encloses nothing.
        for (thread, (start_ns, end_ns, id), label) in (0..batch.rows()).filter_map(read) {
            if start_ns < end_ns {
                let label = self.labels.number(label);
                self.threads.entry(thread).or_default().push(Row {
                    start_ns,
                    end_ns,
                    id,
                    label,
                });
            }
        }
        Ok(())
    }

    pub fn is_empty(&self) -> bool {
        self.threads.is_empty()
    }

    /// Calls `found` with the label of the innermost row around each moment of a thread; moments outside all
    /// rows are skipped. Moments must be sorted.
    pub fn locate<T: Copy>(
        &self,
        thread: i64,
        moments: impl Iterator<Item = (i64, T)>,
        mut found: impl FnMut(u32, T),
    ) {
        let Some(rows) = self.threads.get(&thread) else {
            return;
        };
        let mut rows = rows.iter().peekable();
        let mut open: OpenIntervals<u32> = OpenIntervals::default();
        for (time_ns, moment) in moments {
            while let Some(row) = rows.next_if(|row| row.start_ns <= time_ns) {
                open.advance(row.start_ns, |_, _, _| {});
                open.open(row.end_ns, row.label);
            }
            open.advance(time_ns, |_, _, _| {});
            if let Some(label) = open.innermost() {
                found(label, moment);
            }
        }
    }

    pub fn key(&self, label: u32) -> BrickKey {
        let (kind, name) = self.labels.get(label);
        BrickKey {
            kind: self.texts.text(kind).to_owned(),
            name: self.texts.text(name).to_owned(),
        }
    }
}
