//! Rows with times, as others may lie in them.

use trueno_analysis::interner::Interner;
use trueno_plugin::{Batch, BoolSlice, I64Slice, Result, U64Slice};

/// Tables with intervals, in the order of reports.
pub const TABLES: [&str; 6] = ["bricks", "kernels", "tiles", "syncs", "calls", "transfers"];

/// Numbers of threads; `None`: not recorded.
pub type Threads = Interner<Option<i64>>;

/// A row as nesting looks at it.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    pub start_ns: i64,
    pub dur_ns: i64,
    parent: u64,
    /// Number among [`Threads`].
    pub thread: u32,
    has_parent: bool,
    /// True if the interval is only known to contain the work, or a device ran it: it tells
    /// nothing of the host.
    pub is_unclear: bool,
}

impl Row {
    /// The row that it says it lies in.
    pub fn parent(&self) -> Option<u64> {
        self.has_parent.then_some(self.parent)
    }

    /// Its end; an impossible end is as late as can be.
    #[inline]
    pub fn end_ns(&self) -> i64 {
        self.start_ns.saturating_add(self.dur_ns)
    }

    /// True if it is clear whether one lies in the other.
    #[inline]
    pub fn is_comparable(&self, around: &Self) -> bool {
        let is_clear = |row: &Self| !row.is_unclear && row.dur_ns >= 0;
        is_clear(self) && is_clear(around)
    }

    /// True if it lies in another row as it should: a row of `bricks` and a row of another thread begin
    /// in it, others end in it too.
    #[inline]
    pub fn lies_in(&self, around: &Self, is_brick: bool) -> bool {
        let same_thread = self.thread == around.thread;
        let begins =
            self.start_ns >= around.start_ns && (!same_thread || self.start_ns <= around.end_ns());
        let may_outlive = is_brick || !same_thread;
        begins && (may_outlive || self.end_ns() <= around.end_ns())
    }
}

/// The columns of one batch; those that a table lacks are `None`.
pub struct Columns<'a> {
    /// Unique in the run.
    pub id: U64Slice<'a>,
    parent: Option<U64Slice<'a>>,
    thread: I64Slice<'a>,
    device: Option<I64Slice<'a>>,
    start_ns: I64Slice<'a>,
    dur_ns: I64Slice<'a>,
    is_bound: Option<BoolSlice<'a>>,
    is_scope: Option<BoolSlice<'a>>,
    valid: Option<BoolSlice<'a>>,
}

impl<'a> Columns<'a> {
    /// The columns of a batch.
    ///
    /// # Errors
    /// It lacks a column or has it in another type.
    pub fn read(batch: &Batch<'a>) -> Result<Self> {
        let bool = |column| batch.has(column).then(|| batch.bool(column)).transpose();
        let has = |column| batch.has(column);
        Ok(Self {
            id: batch.u64("id")?,
            parent: has("parent").then(|| batch.u64("parent")).transpose()?,
            thread: batch.i64("thread")?,
            device: has("device").then(|| batch.i64("device")).transpose()?,
            start_ns: batch.i64("start_ns")?,
            dur_ns: batch.i64("dur_ns")?,
            is_bound: bool("is_bound")?,
            is_scope: bool("is_scope")?,
            valid: bool("valid")?,
        })
    }

    /// One row; a time that is not there is 0.
    #[inline]
    pub fn row(&self, row: usize, threads: &mut Threads) -> Row {
        let parent = self.parent.and_then(|parent| parent.get(row));
        let on_device = self.device.is_some_and(|device| device.get(row).is_some());
        Row {
            start_ns: self.start_ns.get(row).unwrap_or(0),
            dur_ns: self.dur_ns.get(row).unwrap_or(0),
            parent: parent.unwrap_or(0),
            thread: threads.number(self.thread.get(row)),
            has_parent: parent.is_some(),
            is_unclear: on_device || self.is_bound(row),
        }
    }

    /// True if the interval is only known to contain the work.
    #[inline]
    pub fn is_bound(&self, row: usize) -> bool {
        flag(self.is_bound, row, false)
    }

    /// True if it tells when work ran: a valid one that is neither bound nor a run, iteration or layer.
    #[inline]
    pub fn is_work(&self, row: usize) -> bool {
        flag(self.valid, row, true) && !self.is_bound(row) && !flag(self.is_scope, row, false)
    }
}

#[inline]
fn flag(column: Option<BoolSlice<'_>>, row: usize, absent: bool) -> bool {
    column.and_then(|column| column.get(row)).unwrap_or(absent)
}
