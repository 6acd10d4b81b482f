//! Events: the begin and the end of each interval of each lane, by number.
//!
//! Rows are numbered lane by lane in the order of their starts, and row *n* has the events *2n*, its begin, and
//! *2n + 1*, its end. So all lists by event are plain vectors.

use trueno_analysis::lanes::{self, Class, Lane, Lanes, Span};
use trueno_plugin::{Error, Result, Run};

pub type Event = u32;
pub const NONE: Event = u32::MAX;
/// Limit on rows: the numbers of events and [gates](crate::program_order) must leave the top bit free.
const MAX_ROWS: usize = (1 << 29) - 1;

#[inline]
pub fn begin(row: u32) -> Event {
    2 * row
}

#[inline]
pub fn end(row: u32) -> Event {
    2 * row + 1
}

/// Loads the lanes whose rows have events.
///
/// A wait and the call that waited may have the very same times; then the wait is the inner one. A stream that waits
/// holds up no host: such rows have no events.
///
/// # Errors
/// An input lacks a column or has it in another type.
pub fn load(run: &mut Run) -> Result<Lanes> {
    let mut lanes = lanes::load(run)?;
    let labels = lanes.labels.all().iter();
    let is_wait: Vec<bool> = labels.map(|label| label.class == Class::Wait).collect();
    if is_wait.contains(&true) {
        let labels = lanes.labels.all().iter().zip(&is_wait);
        let of_streams = labels
            .map(|(label, is_wait)| *is_wait && lanes.texts.text(label.name) == "stream_wait");
        let of_streams: Vec<bool> = of_streams.collect();
        for lane in &mut lanes.lanes {
            lane.spans.retain(|span| !of_streams[span.label as usize]);
            waits_inside(&mut lane.spans, &is_wait);
        }
    }
    lanes.lanes.retain(|lane| !lane.spans.is_empty());
    Ok(lanes)
}

/// Sorts waits behind other spans with the same times, so that the wait is the inner one.
fn waits_inside(spans: &mut [Span], is_wait: &[bool]) {
    let same = |a: &Span, b: &Span| (a.start_ns, a.end_ns) == (b.start_ns, b.end_ns);
    for spans in spans.chunk_by_mut(same).filter(|spans| spans.len() > 1) {
        spans.sort_by_key(|span| is_wait[span.label as usize]);
    }
}

pub struct Events<'a> {
    pub lanes: &'a Lanes,
    /// Number of each lane's first row, plus the total at the end.
    firsts: Vec<u32>,
}

impl<'a> Events<'a> {
    /// Numbers the rows.
    ///
    /// # Errors
    /// There are more of them than numbers.
    pub fn new(lanes: &'a Lanes) -> Result<Self> {
        let mut firsts = vec![0];
        let mut rows = 0;
        for lane in &lanes.lanes {
            rows += lane.spans.len();
            if rows > MAX_ROWS {
                return Err(Error::failed(format!("more than {MAX_ROWS} rows")));
            }
            firsts.push(rows as u32);
        }
        Ok(Self { lanes, firsts })
    }

    pub fn rows(&self) -> usize {
        self.firsts.last().map_or(0, |rows| *rows as usize)
    }

    pub fn lanes(&self) -> impl Iterator<Item = (u32, &'a Lane)> {
        let lanes = self.lanes;
        self.firsts.iter().copied().zip(&lanes.lanes)
    }

    #[inline]
    pub fn lane(&self, row: u32) -> usize {
        self.firsts.partition_point(|first| *first <= row) - 1
    }

    #[inline]
    pub fn span(&self, row: u32) -> &'a Span {
        let lane = self.lane(row);
        &self.lanes.lanes[lane].spans[(row - self.firsts[lane]) as usize]
    }

    /// Recorded time of an event, with the same origin as the lanes' times.
    pub fn time_ns(&self, event: Event) -> i64 {
        let span = self.span(event / 2);
        match event % 2 {
            0 => span.start_ns,
            _ => span.end_ns,
        }
    }

    pub fn name(&self, row: u32) -> &'a str {
        let label = self.lanes.labels.get(self.span(row).label);
        self.lanes.texts.text(label.name)
    }
}
