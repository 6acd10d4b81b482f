//! Lanes cut into segments: the nodes of the graph.
//!
//! A segment is a stretch of a lane in which one interval was the innermost
//! ([`trueno_analysis::sweep`]). Nesting is no edge: parent and child share
//! a lane, and each instant of it lies in one segment only. Segments are also
//! cut where a dependency begins or ends, so that it runs from the end of one
//! segment to the start of another:
//!
//! ```text
//! thread 0  ├─ parent ─┊────┤├──── wait ────┊┤        ┊ cuts
//!                      ↓ spawns             ↑ joins
//! thread 1             ├──────── task ──────┤
//! ```
//!
//! The part of a wait before the last joined end is *elastic*: it lasted as long
//! as what it waited for, and would be shorter if that were. A cut for another's sake, such as one where a task
//! begins while its parent waits already, leaves it whole: the time between two pieces would be fixed, and no
//! prediction would move it.

use trueno_analysis::hash::FastSet;
use trueno_analysis::lanes::Lanes;

use crate::graph::cutter::Cutter;
use crate::graph::packed_times::Times;
use crate::graph::rank_bitmap::RankBitmap;
use crate::load::dependencies::{Dependency, SpanAt, span};
use crate::load::edges::DependencyKind;

/// No segment, for a dependency that begins before the first or ends after the last one.
pub const NONE: u32 = u32::MAX;

/// All segments, lane by lane and sorted by time. Each list has one entry per segment.
#[derive(Debug, Default)]
pub struct Segments {
    pub starts: Times,
    /// Segments that do not end where the next one begins. Most do.
    apart: RankBitmap,
    /// Ends of the segments in `apart`, by rank.
    ends_apart_ns: Vec<i64>,
    pub span: Vec<u32>,
    pub elastic: Vec<bool>,
    /// First segment of each lane, then the number of all segments.
    pub lane_first: Vec<u32>,
    /// Source and target segment of each dependency, or [`NONE`].
    pub ends: Vec<(u32, u32)>,
}

impl Segments {
    pub fn len(&self) -> usize {
        self.span.len()
    }

    pub fn is_empty(&self) -> bool {
        self.span.is_empty()
    }

    pub fn lane(&self, segment: u32) -> usize {
        self.lane_first.partition_point(|first| *first <= segment) - 1
    }

    #[inline]
    pub fn start_ns(&self, segment: usize) -> i64 {
        self.starts.get(segment)
    }

    /// Equal to the start for an interval without duration.
    #[inline]
    pub fn end_ns(&self, segment: usize) -> i64 {
        match self.apart.rank(segment as u32) {
            Some(rank) => self.ends_apart_ns[rank],
            None => self.start_ns(segment + 1),
        }
    }

    /// Release time: successors may run from the segment's end on, or from its start if it is elastic.
    #[inline]
    pub fn free_ns(&self, segment: usize) -> i64 {
        if self.elastic[segment] {
            self.start_ns(segment)
        } else {
            self.end_ns(segment)
        }
    }
}

pub fn segments(run: &Lanes, dependencies: &[Dependency]) -> Segments {
    let (mut cuts, mut marks) = requests(run, dependencies);
    cuts.sort_unstable_by_key(|cut| (cut.span.lane, cut.time_ns, cut.dependency));
    marks.sort_unstable_by_key(|mark| (mark.span, mark.dependency));
    let spans: usize = run.lanes.iter().map(|lane| lane.spans.len()).sum();
    // Each begin, each end and each cut ends a segment at most.
    let most = 2 * spans + cuts.len();
    let (mut cuts, mut marks) = (&cuts[..], &marks[..]);
    let mut ends = Ends::default();
    let mut out = Segments {
        ends: vec![(NONE, NONE); dependencies.len()],
        starts: Times::with_capacity(most),
        span: Vec::with_capacity(most),
        elastic: Vec::with_capacity(most),
        ..Segments::default()
    };
    for (number, lane) in run.lanes.iter().enumerate() {
        out.lane_first.push(out.len() as u32);
        let (cuts_here, cuts_after) =
            cuts.split_at(cuts.partition_point(|cut| cut.span.lane == number as u32));
        let (marks_here, marks_after) =
            marks.split_at(marks.partition_point(|mark| mark.span.lane == number as u32));
        (cuts, marks) = (cuts_after, marks_after);
        let here = (cuts_here, marks_here);
        Cutter::new(run, dependencies, (&mut out, &mut ends), here).cut(&lane.spans);
    }
    out.lane_first.push(out.len() as u32);
    out.apart = RankBitmap::new(out.len(), ends.finish(&mut out.ends_apart_ns));
    join_elastic(&mut out);
    // They are there to the end, and lists that grow are up to twice as long as what they hold.
    out.starts.shrink_to_fit();
    out.span.shrink_to_fit();
    out.elastic.shrink_to_fit();
    out
}

