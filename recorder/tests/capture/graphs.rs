//! Graphs, node by node or as a whole; and what devices were like.

use crate::common::Cell;
use crate::fakes::{Cupti, record, record_with};

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
        assert_eq!(
            recording.output.status.code(),
            Some(0),
            "{}",
            recording.said()
        );
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
