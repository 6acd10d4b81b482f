//! The lanes of a run, made from frames as they come.

use std::io::Read;

use super::frames::{Frame, FrameError, frames};
use super::row::Row;
use super::{Curve, Head, Label, LaneHead};

/// Limit on memory reserved in advance, because counts in a frame are not verified yet.
const MAX_ROOM: u64 = 1 << 26;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reading {
    Head(Head),
    Rows(u64),
}

#[derive(Debug, Default)]
pub struct Timeline {
    head: Head,
    heads: Vec<LaneHead>,
    rows: Vec<Vec<Row>>,
    labels: Vec<Label>,
    curves: Vec<Curve>,
    extent_ns: Option<(i64, i64)>,
    too_deep: u64,
}

impl Timeline {
    /// Reads frames until the end, and reports what is already known.
    ///
    /// # Errors
    /// The frames end early, or are no frames of ours.
    pub fn read(from: impl Read, mut tell: impl FnMut(Reading)) -> Result<Self, FrameError> {
        let mut made = Self::default();
        let mut rows_read = 0;
        for frame in frames(from) {
            match frame? {
                Frame::Head(head) => {
                    made.head = head.clone();
                    tell(Reading::Head(head));
                }
                Frame::Progress(rows) => {
                    rows_read = rows_read.max(rows);
                    tell(Reading::Rows(rows_read));
                }
                Frame::Labels(labels) => made.labels = labels,
                Frame::Lane(head) => {
                    let room = |count: &u64| Row::with_capacity((*count).min(MAX_ROOM) as usize);
                    made.rows.push(head.depths.iter().map(room).collect());
                    made.heads.push(head);
                }
                Frame::Curves(curves) => {
                    let is_whole = |of: &Curve| of.times_ns.len() == of.values.len();
                    if !curves.iter().all(is_whole) {
                        return Err(FrameError::Broken("a curve without values"));
                    }
                    made.curves = curves;
                }
                Frame::TooDeep(count) => made.too_deep = count,
                Frame::Spans(spans) => {
                    let rows = made.rows.last_mut();
                    let rows = rows.ok_or(FrameError::Broken("spans before their lane"))?;
                    for span in spans {
                        let row = rows.get_mut(usize::from(span.depth));
                        let row = row.ok_or(FrameError::Broken("a span is too deep"))?;
                        let is_known = (span.label as usize) < made.labels.len();
                        if !is_known || !row.push(span.start_ns, span.dur_ns, span.label, span.id) {
                            return Err(FrameError::Broken("a span is out of order"));
                        }
                        let end_ns = span.start_ns + span.dur_ns;
                        made.extent_ns = Some(match made.extent_ns {
                            Some((from, until)) => (from.min(span.start_ns), until.max(end_ns)),
                            None => (span.start_ns, end_ns),
                        });
                    }
                }
                Frame::End => {
                    made.rows.iter_mut().flatten().for_each(Row::finish);
                    return Ok(made);
                }
            }
        }
        Err(FrameError::Cut)
    }

    pub fn head(&self) -> &Head {
        &self.head
    }

    /// From the first interval, or the start of the run if that is earlier, to the last interval or the end of
    /// the run.
    pub fn extent_ns(&self) -> (i64, i64) {
        let (from, until) = self.extent_ns.unwrap_or((0, 0));
        let from = from.min(0);
        let until = until.max(self.head.wall_ns.unwrap_or(0));
        (from, until.max(from.saturating_add(1)))
    }

    pub fn spans(&self) -> u64 {
        self.rows.iter().flatten().map(|row| row.len() as u64).sum()
    }

    pub fn curves(&self) -> &[Curve] {
        &self.curves
    }

    pub fn too_deep(&self) -> u64 {
        self.too_deep
    }

    pub(super) fn heads(&self) -> &[LaneHead] {
        &self.heads
    }

    pub(super) fn rows_of(&self, lane: usize) -> Option<&[Row]> {
        self.rows.get(lane).map(Vec::as_slice)
    }

    pub(super) fn label(&self, label: u32) -> Label {
        self.labels.get(label as usize).cloned().unwrap_or_default()
    }
}
