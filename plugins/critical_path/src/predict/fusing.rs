//! Kernels that follow one another on a stream again and again, and what one kernel in their place would save.
//!
//! A sequence is broken by other work of its stream, by communication, by a launch from another thread, and where the
//! host waited between two launches. Fused, the calls that launch all kernels but the first are gone, and nothing lies
//! between the kernels: the graph is re-timed with these calls and with the lags before these kernels at zero. The
//! kernels take as long as before. A call that launched other work too (a graph) stays, and so does a gap before a
//! kernel whose launch is not recorded.

use trueno_analysis::lanes::{Class, LaneKind, Lanes};
use trueno_analysis::vendors::is_communication;
use trueno_display_names::DisplayNames;

use crate::graph::dependency_graph::Graph;
use crate::graph::walk::PieceKind;
use crate::load::dependencies::{Dependency, SpanAt, span};
use crate::load::edges::DependencyKind;
use crate::predict::repeats::{BREAK, Repeat, repeats};
use crate::predict::schedule::{Scenario, walls_ns};

/// Number of sequences. They are re-timed together.
const SEQUENCES: usize = 8;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sequence {
    /// Shown names of the kernels.
    pub names: Vec<String>,
    pub repeats: u64,
    pub dur_ns: i64,
    /// Time between the kernels of each occurrence.
    pub gap_ns: i64,
    /// Time of the calls that launch a kernel but the first, and nothing else; `None` if none is recorded.
    pub launch_ns: Option<i64>,
    /// `None` if no such call is recorded, or if a lane that no dependency connects with the path leaves it open.
    pub gain_ns: Option<i64>,
    /// Kernels of the first occurrence.
    pub first_ids: Vec<u64>,
}

impl Sequence {
    pub fn text(&self) -> String {
        match &self.names[..] {
            [name, rest @ ..] if rest.iter().all(|other| other == name) => {
                format!("{} × {name}", self.names.len())
            }
            names => names.join(" → "),
        }
    }
}

pub struct Sequences {
    all: Vec<Sequence>,
    /// By interval, numbered across lanes: 1 + the sequence that leaves it out if it is fused, or 0.
    left_out_by: Vec<u8>,
    /// Number of the first interval of each lane.
    first: Vec<u32>,
}

impl Sequences {
    /// The sequences that would save the most launches, without gains. `dependencies` must be sorted by target.
    pub fn new(run: &Lanes, dependencies: &[Dependency]) -> Self {
        let launches = Launches::new(run, dependencies);
        let kernels = Kernels::new(run, &launches);
        let found = repeats(&kernels.symbols, SEQUENCES);
        let mut first = Vec::with_capacity(run.lanes.len());
        let mut intervals = 0;
        for lane in &run.lanes {
            first.push(intervals);
            intervals += lane.spans.len() as u32;
        }
        let mut out = Self {
            all: Vec::with_capacity(found.len()),
            left_out_by: match found.len() {
                0 => Vec::new(),
                _ => vec![0; intervals as usize],
            },
            first,
        };
        let name = |symbol: u32| run.texts.text(symbol);
        let shown = found.iter().flat_map(|repeat| kernels.names(repeat));
        let shown = DisplayNames::new(shown.map(name));
        for repeat in &found {
            let names = kernels
                .names(repeat)
                .map(|symbol| shown.shown(name(symbol)));
            let names = names.map(str::to_owned).collect();
            out.add(run, &kernels, &launches, repeat, names);
        }
        out
    }

