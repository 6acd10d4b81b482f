//! The execution graph: what it answers, and what it records.

use std::time::Duration;

use trueno_brick_profiler::{
    BrickId, BrickProfiler, EdgeType, ExecutionGraph, ExecutionNode, ExecutionNodeId, PtxRegistry,
    TransferDirection,
};
use trueno_testing::{Cell, Table, folder, run_json, table};

fn brick(id: BrickId, us: u64) -> ExecutionNode {
    ExecutionNode::Brick {
        id,
        timing_ns: us * 1000,
        elements: 64,
    }
}

fn attribute<'t>(attributes: &'t Table, span: Option<i128>, name: &str) -> &'t Cell {
    let row = (0..attributes.rows).find(|row| {
        attributes.number("span", *row) == span
            && attributes.cell("name", *row) == &Cell::T(name.into())
    });
    let row = row.unwrap_or_else(|| panic!("no attribute {name} of {span:?}: {attributes:?}"));
    let of_type = ["integer", "number", "text"].map(|column| attributes.cell(column, row));
    of_type
        .into_iter()
        .find(|cell| **cell != Cell::Null)
        .unwrap()
}

/// The order of calls in the original's example: timed, then pushed as a scope for its kernel.
#[test]
fn a_scope_of_a_stopped_brick_is_that_brick() {
    let (_folder, path) = folder();
    let mut profiler = BrickProfiler::create(&path).unwrap();
    profiler.enable();
    profiler.enable_graph();
    profiler.graph_push_scope(ExecutionNode::Layer { index: 3 });
    for id in [BrickId::RmsNorm, BrickId::QkvProjection] {
        let timer = profiler.start_brick(id);
        std::thread::sleep(Duration::from_millis(2));
        profiler.stop_brick(timer, 64);
        profiler.graph_push_scope(brick(id, 1));
        profiler.graph_record_kernel("gemv", 0xfeed, (1, 1, 1), (32, 1, 1), 0);
        let graph = profiler.execution_graph_mut();
        for us in [300, 200] {
            graph.record_transfer("a", "b", 8, TransferDirection::H2D, Some(us * 1000));
        }
        profiler.graph_pop_scope();
    }
    profiler.graph_pop_scope();
    profiler.finish().unwrap();

    let bricks = table(&path, "bricks");
    assert_eq!(
        bricks.texts("name"),
        [Some("RmsNorm"), Some("QkvProjection"), Some("layer")]
    );
    assert_eq!(bricks.numbers("elements"), [Some(64), Some(64), None]);
    assert!(
        bricks.number("dur_ns", 0).unwrap() >= 2_000_000,
        "as it was timed, not as the node says"
    );
    let kernels = table(&path, "kernels");
    assert_eq!(kernels.numbers("brick"), bricks.numbers("id")[..2]);
    assert_eq!(
        kernels.numbers("start_ns"),
        bricks.numbers("start_ns")[..2],
        "where in the brick is not known, but not outside"
    );
    let transfers = table(&path, "transfers");
    for (row, (up, us)) in [(0, 0), (0, 300), (1, 0), (1, 300)].into_iter().enumerate() {
        assert_eq!(transfers.number("brick", row), bricks.number("id", up));
        let after =
            transfers.number("start_ns", row).unwrap() - bricks.number("start_ns", up).unwrap();
        assert!(
            (after - us * 1000).abs() < 30_000,
            "one after another: {transfers:?}"
        );
    }
}

