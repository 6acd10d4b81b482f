//! A timeline, a row for each depth of each lane, in a size that a page can hold.

use std::collections::BTreeMap;

/// Intervals of a run by lane and depth.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Timeline {
    /// Earliest time, nanoseconds since the start of the run; 0 unless something began earlier.
    pub from_ns: i64,
    pub until_ns: i64,
    /// Names, those with the most time first.
    pub names: Vec<String>,
    /// Category of each name; `None`: no rule fits it.
    pub categories: Vec<Option<String>>,
    /// Words of rows about themselves, each text once; the first is empty.
    pub details: Vec<String>,
    /// Pairs of intervals of which one led to the other, by their numbers row by row.
    pub links: Vec<Link>,
    /// Lanes in their order, each from the outermost intervals to the innermost.
    pub rows: Vec<Row>,
    /// Lanes that threads share with others of their pool, by the threads' own names.
    pub shared_lanes: BTreeMap<String, String>,
    /// Intervals of the run.
    pub spans: u64,
    /// Intervals longer than this are kept as they are; the others are part of slices.
    pub longer_than_ns: Option<i64>,
    /// Slices of the whole time in which the others are summed up.
    pub slices: usize,
    /// Lanes that are left out, as they have the least time.
    pub lanes_left_out: usize,
    /// Self time by stack of names; lanes stand side by side at depth 0.
    pub frames: Vec<Frame>,
    pub curves: Vec<Curve>,
}

/// A value over time, drawn as a step function.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    pub name: String,
    /// `None`: a count.
    pub unit: Option<String>,
    /// Number of [`Timeline::rows`] above it.
    pub after: usize,
    /// `None`: every change is there. Otherwise the value of a slice of this length is the highest in it.
    pub slice_ns: Option<i64>,
    /// Times in order, each with the value from then on. Before the first, the value is not known.
    pub changes: Vec<(i64, f64)>,
}

/// One interval that is kept as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Nanoseconds since the start of the run.
    pub start_ns: i64,
    pub dur_ns: i64,
    /// Index into [`Timeline::names`].
    pub name: u32,
    /// Unique in the run.
    pub id: i64,
    /// Index into [`Timeline::details`], of which there are none where some intervals are summed up.
    pub detail: u32,
}

/// One interval that led to another: a launch to its kernel, an operator to its backward pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Link {
    /// Number of the one that came first, counted over [`Timeline::rows`] and their spans.
    pub from: u32,
    /// Number of the other.
    pub to: u32,
}

/// Share of one slice that short intervals filled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Slice {
    /// 0: nothing, 255: all of it.
    pub filled: u8,
    /// The name with the most time in it.
    pub name: u32,
}

/// Intervals of a lane at one depth; those of a row do not overlap.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    pub lane: String,
    /// 0 is the outermost.
    pub depth: usize,
    /// Spans in order of time.
    pub spans: Vec<Span>,
    /// No slices, or as many as the timeline has.
    pub slices: Vec<Slice>,
}

/// One frame; `at` and `total_ns` are on one axis, frames of a depth do not overlap.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    /// Name of the intervals.
    pub name: String,
    /// Lanes are at 0.
    pub depth: usize,
    /// Its start on the axis.
    pub at_ns: i64,
    /// Time with the frames above it.
    pub total_ns: i64,
    /// Time without them.
    pub self_ns: i64,
}

/// Stacks of functions as one picture.
#[derive(Clone, Debug, PartialEq)]
pub struct StackPicture {
    /// Name of a file that holds it.
    pub name: &'static str,
    /// Meaning of its widths.
    pub title: &'static str,
    /// Frames; threads stand side by side at depth 0.
    pub frames: Vec<Frame>,
}
