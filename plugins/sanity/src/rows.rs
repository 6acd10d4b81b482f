//! Rows with times, as others may lie in them.

use trueno_analysis::interner::Interner;
use trueno_plugin::{Batch, BoolSlice, I64Slice, Result, U64Slice};

/// Tables with intervals, in report order.
pub const TABLES: [&str; 6] = ["bricks", "kernels", "tiles", "syncs", "calls", "transfers"];

/// Threads as numbers; `None` is a thread that was not recorded.
pub type Threads = Interner<Option<i64>>;

/// The fields of a row that the nesting check needs.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    pub start_ns: i64,
    pub dur_ns: i64,
    parent: u64,
    pub thread: u32,
    has_parent: bool,
    /// True if the interval only bounds the work, or if a device ran it. Its nesting on the host is then
    /// unknown.
    pub is_unclear: bool,
}

impl Row {
    pub fn parent(&self) -> Option<u64> {
        self.has_parent.then_some(self.parent)
    }

    /// End of the interval, saturating.
    #[inline]
    pub fn end_ns(&self) -> i64 {
        self.start_ns.saturating_add(self.dur_ns)
    }

    /// True if the times of both rows are clear enough to compare.
    #[inline]
    pub fn is_comparable(&self, around: &Self) -> bool {
        let is_clear = |row: &Self| !row.is_unclear && row.dur_ns >= 0;
        is_clear(self) && is_clear(around)
    }

    /// True if the row is nested as expected. A row on another thread must not begin before `around`. On the
    /// same thread a row must begin within it, and unless it is a brick also end within it.
    #[inline]
    pub fn lies_in(&self, around: &Self, is_brick: bool) -> bool {
        let same_thread = self.thread == around.thread;
        let begins =
            self.start_ns >= around.start_ns && (!same_thread || self.start_ns <= around.end_ns());
        let may_outlive = is_brick || !same_thread;
        begins && (may_outlive || self.end_ns() <= around.end_ns())
    }
}

/// The columns of one batch; `None` if the table lacks a column.
pub struct Columns<'a> {
    pub id: U64Slice<'a>,
    parent: Option<U64Slice<'a>>,
    thread: I64Slice<'a>,
    device: Option<I64Slice<'a>>,
    start_ns: I64Slice<'a>,
    dur_ns: I64Slice<'a>,
    is_bound: Option<BoolSlice<'a>>,
    is_scope: Option<BoolSlice<'a>>,
    is_open: Option<BoolSlice<'a>>,
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
            is_open: bool("is_open")?,
            valid: bool("valid")?,
        })
    }

    /// A row. Missing times become 0.
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

    /// True if the interval only bounds the work.
    #[inline]
    pub fn is_bound(&self, row: usize) -> bool {
        flag(self.is_bound, row, false)
    }

    /// True if the row states how long something was open. That it bounds work is then no fault of the recording.
    #[inline]
    pub fn is_open(&self, row: usize) -> bool {
        flag(self.is_open, row, false)
    }

    /// True if the row shows when work ran: it is valid, not a bound, and no run, iteration or layer.
    #[inline]
    pub fn is_work(&self, row: usize) -> bool {
        flag(self.valid, row, true) && !self.is_bound(row) && !flag(self.is_scope, row, false)
    }
}

#[inline]
fn flag(column: Option<BoolSlice<'_>>, row: usize, absent: bool) -> bool {
    column.and_then(|column| column.get(row)).unwrap_or(absent)
}
