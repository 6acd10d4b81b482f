//! Rows of any table with intervals, and the lanes they go to.

use std::collections::BTreeMap;

use trueno_plugin::{Batch, BoolSlice, I64Slice, Result, U64Slice};

use super::span::{LaneKey, Span};

/// The columns that tables with intervals have in common, for one batch. Optional ones may be missing.
pub(super) struct Rows<'a> {
    pub(super) id: U64Slice<'a>,
    pub(super) thread: I64Slice<'a>,
    pub(super) device: Option<I64Slice<'a>>,
    pub(super) stream: Option<I64Slice<'a>>,
    pub(super) start_ns: I64Slice<'a>,
    pub(super) dur_ns: I64Slice<'a>,
    pub(super) elements: Option<U64Slice<'a>>,
    pub(super) is_bound: Option<BoolSlice<'a>>,
}

impl<'a> Rows<'a> {
    pub(super) fn read(batch: &Batch<'a>) -> Result<Self> {
        let i64 = |column| batch.has(column).then(|| batch.i64(column)).transpose();
        let u64 = |column| batch.has(column).then(|| batch.u64(column)).transpose();
        let bool = |column| batch.has(column).then(|| batch.bool(column)).transpose();
        Ok(Self {
            id: batch.u64("id")?,
            thread: batch.i64("thread")?,
            device: i64("device")?,
            stream: i64("stream")?,
            start_ns: batch.i64("start_ns")?,
            dur_ns: batch.i64("dur_ns")?,
            elements: u64("elements")?,
            is_bound: bool("is_bound")?,
        })
    }
}

#[derive(Default)]
pub(super) struct Filling {
    pub(super) spans: Vec<Span>,
    /// First start and last end, on the run's timeline.
    pub(super) life: Option<(i64, i64)>,
}

impl Filling {
    /// Extends `life` by a row, even if the row is not used. Rows with invalid times are ignored.
    pub(super) fn lived(&mut self, start_ns: i64, dur_ns: i64) {
        let end_ns = start_ns.checked_add(dur_ns).filter(|_| dur_ns >= 0);
        if let Some(end_ns) = end_ns {
            let (first_ns, last_ns) = self.life.unwrap_or((start_ns, end_ns));
            self.life = Some((first_ns.min(start_ns), last_ns.max(end_ns)));
        }
    }
}

/// Holds the lane of the previous row, because the next row is usually on the same one.
#[derive(Default)]
pub(super) struct Filler {
    current: Option<(LaneKey, Filling)>,
}

impl Filler {
    pub(super) fn lane(
        &mut self,
        key: LaneKey,
        lanes: &mut BTreeMap<LaneKey, Filling>,
    ) -> &mut Filling {
        if self
            .current
            .as_ref()
            .is_none_or(|(current, _)| *current != key)
        {
            std::mem::take(self).back(lanes);
        }
        let current = self
            .current
            .get_or_insert_with(|| (key, std::mem::take(lanes.entry(key).or_default())));
        &mut current.1
    }

    pub(super) fn back(self, lanes: &mut BTreeMap<LaneKey, Filling>) {
        if let Some((key, lane)) = self.current {
            lanes.insert(key, lane);
        }
    }
}
