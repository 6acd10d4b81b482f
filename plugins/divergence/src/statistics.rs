//! Counts and moments of the tensors that need them: those whose bits differ, and those that are listed.
//!
//! They are read while the pairs are judged. Rows in the order of the data flow are near each other in the table too, so
//! that few are held at a time. Of ten million pairs with equal bits nobody looks at them.

use std::collections::VecDeque;

use trueno_analysis::hash::{FastMap, FastSet};
use trueno_plugin::{Batch, Batches, F64Slice, I64Slice, Result, Run, U64Slice};

use crate::inputs::Names;
use crate::narrow::Bits;
use crate::rows::Side;

/// What was recorded of one tensor. Of rows that need no statistics, nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Statistics {
    pub nan_count: Option<u64>,
    pub inf_count: Option<u64>,
    pub zero_count: Option<u64>,
    pub min: Option<f64>,
    pub max: Option<f64>,
    pub absmax: Option<f64>,
    /// Mean of the finite elements.
    pub mean: Option<f64>,
    /// Euclidean norm of the finite elements.
    pub l2: Option<f64>,
}

/// Reads the statistics of the rows of one run that need them, in any order; quickest in that of the table.
pub struct Reader<'a> {
    side: &'a Side,
    needed: &'a Bits,
    /// `None`: all were read, or none is needed.
    batches: Option<Batches>,
    /// Rows before this one were read.
    next_row: usize,
    held: VecDeque<Chunk>,
    /// Where the table came in another order than the rows.
    by_key: FastMap<Key, Statistics>,
    is_kept: bool,
    /// Lists of a chunk that was taken, for the next one.
    spare: (Vec<u32>, Vec<Statistics>),
}

/// The rows of a batch that need statistics.
struct Chunk {
    until_row: usize,
    rows: Vec<u32>,
    statistics: Vec<Statistics>,
    untaken: usize,
    /// Index of the row that is likely taken next.
    next: usize,
}

impl Chunk {
    fn place(&self, row: u32) -> Option<usize> {
        if self.rows.get(self.next) == Some(&row) {
            return Some(self.next);
        }
        self.rows.binary_search(&row).ok()
    }
}

impl<'a> Reader<'a> {
    /// # Errors
    /// The input was read before.
    pub fn new(run: &mut Run, names: &Names, side: &'a Side, needed: &'a Bits) -> Result<Self> {
        let batches = needed.any().then(|| run.batches(names.statistics));
        Ok(Self {
            side,
            needed,
            batches: batches.transpose()?,
            next_row: 0,
            held: VecDeque::new(),
            by_key: FastMap::default(),
            is_kept: false,
            spare: Default::default(),
        })
    }

    /// Rows may be taken more than once.
    pub fn kept(self) -> Self {
        let is_kept = true;
        Self { is_kept, ..self }
    }

    /// The statistics of a row, which are let go of.
    ///
    /// # Errors
    /// A column is missing or of another type.
    pub fn take(&mut self, row: usize) -> Result<Statistics> {
        if !self.needed.get(row) {
            return Ok(Statistics::default());
        }
        while row >= self.next_row && self.batches.is_some() {
            self.read_batch()?;
        }
        let at = self.held.partition_point(|chunk| chunk.until_row <= row);
        let chunk = self.held.get_mut(at);
        let place = chunk.as_ref().and_then(|chunk| chunk.place(row as u32));
        let (Some(chunk), Some(place)) = (chunk, place) else {
            let found = self.by_key.get(&self.side.key(row));
            return Ok(found.copied().unwrap_or_default());
        };
        let found = chunk.statistics[place];
        chunk.untaken -= usize::from(!self.is_kept);
        chunk.next = place + 1;
        if chunk.untaken == 0 {
            let rows = std::mem::take(&mut chunk.rows);
            let statistics = std::mem::take(&mut chunk.statistics);
            self.spare = (rows, statistics);
        }
        while self.held.front().is_some_and(|chunk| chunk.untaken == 0) {
            self.held.pop_front();
        }
        Ok(found)
    }

    fn read_batch(&mut self) -> Result<()> {
        let Some(batches) = &mut self.batches else {
            return Ok(());
        };
        let (side, needed, from) = (self.side, self.needed, self.next_row);
        let Some(batch) = batches.next_batch()? else {
            self.batches = None;
            return Ok(());
        };
        let columns = Columns::of(&batch)?;
        let until = from + batch.rows();
        let is_same = |row: usize| columns.key(row - from) == side.key(row);
        if until <= side.len && (from..until).all(is_same) {
            let (mut rows, mut statistics) = std::mem::take(&mut self.spare);
            rows.clear();
            rows.extend((from..until).filter_map(|row| needed.get(row).then_some(row as u32)));
            statistics.clear();
            statistics.extend(rows.iter().map(|row| columns.get(*row as usize - from)));
            self.next_row = until;
            if !rows.is_empty() {
                self.held.push_back(Chunk {
                    until_row: until,
                    untaken: rows.len(),
                    next: 0,
                    rows,
                    statistics,
                });
            }
            return Ok(());
        }
        // In another order. Rows of one thread, time and hash have equal statistics.
        let keys = (from..side.len).filter(|row| needed.get(*row));
        let keys: FastSet<Key> = keys.map(|row| side.key(row)).collect();
        let mut next = Some(batch);
        while let Some(batch) = next {
            let columns = Columns::of(&batch)?;
            for row in 0..batch.rows() {
                let key = columns.key(row);
                if keys.contains(&key) {
                    self.by_key.insert(key, columns.get(row));
                }
            }
            next = batches.next_batch()?;
        }
        self.batches = None;
        Ok(())
    }
}

/// Thread, time and hash.
type Key = (i64, i64, u64);

struct Columns<'a> {
    thread: I64Slice<'a>,
    time_ns: I64Slice<'a>,
    hash: U64Slice<'a>,
    counts: [U64Slice<'a>; 3],
    moments: [F64Slice<'a>; 5],
}

impl<'a> Columns<'a> {
    fn of(batch: &Batch<'a>) -> Result<Self> {
        let (count, moment) = (|name: &str| batch.u64(name), |name: &str| batch.f64(name));
        Ok(Self {
            thread: batch.i64("thread")?,
            time_ns: batch.i64("time_ns")?,
            hash: batch.u64("hash")?,
            counts: [
                count("nan_count")?,
                count("inf_count")?,
                count("zero_count")?,
            ],
            moments: [
                moment("min")?,
                moment("max")?,
                moment("absmax")?,
                moment("mean")?,
                moment("l2")?,
            ],
        })
    }

    fn key(&self, row: usize) -> Key {
        (
            self.thread.get(row).unwrap_or(0),
            self.time_ns.get(row).unwrap_or(0),
            self.hash.get(row).unwrap_or(0),
        )
    }

    fn get(&self, row: usize) -> Statistics {
        let [nan_count, inf_count, zero_count] = self.counts.map(|column| column.get(row));
        let [min, max, absmax, mean, l2] = self.moments.map(|column| column.get(row));
        Statistics {
            nan_count,
            inf_count,
            zero_count,
            min,
            max,
            absmax,
            mean,
            l2,
        }
    }
}
