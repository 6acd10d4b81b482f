//! The graph of a run with one of everything, and of runs drawn at random, against slow and obvious oracles.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use trueno_engine::run::Run;

use super::*;
use trueno_testing::{Made, Value, sample};

fn loaded(make: impl FnOnce(&std::path::Path), content: Content) -> Graph {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("made.run");
    make(&path);
    load(&Run::open(&path).unwrap(), content).unwrap()
}

/// Indented names with host, self and device time.
fn outline(graph: &Graph) -> Vec<String> {
    let mut lines = Vec::new();
    let mut open: Vec<(Group, usize)> = graph
        .top(false, None)
        .into_iter()
        .map(|g| (g, 0))
        .rev()
        .collect();
    while let Some((group, depth)) = open.pop() {
        let totals = graph.totals(&group.members);
        let ns = |ns: Option<i64>| ns.map_or("-".to_owned(), |ns| ns.to_string());
        lines.push(format!(
            "{}{} {} {} {}",
            " ".repeat(depth),
            graph.names[group.name as usize],
            ns(totals.host_ns),
            ns(totals.self_ns),
            ns(totals.device_ns)
        ));
        let below = graph.below(&group, false, None);
        open.extend(below.into_iter().rev().map(|g| (g, depth + 1)));
    }
    lines
}

#[test]
fn rows_hang_below_what_they_name_or_what_launched_them() {
    let graph = loaded(sample, Content::default());
    assert_eq!(
        outline(&graph),
        [
            "thread 0 main 1000 - 440",
            " iteration 1000 110 440",
            "  layer 890 160 440",
            // 20 to 400 without the call; the task is of another lane.
            "   QkvProjection 380 360 240",
            "    head 0 170 170 -",
            "    cudaLaunchKernel 20 20 -",
            "    h2d - - 40",
            "    gemm - - 200",
            "   FfnGateUp 350 240 200",
            // Not valid: without times it comes first.
            "    softmax - - -",
            // No brick was recorded for it: it lies there in time.
            "    cudaLaunchKernel 20 20 -",
            // Bound: shown, in no sum.
            "    softmax - - -",
            // Launched by the call without a brick.
            "    gemm - - 200",
            "    dot 50 50 -",
            "    device 40 40 -",
            "gpu0/stream 7 - - 30",
            " orphan - - 30",
        ]
    );
}

#[test]
fn hidden_tiles_leave_their_time_to_what_they_lie_in() {
    let with = loaded(
        sample,
        Content {
            tiles: true,
            edges: true,
        },
    );
    let without = loaded(sample, Content::default());
    let self_ns = |graph: &Graph, id| graph.node(graph.find(id).unwrap()).self_ns;
    assert_eq!((self_ns(&with, 22), self_ns(&with, 50)), (40, 10));
    assert_eq!((self_ns(&without, 22), self_ns(&without, 50)), (50, 0));
    assert_eq!(with.rows(), without.rows() + 1);
    assert_eq!((with.edges.len(), with.edges_left_out), (4, 1));
}

#[test]
fn a_merged_row_has_the_union_and_leaves_out_what_has_no_times() {
    let graph = loaded(sample, Content::default());
    let all: Vec<u32> = (graph.lanes.len() as u32..graph.len() as u32)
        .filter(|at| graph.node(*at).class == Class::Kernel && graph.lane(*at).is_device)
        .collect();
    let totals = graph.totals(&all);
    assert_eq!((totals.count, totals.untimed), (5, [1, 1, 0]));
    assert_eq!((totals.host_ns, totals.device_ns), (None, Some(430)));
    assert_eq!(totals.spread_ns, Some([30, 200, 200]));
    assert!(totals.lacks_device);
    let launches = graph.launches(&all);
    assert_eq!(launches.len(), 2, "{launches:?}");
    assert_eq!(launches[0].1, 2);
    let text = launches[0].0.text();
    assert!(
        text.starts_with("<<<(32,2,1),(256,1,1)>>>  smem 1024+49152 B  40 regs  ptx gemm.ptx "),
        "{text}"
    );
}