#[derive(Default)]
pub(crate) struct Ends {
    last: Option<(u32, i64)>,
    apart: Vec<u32>,
    apart_ns: Vec<i64>,
}

impl Ends {
    #[inline]
    pub fn push(&mut self, segment: u32, start_ns: i64, end_ns: i64) {
        if let Some((last, last_ns)) = self.last.replace((segment, end_ns))
            && last_ns != start_ns
        {
            self.apart.push(last);
            self.apart_ns.push(last_ns);
        }
    }

    /// Returns the segments that do not end where the next begins, and stores their ends.
    fn finish(mut self, ends_ns: &mut Vec<i64>) -> Vec<u32> {
        if let Some((last, last_ns)) = self.last {
            self.apart.push(last);
            self.apart_ns.push(last_ns);
        }
        *ends_ns = self.apart_ns;
        self.apart
    }
}

/// Merges touching elastic pieces of a wait unless a dependency leads to the later one.
fn join_elastic(segments: &mut Segments) {
    let mut gone = elastic_again(segments);
    if gone.is_empty() {
        return;
    }
    let mut targets: Vec<u32> = segments.ends.iter().map(|ends| ends.1).collect();
    targets.sort_unstable();
    gone.retain(|segment| targets.binary_search(segment).is_err());
    drop(targets);
    let before = |segment: u32| gone.partition_point(|other| *other < segment) as u32;
    for first in &mut segments.lane_first {
        *first -= before(*first);
    }
    // The end of one that goes is that of the one it is joined to.
    let ends = segments.ends.iter_mut();
    for end in ends.flat_map(|ends| [&mut ends.0, &mut ends.1]) {
        if *end != NONE {
            *end -= gone.partition_point(|other| *other <= *end) as u32;
        }
    }
    let after = |segment: u32| gone.partition_point(|other| *other <= segment) as u32;
    let apart = segments
        .apart
        .iter()
        .map(|segment| segment - after(segment));
    segments.apart = RankBitmap::new(segments.len() - gone.len(), apart);
    let mut starts_ns: Vec<i64> = (0..segments.len())
        .map(|segment| segments.start_ns(segment))
        .collect();
    keep(&mut starts_ns, &gone);
    segments.starts = starts_ns.into_iter().collect();
    keep(&mut segments.span, &gone);
    keep(&mut segments.elastic, &gone);
}

/// Elastic segments that directly follow another of the same wait.
fn elastic_again(segments: &Segments) -> Vec<u32> {
    let again = |segment: &u32| {
        let (this, before) = (*segment as usize, *segment as usize - 1);
        segments.elastic[this]
            && segments.elastic[before]
            && segments.span[this] == segments.span[before]
            && segments.start_ns(this) == segments.end_ns(before)
    };
    let lanes = segments.lane_first.windows(2);
    lanes
        .flat_map(|lane| lane[0] + 1..lane[1])
        .filter(again)
        .collect()
}

