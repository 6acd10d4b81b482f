//! Intervals in intervals: sums over all that is around, however many levels.

use std::collections::BTreeMap;

use proptest::prelude::*;
use trueno_analysis::lanes::{Class, Label, Lanes};
use trueno_analysis::testing::{RunFixture, interval, lines};
use trueno_plugin_critical_path::graph::chains::Chains;
use trueno_plugin_critical_path::graph::dependency_graph::Graph;
use trueno_plugin_critical_path::graph::ownership::Ownership;
use trueno_plugin_critical_path::graph::segments::segments;
use trueno_plugin_critical_path::graph::walk::{PieceKind, walk};
use trueno_plugin_critical_path::load::dependencies::dependencies;
use trueno_plugin_critical_path::load::window::cut;
use trueno_plugin_critical_path::path::path_sums::PathSums;
use trueno_plugin_critical_path::path::path_time_by_name::PathTimes;
use trueno_plugin_critical_path::predict::opportunity::opportunities;
use trueno_plugin_critical_path::predict::shortcuts::Shortcuts;

use crate::linked::Linked;
use crate::random::{edges, lanes, runs};

fn rename(run: &mut Lanes) {
    for lane in 0..run.lanes.len() {
        for index in 0..run.lanes[lane].spans.len() {
            let span = run.lanes[lane].spans[index];
            let name = run.texts.number(["x", "y", "z"][span.id as usize % 3]);
            let label = run.labels.get(span.label);
            run.lanes[lane].spans[index].label = run.labels.number(Label { name, ..label });
        }
    }
}

/// Reference implementation of time on the path and own time by name: walks up from every piece.
fn slowly(graph: &Graph<'_>, around: &Ownership) -> BTreeMap<u32, (i64, i64)> {
    let path = walk(graph, graph.run.wall_ns);
    let mut sums: BTreeMap<u32, (i64, i64)> = BTreeMap::new();
    for piece in path.pieces() {
        if !matches!(piece.kind, PieceKind::Work | PieceKind::Transfer) {
            continue;
        }
        let dur_ns = piece.dur_ns;
        let lane = graph.segments.lane(piece.segment);
        let innermost = around.first(lane) + graph.segments.span[piece.segment as usize];
        let (mut up, mut seen, mut steps) = (Some(innermost), Vec::new(), 0);
        while let Some(number) = up.filter(|_| steps <= around.len()) {
            let place = around.place(number);
            let span = graph.run.lanes[place.lane as usize].spans[place.index as usize];
            let label = graph.run.labels.get(span.label);
            if label.class == Class::Wait {
                break;
            }
            if label.class != Class::Scope && !seen.contains(&label.name) {
                seen.push(label.name);
                let sum = sums.entry(label.name).or_default();
                sum.0 += dur_ns;
                sum.1 += if number == innermost { dur_ns } else { 0 };
            }
            up = around.owner(number);
            steps += 1;
        }
    }
    sums
}

proptest! {
    #[test]
    fn time_by_name_is_that_of_everything_around((rows, raw) in runs()) {
        let mut run = lanes(&rows);
        rename(&mut run);
        cut(&mut run);
        let mut found = dependencies(&run, &edges(&raw));
        let graph = Graph::new(&run, segments(&run, &found.good), &found.good);
        let let_go = graph.let_go().to_vec();
        found.contradict(&run, &let_go);
        let around = Ownership::new(&run, &found.good);
        let chains = Chains::new(&run, &around);
        let mut times = PathTimes::new(&graph, &chains);
        walk(&graph, run.wall_ns).each(|piece| times.add(&piece));
        let fast: BTreeMap<u32, (i64, i64)> = times
            .by_name()
            .into_iter()
            .map(|named| (named.name, (named.path_ns, named.own_ns)))
            .collect();
        prop_assert_eq!(fast, slowly(&graph, &around));
    }
}

proptest! {
    #[test]
    fn shortcuts_change_no_gain((rows, raw) in runs(), min_segments in 1..4_u32) {
        let mut run = lanes(&rows);
        rename(&mut run);
        cut(&mut run);
        let found = dependencies(&run, &edges(&raw[..raw.len().min(3)]));
        let graph = Graph::new(&run, segments(&run, &found.good), &found.good);
        let chains = Chains::new(&run, &Ownership::new(&run, &found.good));
        let (mut times, mut sums) = (PathTimes::new(&graph, &chains), PathSums::new(&graph));
        walk(&graph, run.wall_ns).each(|piece| {
            times.add(&piece);
            sums.add(&piece);
        });
        let names = times.by_name();
        let none = opportunities(&graph, &chains, &Shortcuts::default(), &sums, names.clone(), 9);
        let shortcuts = Shortcuts::with_min(&graph, &chains, min_segments);
        prop_assert_eq!(opportunities(&graph, &chains, &shortcuts, &sums, names, 9), none);
    }
}

/// If the work grew with the square of the levels, this would take minutes.
#[test]
fn as_many_levels_as_there_are_rows() {
    const LEVELS: i64 = 64_000;
    let brick = |level: i64| {
        let name = ["even", "odd"][level as usize % 2];
        interval(1 + level as u64, "brick", name, level, 2 * LEVELS - level)
    };
    let out = Linked {
        fixture: RunFixture {
            wall_ns: Some(2 * LEVELS),
            bricks: (0..LEVELS).map(brick).collect(),
            ..RunFixture::default()
        },
        ..Linked::default()
    }
    .analyse();
    assert_eq!(
        lines(
            out.table("opportunity"),
            &["name", "path_ns", "gain_100pct_ns"]
        ),
        ["even | 128000 | 128000", "odd | 127998 | 127998"]
    );
    assert_eq!(
        lines(out.table("by_name"), &["name", "dur_ns"]),
        ["even | 64000", "odd | 64000"]
    );
}