#[test]
fn scopes_find_their_bricks_in_any_order() {
    let (_folder, path) = folder();
    let mut profiler = BrickProfiler::create(&path).unwrap();
    profiler.enable();
    profiler.enable_graph();
    for id in [BrickId::RmsNorm, BrickId::LmHead] {
        let timer = profiler.start_brick(id);
        profiler.stop_brick(timer, 1);
    }
    for id in [BrickId::RmsNorm, BrickId::LmHead] {
        profiler.graph_push_scope(brick(id, 0));
        profiler.graph_record_kernel(id.name(), 0, (1, 1, 1), (1, 1, 1), 0);
        profiler.graph_pop_scope();
    }
    profiler.finish().unwrap();
    let (bricks, kernels) = (table(&path, "bricks"), table(&path, "kernels"));
    assert_eq!(bricks.texts("name"), kernels.texts("name"));
    assert_eq!(bricks.numbers("id"), kernels.numbers("brick"));
    assert_eq!(kernels.texts("ptx_hash"), [None, None], "0 names none");
}

/// A scope without a timer before it: with a time it has ended, without one it begins.
#[test]
fn a_scope_of_a_brick_without_a_timer_lasts_as_it_says_or_until_it_is_popped() {
    let (_folder, path) = folder();
    let mut profiler = BrickProfiler::create(&path).unwrap();
    profiler.enable_graph();
    std::thread::sleep(Duration::from_millis(3));
    profiler.graph_push_scope(brick(BrickId::LmHead, 2000));
    profiler.graph_pop_scope();
    profiler.graph_push_scope(brick(BrickId::Sampling, 0));
    std::thread::sleep(Duration::from_millis(2));
    profiler.graph_pop_scope();
    profiler.finish().unwrap();
    let bricks = table(&path, "bricks");
    let off_ns = bricks.number("dur_ns", 0).unwrap() - 2_000_000;
    assert!(off_ns.abs() < 100_000, "{bricks:?}");
    assert!(bricks.number("dur_ns", 1).unwrap() >= 2_000_000);
    let (path, total_ns) = profiler.execution_graph().critical_path();
    assert_eq!(path.len(), 2);
    assert!(total_ns >= 4_000_000);
}

#[test]
fn transfers_and_kernels_keep_what_they_state() {
    let (_folder, path) = folder();
    let mut profiler = BrickProfiler::create(&path).unwrap();
    profiler.enable_graph();
    std::thread::sleep(Duration::from_millis(2));
    let graph = profiler.execution_graph_mut();
    let to = TransferDirection::H2D;
    graph.push_scope(ExecutionNode::Layer { index: 1 });
    let copy = graph.record_transfer("weights", "gpu.weights", 4096, to, Some(50_000));
    graph.record_transfer("gpu.out", "out", 64, TransferDirection::D2H, None);
    let ptx = ".entry matmul {}";
    let hash = PtxRegistry::hash_ptx(ptx);
    let (grid, block) = ((128, 1, 1), (256, 1, 1));
    let kernel = graph
        .record_kernel_launch_with_metrics("matmul", hash, grid, block, 9, 150_000, 50.0, 42.0);
    graph.add_dependency(copy, kernel);
    graph.pop_scope();
    graph.push_scope(ExecutionNode::Transfer {
        src: "a".into(),
        dst: "b".into(),
        bytes: 7,
        direction: TransferDirection::D2D,
        timing_ns: None,
    });
    std::thread::sleep(Duration::from_millis(1));
    graph.pop_scope();
    // Later than the kernel that names it.
    PtxRegistry::new().register("matmul", ptx, None);
    profiler.finish().unwrap();

    let (bricks, attributes) = (table(&path, "bricks"), table(&path, "attributes"));
    assert_eq!(bricks.texts("name"), [Some("layer")], "and nothing else");
    let transfers = table(&path, "transfers");
    assert_eq!(
        transfers.texts("direction"),
        [Some("h2d"), Some("d2h"), Some("d2d")]
    );
    assert_eq!(transfers.numbers("bytes"), [Some(4096), Some(64), Some(7)]);
    assert_eq!(
        transfers.texts("timing"),
        [Some("host"), Some("bound"), Some("bound")]
    );
    assert_eq!(transfers.numbers("device"), [None; 3]);
    let layer = bricks.number("id", 0);
    assert_eq!(transfers.numbers("brick"), [layer, layer, None]);
    let near = |found: Option<i128>, ns: i128| (found.unwrap() - ns).abs() < ns / 10;
    assert!(near(transfers.number("dur_ns", 0), 50_000), "{transfers:?}");
    assert!(transfers.number("dur_ns", 2).unwrap() >= 1_000_000);
    let ids = transfers.numbers("id");
    assert_eq!(
        attribute(&attributes, ids[0], "src"),
        &Cell::T("weights".into())
    );
    assert_eq!(
        attribute(&attributes, ids[1], "reason"),
        &Cell::T("recorded without times".into())
    );

    let kernels = table(&path, "kernels");
    assert_eq!(kernels.texts("timing"), [Some("host")]);
    assert_eq!(kernels.cell("valid", 0), &Cell::B(true));
    assert!(near(kernels.number("dur_ns", 0), 150_000), "{kernels:?}");
    assert_eq!(kernels.number("flops", 0), Some(6_300_000_000));
    assert_eq!(kernels.number("bytes", 0), Some(126_000_000));
    assert_eq!(kernels.texts("work_source"), [Some("declared")]);
    let id = kernels.number("id", 0);
    assert_eq!(
        attribute(&attributes, id, "arithmetic_intensity"),
        &Cell::F(50.0)
    );
    let file = kernels.texts("ptx_hash")[0].unwrap();
    let kept = std::fs::read_to_string(path.join(format!("ptx/{file}.ptx"))).unwrap();
    assert_eq!(kept, ptx);
    let edges = table(&path, "edges");
    assert_eq!(
        (edges.number("from", 0), edges.number("to", 0)),
        (ids[0], id)
    );
}