#[test]
fn merged_names_that_differ_in_ids_are_one_row() {
    let make = |path: &std::path::Path| {
        let mut made = Made::new(path);
        let names = ["ProfilerStep#4", "add", "ProfilerStep#5", "layer 1", "add"];
        for (at, name) in names.into_iter().enumerate() {
            made.row(
                "bricks",
                &[
                    ("id", (at as i64 + 1).into()),
                    ("name", name.into()),
                    ("kind", "brick".into()),
                    ("thread", 0.into()),
                    ("start_ns", (at as i64 * 10).into()),
                    ("dur_ns", 10.into()),
                    ("timing", "host".into()),
                ],
            );
        }
        made.finish(100);
    };
    let graph = loaded(make, Content::default());
    let lane = &graph.top(false, None)[0];
    let below = |merge| -> Vec<(&str, usize)> {
        let groups = graph.below(lane, merge, None).into_iter();
        let row = |group: Group| {
            (
                graph.names[group.name as usize].as_str(),
                group.members.len(),
            )
        };
        groups.map(row).collect()
    };
    assert_eq!(
        below(true),
        [("ProfilerStep#*", 2), ("add", 2), ("layer 1", 1)]
    );
    assert_eq!(below(false)[2], ("ProfilerStep#5", 1));
}

#[test]
fn merged_threads_of_a_pool_are_one_lane() {
    let make = |path: &std::path::Path| {
        let mut made = Made::new(path);
        let lanes = (1..=9).map(|thread| (thread, thread * 10, 8));
        for (thread, start_ns, dur_ns) in lanes.chain([(10, 0, 100)]) {
            made.row(
                "bricks",
                &[
                    ("id", thread.into()),
                    ("name", if thread == 10 { "loop" } else { "ffn" }.into()),
                    ("kind", "brick".into()),
                    ("thread", thread.into()),
                    ("start_ns", start_ns.into()),
                    ("dur_ns", dur_ns.into()),
                    ("timing", "host".into()),
                ],
            );
        }
        made.finish(100);
    };
    let graph = loaded(make, Content::default());
    let top = |merge| -> Vec<(String, usize, Option<i64>)> {
        let row = |group: Group| {
            (
                graph.names[group.name as usize].clone(),
                group.members.len(),
                graph.totals(&group.members).host_ns,
            )
        };
        graph.top(merge, None).into_iter().map(row).collect()
    };
    assert_eq!(
        top(true),
        [
            ("threads of ffn ×9".to_owned(), 9, Some(72)),
            ("thread 10".to_owned(), 1, Some(100)),
        ]
    );
    assert_eq!(top(false).len(), 10);
    let pool = &graph.top(true, None)[0];
    let below = graph.below(pool, true, None);
    assert_eq!((below.len(), below[0].members.len()), (1, 9));
}

#[test]
fn a_filter_keeps_what_fits_with_all_around_and_below() {
    let graph = loaded(sample, Content::default());
    let kept = |text: &str| -> Vec<u64> {
        let filter = Filter::new(&graph, text);
        let rows = graph.lanes.len() as u32..graph.len() as u32;
        rows.filter(|at| filter.keeps(*at) && !graph.hides(graph.node(*at).class))
            .map(|at| graph.node(at).id)
            .collect::<BTreeSet<u64>>()
            .into_iter()
            .collect()
    };
    assert_eq!(kept("QKV"), [1, 2, 3, 4, 10, 20, 30]);
    assert_eq!(kept("thread 1"), [1, 2, 3, 4]);
    assert_eq!(kept("gpu0"), [1, 2, 3, 5, 20, 21, 23, 24, 25, 30]);
    assert_eq!(
        kept("thread"),
        kept("thread"),
        "the word alone is every thread"
    );
    assert!(kept("gpu").is_empty() && kept("nothing").is_empty());
}

#[test]
fn what_is_left_out_is_summed() {
    let graph = loaded(sample, Content::default());
    let layer = Group {
        class: Class::Layer,
        name: 0,
        members: vec![graph.find(5).unwrap()],
    };
    let limits = Limits {
        top: 1,
        min_share: 0.0,
    };
    let picked = pick(&graph, graph.below(&layer, false, None), limits, false);
    assert_eq!(picked.shown.len(), 1);
    assert_eq!(picked.shown[0].1.device_ns, Some(200));
    let rest = picked.rest.unwrap();
    assert_eq!((rest.rows, rest.totals.host_ns), (5, Some(110)));
    assert_eq!(rest.totals.untimed, [1, 1, 0]);
}

