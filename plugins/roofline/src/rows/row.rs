//! A row of either table, as it is booked.

use trueno_analysis::roofline::model::{Reason, Work, achieved};
use trueno_plugin::rank::of_key;

use super::{DeclaredWork, LaneKey};
use crate::label::Source;

pub(super) struct Row {
    pub(super) source: Source,
    pub(super) id: u64,
    pub(super) lane: LaneKey,
    pub(super) start_ns: i64,
    pub(super) dur_ns: i64,
    pub(super) is_bound: bool,
    pub(super) is_valid: bool,
    pub(super) name: u32,
    pub(super) backend: Option<u32>,
    /// Number of the pair of name and backend in its table.
    pub(super) texts: u32,
    pub(super) device: Option<i64>,
    pub(super) flops: Option<u64>,
    pub(super) bytes: Option<u64>,
    pub(super) group: u32,
    pub(super) is_top: bool,
    pub(super) tells: bool,
}

impl Row {
    pub(super) fn declared(&self, label: u32, group: u32) -> DeclaredWork {
        DeclaredWork {
            flops: self.flops.unwrap_or(0),
            bytes: self.bytes.unwrap_or(0),
            label,
            group,
        }
    }

    pub(super) fn usable(&self, flops: f64, bytes: f64) -> std::result::Result<(), Reason> {
        let dur_ns = self.dur_ns as f64;
        achieved(&Work {
            flops,
            bytes,
            dur_ns,
        })
        .map(|_| ())
    }
}

/// The lane of a thread. Rows without a thread share one lane per rank.
pub(super) fn lane_of_thread(thread: Option<i64>, id: u64) -> LaneKey {
    (-1, thread.unwrap_or_else(|| -1 - of_key(id).cast_signed()))
}
