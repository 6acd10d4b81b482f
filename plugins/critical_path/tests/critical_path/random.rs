//! Random runs with random dependencies, against what the definitions say.

use std::cmp::Reverse;

use proptest::prelude::*;
use trueno_analysis::lanes::{
    Class, Label, Lane, LaneKey, LaneKind, Lanes, NO_ELEMENTS, OUTSIDE, Span,
};
use trueno_analysis::start_order::sort_by_start;
use trueno_plugin_critical_path::graph::dependency_graph::{Binding, Graph, Link, Predecessor};
use trueno_plugin_critical_path::graph::ownership::Ownership;
use trueno_plugin_critical_path::graph::segments::{NONE, segments};
use trueno_plugin_critical_path::graph::walk::{Path, PieceKind, walk};
use trueno_plugin_critical_path::load::dependencies::{dependencies, span};
use trueno_plugin_critical_path::load::edges::{DependencyKind, Edge};
use trueno_plugin_critical_path::load::window::cut;
use trueno_plugin_critical_path::predict::schedule::{self, Scenario};
use trueno_plugin_critical_path::predict::slack::{last_end_ns, retime, slack};
use trueno_plugin_critical_path::predict::what_if::{Assumption, Predicted};
use trueno_plugin_critical_path::predict::what_if_rule::{Change, Rule, Target};

const WALL_NS: i64 = 40;
const CLASSES: [Class; 4] = [Class::Brick, Class::Task, Class::Wait, Class::Wait];
const KINDS: [DependencyKind; 8] = [
    DependencyKind::DependsOn,
    DependencyKind::Joins,
    DependencyKind::Launches,
    DependencyKind::Spawns,
    DependencyKind::Follows,
    DependencyKind::Blocks,
    DependencyKind::Awaits,
    DependencyKind::Wakes,
];

/// Rows as lane, class, start and duration; edges as source, target and kind.
pub type Raw = (Vec<(usize, usize, i64, i64)>, Vec<(u64, u64, usize)>);

/// Three lanes with intervals that may nest, and edges of any kind between any two.
pub fn runs() -> impl Strategy<Value = Raw> {
    let rows = prop::collection::vec((0..3_usize, 0..4_usize, -3..42_i64, 0..20_i64), 1..12);
    let edges = prop::collection::vec((0..12_u64, 0..12_u64, 0..8_usize), 0..14);
    (rows, edges)
}

pub fn lanes(rows: &[(usize, usize, i64, i64)]) -> Lanes {
    let mut run = Lanes {
        wall_ns: WALL_NS,
        ..Lanes::default()
    };
    let name = run.texts.number("x");
    let labels = CLASSES.map(|class| {
        run.labels.number(Label {
            class,
            kind: name,
            name,
            category: OUTSIDE,
        })
    });
    for lane in 0..3 {
        let spans = rows
            .iter()
            .enumerate()
            .filter(|(_, row)| row.0 == lane)
            .map(|(id, &(_, class, start_ns, dur_ns))| Span {
                start_ns,
                end_ns: start_ns + dur_ns,
                id: id as u64,
                label: labels[class],
                elements: NO_ELEMENTS,
            });
        let mut spans: Vec<Span> = spans.collect();
        sort_by_start(&mut spans);
        let kind = if lane == 2 {
            LaneKind::Device
        } else {
            LaneKind::Host
        };
        run.lanes.push(Lane {
            life: None,
            name: format!("lane {lane}"),
            key: LaneKey::Thread(Some(lane as i64)),
            kind,
            spans,
        });
    }
    run
}

pub fn edges(edges: &[(u64, u64, usize)]) -> Vec<Edge> {
    let edge = |&(from, to, kind): &(u64, u64, usize)| Edge {
        from,
        to,
        kind: KINDS[kind],
        implied: false,
    };
    let mut edges: Vec<Edge> = edges.iter().map(edge).collect();
    edges.sort_unstable();
    edges.dedup();
    edges
}

