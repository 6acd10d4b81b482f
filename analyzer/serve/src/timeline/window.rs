//! A part of the time of some lanes, as so many pixels show it.

use std::collections::HashMap;

use serde::{Serialize, Serializer};

use super::lanes::Timeline;
use super::row::Row;
use super::{Label, LaneHead};
use crate::refusal::Refusal;

/// Pixels of a window, at most.
pub const MAX_PIXELS: u32 = 8_192;
/// Lanes of a window, at most.
pub const MAX_LANES: usize = 256;
/// Whole numbers that scripts hold exactly.
const EXACT: u64 = 1 << 53;

/// A part of the time, and the lanes that are shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WindowRequest {
    pub from_ns: i64,
    /// Its end, which is not part of it.
    pub until_ns: i64,
    /// Width on the screen.
    pub pixels: u32,
    pub lanes: Vec<usize>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct WindowView {
    /// Its start, from which starts are counted.
    pub from: i64,
    pub until: i64,
    /// Intervals that last so long or longer stand by themselves.
    pub pixel_ns: i64,
    /// Intervals in the window, on these lanes.
    pub spans: u64,
    /// Tables and names that numbers stand for.
    pub labels: Vec<Label>,
    /// One for each depth of each lane that has any.
    pub rows: Vec<RowView>,
}

/// Intervals of one lane at one depth.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RowView {
    /// Number of the lane.
    pub lane: usize,
    /// Number of intervals around it.
    pub depth: usize,
    /// Start, duration, label and id of each that stands by itself.
    pub spans: Vec<(i64, i64, u32, Id)>,
    /// Start of the first, end of the last, how many, sum of their durations, label and duration of the longest, of
    /// those that are too short to be seen by themselves.
    pub merged: Vec<(i64, i64, u64, u64, u32, i64)>,
}

/// An id; as text where a script would round it.
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
    /// The intervals of a part of the time.
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

    /// Names and sizes of the lanes.
    pub fn lane_heads(&self) -> &[LaneHead] {
        self.heads()
    }
}

struct Making<'a> {
    window: &'a WindowRequest,
    pixel_ns: i64,
    /// Numbers of the view, by those of the run.
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

    /// Those of each pixel together; one that is alone in its pixel stands by itself.
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

    /// End of the pixel that a time lies in; what lies before the window belongs to the first.
    fn next_pixel(&self, time_ns: i64) -> i64 {
        let pixel_ns = i128::from(self.pixel_ns);
        let from_ns = i128::from(self.window.from_ns);
        let after = (i128::from(time_ns) - from_ns).max(0);
        let next = from_ns + (after / pixel_ns + 1) * pixel_ns;
        i64::try_from(next).unwrap_or(i64::MAX)
    }
}
