//! Rows of any table with intervals, and the lanes they go to.

use std::collections::BTreeMap;

use trueno_plugin::{BoolColumn, I64Column, Result, Table, U64Column};

use super::span::{LaneKey, Span};

/// The columns that all tables with intervals have, as far as they have them.
pub(super) struct Rows<'a> {
    pub(super) id: &'a U64Column,
    pub(super) thread: &'a I64Column,
    pub(super) device: Option<&'a I64Column>,
    pub(super) stream: Option<&'a I64Column>,
    pub(super) start_ns: &'a I64Column,
    pub(super) dur_ns: &'a I64Column,
    pub(super) elements: Option<&'a U64Column>,
    pub(super) is_bound: Option<&'a BoolColumn>,
}

impl<'a> Rows<'a> {
    pub(super) fn read(table: &'a Table) -> Result<Self> {
        let has = |column| table.has(column);
        Ok(Self {
            id: table.u64("id")?,
            thread: table.i64("thread")?,
            device: if has("device") {
                Some(table.i64("device")?)
            } else {
                None
            },
            stream: if has("stream") {
                Some(table.i64("stream")?)
            } else {
                None
            },
            start_ns: table.i64("start_ns")?,
            dur_ns: table.i64("dur_ns")?,
            elements: if has("elements") {
                Some(table.u64("elements")?)
            } else {
                None
            },
            is_bound: if has("is_bound") {
                Some(table.bool("is_bound")?)
            } else {
                None
            },
        })
    }
}

/// A lane while it is read.
#[derive(Default)]
pub(super) struct Filling {
    pub(super) spans: Vec<Span>,
    /// First start and last end, on the run's timeline.
    pub(super) life: Option<(i64, i64)>,
}

impl Filling {
    /// Takes in a row, whatever becomes of it; one whose times cannot be tells nothing.
    pub(super) fn lived(&mut self, start_ns: i64, dur_ns: i64) {
        let end_ns = start_ns.checked_add(dur_ns).filter(|_| dur_ns >= 0);
        if let Some(end_ns) = end_ns {
            let (first_ns, last_ns) = self.life.unwrap_or((start_ns, end_ns));
            self.life = Some((first_ns.min(start_ns), last_ns.max(end_ns)));
        }
    }
}

/// Holds the lane that the last row went to, because the next goes there too.
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
