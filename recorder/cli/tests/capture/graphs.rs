//! Graphs, node by node or as a whole; and what devices were like.

use std::collections::HashMap;

use crate::fakes::{Cupti, Recording, command, fakes, record, record_with};
use trueno_testing::Cell;

const WORDS: &str = "init push:replay graph:7:5:9 graph:7:5:9 pop launch:k:9:5 sync";

#[test]
fn a_graph_is_a_row_a_node() {
    let Some(recording) = record(WORDS) else {
        return;
    };
    let kernels = recording.table("kernels");
    let nodes = kernels
        .texts("name")
        .into_iter()
        .filter(|name| *name == Some("node"));
    assert_eq!((nodes.count(), kernels.rows), (10, 11));
}

#[test]
fn a_whole_graph_is_a_row_a_launch() {
    for cupti in [Cupti::New, Cupti::Old] {
        let Some(recording) = record_with(cupti, "", "--graphs whole", WORDS) else {
            return;
        };
        let recording = recording.succeeded();
        let kernels = recording.table("kernels");
        let mut names: Vec<_> = kernels.texts("name").into_iter().flatten().collect();
        names.sort_unstable();
        assert_eq!(names, ["graph 7", "graph 7", "k"]);
        let bricks = recording.table("bricks");
        let replay = bricks.number("id", bricks.named("replay"));
        for row in 0..3 {
            let is_graph = kernels.texts("name")[row] == Some("graph 7");
            let dur = kernels.number("dur_ns", row).unwrap();
            assert_eq!(dur, if is_graph { 10_000 } else { 5_000 });
            assert_eq!(
                kernels.number("brick", row),
                if is_graph { replay } else { None }
            );
            assert_eq!(kernels.cell("grid_x", row) == &Cell::Null, is_graph);
            assert_eq!(kernels.cell("valid", row), &Cell::B(true));
        }
        let edges = recording.table("edges");
        let launches = edges
            .texts("kind")
            .into_iter()
            .filter(|kind| *kind == Some("launches"));
        assert_eq!(launches.count(), 3, "each hangs at its call");
        assert!(recording.capture().invalid.is_empty());
    }
}

/// Edges between kernels, by name. Checks that each is within a launch and starts at a kernel that had ended.
fn dependencies(recording: &Recording) -> Vec<(String, String)> {
    let kernels = recording.table("kernels");
    let rows: HashMap<_, _> = (0..kernels.rows)
        .map(|row| (kernels.number("id", row), row))
        .collect();
    let edges = recording.table("edges");
    let of = (0..edges.rows).filter(|edge| edges.texts("kind")[*edge] == Some("depends_on"));
    let mut all: Vec<(String, String)> = of
        .map(|edge| {
            let [from, to] = ["from", "to"].map(|end| rows[&edges.number(end, edge)]);
            let number = |column, row| kernels.number(column, row);
            assert_eq!(number("correlation", from), number("correlation", to));
            let end = number("start_ns", from).unwrap() + number("dur_ns", from).unwrap();
            assert!(end <= number("start_ns", to).unwrap());
            let name = |row: usize| kernels.texts("name")[row].unwrap().to_owned();
            (name(from), name(to))
        })
        .collect();
    all.sort();
    all
}

#[test]
fn what_the_nodes_of_a_graph_wait_for_is_edges_in_each_launch() {
    let graph = [
        ("first", "left"),
        ("first", "right"),
        ("left", "last"),
        ("right", "last"),
    ]
    .map(|(from, to)| (from.to_owned(), to.to_owned()));
    for cupti in [Cupti::New, Cupti::Old] {
        let words = "init instantiate replay:9:2 instantiate replay:9:1 launch:k:9:5 sync";
        let Some(recording) = record_with(cupti, "", "", words) else {
            return;
        };
        let recording = recording.succeeded();
        let mut three = [graph.clone(), graph.clone(), graph.clone()].concat();
        three.sort();
        assert_eq!(dependencies(&recording), three);
        assert_eq!(recording.table("kernels").rows, 16);
        let capture = recording.capture();
        assert!(capture.invalid.is_empty(), "{:?}", capture.invalid);
    }
}

#[test]
fn where_edges_cannot_be_had_there_are_none_and_that_is_said() {
    let Some(mut run) = command(Cupti::New) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("it.run");
    let output = run
        .args(["run", "-o"])
        .arg(&path)
        .arg("--")
        .arg(fakes().unwrap().join("program"))
        .args(["init", "instantiate", "replay:9:1", "sync"])
        .env("FAKE_NO_EDGES", "1")
        .output()
        .unwrap();
    let recording = Recording { output, folder }.succeeded();
    assert_eq!(dependencies(&recording), []);
    assert!(
        recording
            .said()
            .contains("what the nodes of a graph wait for is not recorded: cuGraphGetEdges"),
        "{}",
        recording.said()
    );
    // A graph that was not instantiated, and a level that asks for no edges.
    for (options, words) in [
        ("", "init instantiate:badly replay:9:1 sync"),
        ("--level kernels", "init instantiate replay:9:1 sync"),
    ] {
        let recording = record_with(Cupti::New, "", options, words).unwrap();
        let recording = recording.succeeded();
        assert_eq!(dependencies(&recording), []);
        assert_eq!(recording.table("kernels").rows, 5);
    }
}

#[test]
fn clocks_and_power_of_devices_are_counters() {
    let Some(recording) = record_with(Cupti::New, "", "--level full", "init launch:k:9:5 sync")
    else {
        return;
    };
    let counters = recording.table("counters");
    let of = |name: &str| {
        let row = counters.named(name);
        (
            counters.cell("value", row).clone(),
            counters.texts("unit")[row].map(str::to_owned),
        )
    };
    assert_eq!(
        of("gpu0 multiprocessor clock"),
        (Cell::F(1980.0), Some("MHz".to_owned()))
    );
    assert_eq!(
        of("gpu0 memory clock"),
        (Cell::F(2619.0), Some("MHz".to_owned()))
    );
    assert_eq!(
        of("gpu0 power"),
        (Cell::F(123_456.0), Some("mW".to_owned()))
    );
    assert_eq!(
        of("gpu0 power limit"),
        (Cell::F(700_000.0), Some("mW".to_owned()))
    );
    assert_eq!(
        recording.capture().records["environment"],
        3,
        "what is not known makes no row"
    );
}