    fn add(
        &mut self,
        run: &Lanes,
        kernels: &Kernels,
        launches: &Launches<'_>,
        repeat: &Repeat,
        names: Vec<String>,
    ) {
        let number = self.all.len() as u8 + 1;
        let (mut dur_ns, mut gap_ns, mut launch_ns) = (0_i64, 0_i64, None::<i64>);
        for start in &repeat.starts {
            let own = &kernels.at[*start as usize..][..repeat.length];
            for at in own {
                dur_ns = dur_ns.saturating_add(span(run, *at).dur_ns());
            }
            for pair in own.windows(2) {
                let gap = span(run, pair[1]).start_ns - span(run, pair[0]).end_ns;
                gap_ns = gap_ns.saturating_add(gap.max(0));
                self.leave_out(pair[1], number);
                for call in launches
                    .calls(pair[1])
                    .filter(|call| launches.is_only_work(*call))
                {
                    self.leave_out(call, number);
                }
                if let Some(call) = launches
                    .call(pair[1])
                    .filter(|call| launches.is_only_work(*call))
                {
                    let ns = span(run, call).dur_ns();
                    launch_ns = Some(launch_ns.unwrap_or(0).saturating_add(ns));
                }
            }
        }
        let first = &kernels.at[repeat.starts[0] as usize..][..repeat.length];
        self.all.push(Sequence {
            names,
            repeats: repeat.starts.len() as u64,
            dur_ns,
            gap_ns,
            launch_ns,
            gain_ns: None,
            first_ids: first.iter().map(|at| span(run, *at).id).collect(),
        });
    }

    fn leave_out(&mut self, at: SpanAt, number: u8) {
        let interval = self.first[at.lane as usize] + at.index;
        self.left_out_by[interval as usize] = number;
    }

    /// Adds gains; the largest comes first.
    pub fn with_gains(self, graph: &Graph<'_>) -> Vec<Sequence> {
        let has_launches = self.all.iter().any(|of| of.launch_ns.is_some());
        let gains_ns = if has_launches {
            let fused = Fused {
                graph,
                sequences: &self,
            };
            let [connected, background] = walls_ns(graph, &fused, &mut Vec::new());
            let gain = |wall_ns: i64| graph.run.wall_ns - wall_ns;
            std::array::from_fn(|k| {
                let (connected, background) = (gain(connected[k]), gain(background[k]));
                let is_open = connected > 0 && background <= 0;
                (!is_open).then_some(connected.min(background).max(0))
            })
        } else {
            [None; SEQUENCES]
        };
        let mut out = self.all;
        for (sequence, gain_ns) in out.iter_mut().zip(gains_ns) {
            sequence.gain_ns = gain_ns.filter(|_| sequence.launch_ns.is_some());
        }
        // Stable: sequences of the same gain stay in the order of the launches that they would save.
        out.sort_by_key(|sequence| std::cmp::Reverse(sequence.gain_ns));
        out
    }
}

/// Kernels in the order of their streams, with breaks.
#[derive(Default)]
struct Kernels {
    /// Numbers of names.
    symbols: Vec<u32>,
    at: Vec<SpanAt>,
}

impl Kernels {
    fn new(run: &Lanes, launches: &Launches<'_>) -> Self {
        let waits = Waits::new(run);
        let is_communication = run.labels.all().iter().map(|label| {
            run.texts.get(label.category) == Some("communication")
                || is_communication(run.texts.text(label.name))
        });
        let is_communication: Vec<bool> = is_communication.collect();
        let mut out = Self::default();
        for (number, lane) in (0..).zip(&run.lanes) {
            if lane.kind != LaneKind::Device {
                continue;
            }
            let mut last: Option<SpanAt> = None;
            for (index, of) in (0..).zip(&lane.spans) {
                let label = run.labels.get(of.label);
                let at = SpanAt {
                    lane: number,
                    index,
                };
                match label.class {
                    Class::Kernel if !is_communication[of.label as usize] => {
                        let calls = last
                            .and_then(|last| launches.call(last))
                            .zip(launches.call(at));
                        if calls.is_some_and(|(from, to)| waits.are_between(from, to)) {
                            out.push(BREAK, at);
                        }
                        out.push(label.name, at);
                        last = Some(at);
                    }
                    Class::Kernel | Class::Transfer | Class::Wait => {
                        out.push(BREAK, at);
                        last = None;
                    }
                    _ => {}
                }
            }
            if let Some(last) = last {
                out.push(BREAK, last);
            }
        }
        out
    }

    fn push(&mut self, symbol: u32, at: SpanAt) {
        self.symbols.push(symbol);
        self.at.push(at);
    }

    fn names(&self, repeat: &Repeat) -> impl Iterator<Item = u32> {
        let own = &self.symbols[repeat.starts[0] as usize..][..repeat.length];
        own.iter().copied()
    }
}