#[test]
fn rows_of_hours_keep_their_times() {
    const HOUR_NS: i64 = 3_600_000_000_000;
    let make = |path: &std::path::Path| {
        let mut made = Made::new(path);
        for (id, parent, start_ns, hours) in [(1, 0, 0, 5), (2, 1, HOUR_NS, 2), (3, 2, HOUR_NS, 1)]
        {
            made.row(
                "bricks",
                &[
                    ("id", id.into()),
                    ("parent", parent.into()),
                    ("name", "long".into()),
                    ("kind", "brick".into()),
                    ("thread", 0.into()),
                    ("start_ns", start_ns.into()),
                    ("dur_ns", (hours * HOUR_NS).into()),
                    ("timing", "host".into()),
                    ("elements", (i64::from(u32::MAX) - 2 + id).into()),
                ],
            );
        }
        made.finish(5 * HOUR_NS);
    };
    let mut graph = loaded(make, Content::default());
    let hours = |ns: i64| ns / HOUR_NS;
    let of = |graph: &Graph, id| graph.node(graph.find(id).unwrap());
    let rows = [1, 2, 3].map(|id| of(&graph, id));
    assert_eq!(rows.map(|node| hours(node.dur_ns)), [5, 2, 1]);
    assert_eq!(rows.map(|node| hours(node.self_ns)), [3, 1, 1]);
    assert_eq!(hours(graph.node(0).dur_ns), 5);
    let elements = [1, 2, 3].map(|id| graph.elements(graph.find(id).unwrap()));
    let declared = [1, 2, 3].map(|id| Some(u64::from(u32::MAX) - 2 + id));
    assert_eq!(elements, declared);
    assert_eq!(graph.elements(0), None);
    let marked_ns = graph.mark_path(|id| if id == 1 { 0 } else { HOUR_NS });
    assert_eq!(hours(marked_ns), 2);
    let on_path = [1, 2, 3].map(|id| graph.on_path(graph.find(id).unwrap()));
    assert_eq!(on_path.map(|path| hours(path.all_ns)), [2, 2, 1]);
    assert_eq!(on_path.map(|path| hours(path.self_ns)), [0, 1, 1]);
}

/// A random row: thread or stream, start, duration, and the recorded parent.
#[derive(Clone, Debug)]
struct Drawn {
    is_device: bool,
    lane: i64,
    start: i64,
    dur: i64,
    parent: Option<i64>,
    name: usize,
    bound: bool,
}

fn drawn() -> impl Strategy<Value = Drawn> {
    let parent = proptest::option::of(1..24_i64);
    (
        any::<bool>(),
        0..2_i64,
        0..40_i64,
        -1..20_i64,
        parent,
        0..3_usize,
        0..8_u8,
    )
        .prop_map(|(is_device, lane, start, dur, parent, name, bound)| Drawn {
            is_device,
            lane,
            start,
            dur,
            parent,
            name,
            bound: bound == 0,
        })
}

const NAMES: [&str; 3] = ["a", "b", "c"];

fn make(rows: &[Drawn]) -> Graph {
    let make = |path: &std::path::Path| {
        let mut made = Made::new(path);
        for (at, row) in rows.iter().enumerate() {
            let mut cells: Vec<(&str, Value<'_>)> = vec![
                ("id", (at as i64 + 1).into()),
                ("name", NAMES[row.name].into()),
                ("start_ns", row.start.into()),
                ("dur_ns", row.dur.into()),
                ("timing", if row.bound { "bound" } else { "host" }.into()),
            ];
            let link = if row.is_device { "brick" } else { "parent" };
            cells.extend(row.parent.map(|parent| (link, parent.into())));
            if row.is_device {
                cells.extend([("device", 0.into()), ("stream", row.lane.into())]);
                made.row("kernels", &cells);
            } else {
                cells.extend([("kind", "brick".into()), ("thread", row.lane.into())]);
                made.row("bricks", &cells);
            }
        }
        made.finish(100);
    };
    loaded(make, Content::default())
}