/// The row holds a hash from elsewhere. The run names the file once the source is registered.
#[test]
fn a_source_that_comes_after_its_hash_is_found() {
    let (_folder, path) = folder();
    let mut profiler = BrickProfiler::create(&path).unwrap();
    profiler.enable_graph();
    let ptx = ".entry from_a_table_of_hashes {}";
    let hash = ptx.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    profiler.graph_record_kernel("k", hash, (1, 1, 1), (1, 1, 1), 0);
    let mut registry = PtxRegistry::new();
    registry.register("k", ptx, None);
    drop(profiler);
    let own = format!("{hash:016x}");
    assert_eq!(
        table(&path, "kernels").texts("ptx_hash"),
        [Some(own.as_str())]
    );
    let file = run_json(&path).values[&format!("compat.ptx.{own}")].clone();
    assert!(path.join(format!("ptx/{file}.ptx")).is_file());
}

#[test]
fn a_function_without_a_line_and_a_task_keep_the_rest() {
    let (_folder, path) = folder();
    let mut profiler = BrickProfiler::create(&path).unwrap();
    profiler.enable_graph();
    profiler.graph_push_scope(ExecutionNode::Function {
        name: "forward".into(),
        file: Some("model.rs".into()),
        line: None,
    });
    profiler.graph_push_scope(ExecutionNode::AsyncTask {
        name: "fetch".into(),
        poll_count: 3,
        yield_count: 2,
        total_poll_ns: 9_000_000,
    });
    profiler.graph_pop_scope();
    profiler.graph_pop_scope();
    profiler.finish().unwrap();
    let (bricks, attributes) = (table(&path, "bricks"), table(&path, "attributes"));
    let (task, function) = (bricks.named("fetch"), bricks.named("forward"));
    let file = attribute(&attributes, bricks.number("id", function), "file");
    assert_eq!(file, &Cell::T("model.rs".into()));
    assert_eq!(bricks.number("line", function), None);
    let polls = attribute(&attributes, bricks.number("id", task), "poll_count");
    assert_eq!(polls, &Cell::I(3));
    let (path, total_ns) = profiler.execution_graph().critical_path();
    assert_eq!(
        (path, total_ns),
        (vec![ExecutionNodeId(1)], 9_000_000),
        "the polls take time"
    );
}

