//! Sums that a profiler of aprender-compute holds, in a run: filled by its own calls, read back from the files.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use trueno::brick::{
    fnv1a_f32_checksum, BrickBottleneck, BrickId, BrickProfiler, EdgeType, ExecutionNode,
    TileLevel, TransferDirection,
};
use trueno_brick_profiler::bridge::{self, Bridged};
use trueno_recorder::Recorder;
use trueno_testing::{folder, run_json, table, Cell};

fn profiler() -> BrickProfiler {
    let mut profiler = BrickProfiler::enabled();
    for ns in [24_000, 26_000] {
        profiler.record_elapsed("RmsNorm", Duration::from_nanos(ns), 4096);
    }
    let time = Duration::from_nanos(53_001);
    profiler.record_elapsed_with_bytes("attn \"flash\"", time, 8, 4096, 1024);
    profiler.set_brick_bottleneck("RmsNorm", BrickBottleneck::Memory);
    profiler.enable_tile_profiling();
    let tiles = profiler.tile_stats_mut(TileLevel::Midi);
    tiles.add_sample(78_200, 65_536, 8 << 20);
    profiler.record_checksum("qkv.out", 3, 17, &[1.0]);
    profiler.record_checksum("qkv.out", 4, 17, &[0.0; 65]);
    profiler
}

fn with_graph(mut profiler: BrickProfiler) -> BrickProfiler {
    profiler.enable_graph();
    profiler.graph_push_scope(ExecutionNode::Layer { index: 0 });
    profiler.graph_record_brick(BrickId::QkvProjection, 89_000, 4096);
    profiler.graph_record_kernel("gemv", 7, (32, 1, 1), (256, 1, 1), 0);
    profiler.graph_pop_scope();
    let graph = profiler.execution_graph_mut();
    let (grid, block) = ((32, 1, 1), (256, 1, 1));
    let timed = graph.record_kernel_launch_with_metrics("gemv", 7, grid, block, 0, 5_000, 1.0, 2.0);
    let copy = graph.record_transfer("host", "gpu", 4096, TransferDirection::H2D, Some(700));
    graph.add_edge(copy, timed, EdgeType::DependsOn);
    profiler
}

/// Records a profiler. Returns the run's folder and the result of the call.
fn bridged(profiler: &BrickProfiler) -> (tempfile::TempDir, std::path::PathBuf, Bridged) {
    let (folder, path) = folder();
    let rec = Recorder::create(&path).unwrap();
    let bridged = bridge::record(profiler, &rec);
    rec.finish().unwrap();
    (folder, path, bridged)
}

/// Values of counters with unit and source, by name.
fn counters(run: &Path) -> BTreeMap<String, String> {
    let found = table(run, "counters");
    let rows = (0..found.rows).map(|row| {
        let text = |column| match found.cell(column, row) {
            Cell::T(text) => text.clone(),
            other => panic!("{column}: {other:?}"),
        };
        let Cell::F(value) = found.cell("value", row) else {
            panic!("no number");
        };
        let name = text("name").replacen("sum: ", "", 1);
        (name, format!("{value} {} {}", text("unit"), text("source")))
    });
    let rows: Vec<_> = rows.collect();
    let by_name: BTreeMap<_, _> = rows.iter().cloned().collect();
    assert_eq!(by_name.len(), rows.len(), "names are there once");
    by_name
}

#[test]
fn sums_are_counters_as_they_are_and_nothing_has_a_timeline() {
    let (_folder, run, bridged) = bridged(&profiler());
    assert_eq!((bridged.bricks, bridged.tile_levels), (2, 1));
    let counters = counters(&run);
    for (name, expected) in [
        ("RmsNorm calls", "2 calls measured"),
        ("RmsNorm total_time", "50000 ns computed"),
        ("RmsNorm avg_time", "25000 ns computed"),
        ("RmsNorm min_time", "24000 ns measured"),
        ("RmsNorm max_time", "26000 ns measured"),
        ("RmsNorm elements", "8192 elements declared"),
        ("attn \"flash\" max_time", "53001 ns measured"),
        ("attn \"flash\" compressed_bytes", "1024 byte declared"),
        ("category Norm total_time", "50000 ns computed"),
        ("all bricks total_time", "103001 ns computed"),
        ("midi tiles flops", "8388608 flop declared"),
    ] {
        assert_eq!(counters[name], expected, "{name}");
    }
    assert!(
        !counters.contains_key("RmsNorm bytes"),
        "nobody stated them"
    );
    let tables: Vec<String> = run_json(&run).tables.into_keys().collect();
    assert_eq!(
        tables,
        ["annotations", "clock_pairs", "counters", "threads"]
    );
    let problems = run_json(&run).problems;
    assert!(
        problems.len() == 1 && problems[0].contains("count twice"),
        "{problems:?}"
    );
}

#[test]
fn fingerprints_and_labels_are_instants() {
    let (_folder, run, bridged) = bridged(&profiler());
    assert_eq!(bridged.checksums, 2);
    let annotations = table(&run, "annotations");
    let arguments: Vec<&str> = annotations
        .texts("arguments")
        .into_iter()
        .flatten()
        .collect();
    let of_64 = fnv1a_f32_checksum(&[0.0; 64]);
    let expected = [
        r#"{"brick":"RmsNorm","bottleneck":"memory","source":"declared"}"#.to_owned(),
        r#"{"name":"qkv.out","layer":3,"position":17,"hash_fnv64":"4b72477f9c5c2f98"}"#.to_owned(),
        format!(r#"{{"name":"qkv.out","layer":4,"position":17,"hash_fnv64":"{of_64:016x}"}}"#),
    ];
    assert_eq!(arguments, expected);
}

#[test]
fn the_graph_gives_sums_of_what_it_states_and_says_what_is_left_out() {
    let (_folder, run, bridged) = bridged(&with_graph(BrickProfiler::enabled()));
    assert_eq!((bridged.nodes, bridged.nodes_without_figures), (4, 1));
    assert_eq!(bridged.edges_left_out, 3);
    let found = counters(&run);
    let found: Vec<_> = found
        .iter()
        .map(|(name, value)| format!("{name}: {value}"))
        .collect();
    assert_eq!(
        found,
        [
            "brick node QkvProjection calls: 1 calls declared",
            "brick node QkvProjection elements: 4096 elements declared",
            "brick node QkvProjection timed_calls: 1 calls declared",
            "brick node QkvProjection total_time: 89000 ns declared",
            "kernel node gemv calls: 2 calls declared",
            "kernel node gemv timed_calls: 1 calls declared",
            "kernel node gemv total_time: 5000 ns declared",
            "transfer node h2d bytes: 4096 byte declared",
            "transfer node h2d calls: 1 calls declared",
            "transfer node h2d timed_calls: 1 calls declared",
            "transfer node h2d total_time: 700 ns declared",
        ]
    );
    let facts = run_json(&run).values;
    assert_eq!(
        facts["brick_profiler.graph"],
        "1 nodes without figures and 3 edges are in no row"
    );
}

#[test]
fn what_was_not_finalized_is_told_and_an_empty_profiler_records_no_sum() {
    let mut profiler = BrickProfiler::enabled();
    profiler.record_deferred(BrickId::LmHead, 0, 1);
    let (_folder, run, bridged) = bridged(&profiler);
    assert_eq!((bridged.pending, bridged.bricks), (1, 0));
    assert!(run_json(&run).problems[0].contains("1 deferred bricks were not finalized"));
    assert!(counters(&run).is_empty());
    assert_eq!(bridge::record(&profiler, &Recorder::disabled()).pending, 1);
}