/// The calls that launched device work.
struct Launches<'a> {
    run: &'a Lanes,
    dependencies: &'a [Dependency],
    /// All launching intervals, sorted; one that launched several rows is there as often.
    sources: Vec<SpanAt>,
}

impl<'a> Launches<'a> {
    fn new(run: &'a Lanes, dependencies: &'a [Dependency]) -> Self {
        let launches = dependencies
            .iter()
            .filter(|of| of.kind == DependencyKind::Launches);
        let mut sources: Vec<SpanAt> = launches.map(|of| of.from).collect();
        sources.sort_unstable();
        Self {
            run,
            dependencies,
            sources,
        }
    }

    fn calls(&self, work: SpanAt) -> impl Iterator<Item = SpanAt> {
        let from = self.dependencies.partition_point(|of| of.to < work);
        let into = self.dependencies[from..]
            .iter()
            .take_while(move |of| of.to == work);
        let launches = into.filter(|of| of.kind == DependencyKind::Launches);
        launches.map(|of| of.from).filter(|from| {
            let label = span(self.run, *from).label;
            self.run.labels.get(label).class == Class::Call
        })
    }

    /// Of nested calls, the outermost.
    fn call(&self, work: SpanAt) -> Option<SpanAt> {
        self.calls(work).min()
    }

    fn is_only_work(&self, call: SpanAt) -> bool {
        let from = self.sources.partition_point(|source| *source < call);
        self.sources.get(from + 1) != Some(&call)
    }
}

/// By lane: the intervals in which a host waited.
struct Waits {
    lanes: Vec<Vec<u32>>,
}

impl Waits {
    fn new(run: &Lanes) -> Self {
        let lanes = run.lanes.iter().map(|lane| {
            let spans = (0..)
                .zip(&lane.spans)
                .filter(|_| lane.kind == LaneKind::Host);
            let waits = spans.filter(|(_, of)| run.labels.get(of.label).class == Class::Wait);
            waits.map(|(index, _)| index).collect()
        });
        Self {
            lanes: lanes.collect(),
        }
    }

    /// Returns whether the thread waited between two of its calls, or whether they are calls of different threads.
    fn are_between(&self, from: SpanAt, to: SpanAt) -> bool {
        let waits = &self.lanes[from.lane as usize];
        let next = waits.partition_point(|index| *index < from.index);
        from.lane != to.lane || waits.get(next).is_some_and(|index| *index < to.index)
    }
}

struct Fused<'a> {
    graph: &'a Graph<'a>,
    sequences: &'a Sequences,
}

impl Fused<'_> {
    /// `ns`, and 0 for the sequence that leaves this out.
    #[inline]
    fn without(&self, segment: u32, lane: usize, ns: i64) -> [i64; SEQUENCES] {
        let interval = self.sequences.first[lane] + self.graph.segments.span[segment as usize];
        let mut out = [ns; SEQUENCES];
        let number = usize::from(self.sequences.left_out_by[interval as usize]);
        if let Some(own_ns) = number.checked_sub(1).and_then(|of| out.get_mut(of)) {
            *own_ns = 0;
        }
        out
    }
}

impl Scenario<SEQUENCES> for Fused<'_> {
    #[inline]
    fn dur_ns(&self, segment: u32, lane: usize) -> [i64; SEQUENCES] {
        let dur_ns = self.graph.dur_ns(segment);
        if self.graph.is_device(lane) {
            return [dur_ns; SEQUENCES];
        }
        self.without(segment, lane, dur_ns)
    }

    #[inline]
    fn lag_ns(&self, _kind: PieceKind, measured_ns: i64) -> [i64; SEQUENCES] {
        [measured_ns; SEQUENCES]
    }

    #[inline]
    fn lag_before_ns(
        &self,
        (segment, lane): (u32, usize),
        kind: PieceKind,
        measured_ns: i64,
    ) -> [i64; SEQUENCES] {
        match kind {
            PieceKind::Queue | PieceKind::LaunchDelay if self.graph.is_device(lane) => {
                self.without(segment, lane, measured_ns)
            }
            _ => [measured_ns; SEQUENCES],
        }
    }
}