/// 300 µs with a kernel of 270 µs in it take 300 µs, not 570.
#[test]
fn what_lies_in_a_node_is_not_counted_twice() {
    let mut graph = ExecutionGraph::new();
    let outer = graph.push_scope(brick(BrickId::LmHead, 300));
    let kernel = graph.record_kernel_launch_with_metrics(
        "gemv",
        1,
        (1, 1, 1),
        (1, 1, 1),
        0,
        270_000,
        1.0,
        1.0,
    );
    graph.pop_scope();
    assert_eq!(graph.critical_path(), (vec![outer], 300_000));
    assert_eq!(graph.compute_slack()[&kernel], 30_000);
    assert_eq!(graph.compute_slack()[&outer], 0);
}

/// Figures from the original's page: a diamond of dependencies that the program states.
#[test]
fn edges_in_a_scope_are_its_order() {
    let mut graph = ExecutionGraph::new();
    let ids = [
        (BrickId::RmsNorm, 100),
        (BrickId::QkvProjection, 200),
        (BrickId::AttentionScore, 100),
        (BrickId::GateProjection, 400),
    ];
    let [norm, qkv, score, gate] = ids.map(|(id, us)| graph.add_node_in_scope(brick(id, us)));
    assert_eq!(graph.critical_path().1, 800_000, "one after the other");
    for (from, to) in [(norm, qkv), (norm, score), (qkv, gate), (score, gate)] {
        graph.add_dependency(from, to);
    }
    assert_eq!(graph.critical_path(), (vec![norm, qkv, gate], 700_000));
    assert_eq!(graph.compute_slack()[&score], 100_000);
    let summary = graph.critical_path_summary();
    assert!(
        summary.starts_with("Critical Path: 0.70ms (3 nodes)")
            && summary.contains("AttentionScore slack=100.0µs"),
        "{summary}"
    );
}

/// The second node needs the first, which was added later: their numbers and their times are in different orders.
#[test]
fn slack_follows_edges_not_numbers() {
    let mut graph = ExecutionGraph::new();
    let last = graph.add_node(brick(BrickId::LmHead, 50));
    let first = graph.add_node(brick(BrickId::RmsNorm, 100));
    let beside = graph.add_node(brick(BrickId::Embedding, 60));
    graph.add_dependency(first, last);
    graph.add_dependency(beside, last);
    assert_eq!(graph.critical_path(), (vec![first, last], 150_000));
    let slack = graph.compute_slack();
    assert_eq!(
        (slack[&first], slack[&beside], slack[&last]),
        (0, 40_000, 0)
    );
}

#[test]
fn an_order_that_contradicts_itself_is_said() {
    let mut graph = ExecutionGraph::new();
    let a = graph.add_node(brick(BrickId::RmsNorm, 100));
    let b = graph.add_node(brick(BrickId::LmHead, 200));
    graph.add_dependency(a, b);
    graph.add_dependency(b, a);
    graph.add_edge(a, ExecutionNodeId(9), EdgeType::Calls);
    assert_eq!(graph.critical_path(), (Vec::new(), 0));
    assert_eq!(graph.contradictory_nodes(), [a, b]);
    assert!(graph.compute_slack().is_empty());
    let summary = graph.critical_path_summary();
    assert!(
        summary.contains("wait for one another: RmsNorm, LmHead") && summary.contains("1 edges"),
        "{summary}"
    );
    graph.add_edge(a, b, EdgeType::Contains);
    graph.add_edge(b, a, EdgeType::Contains);
    assert!(graph.to_ascii_tree().contains("LmHead"), "and it ends");
}

