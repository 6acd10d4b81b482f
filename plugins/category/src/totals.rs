//! Times by label and by lane, in two linear passes over each lane.
//!
//! Self, inclusive and busy time count what lies in the window `0..wall_ns`;
//! durations are those of the whole interval.

use trueno_analysis::lanes::{LaneKind, Lanes, NO_ELEMENTS};
use trueno_analysis::pools::Pools;
use trueno_analysis::sweep::OpenIntervals;
use trueno_analysis::unions::{GroupedUnions, UnionLength};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LabelTotal {
    pub calls: u64,
    /// Bound rows. They count towards no time.
    pub bound_calls: u64,
    /// Time in which one of the label's intervals was the innermost.
    pub self_ns: i64,
    /// Union of the intervals, summed over lanes.
    pub inclusive_ns: i64,
    /// Sum of the declared elements; `None` if no interval declares any.
    pub elements: Option<u128>,
    /// Union of the intervals that declare elements, summed over lanes.
    pub with_elements_ns: i64,
}

impl LabelTotal {
    pub fn add(&mut self, other: &Self) {
        self.calls = self.calls.saturating_add(other.calls);
        self.bound_calls = self.bound_calls.saturating_add(other.bound_calls);
        self.self_ns = self.self_ns.saturating_add(other.self_ns);
        self.inclusive_ns = self.inclusive_ns.saturating_add(other.inclusive_ns);
        if let Some(elements) = other.elements {
            let sum = self.elements.unwrap_or(0).saturating_add(elements);
            self.elements = Some(sum);
        }
        self.with_elements_ns = self.with_elements_ns.saturating_add(other.with_elements_ns);
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LaneTotal {
    pub busy_ns: i64,
    pub self_ns: i64,
}

pub struct Totals {
    /// By kind of lane (host, device), then label number.
    labels: [Vec<LabelTotal>; 2],
    /// By kind of lane (host, device), then the category's text number: unions, summed over lanes.
    categories: [GroupedUnions; 2],
    pub lanes: Vec<LaneTotal>,
    pub pools: Pools,
}

impl Totals {
    pub fn label(&self, kind: LaneKind, label: u32) -> &LabelTotal {
        &self.labels[kind as usize][label as usize]
    }

    /// Union of the intervals of a category, summed over the lanes of one kind.
    pub fn category_ns(&self, kind: LaneKind, category: u32) -> i64 {
        self.categories[kind as usize].total_ns(category as usize)
    }
}

pub fn totals(run: &Lanes) -> Totals {
    let labels = run.labels.all().len();
    let mut out = Totals {
        labels: [
            vec![LabelTotal::default(); labels],
            vec![LabelTotal::default(); labels],
        ],
        categories: [
            GroupedUnions::new(run.texts.len()),
            GroupedUnions::new(run.texts.len()),
        ],
        lanes: Vec::with_capacity(run.lanes.len()),
        pools: Pools::of_run(run),
    };
    let mut inclusive = [GroupedUnions::new(labels), GroupedUnions::new(labels)];
    let mut with_elements = [GroupedUnions::new(labels), GroupedUnions::new(labels)];
    for (number, lane) in run.lanes.iter().enumerate() {
        let (number, kind) = (number as u32, lane.kind as usize);
        let (mut busy, mut self_ns) = (UnionLength::default(), 0);
        let mut open = OpenIntervals::default();
        let out_labels = &mut out.labels[kind];
        for span in &lane.spans {
            let (start_ns, end_ns) = (span.start_ns.max(0), span.end_ns.min(run.wall_ns));
            let label = span.label as usize;
            busy.add(start_ns, end_ns);
            inclusive[kind].add(label, number, start_ns, end_ns);
            out.categories[kind].add(
                run.labels.get(span.label).category as usize,
                number,
                start_ns,
                end_ns,
            );
            self_ns += book_self_times(&mut open, span.start_ns, run.wall_ns, out_labels);
            open.open(span.end_ns, span.label);
            let total = &mut out_labels[label];
            total.calls += 1;
            if span.elements != NO_ELEMENTS {
                *total.elements.get_or_insert(0) +=
                    u128::from(run.elements[span.elements as usize]);
                with_elements[kind].add(label, number, start_ns, end_ns);
            }
        }
        self_ns += book_self_times(&mut open, i64::MAX, run.wall_ns, out_labels);
        out.lanes.push(LaneTotal {
            busy_ns: busy.total_ns(),
            self_ns,
        });
    }
    for kind in LaneKind::ALL {
        for (label, total) in out.labels[kind as usize].iter_mut().enumerate() {
            total.inclusive_ns = inclusive[kind as usize].total_ns(label);
            total.with_elements_ns = with_elements[kind as usize].total_ns(label);
        }
    }
    for (&(kind, label), &count) in &run.bound {
        out.labels[kind as usize][label as usize].bound_calls += count;
    }
    out
}

/// Advances to `until_ns`, books the time since the last call to the innermost labels, clipped to the window, and
/// returns the sum.
#[inline]
fn book_self_times(
    open: &mut OpenIntervals<u32>,
    until_ns: i64,
    wall_ns: i64,
    labels: &mut [LabelTotal],
) -> i64 {
    let mut sum_ns = 0;
    open.advance(until_ns, |stack, start_ns, end_ns| {
        if let Some(innermost) = stack.last() {
            let dur_ns = (end_ns.min(wall_ns) - start_ns.max(0)).max(0);
            labels[innermost.item as usize].self_ns += dur_ns;
            sum_ns += dur_ns;
        }
    });
    sum_ns
}

/// Calls `with` for each label of a kind of lane, in order of number, with the durations of its intervals in any
/// order. All durations share one array, grouped by label.
pub fn for_each_label(
    run: &Lanes,
    totals: &Totals,
    kind: LaneKind,
    mut with: impl FnMut(u32, &mut [i64]),
) {
    let totals = &totals.labels[kind as usize];
    let mut next = Vec::with_capacity(totals.len());
    let mut rows = 0;
    for total in totals {
        next.push(rows);
        rows += total.calls as usize;
    }
    let mut dur_ns = vec![0; rows];
    for span in run
        .lanes
        .iter()
        .filter(|lane| lane.kind == kind)
        .flat_map(|lane| &lane.spans)
    {
        let at = &mut next[span.label as usize];
        dur_ns[*at] = span.dur_ns();
        *at += 1;
    }
    for (label, (total, &end)) in (0..).zip(totals.iter().zip(&next)) {
        with(label, &mut dur_ns[end - total.calls as usize..end]);
    }
}