/// Reference implementation: the whole time up to the start for predecessors that release the segment as late as
/// the binding one, else the least lag.
fn lag_by_definition(graph: &Graph<'_>, segment: u32, of: &Predecessor, binding: &Binding) -> i64 {
    let free_ns = |source: u32| graph.segments.free_ns(source as usize);
    if free_ns(of.source) + of.least_ns == free_ns(binding.source) + binding.least_ns {
        graph.segments.start_ns(segment as usize) - free_ns(of.source)
    } else {
        of.least_ns
    }
}

/// Reference implementation: start of every segment, iterated until nothing changes.
fn retime_slowly(graph: &Graph<'_>, dur_ns: &dyn Fn(u32) -> i64) -> Vec<i64> {
    let segments = &graph.segments;
    let needed_ns = |s: u32| {
        if segments.elastic[s as usize] {
            0
        } else {
            dur_ns(s)
        }
    };
    let mut start_ns = vec![i64::MIN / 2; segments.len()];
    loop {
        let before = start_ns.clone();
        for segment in 0..segments.len() as u32 {
            let lane = segments.lane(segment);
            start_ns[segment as usize] = match graph.binding(segment, lane) {
                None => segments.start_ns(segment as usize),
                Some(binding) => {
                    let all = graph.predecessors(segment, lane);
                    all.map(|of| {
                        let lag_ns = lag_by_definition(graph, segment, &of, &binding);
                        before[of.source as usize] + needed_ns(of.source) + lag_ns
                    })
                    .max()
                    .unwrap()
                }
            };
        }
        if start_ns == before {
            return start_ns;
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn segments_are_the_painted_lanes((rows, raw) in runs()) {
        let mut run = lanes(&rows);
        cut(&mut run);
        let found = dependencies(&run, &edges(&raw));
        let segments = segments(&run, &found.good);
        for (number, lane) in run.lanes.iter().enumerate() {
            for now in 0..WALL_NS {
                let innermost = (0..lane.spans.len())
                    .filter(|i| lane.spans[*i].start_ns <= now && now < lane.spans[*i].end_ns)
                    .max_by_key(|i| (lane.spans[*i].start_ns, Reverse(lane.spans[*i].end_ns), lane.spans[*i].id));
                let of_lane = segments.lane_first[number]..segments.lane_first[number + 1];
                let covering: Vec<usize> = of_lane
                    .map(|segment| segment as usize)
                    .filter(|segment| segments.start_ns(*segment) <= now && now < segments.end_ns(*segment))
                    .map(|segment| segments.span[segment] as usize)
                    .collect();
                prop_assert_eq!(covering, innermost.into_iter().collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn the_path_adds_up_and_has_no_slack((rows, raw) in runs()) {
        let mut run = lanes(&rows);
        cut(&mut run);
        let found = dependencies(&run, &edges(&raw));
        let graph = Graph::new(&run, segments(&run, &found.good), &found.good);
        let path = walk(&graph, WALL_NS).pieces();
        prop_assert_eq!(path[0].start_ns, 0);
        prop_assert!(path.is_sorted_by(|a, b| a.start_ns < b.start_ns));
        prop_assert!(path[path.len() - 1].start_ns < WALL_NS);
        let slack = slack(&graph);
        for (piece, end_ns) in path.iter().zip(path.iter().skip(1).map(|next| next.start_ns).chain([WALL_NS])) {
            if matches!(piece.kind, PieceKind::Work | PieceKind::Transfer) {
                prop_assert_eq!(slack[piece.segment as usize], 0);
                // The interval really was there all that time.
                let span = graph.span(piece.segment, graph.segments.lane(piece.segment));
                prop_assert!(span.start_ns <= piece.start_ns && end_ns <= span.end_ns);
            }
        }
    }

    #[test]
    fn measured_durations_give_measured_times((rows, raw) in runs()) {
        let mut run = lanes(&rows);
        cut(&mut run);
        let found = dependencies(&run, &edges(&raw));
        let graph = Graph::new(&run, segments(&run, &found.good), &found.good);
        let measured = |segment: u32| graph.segments.end_ns(segment as usize) - graph.segments.start_ns(segment as usize);
        let starts_ns: Vec<i64> = (0..graph.segments.len()).map(|s| graph.segments.start_ns(s)).collect();
        prop_assert_eq!(retime(&graph, measured), starts_ns);
    }

    #[test]
    fn other_durations_give_the_times_of_the_definition((rows, raw) in runs(), scale in prop::collection::vec(0..4_i64, 1..9)) {
        let mut run = lanes(&rows);
        cut(&mut run);
        let found = dependencies(&run, &edges(&raw));
        let graph = Graph::new(&run, segments(&run, &found.good), &found.good);
        let dur_ns = |s: u32| (graph.segments.end_ns(s as usize) - graph.segments.start_ns(s as usize)) * scale[s as usize % scale.len()];
        prop_assert_eq!(retime(&graph, dur_ns), retime_slowly(&graph, &dur_ns));
    }

    #[test]
    fn kept_times_are_those_of_the_whole_graph(
        (rows, raw) in runs(),
        scale in prop::collection::vec(prop::array::uniform3(0..4_i64), 1..9),
        left in 0.0..2.0,
    ) {
        struct Scaled<'a>(&'a Graph<'a>, Vec<[i64; 3]>, f64);
        impl Scenario<3> for Scaled<'_> {
            fn dur_ns(&self, segment: u32, _lane: usize) -> [i64; 3] {
                self.1[segment as usize % self.1.len()].map(|scale| self.0.dur_ns(segment) * scale)
            }

            fn lag_ns(&self, _kind: PieceKind, measured_ns: i64) -> [i64; 3] {
                [measured_ns, (measured_ns as f64 * self.2) as i64, 0]
            }
        }
        let mut run = lanes(&rows);
        cut(&mut run);
        let found = dependencies(&run, &edges(&raw));
        let graph = Graph::new(&run, segments(&run, &found.good), &found.good);
        let scaled = Scaled(&graph, scale, left);
        let all = schedule::retime(&graph, &scaled);
        // Of an earlier use.
        let mut kept = vec![[-1; 3]; 7];
        schedule::retime_kept(&graph, &scaled, &mut kept);
        prop_assert_eq!(kept.len(), graph.kept().len());
        for (segment, free_ns) in (0..).zip(&all) {
            if let Some(place) = graph.kept().rank(segment) {
                prop_assert_eq!(&kept[place], free_ns);
            }
        }
        let [connected, background] = schedule::walls_ns(&graph, &scaled, &mut kept);
        let longer: [i64; 3] = std::array::from_fn(|k| connected[k].max(background[k]));
        prop_assert_eq!(longer, schedule::wall_ns(&graph, &scaled, &all));
    }

    #[test]
    fn slack_is_how_much_longer_moves_nothing((rows, raw) in runs()) {
        let mut run = lanes(&rows);
        cut(&mut run);
        let found = dependencies(&run, &edges(&raw));
        let graph = Graph::new(&run, segments(&run, &found.good), &found.good);
        let segments = &graph.segments;
        let slack = slack(&graph);
        let end_ns = |longer: u32, by_ns: i64| {
            let dur_ns = |s: u32| {
                segments.end_ns(s as usize) - segments.start_ns(s as usize) + if s == longer { by_ns } else { 0 }
            };
            let starts = retime_slowly(&graph, &dur_ns);
            let free_ns = |s: u32| starts[s as usize] + if segments.elastic[s as usize] { 0 } else { dur_ns(s) };
            let last = graph.last().unwrap();
            let after_ns = last_end_ns(&graph) - segments.free_ns(last as usize);
            (0..segments.len() as u32).map(free_ns).max().unwrap().max(free_ns(last) + after_ns)
        };
        for segment in (0..segments.len() as u32).filter(|s| !segments.elastic[*s as usize]) {
            let slack_ns = slack[segment as usize];
            prop_assert!(slack_ns >= 0);
            prop_assert_eq!(end_ns(segment, slack_ns), last_end_ns(&graph));
            prop_assert_eq!(end_ns(segment, slack_ns + 1), last_end_ns(&graph) + 1);
        }
    }

    /// Every dependency in the graph holds: if `from` were much longer, `to` would be that much later.
    #[test]
    fn every_good_dependency_holds((rows, raw) in runs()) {
        const LONGER_NS: i64 = 1000;
        let mut run = lanes(&rows);
        cut(&mut run);
        let found = dependencies(&run, &edges(&raw));
        let graph = Graph::new(&run, segments(&run, &found.good), &found.good);
        let segments = &graph.segments;
        for ((dependency, &(source, target)), number) in found.good.iter().zip(&segments.ends).zip(0..) {
            if graph.let_go().contains(&number) {
                // Only at one instant can segments wait for each other in a circle.
                prop_assert_eq!(segments.free_ns(source as usize), segments.start_ns(target as usize));
                continue;
            }
            let (from, to) = (span(&run, dependency.from), span(&run, dependency.to));
            if source == NONE {
                // Only the first interval of a lane has done nothing yet that could come first.
                let first = segments.lane_first[dependency.from.lane as usize];
                prop_assert!(matches!(dependency.kind, DependencyKind::Launches | DependencyKind::Spawns));
                prop_assert!(segments.start_ns(first as usize) >= from.start_ns);
                continue;
            }
            if target == NONE {
                // Only a wait that did not go on after what it waited for, at the end of its lane.
                prop_assert!(matches!(dependency.kind, DependencyKind::Joins | DependencyKind::Blocks | DependencyKind::Awaits | DependencyKind::Wakes));
                // Of a wait for what had ended before, the dependency leads to what comes after it.
                let held_up_ns = if from.end_ns > to.start_ns { from.end_ns.min(to.end_ns) } else { to.end_ns };
                let lane = dependency.to.lane as usize;
                let after = (segments.lane_first[lane]..segments.lane_first[lane + 1])
                    .filter(|s| segments.start_ns(*s as usize) >= held_up_ns);
                for segment in after {
                    prop_assert!(segments.span[segment as usize] != dependency.to.index);
                    prop_assert!(segments.start_ns(segment as usize) < to.end_ns);
                }
                continue;
            }
            if source == target {
                // An instant at which the other of the two begins: the lane's own order holds.
                prop_assert_eq!(dependency.from.lane, dependency.to.lane);
                prop_assert!(from.dur_ns() == 0 || to.dur_ns() == 0);
                continue;
            }
            prop_assert!(segments.free_ns(source as usize) <= segments.start_ns(target as usize));
            if segments.elastic[source as usize] {
                continue;
            }
            let dur_ns = |s: u32| segments.end_ns(s as usize) - segments.start_ns(s as usize) + if s == source { LONGER_NS } else { 0 };
            let later_ns = retime(&graph, dur_ns)[target as usize];
            prop_assert!(later_ns >= segments.end_ns(source as usize) + LONGER_NS);
            match dependency.kind {
                // From the very end of one to the very start of the other.
                DependencyKind::DependsOn | DependencyKind::Follows => {
                    prop_assert_eq!(segments.end_ns(source as usize), from.end_ns);
                    prop_assert_eq!(segments.start_ns(target as usize), to.start_ns);
                }
                DependencyKind::Joins => {
                    prop_assert_eq!(segments.end_ns(source as usize), from.end_ns);
                    prop_assert!(segments.start_ns(target as usize) >= from.end_ns.max(to.start_ns));
                }
                DependencyKind::Blocks | DependencyKind::Awaits | DependencyKind::Wakes => {
                    let until_ns = from.end_ns.min(to.end_ns);
                    prop_assert_eq!(segments.end_ns(source as usize), until_ns);
                    prop_assert!(segments.start_ns(target as usize) >= until_ns.max(to.start_ns));
                }
                DependencyKind::Launches | DependencyKind::Spawns => {
                    prop_assert_eq!(segments.start_ns(target as usize), to.start_ns);
                    prop_assert!(segments.end_ns(source as usize) <= from.end_ns.min(to.start_ns));
                }
            }
        }
    }

    /// No dependency that fits the times is left out, except in a cycle.
    #[test]
    fn only_what_cannot_be_is_left_out((rows, raw) in runs()) {
        let mut run = lanes(&rows);
        cut(&mut run);
        let edges = edges(&raw);
        let found = dependencies(&run, &edges);
        let sorted_out = found.unknown.len() + found.contradicted.len() + found.not_waits.len();
        prop_assert_eq!(found.good.len() + sorted_out, edges.len());
        let find = |id: u64| run.lanes.iter().flat_map(|lane| &lane.spans).find(|span| span.id == id);
        for edge in &found.contradicted {
            let (from, to) = (find(edge.from).unwrap(), find(edge.to).unwrap());
            let fits = match edge.kind {
                DependencyKind::DependsOn | DependencyKind::Follows => from.end_ns <= to.start_ns,
                DependencyKind::Joins => from.end_ns <= to.end_ns,
                DependencyKind::Awaits | DependencyKind::Wakes => from.end_ns <= to.end_ns || from.start_ns < to.end_ns,
                DependencyKind::Blocks => to.start_ns <= from.start_ns && (from.end_ns <= to.end_ns || from.start_ns < to.end_ns),
                DependencyKind::Launches | DependencyKind::Spawns => from.start_ns <= to.start_ns,
            };
            let in_a_circle = found.cycles.iter().any(|cycle| cycle.contains(&edge.from) && cycle.contains(&edge.to));
            prop_assert!(!fits || in_a_circle);
        }
    }

    #[test]
    fn a_joined_wait_is_no_longer_than_what_it_waits_for(task in 5..30_i64, late in 0..5_i64) {
        let rows = [(0, 0, 0, 40), (0, 2, 2, task + late), (1, 1, 2, task)];
        let run = lanes(&rows);
        let found = dependencies(&run, &edges(&[(2, 1, 1), (0, 2, 3)]));
        let graph = Graph::new(&run, segments(&run, &found.good), &found.good);
        let half = |s: u32| {
            let measured = graph.segments.end_ns(s as usize) - graph.segments.start_ns(s as usize);
            if graph.segments.lane(s) == 1 { measured / 2 } else { measured }
        };
        let last = graph.segments.lane_first[1] - 1;
        prop_assert_eq!(retime(&graph, half)[last as usize] + half(last), WALL_NS - (task - task / 2));
        prop_assert_eq!(graph.binding(last, 0).unwrap().link, if late > 0 { Link::Lane } else { Link::Dependency(DependencyKind::Joins) });
    }
}

fn renumbered(rows: &[(usize, usize, i64, i64)]) -> Lanes {
    let mut run = lanes(rows);
    for lane in &mut run.lanes {
        for span in &mut lane.spans {
            span.id = 1000 - span.id;
        }
        lane.spans.reverse();
        sort_by_start(&mut lane.spans);
    }
    run
}

/// Checks that other ids and another order of rows and edges give the same graph.
fn same_with_other_ids(
    rows: &[(usize, usize, i64, i64)],
    raw: &[(u64, u64, usize)],
) -> std::result::Result<(), TestCaseError> {
    let mut run = lanes(rows);
    let other_ids: Vec<_> = raw
        .iter()
        .rev()
        .map(|&(from, to, kind)| (1000 - from, 1000 - to, kind))
        .collect();
    let mut renamed = renumbered(rows);
    cut(&mut run);
    cut(&mut renamed);
    let found = dependencies(&run, &edges(raw));
    let found_renamed = dependencies(&renamed, &edges(&other_ids));
    prop_assert_eq!(found.contradicted.len(), found_renamed.contradicted.len());
    let graph = Graph::new(&run, segments(&run, &found.good), &found.good);
    let other = Graph::new(
        &renamed,
        segments(&renamed, &found_renamed.good),
        &found_renamed.good,
    );
    prop_assert_eq!(graph.let_go().len(), other.let_go().len());
    prop_assert_eq!(graph.last(), other.last());
    prop_assert_eq!(
        walk(&graph, WALL_NS).pieces(),
        walk(&other, WALL_NS).pieces()
    );
    prop_assert_eq!(slack(&graph), slack(&other));
    let id = |segment: u32| graph.span(segment, graph.segments.lane(segment)).id;
    let id_renamed = |segment: u32| other.span(segment, other.segments.lane(segment)).id;
    for segment in 0..graph.segments.len() as u32 {
        prop_assert_eq!(id(segment), 1000 - id_renamed(segment));
        let lane = graph.segments.lane(segment);
        prop_assert_eq!(graph.binding(segment, lane), other.binding(segment, lane));
    }
    Ok(())
}

#[test]
fn of_equal_predecessors_no_id_decides() {
    let rows = [(0, 0, 0, 10), (1, 0, 0, 10), (2, 0, 20, 5)];
    same_with_other_ids(&rows, &[(0, 2, 0), (1, 2, 0)]).unwrap();
    // And two ends that explain as much.
    same_with_other_ids(&rows[..2], &[]).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    /// Ids change nothing unless two rows of a lane have the same times: then only the ids tell which came
    /// first.
    #[test]
    fn ids_and_order_change_nothing((rows, raw) in runs()) {
        let mut run = lanes(&rows);
        cut(&mut run);
        let spans = run.lanes.iter().enumerate().flat_map(|(lane, spans)| spans.spans.iter().map(move |span| (lane, span)));
        let mut times: Vec<_> = spans.map(|(lane, span)| (lane, span.start_ns, span.end_ns)).collect();
        times.sort_unstable();
        prop_assume!(times.windows(2).all(|pair| pair[0] != pair[1]));
        same_with_other_ids(&rows, &raw)?;
    }

    /// A predicted path adds up to its window, and no gain exceeds the time removed.
    #[test]
    fn predicted_paths_add_up((rows, raw) in runs(), scale in 0..5_u32, which in 0..8_u64) {
        let mut run = lanes(&rows);
        cut(&mut run);
        let found = dependencies(&run, &edges(&raw));
        let graph = Graph::new(&run, segments(&run, &found.good), &found.good);
        let good: Vec<_> = found.good.iter().zip(0..).filter(|(_, n)| !graph.let_go().contains(n)).map(|(d, _)| *d).collect();
        let around = Ownership::new(&run, &good);
        let scale = f64::from(scale) / 2.0;
        let rules = [Rule { text: String::new(), target: Target::Id(which), change: Change::Scale(scale) }];
        let assumption = Assumption::new(&graph, &around, &trueno_plugin_critical_path::predict::at_roof::Roofs::default(), &rules);
        let free_ns = schedule::retime(&graph, &assumption);
        let [wall_ns] = schedule::wall_ns(&graph, &assumption, &free_ns);
        let timing = Predicted { graph: &graph, scenario: &assumption, free_ns: &free_ns };
        let path = Path::new(&graph, &timing, wall_ns, timing.last()).pieces();
        if wall_ns > 0 {
            prop_assert_eq!(path[0].start_ns, 0);
        }
        prop_assert!(path.is_sorted_by(|a, b| a.start_ns < b.start_ns));
        prop_assert!(path.last().is_none_or(|piece| piece.start_ns < wall_ns));
        let measured: i64 = (0..graph.segments.len() as u32).map(|s| graph.dur_ns(s)).sum();
        let assumed: i64 = (0..graph.segments.len() as u32)
            .map(|s| schedule::needed(&graph, &assumption, s, graph.segments.lane(s))[0])
            .sum();
        let (less, more) = ((measured - assumed).max(0), (assumed - measured).max(0));
        prop_assert!((-more..=less).contains(&(WALL_NS - wall_ns)), "{} {} {}", less, more, wall_ns);
        if scale == 1.0 {
            prop_assert_eq!(wall_ns, WALL_NS);
            prop_assert_eq!(path, walk(&graph, WALL_NS).pieces());
        }
    }
}

fn larger_runs() -> impl Strategy<Value = Raw> {
    let rows = prop::collection::vec((0..3_usize, 0..4_usize, -3..42_i64, 0..6_i64), 40..80);
    let edges = prop::collection::vec((0..80_u64, 0..80_u64, 0..6_usize), 0..120);
    (rows, edges)
}

/// A host that launches to a stream: calls and their work, which begins some time after both the call and the
/// previous work.
fn launched_runs() -> impl Strategy<Value = Raw> {
    let launch = (0..3_i64, 0..2_i64, 1..4_i64, 0..4_i64, 1..3_i64);
    prop::collection::vec(launch, 10..20).prop_map(|launches| {
        let (mut rows, mut raw) = (Vec::new(), Vec::new());
        let (mut now_ns, mut free_ns) = (0, 0);
        for (idle_ns, call_ns, launch_ns, work_ns, next_ns) in launches {
            let called_ns = now_ns + idle_ns;
            let start_ns = (called_ns + launch_ns).max(free_ns + next_ns);
            raw.push((rows.len() as u64, rows.len() as u64 + 1, 2));
            rows.push((0, 0, called_ns, call_ns));
            rows.push((2, 0, start_ns, work_ns));
            (now_ns, free_ns) = (called_ns + call_ns, start_ns + work_ns);
        }
        (rows, raw)
    })
}

/// Reference implementation: latest ends, iterated until nothing changes.
fn latest_slowly(graph: &Graph<'_>) -> Vec<i64> {
    let segments = &graph.segments;
    let mut latest_ns = vec![last_end_ns(graph); segments.len()];
    if let Some(last) = graph.last() {
        latest_ns[last as usize] = segments.free_ns(last as usize);
    }
    loop {
        let before = latest_ns.clone();
        for segment in 0..segments.len() as u32 {
            let lane = segments.lane(segment);
            let Some(binding) = graph.binding(segment, lane) else {
                continue;
            };
            let start_ns = latest_ns[segment as usize] - graph.dur_ns(segment);
            for of in graph.predecessors(segment, lane) {
                let lag_ns = lag_by_definition(graph, segment, &of, &binding);
                let latest = &mut latest_ns[of.source as usize];
                *latest = (*latest).min(start_ns - lag_ns);
            }
        }
        if latest_ns == before {
            return latest_ns;
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn larger_graphs_have_the_times_of_the_definition((rows, raw) in prop_oneof![larger_runs(), launched_runs()], scale in prop::collection::vec(0..4_i64, 1..9)) {
        let mut run = lanes(&rows);
        cut(&mut run);
        let found = dependencies(&run, &edges(&raw));
        let graph = Graph::new(&run, segments(&run, &found.good), &found.good);
        let dur_ns = |s: u32| (graph.segments.end_ns(s as usize) - graph.segments.start_ns(s as usize)) * scale[s as usize % scale.len()];
        prop_assert_eq!(retime(&graph, dur_ns), retime_slowly(&graph, &dur_ns));
        let latest_ns = latest_slowly(&graph);
        let slack = slack(&graph);
        for segment in 0..graph.segments.len() as u32 {
            let at = segment as usize;
            prop_assert_eq!(slack[at], latest_ns[at] - graph.dur_ns(segment) - graph.segments.start_ns(at));
        }
        let path = walk(&graph, WALL_NS).pieces();
        prop_assert_eq!(path[0].start_ns, 0);
        prop_assert!(path.is_sorted_by(|a, b| a.start_ns < b.start_ns));
    }
}