#[test]
fn bad_figures_have_no_place_below_the_roof() {
    let mut graph = ExecutionGraph::new();
    let mut kernel = |intensity: f32, tflops: f32| {
        let size = (1, 1, 1);
        graph.record_kernel_launch_with_metrics("k", 1, size, size, 0, 1000, intensity, tflops)
    };
    let half = kernel(50.0, 25.0);
    let above = kernel(50.0, 100.0);
    let bad = [kernel(0.0, 1.0), kernel(f32::NAN, 1.0), kernel(1.0, -1.0)];
    let unknown = graph.record_kernel_launch("k", 1, (1, 1, 1), (1, 1, 1), 0);
    // 50 FLOPs a byte at 1000 GB/s: 50 TFLOP/s.
    let distances = graph.roofline_distance(83.0, 1000.0);
    assert_eq!(distances.len(), 2);
    assert!((distances[&half] - 0.5).abs() < 1e-6);
    assert!(distances[&above] < -0.9, "it is above the roof");
    let unplaced = graph.unplaced_kernels(83.0, 1000.0);
    let ids: Vec<_> = unplaced.iter().map(|kernel| kernel.id).collect();
    assert_eq!(ids, [bad[0], bad[1], bad[2], unknown]);
    assert_eq!(unplaced[3].reason, "no arithmetic intensity was given");
    assert!(graph.roofline_distance(0.0, 1000.0).is_empty());
}

#[test]
fn a_transfer_back_is_paired_with_the_one_before_it() {
    let mut graph = ExecutionGraph::new();
    let mut there = |direction| match direction {
        TransferDirection::H2D => graph.record_transfer("a", "gpu.a", 8, direction, None),
        _ => graph.record_transfer("gpu.a", "a", 8, direction, None),
    };
    let (to, back) = (TransferDirection::H2D, TransferDirection::D2H);
    let ids = [to, back, to, back].map(&mut there);
    let pairs = [(ids[0], ids[1]), (ids[1], ids[2]), (ids[2], ids[3])];
    assert_eq!(graph.detect_ping_pong(), pairs, "and not 1 with 4");
}

#[test]
fn exports_show_all_of_a_launch_and_escape_names() {
    let mut graph = ExecutionGraph::new();
    graph.push_scope(ExecutionNode::Function {
        name: "say \"hi\"\\".into(),
        file: Some("a.rs".into()),
        line: Some(3),
    });
    graph.record_kernel_launch("k", 1, (16, 2, 3), (256, 4, 2), 64);
    graph.add_node_in_scope(brick(BrickId::LmHead, 0));
    graph.pop_scope();
    assert_eq!(
        graph.to_ascii_tree(),
        "say \"hi\"\\ (a.rs:3)\n\
         ├── k  <<<(16,2,3),(256,4,2)>>> smem=64B\n\
         └── LmHead  – (64 elem)"
    );
    let dot = graph.to_dot();
    assert!(dot.contains(r#"n0 [label="say \"hi\"\\\na.rs:3""#), "{dot}");
    assert!(dot.contains("n0 -> n1 [style=bold,color=red];"));
    assert_eq!(ExecutionGraph::new().to_ascii_tree(), "(empty graph)");
}

/// From the original's page: record a brick, then its kernel, which belongs to the brick.
#[test]
fn a_kernel_after_a_recorded_brick_lies_in_it() {
    let mut graph = ExecutionGraph::new();
    let layer = graph.push_scope(ExecutionNode::Layer { index: 0 });
    let of = graph.add_node_in_scope(brick(BrickId::QkvProjection, 7));
    let kernel = graph.record_kernel_launch("gemv", 1, (1, 1, 1), (1, 1, 1), 0);
    graph.pop_scope();
    let edge = graph.incoming_edges(kernel).next().unwrap();
    assert_eq!((edge.src, &edge.edge_type), (of, &EdgeType::Launches));
    let (slowest, _, ns) = graph.slowest_kernel().unwrap();
    assert_eq!((slowest, ns), (of, 7000));
    assert_eq!(graph.node_by_name("Layer0").unwrap().0, layer);
    graph.clear();
    assert_eq!(
        (graph.num_nodes(), graph.slowest_kernel().is_none()),
        (0, true)
    );
}
