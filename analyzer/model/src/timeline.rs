//! A timeline, a row for each depth of each lane, in a size that a page can hold.

use std::collections::BTreeMap;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Timeline {
    /// Earliest time in nanoseconds since the start of the run. 0 unless something began earlier.
    pub from_ns: i64,
    pub until_ns: i64,
    /// Sorted by total time, the most first.
    pub names: Vec<String>,
    /// Category of each name; `None` if no rule matches it.
    pub categories: Vec<Option<String>>,
    /// Distinct descriptions of rows. The first one is empty.
    pub details: Vec<String>,
    /// Pairs of intervals of which one led to the other.
    pub links: Vec<Link>,
    /// For each lane, from the outermost to the innermost depth.
    pub rows: Vec<Row>,
    /// Lanes of threads in a pool, by the thread's own name.
    pub shared_lanes: BTreeMap<String, String>,
    pub spans: u64,
    /// Longer intervals are stored individually, shorter ones in slices. `None` if all are stored individually.
    pub longer_than_ns: Option<i64>,
    pub slices: usize,
    pub lanes_left_out: usize,
    /// Self time by stack of names. Lanes are side by side at depth 0.
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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Nanoseconds since the start of the run.
    pub start_ns: i64,
    pub dur_ns: i64,
    pub name: u32,
    /// Unique in the run.
    pub id: i64,
    /// Index into [`Timeline::details`], which is empty if some intervals are only in slices.
    pub detail: u32,
}

/// An interval that led to another: a launch and its kernel, or an operator and its backward pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Link {
    /// Index of the first interval, counted over the spans of all [`Timeline::rows`].
    pub from: u32,
    pub to: u32,
}

/// What short intervals filled of a slice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Slice {
    /// From 0 (nothing) to 255 (all).
    pub filled: u8,
    /// The name with the most time in it.
    pub name: u32,
}

/// Intervals of a lane at one depth. They do not overlap.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    pub lane: String,
    pub depth: usize,
    /// Sorted by time.
    pub spans: Vec<Span>,
    /// Empty, or as many as in the timeline.
    pub slices: Vec<Slice>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    pub name: String,
    /// Lanes have depth 0.
    pub depth: usize,
    pub at_ns: i64,
    /// Time including its children.
    pub total_ns: i64,
    /// Time without its children.
    pub self_ns: i64,
}

/// A flame graph of functions.
#[derive(Clone, Debug, PartialEq)]
pub struct StackPicture {
    /// File name for it, without extension.
    pub name: &'static str,
    /// What the widths mean.
    pub title: &'static str,
    /// Threads are side by side at depth 0.
    pub frames: Vec<Frame>,
}
