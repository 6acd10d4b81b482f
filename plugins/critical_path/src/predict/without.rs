//! What the run would be like without something altogether: the most that any fix of it can save.
//!
//! Unrecorded time stays as it is, gaps as well as what iterations have outside all that is recorded in them: nobody knows
//! what would make it less. Devices do all their work, in the order of their streams.

use std::collections::BTreeMap;

use trueno_analysis::intervals::IntervalSetBuilder;
use trueno_analysis::lanes::{Class, Label, LaneKey, Span};

use crate::graph::chains::Chains;
use crate::graph::dependency_graph::{Graph, Link};
use crate::graph::walk::PieceKind;
use crate::load::edges::DependencyKind;
use crate::predict::opportunity::of_category;
use crate::predict::schedule::{Scenario, walls_ns};
use crate::predict::shortcuts::Shortcuts;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Without {
    pub target: String,
    /// `None` if a lane that no dependency connects with the path leaves it open.
    pub gain_ns: Option<i64>,
}

/// Categories whose work a fix may hide behind other work, or fuse.
const REMOVABLE: [&str; 3] = ["communication", "data loading", "elementwise"];

const TARGETS: [&str; 4] = ["host", "waits", "copies", "before devices"];

pub fn without(graph: &Graph<'_>, chains: &Chains, shortcuts: &Shortcuts) -> Vec<Without> {
    let texts = &graph.run.texts;
    let mut out = Vec::new();
    for category in REMOVABLE {
        let is_chosen = |label: &Label| texts.get(label.category) == Some(category);
        if graph.run.labels.all().iter().any(is_chosen) {
            out.push(Without {
                target: format!("category:{category}"),
                gain_ns: of_category(graph, chains, shortcuts, is_chosen),
            });
        }
    }
    if (0..graph.run.lanes.len()).any(|lane| graph.is_device(lane)) {
        let [connected, background] = walls_ns(graph, &Removed::new(graph), &mut Vec::new());
        let gain = |wall_ns: i64| graph.run.wall_ns - wall_ns;
        // Streams may overlap more than as recorded; that devices do it as fast is not known.
        let idle_ns = graph.run.wall_ns - busy_ns(graph);
        let most_ns = [idle_ns, idle_ns, i64::MAX, idle_ns];
        out.extend(TARGETS.into_iter().enumerate().map(|(k, target)| {
            let (connected, background) = (gain(connected[k]), gain(background[k]));
            let is_open = connected > 0 && background <= 0;
            Without {
                target: target.to_owned(),
                gain_ns: (!is_open)
                    .then_some(connected.min(background).clamp(0, most_ns[k].max(0))),
            }
        }));
    }
    out
}

fn busy_ns(graph: &Graph<'_>) -> i64 {
    let run = graph.run;
    let mut devices: BTreeMap<i64, IntervalSetBuilder<i64>> = BTreeMap::new();
    for lane in &run.lanes {
        let LaneKey::Stream(device, _) = lane.key else {
            continue;
        };
        let busy = devices.entry(device).or_default();
        let is_work = |span: &&Span| run.labels.get(span.label).class != Class::Wait;
        for span in lane.spans.iter().filter(is_work) {
            busy.add(span.start_ns, span.end_ns);
        }
    }
    let busy = devices.into_values().map(|busy| busy.finish().total_ns());
    busy.max().unwrap_or(0)
}

/// Four scenarios: without recorded host work, without host waits, without copies and their calls, and without host
/// work before a device first works.
struct Removed<'g> {
    graph: &'g Graph<'g>,
    first_ns: i64,
    copies: Vec<bool>,
}

impl<'g> Removed<'g> {
    fn new(graph: &'g Graph<'g>) -> Self {
        let run = graph.run;
        let devices = (0..run.lanes.len()).filter(|lane| graph.is_device(*lane));
        let first = devices.filter_map(|lane| run.lanes[lane].spans.first());
        let copies = run.labels.all().iter().map(|label| match label.class {
            Class::Transfer => true,
            Class::Call => {
                let name = run.texts.text(label.name).to_ascii_lowercase();
                name.contains("memcpy")
            }
            _ => false,
        });
        Self {
            graph,
            first_ns: first.map(|span| span.start_ns).min().unwrap_or(0),
            copies: copies.collect(),
        }
    }

    /// Returns whether this is recorded host work. An iteration's own time does not count: nothing records what
    /// happens in it.
    fn is_host_work(&self, segment: u32, lane: usize, class: Class) -> bool {
        !matches!(class, Class::Wait | Class::Scope)
            && !self.graph.is_device(lane)
            && !self.graph.only_waits(segment, lane)
    }
}

impl Scenario<4> for Removed<'_> {
    #[inline]
    fn dur_ns(&self, segment: u32, lane: usize) -> [i64; 4] {
        let dur_ns = self.graph.dur_ns(segment);
        let label = self.graph.span(segment, lane).label;
        let class = self.graph.run.labels.get(label).class;
        let is_host = self.is_host_work(segment, lane, class);
        let start_ns = self.graph.segments.start_ns(segment as usize);
        let before_ns = (self.first_ns - start_ns).clamp(0, dur_ns);
        [
            if is_host { 0 } else { dur_ns },
            if class == Class::Wait { 0 } else { dur_ns },
            if self.copies[label as usize] {
                0
            } else {
                dur_ns
            },
            if is_host { dur_ns - before_ns } else { dur_ns },
        ]
    }

    #[inline]
    fn lag_ns(&self, _kind: PieceKind, measured_ns: i64) -> [i64; 4] {
        [measured_ns; 4]
    }

    #[inline]
    fn holds(&self, lane: usize, link: Link) -> [bool; 4] {
        let is_wait = !self.graph.is_device(lane)
            && matches!(
                link,
                Link::Dependency(
                    DependencyKind::Joins
                        | DependencyKind::Awaits
                        | DependencyKind::Blocks
                        | DependencyKind::Wakes
                )
            );
        [true, !is_wait, true, true]
    }
}
