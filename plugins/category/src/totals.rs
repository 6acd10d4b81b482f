//! Times by label and by lane, in two linear passes over each lane.
//!
//! Self, inclusive and busy time count what lies in the window `0..wall_ns`;
//! durations are those of the whole interval.

use trueno_analysis::lanes::{Label, LaneKind, Lanes, NO_ELEMENTS, OUTSIDE, WAITING};
use trueno_analysis::pools::Pools;
use trueno_analysis::sweep::OpenIntervals;
use trueno_analysis::unions::{GroupedUnions, UnionLength};
use trueno_analysis::vendors::{self, Call};
use trueno_analysis::waits::names_a_wait;

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
    /// The part of `self_ns` in rows that only wait.
    pub waiting_ns: i64,
}

pub struct Totals {
    /// By kind of lane (host, device), then label number.
    labels: [Vec<LabelTotal>; 2],
    /// By kind of lane (host, device), then the category's text number: unions, summed over lanes.
    categories: [GroupedUnions; 2],
    pub lanes: Vec<LaneTotal>,
    /// By lane: the label with the most self time of those that neither wait nor frame other work, and that time.
    pub most: Vec<Option<(u32, i64)>>,
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
        most: Vec::with_capacity(run.lanes.len()),
        pools: Pools::of_run(run),
    };
    let roles: Vec<Role> = run.labels.all().iter().map(|of| role(run, of)).collect();
    let mut of_lane = SelfTimes {
        by_label: vec![0; labels],
        touched: Vec::new(),
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
            self_ns += of_lane.book(&mut open, span.start_ns, run.wall_ns);
            open.open(span.end_ns, span.label);
            let total = &mut out_labels[label];
            total.calls += 1;
            if span.elements != NO_ELEMENTS {
                *total.elements.get_or_insert(0) +=
                    u128::from(run.elements[span.elements as usize]);
                with_elements[kind].add(label, number, start_ns, end_ns);
            }
        }
        self_ns += of_lane.book(&mut open, i64::MAX, run.wall_ns);
        let (mut waiting_ns, mut most) = (0, None::<(u32, i64)>);
        for (label, ns) in of_lane.take() {
            out_labels[label as usize].self_ns += ns;
            match roles[label as usize] {
                Role::Waits => waiting_ns += ns,
                Role::Frames => {}
                Role::Works => {
                    // Numbers of labels depend on the order of rows.
                    let name = |label| run.texts.text(run.labels.get(label).name);
                    let is_first = |(first, longest_ns)| {
                        ns > longest_ns || ns == longest_ns && name(label) < name(first)
                    };
                    if most.is_none_or(is_first) {
                        most = Some((label, ns));
                    }
                }
            }
        }
        out.most.push(most);
        out.lanes.push(LaneTotal {
            busy_ns: busy.total_ns(),
            self_ns,
            waiting_ns,
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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Works,
    Waits,
    /// A run, an iteration or a layer.
    Frames,
}

fn role(run: &Lanes, label: &Label) -> Role {
    let text = |number| run.texts.text(number);
    let name = text(label.name);
    // Calls of the system have no category of their own.
    let is_wait = match label.category {
        WAITING => true,
        OUTSIDE => names_a_wait(name, true),
        _ => false,
    };
    if is_wait || matches!(vendors::call(name), Some(Call::Wait(_))) {
        Role::Waits
    } else if matches!(text(label.kind), "run" | "iteration" | "layer") {
        Role::Frames
    } else {
        Role::Works
    }
}

/// Self times of one lane.
struct SelfTimes {
    by_label: Vec<i64>,
    /// Labels with time.
    touched: Vec<u32>,
}

impl SelfTimes {
    /// Advances to `until_ns`, books the time since the last call to the innermost labels, clipped to the window, and
    /// returns the sum.
    #[inline]
    fn book(&mut self, open: &mut OpenIntervals<u32>, until_ns: i64, wall_ns: i64) -> i64 {
        let mut sum_ns = 0;
        open.advance(until_ns, |stack, start_ns, end_ns| {
            if let Some(innermost) = stack.last() {
                let dur_ns = (end_ns.min(wall_ns) - start_ns.max(0)).max(0);
                let of_label = &mut self.by_label[innermost.item as usize];
                if *of_label == 0 && dur_ns > 0 {
                    self.touched.push(innermost.item);
                }
                *of_label += dur_ns;
                sum_ns += dur_ns;
            }
        });
        sum_ns
    }

    /// All labels with time. The next lane starts from none.
    fn take(&mut self) -> impl Iterator<Item = (u32, i64)> {
        self.touched
            .drain(..)
            .map(|label| (label, std::mem::take(&mut self.by_label[label as usize])))
    }
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
