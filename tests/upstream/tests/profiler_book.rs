//! The snippets of the pages of aprender-compute's book on its profiler, with the import changed: they compile, and what
//! they give is true. What a snippet uses and does not have stands before it.

#![allow(unused, clippy::all, reason = "as the snippets have it")]

use std::collections::HashMap;
use std::error::Error;
use std::path::Path;

use trueno_brick_profiler::{
    BrickCategory, BrickId, BrickProfiler, ExecutionGraph, ExecutionNode, ExecutionNodeId,
    PtxRegistry, SyncMode, TileLevel, TransferDirection,
};

/// Names that the book imports from its crate, although the crate does not have them.
mod trueno {
    #[derive(Clone, Copy, Debug)]
    pub enum Backend {
        Avx512,
        Avx2,
        Neon,
        Cuda,
        Scalar,
    }

    pub fn detect_backend() -> Backend {
        Backend::Avx2
    }

    pub mod simd {
        pub fn rms_norm_avx2(_input: &[f32], _output: &mut [f32]) {}
    }
}

macro_rules! snippet {
    ($number:literal) => {
        include!(concat!(env!("OUT_DIR"), "/snippet_", $number, ".rs"))
    };
}

#[test]
fn bricks_and_categories() {
    let num_elements = 4096;
    let profiler: BrickProfiler = snippet!("0");
    let of = profiler.category_stats()[BrickCategory::Attention as usize];
    assert_eq!((of.count, of.total_elements), (1, 4096));
    assert_eq!(of.percentage(profiler.total_ns()), 100.0);
}

#[test]
fn deferred_work_is_counted() {
    let (mut profiler, elements) = (BrickProfiler::enabled(), 7);
    snippet!("1");
    let of = profiler.brick_stats(BrickId::AttentionScore);
    assert_eq!((of.count, of.bound, of.total_elements), (1, 1, 7));
}

/// A layer with a brick and its kernel.
fn graph() -> BrickProfiler {
    let (elements, timing_ns, ptx_hash) = (64, 5_000, 77);
    snippet!("2")
}

#[test]
fn the_graph_of_a_layer() -> Result<(), Box<dyn Error>> {
    let profiler = graph();
    assert_eq!(profiler.brick_stats(BrickId::QkvProjection).count, 1);
    let folder = tempfile::tempdir()?;
    let tree: String = {
        // It writes a file where it is; tests of this file that look at files come here.
        let before = std::env::current_dir()?;
        std::env::set_current_dir(&folder)?;
        let tree = snippet!("4");
        std::env::set_current_dir(before)?;
        tree
    };
    assert_eq!(
        tree,
        "Layer 0\n└── QkvProjection  5.0µs (64 elem)\n    \
         └── batched_q4k_gemv  <<<(32,1,1),(256,1,1)>>> smem=4096B",
        "as the page draws it: the kernel in its brick"
    );
    assert_eq!(
        std::fs::read_to_string(folder.path().join("execution_tree.txt"))?,
        tree
    );
    let (path, total_ns) = snippet!("8");
    assert_eq!((path, total_ns), (vec![ExecutionNodeId(1)], 5_000));
    snippet!("10");
    Ok(())
}

#[test]
fn a_source_by_its_hash() {
    let ptx_source = ".entry k {}";
    let source: Option<String> = snippet!("3");
    assert_eq!(source.as_deref(), Some(ptx_source));
}

#[test]
fn a_throughput_and_a_report() {
    let (input, mut output) = (vec![1.0f32; 1024], vec![0.0f32; 1024]);
    let throughput: f64 = snippet!("5");
    assert!(throughput > 0.0);
    let report: String = snippet!("6");
    assert!(
        report.contains("Total: 0 elements, 0.00µs of bricks, – elements/s"),
        "{report}"
    );
}

#[test]
fn distances_from_roofs() {
    use trueno::Backend;
    let ptx_hash = 1;
    let mut graph = ExecutionGraph::new();
    snippet!("14");
    let backend = Backend::Cuda;
    let distance: HashMap<ExecutionNodeId, f32> = snippet!("7");
    // 50 FLOPs a byte at 1008 GB/s allow 50.4 TFLOP/s.
    let expected = 1.0 - 42.0 / 50.4;
    assert!((f64::from(distance[&ExecutionNodeId(0)]) - expected).abs() < 1e-6);
    assert_eq!(distance, snippet!("13"));
}

#[test]
fn the_graph_s_page_draws_what_it_records() {
    let tree: String = snippet!("9");
    assert_eq!(
        tree,
        "Layer 0\n└── QkvProjection  200.0µs (4096 elem)\n    \
         └── batched_q4k_gemv  <<<(32,1,1),(256,1,1)>>> smem=4096B"
    );
}

#[test]
fn path_and_slack() {
    let profiler = graph();
    let graph = profiler.execution_graph();
    let total_ns: u64 = snippet!("11");
    assert_eq!(total_ns, 5_000);
    let slack: HashMap<ExecutionNodeId, u64> = snippet!("12");
    assert_eq!(slack[&ExecutionNodeId(1)], 0);
}

#[test]
fn transfers_there_only_are_no_ping_pong() {
    let mut graph = ExecutionGraph::new();
    let pairs: Vec<(ExecutionNodeId, ExecutionNodeId)> = snippet!("15");
    assert_eq!((pairs.len(), graph.num_nodes()), (0, 1));
}

#[test]
fn tiles() {
    let (profiler, json): (BrickProfiler, String) = snippet!("16");
    let of = profiler.tile_stats(TileLevel::Macro);
    assert_eq!((of.count, of.total_flops), (1, 2 * 256 * 256 * 256));
    assert_eq!(of.arithmetic_intensity(), 128.0);
    assert!(json.contains("\"total_elements\":65536"), "{json}");
}