/// Removes the entries whose indexes are in the sorted list `gone`.
fn keep<T>(values: &mut Vec<T>, gone: &[u32]) {
    let mut gone = gone.iter().peekable();
    let mut number = 0;
    values.retain(|_| {
        let goes = gone.next_if(|other| **other == number).is_some();
        number += 1;
        !goes
    });
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Want {
    /// The segment that ended there is the source.
    Ended,
    /// The segment that the interval ran there is the source.
    Running,
    /// The target is the first segment of the wait after this instant, or the first after the wait. What the
    /// wait did since [`waits_since`] was waiting.
    Resumed,
    /// The target is the first segment after the interval: what it waited for had ended before.
    After,
    /// No segment; the lane is only cut here.
    Apart,
}

pub(crate) struct Cut {
    pub span: SpanAt,
    pub time_ns: i64,
    pub want: Want,
    pub dependency: u32,
}

/// A dependency whose source or target is the first segment of an interval.
pub(crate) struct Mark {
    pub span: SpanAt,
    pub is_source: bool,
    pub dependency: u32,
}

/// From when on the target of a dependency only waited for its source.
pub(crate) fn waits_since(run: &Lanes, dependency: &Dependency) -> Option<i64> {
    match dependency.kind {
        DependencyKind::Joins | DependencyKind::Awaits | DependencyKind::Wakes => {
            Some(span(run, dependency.to).start_ns)
        }
        // A call works until what it launched begins.
        DependencyKind::Blocks => Some(span(run, dependency.from).start_ns),
        _ => None,
    }
}

/// When the source of a dependency released its target: at its own end, or earlier if the target ended before.
fn lets_go_ns(run: &Lanes, dependency: &Dependency) -> i64 {
    let (from, to) = (span(run, dependency.from), span(run, dependency.to));
    match dependency.kind {
        DependencyKind::Blocks | DependencyKind::Awaits | DependencyKind::Wakes => {
            from.end_ns.min(to.end_ns)
        }
        _ => from.end_ns,
    }
}

fn requests(run: &Lanes, dependencies: &[Dependency]) -> (Vec<Cut>, Vec<Mark>) {
    let mut cuts = Vec::with_capacity(dependencies.len());
    let mut marks = Vec::with_capacity(dependencies.len());
    let awaited: FastSet<(SpanAt, SpanAt)> = dependencies
        .iter()
        .filter(|d| d.kind == DependencyKind::Awaits)
        .map(|d| (d.to, d.from))
        .collect();
    for (number, d) in dependencies.iter().enumerate() {
        let dependency = number as u32;
        let (from, to) = (span(run, d.from), span(run, d.to));
        let until_ns = lets_go_ns(run, d);
        let begun = matches!(d.kind, DependencyKind::Launches | DependencyKind::Spawns);
        let is_awaited = || !awaited.is_empty() && awaited.contains(&(d.from, d.to));
        if begun && is_awaited() {
            // It was on its stream when the call began to wait.
            cuts.push(Cut {
                span: d.from,
                time_ns: from.start_ns,
                want: Want::Ended,
                dependency,
            });
        } else if from.dur_ns() == 0 {
            marks.push(Mark {
                span: d.from,
                is_source: true,
                dependency,
            });
        } else if begun && to.start_ns < from.end_ns {
            cuts.push(Cut {
                span: d.from,
                time_ns: to.start_ns,
                want: Want::Running,
                dependency,
            });
        } else {
            cuts.push(Cut {
                span: d.from,
                time_ns: until_ns,
                want: Want::Ended,
                dependency,
            });
        }
        if let Some(since_ns) = waits_since(run, d).filter(|_| until_ns > to.start_ns) {
            if since_ns > to.start_ns {
                cuts.push(Cut {
                    span: d.to,
                    time_ns: since_ns,
                    want: Want::Apart,
                    dependency,
                });
            }
            cuts.push(Cut {
                span: d.to,
                time_ns: until_ns,
                want: Want::Resumed,
                dependency,
            });
        } else if matches!(d.kind, DependencyKind::Joins | DependencyKind::Wakes) && to.dur_ns() > 0
        {
            cuts.push(Cut {
                span: d.to,
                time_ns: to.end_ns,
                want: Want::After,
                dependency,
            });
        } else {
            marks.push(Mark {
                span: d.to,
                is_source: false,
                dependency,
            });
        }
    }
    (cuts, marks)
}
