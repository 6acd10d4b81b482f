//! A part of the time of some lanes, as so many pixels show it.

use std::collections::HashMap;

use serde::{Serialize, Serializer};

use super::lanes::Timeline;
use super::row::Row;
use super::{Label, LaneHead};
use crate::refusal::Refusal;

pub const MAX_PIXELS: u32 = 8_192;
pub const MAX_LANES: usize = 256;
/// Integers up to this are exact in JavaScript.
const EXACT: u64 = 1 << 53;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WindowRequest {
    pub from_ns: i64,
    /// Exclusive.
    pub until_ns: i64,
    pub pixels: u32,
    pub lanes: Vec<usize>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct WindowView {
    /// Start of the window. Other starts are relative to it.
    pub from: i64,
    pub until: i64,
    /// Intervals of at least this duration are listed individually.
    pub pixel_ns: i64,
    pub spans: u64,
    pub labels: Vec<Label>,
    /// One per depth of each lane with intervals.
    pub rows: Vec<RowView>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RowView {
    pub lane: usize,
    pub depth: usize,
    /// Start, duration, label and id of individual intervals.
    pub spans: Vec<(i64, i64, u32, Id)>,
    /// Groups of intervals that are too short to see: start of the first, end of the last, count, sum of
    /// durations, label and duration of the longest.
    pub merged: Vec<(i64, i64, u64, u64, u32, i64)>,
}

/// An id, as a string if a script would round it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Id(pub u64);

impl Serialize for Id {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        if self.0 > EXACT {
            to.collect_str(&self.0)
        } else {
            to.serialize_u64(self.0)
        }
    }
}

impl Timeline {
    /// Intervals in a window of time.
    ///
    /// # Errors
    /// The request makes no sense, or names a lane that there is not.
    pub fn window(&self, of: &WindowRequest) -> Result<WindowView, Refusal> {
        if of.until_ns <= of.from_ns {
            return Err(Refusal::Wrong(
                "the window ends before it begins".to_owned(),
            ));
        }
        if !(1..=MAX_PIXELS).contains(&of.pixels) || of.lanes.len() > MAX_LANES {
            let why =
                format!("a window has 1 to {MAX_PIXELS} pixels and at most {MAX_LANES} lanes");
            return Err(Refusal::Wrong(why));
        }
        let width_ns = i128::from(of.until_ns) - i128::from(of.from_ns);
        let pixel_ns = (width_ns + i128::from(of.pixels) - 1) / i128::from(of.pixels);
        let mut made = Making {
            window: of,
            pixel_ns: i64::try_from(pixel_ns).unwrap_or(i64::MAX),
            labels: HashMap::new(),
            view: WindowView {
                from: of.from_ns,
                until: of.until_ns,
                ..WindowView::default()
            },
        };
        made.view.pixel_ns = made.pixel_ns;
        for lane in &of.lanes {
            let Some(rows) = self.rows_of(*lane) else {
                return Err(Refusal::Missing(format!("there is no lane {lane}")));
            };
            for (depth, row) in rows.iter().enumerate() {
                made.add(*lane, depth, row);
            }
        }
        let mut numbers: Vec<_> = made.labels.into_iter().collect();
        numbers.sort_unstable_by_key(|(_, number)| *number);
        let labels = numbers.into_iter().map(|(label, _)| self.label(label));
        made.view.labels = labels.collect();
        Ok(made.view)
    }

    pub fn lane_heads(&self) -> &[LaneHead] {
        self.heads()
    }
}

struct Making<'a> {
    window: &'a WindowRequest,
    pixel_ns: i64,
    labels: HashMap<u32, u32>,
    view: WindowView,
}

impl Making<'_> {
    fn label(&mut self, label: u32) -> u32 {
        let next = self.labels.len() as u32;
        *self.labels.entry(label).or_insert(next)
    }

    fn after_start(&self, time_ns: i64) -> i64 {
        time_ns.saturating_sub(self.window.from_ns)
    }

    fn add(&mut self, lane: usize, depth: usize, row: &Row) {
        let within = row.within(self.window.from_ns, self.window.until_ns);
        if within.is_empty() {
            return;
        }
        self.view.spans += within.len() as u64;
        let mut wide = Vec::new();
        row.each_of(within.clone(), self.pixel_ns, |at| wide.push(at));
        let mut view = RowView {
            lane,
            depth,
            ..RowView::default()
        };
        let mut reached = within.start;
        for at in wide {
            self.merge(row, reached..at, &mut view);
            self.single(row, at, &mut view);
            reached = at + 1;
        }
        self.merge(row, reached..within.end, &mut view);
        self.view.rows.push(view);
    }

    fn single(&mut self, row: &Row, at: usize, view: &mut RowView) {
        let start = self.after_start(row.start_ns(at));
        let label = self.label(row.label(at));
        let span = (start, row.duration_ns(at), label, Id(row.id(at)));
        view.spans.push(span);
    }

    /// Merges intervals within each pixel. One that is alone in its pixel is listed individually.
    fn merge(&mut self, row: &Row, short: std::ops::Range<usize>, view: &mut RowView) {
        let mut at = short.start;
        while at < short.end {
            let next_ns = self.next_pixel(row.start_ns(at));
            let until = row.first_from(at, next_ns).clamp(at + 1, short.end);
            if until == at + 1 {
                self.single(row, at, view);
            } else {
                let longest = row.longest_of(at..until);
                view.merged.push((
                    self.after_start(row.start_ns(at)),
                    self.after_start(row.end_ns(until - 1)),
                    (until - at) as u64,
                    row.sum_ns(at..until),
                    self.label(row.label(longest)),
                    row.duration_ns(longest),
                ));
            }
            at = until;
        }
    }

    /// End of the pixel that contains a time. Times before the window belong to its first pixel.
    fn next_pixel(&self, time_ns: i64) -> i64 {
        let pixel_ns = i128::from(self.pixel_ns);
        let from_ns = i128::from(self.window.from_ns);
        let after = (i128::from(time_ns) - from_ns).max(0);
        let next = from_ns + (after / pixel_ns + 1) * pixel_ns;
        i64::try_from(next).unwrap_or(i64::MAX)
    }
}