fn self_times(rows: &[Drawn]) -> Vec<i64> {
    let mut times = vec![0; rows.len()];
    for lane in [(true, 0), (true, 1), (false, 0), (false, 1)] {
        for now in 0..100 {
            let open = rows.iter().enumerate().filter(|(_, row)| {
                (row.is_device, row.lane) == lane
                    && !row.bound
                    && (row.start..row.start + row.dur.max(0)).contains(&now)
            });
            // The latest started; of equals the shorter, then the higher id.
            let innermost = open.max_by_key(|(at, row)| (row.start, -row.dur, *at));
            if let Some((at, _)) = innermost {
                times[at] += 1;
            }
        }
    }
    times
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn self_times_are_those_of_the_innermost_row(rows in proptest::collection::vec(drawn(), 0..24)) {
        let graph = make(&rows);
        let expected = self_times(&rows);
        let mut busy = BTreeMap::new();
        for (at, (row, expected)) in rows.iter().zip(&expected).enumerate() {
            let node = graph.node(graph.find(at as u64 + 1).unwrap());
            prop_assert_eq!(node.self_ns, *expected, "row {}", at + 1);
            *busy.entry((row.is_device, row.lane)).or_insert(0) += expected;
        }
        for (at, lane) in graph.lanes.iter().enumerate() {
            let number: i64 = lane.name.rsplit(' ').next().unwrap().parse().unwrap();
            prop_assert_eq!(graph.node(at as u32).dur_ns, busy[&(lane.is_device, number)]);
        }
        let rows_in_order = graph.lanes.len() as u32..graph.len() as u32;
        let keys = rows_in_order.map(|at| graph.node(at)).map(|node| {
            (node.start_ns, std::cmp::Reverse(node.end_ns()), node.id)
        });
        prop_assert!(keys.is_sorted());
        // Nothing is lost or told twice, however rows are merged or left out.
        for merge in [false, true] {
            let mut open = graph.top(false, None);
            let (mut count, mut self_ns) = (0, 0);
            while let Some(group) = open.pop() {
                let totals = graph.totals(&group.members);
                let below = graph.below(&group, merge, None);
                count += totals.count;
                self_ns += totals.self_ns.unwrap_or(0);
                for top in [0, 1, 3] {
                    let picked = pick(&graph, below.clone(), Limits { top, min_share: 0.0 }, merge);
                    let all: Vec<u32> = below.iter().flat_map(|g| g.members.clone()).collect();
                    let parts = picked.shown.iter().map(|(_, totals)| totals);
                    let parts: Vec<&Totals> = parts.chain(picked.rest.iter().map(|r| &r.totals)).collect();
                    let whole = graph.totals(&all);
                    prop_assert_eq!(parts.iter().map(|t| t.count).sum::<u64>(), whole.count);
                    prop_assert_eq!(parts.iter().filter_map(|t| t.self_ns).sum::<i64>(), whole.self_ns.unwrap_or(0));
                    prop_assert_eq!(parts.iter().map(|t| t.untimed[0]).sum::<u64>(), whole.untimed[0]);
                }
                open.extend(below);
            }
            prop_assert_eq!(count as usize, rows.len());
            let hosts = rows.iter().zip(&expected).filter(|(row, _)| !row.is_device);
            prop_assert_eq!(self_ns, hosts.map(|(_, ns)| ns).sum::<i64>());
        }
        // Device time of a lane's tree: self times of all device rows in it.
        let device: i64 = graph.top(false, None).iter().filter_map(|g| graph.totals(&g.members).device_ns).sum();
        let expected: i64 = rows.iter().zip(&expected).filter(|(row, _)| row.is_device).map(|(_, ns)| ns).sum();
        prop_assert_eq!(device, expected);
    }

    #[test]
    fn merged_rows_take_the_union_of_their_intervals(rows in proptest::collection::vec(drawn(), 1..24)) {
        let graph = make(&rows);
        let members: Vec<u32> = (0..rows.len()).map(|at| graph.find(at as u64 + 1).unwrap()).collect();
        let hosts: Vec<u32> = members.into_iter().filter(|at| !graph.lane(*at).is_device).collect();
        let mut instants = BTreeSet::new();
        let timed = rows.iter().filter(|row| !row.is_device && !row.bound && row.dur >= 0);
        for row in timed.clone() {
            instants.extend((row.start..row.start + row.dur).map(|now| (row.lane, now)));
        }
        let expected = timed.clone().next().map(|_| instants.len() as i64);
        let totals = graph.totals(&hosts);
        prop_assert_eq!(totals.host_ns, expected);
        let mut durations: Vec<i64> = timed.map(|row| row.dur).collect();
        durations.sort_unstable();
        let middle = durations.len() / 2;
        let median = |d: &[i64]| if d.len() % 2 == 1 { d[middle] } else { (d[middle - 1] + d[middle]) / 2 };
        let spread = durations.first().map(|min| [*min, median(&durations), *durations.last().unwrap()]);
        prop_assert_eq!(totals.spread_ns, spread);
    }
}
