//! The public API of the profiler: one list, that holds of aprender-compute and of ours. What ours does not have stands at
//! the end.

#![allow(deprecated, reason = "`all_stats`, in both")]

macro_rules! signatures {
    ($module:ident, $($origin:ident)::+, $($time:ident)::+) => {
        mod $module {
            use std::collections::HashMap;
            use std::path::Path;
            use std::time::Duration;

            use $($origin)::+::{
                BrickBottleneck, BrickCategory, BrickId, BrickIdTimer, BrickProfiler, BrickStats, BrickTimer,
                CategoryStats, DivergenceInfo, EdgeType, ExecutionEdge, ExecutionGraph, ExecutionNode,
                ExecutionNodeId, KernelChecksum, PtxRegistry, SyncMode, TileLevel, TileStats, TileTimer,
                TransferDirection, fnv1a_f32_checksum,
            };

            type Size = (u32, u32, u32);
            type Id = ExecutionNodeId;

            #[test]
            fn functions_have_these_types() {
                // The profiler.
                let _: fn() -> BrickProfiler = BrickProfiler::new;
                let _: fn() -> BrickProfiler = BrickProfiler::enabled;
                let _: fn() -> BrickProfiler = BrickProfiler::default;
                let _: fn(&mut BrickProfiler) = BrickProfiler::enable;
                let _: fn(&mut BrickProfiler) = BrickProfiler::disable;
                let _: fn(&BrickProfiler) -> bool = BrickProfiler::is_enabled;
                let _: fn(&mut BrickProfiler, SyncMode) = BrickProfiler::set_sync_mode;
                let _: fn(&BrickProfiler) -> SyncMode = BrickProfiler::sync_mode;
                let _: fn(&mut BrickProfiler) = BrickProfiler::reset_epoch;
                let _: fn(&BrickProfiler) -> u64 = BrickProfiler::elapsed_ns;
                let _: fn(&mut BrickProfiler) = BrickProfiler::reset;
                let _: fn(&mut BrickProfiler, f32) = BrickProfiler::set_l2_cache_hit_rate;
                let _: fn(&BrickProfiler) -> Option<f32> = BrickProfiler::l2_cache_hit_rate;
                let _: fn(&mut BrickProfiler, bool) = BrickProfiler::set_zero_copy;
                let _: fn(&BrickProfiler) -> bool = BrickProfiler::is_zero_copy;
                // Bricks.
                let _: fn(&BrickProfiler, BrickId) -> BrickIdTimer = BrickProfiler::start_brick;
                let _: fn(&mut BrickProfiler, BrickIdTimer, u64) = BrickProfiler::stop_brick;
                let _: fn(&BrickProfiler, &str) -> BrickTimer = BrickProfiler::start;
                let _: fn(&mut BrickProfiler, BrickTimer, u64) = BrickProfiler::stop;
                let _: fn(&mut BrickProfiler, &str, Duration, u64) = BrickProfiler::record_elapsed;
                let _: fn(&mut BrickProfiler, &str, Duration, u64, u64, u64) = BrickProfiler::record_elapsed_with_bytes;
                let _: fn(&mut BrickProfiler, &str, BrickBottleneck) = BrickProfiler::set_brick_bottleneck;
                let _: fn(&mut BrickProfiler, BrickId, u64, u64) = BrickProfiler::record_deferred;
                let _: fn(&mut BrickProfiler, &str, u64, u64) = BrickProfiler::record_deferred_dynamic;
                let _: fn(&mut BrickProfiler, u64) = BrickProfiler::finalize;
                let _: fn(&BrickProfiler) -> bool = BrickProfiler::has_pending;
                let _: fn(&BrickProfiler) -> usize = BrickProfiler::pending_count;
                // Sums.
                let _: fn(&BrickProfiler, BrickId) -> &BrickStats = BrickProfiler::brick_stats;
                let _: fn(&mut BrickProfiler, BrickId) -> &mut BrickStats = BrickProfiler::brick_stats_mut;
                let _: for<'a> fn(&'a BrickProfiler, &str) -> Option<&'a BrickStats> = BrickProfiler::stats;
                let _: fn(&BrickProfiler) -> &HashMap<String, BrickStats> = BrickProfiler::all_stats;
                let _: fn(&BrickProfiler) -> Vec<String> = BrickProfiler::brick_names;
                let _: fn(&BrickProfiler) -> [CategoryStats; BrickCategory::COUNT] = BrickProfiler::category_stats;
                let _: fn(&BrickProfiler) -> f64 = BrickProfiler::total_throughput;
                let _: fn(&BrickProfiler) -> u64 = BrickProfiler::total_tokens;
                let _: fn(&BrickProfiler) -> u64 = BrickProfiler::total_ns;
                // Reports.
                let _: fn(&BrickProfiler) = BrickProfiler::print_category_stats;
                let _: fn(&BrickProfiler) -> String = BrickProfiler::summary;
                let _: fn(&BrickProfiler) -> String = BrickProfiler::to_json;
                let _: fn(&BrickProfiler, &Path) -> std::io::Result<()> = BrickProfiler::write_json;
                let _: fn(&BrickProfiler) -> String = BrickProfiler::tile_summary;
                let _: fn(&BrickProfiler) -> String = BrickProfiler::tile_stats_to_json;
                // Tiles.
                let _: fn(&mut BrickProfiler) = BrickProfiler::enable_tile_profiling;
                let _: fn(&mut BrickProfiler) = BrickProfiler::disable_tile_profiling;
                let _: fn(&BrickProfiler) -> bool = BrickProfiler::is_tile_profiling_enabled;
                let _: fn(&BrickProfiler, TileLevel, u32, u32) -> TileTimer = BrickProfiler::start_tile;
                let _: fn(&mut BrickProfiler, TileTimer, u64, u64) = BrickProfiler::stop_tile;
                let _: fn(&BrickProfiler, TileLevel) -> &TileStats = BrickProfiler::tile_stats;
                let _: fn(&mut BrickProfiler, TileLevel) -> &mut TileStats = BrickProfiler::tile_stats_mut;
                let _: fn(&mut BrickProfiler) = BrickProfiler::reset_tile_stats;
                let _: fn(TileLevel) -> TileStats = TileStats::new;
                let _: fn(&mut TileStats, u64, u64, u64) = TileStats::add_sample;
                let of_tiles: [fn(&TileStats) -> f64; 4] =
                    [TileStats::avg_us, TileStats::throughput, TileStats::gflops, TileStats::arithmetic_intensity];
                let _: fn(&TileStats, f64) -> f64 = TileStats::cache_efficiency;
                // Checksums.
                let _: fn(&mut BrickProfiler, &str, usize, u32, &[f32]) = BrickProfiler::record_checksum;
                let _: fn(&BrickProfiler) -> &[KernelChecksum] = BrickProfiler::get_checksums;
                let _: fn(&BrickProfiler, &BrickProfiler) -> Option<DivergenceInfo> = BrickProfiler::find_divergence;
                let _: fn(&mut BrickProfiler) = BrickProfiler::reset_checksums;
                let _: fn(&[f32]) -> u64 = fnv1a_f32_checksum;
                // Sums of one brick, of one category.
                let _: fn(&str) -> BrickStats = BrickStats::new;
                let _: fn(&mut BrickStats, u64, u64) = BrickStats::add_sample;
                let _: fn(&mut BrickStats, u64, u64, u64) = BrickStats::add_sample_with_cycles;
                let _: fn(&mut BrickStats, u64, u64, u64, u64) = BrickStats::add_sample_with_bytes;
                let of_brick: [fn(&BrickStats) -> f64; 10] = [
                    BrickStats::avg_us, BrickStats::min_us, BrickStats::max_us, BrickStats::throughput,
                    BrickStats::tokens_per_sec, BrickStats::throughput_gbps, BrickStats::compression_ratio,
                    BrickStats::cycles_per_element, BrickStats::avg_cycles, BrickStats::estimated_ipc,
                ];
                let _: fn(&BrickStats) -> &'static str = BrickStats::diagnose_from_cycles;
                let _: fn(&mut BrickStats, BrickBottleneck) = BrickStats::set_bottleneck;
                let _: fn(&BrickStats) -> BrickBottleneck = BrickStats::get_bottleneck;
                let of_category: [fn(&CategoryStats) -> f64; 2] = [CategoryStats::avg_us, CategoryStats::throughput];
                let _: fn(&CategoryStats, u64) -> f64 = CategoryStats::percentage;
                assert_eq!(of_tiles.len() + of_brick.len() + of_category.len(), 16);
                // Names.
                assert_eq!((BrickId::ALL.len(), BrickCategory::ALL.len()), (BrickId::COUNT, BrickCategory::COUNT));
                let _: fn(usize) -> bool = BrickId::validate_index;
                let _: fn(BrickId) -> BrickCategory = BrickId::category;
                let _: fn(BrickId) -> &'static str = BrickId::name;
                let _: fn(BrickCategory) -> &'static str = BrickCategory::name;
                let _: fn(&str) -> Option<BrickId> = BrickId::from_str;
                assert_eq!(BrickCategory::default(), BrickCategory::Other);
                assert_eq!(TileLevel::default().name(), "macro");
                assert_eq!(BrickProfiler::new().sync_mode(), SyncMode::Deferred);
                assert_eq!(BrickId::ALL[19].to_string(), "FFT2D");
            }

            #[test]
            fn functions_of_the_graph_have_these_types() {
                let _: fn(&mut BrickProfiler) = BrickProfiler::enable_graph;
                let _: fn(&mut BrickProfiler) = BrickProfiler::disable_graph;
                let _: fn(&BrickProfiler) -> bool = BrickProfiler::is_graph_enabled;
                let _: fn(&BrickProfiler) -> &ExecutionGraph = BrickProfiler::execution_graph;
                let _: fn(&mut BrickProfiler) -> &mut ExecutionGraph = BrickProfiler::execution_graph_mut;
                let _: fn(&mut BrickProfiler, ExecutionNode) -> Option<Id> = BrickProfiler::graph_push_scope;
                let _: fn(&mut BrickProfiler) -> Option<Id> = BrickProfiler::graph_pop_scope;
                let _: fn(&mut BrickProfiler, BrickId, u64, u64) -> Option<Id> = BrickProfiler::graph_record_brick;
                let _: fn(&mut BrickProfiler, &str, u64, Size, Size, u32) -> Option<Id> =
                    BrickProfiler::graph_record_kernel;
                let _: fn(&BrickProfiler) -> String = BrickProfiler::graph_to_dot;
                let _: fn(&mut BrickProfiler) = BrickProfiler::graph_clear;
                let _: fn(&BrickProfiler) -> bool = BrickProfiler::graph_is_scope_balanced;

                let _: fn() -> ExecutionGraph = ExecutionGraph::new;
                let _: fn(&mut ExecutionGraph, ExecutionNode) -> Id = ExecutionGraph::add_node;
                let _: fn(&mut ExecutionGraph, ExecutionNode) -> Id = ExecutionGraph::add_node_in_scope;
                let _: fn(&mut ExecutionGraph, ExecutionNode) -> Id = ExecutionGraph::push_scope;
                let _: fn(&mut ExecutionGraph) -> Option<Id> = ExecutionGraph::pop_scope;
                let _: fn(&ExecutionGraph) -> Option<Id> = ExecutionGraph::current_scope;
                let _: fn(&mut ExecutionGraph, Id, Id, EdgeType) = ExecutionGraph::add_edge;
                let _: fn(&mut ExecutionGraph, Id, Id, EdgeType, f32) = ExecutionGraph::add_weighted_edge;
                let _: fn(&mut ExecutionGraph, Id, Id) = ExecutionGraph::add_dependency;
                let _: fn(&mut ExecutionGraph, &str, u64, Size, Size, u32) -> Id = ExecutionGraph::record_kernel_launch;
                let _: fn(&mut ExecutionGraph, &str, u64, Size, Size, u32, u64, f32, f32) -> Id =
                    ExecutionGraph::record_kernel_launch_with_metrics;
                let _: fn(&mut ExecutionGraph, &str, &str, u64, TransferDirection, Option<u64>) -> Id =
                    ExecutionGraph::record_transfer;
                let _: fn(&ExecutionGraph, Id) -> Option<&ExecutionNode> = ExecutionGraph::node;
                let _: for<'a> fn(&'a ExecutionGraph, &str) -> Option<(Id, &'a ExecutionNode)> =
                    ExecutionGraph::node_by_name;
                let _: fn(&ExecutionGraph) -> &[ExecutionNode] = ExecutionGraph::nodes;
                let _: fn(&ExecutionGraph) -> &[ExecutionEdge] = ExecutionGraph::edges;
                let _: fn(&ExecutionGraph) -> usize = ExecutionGraph::num_nodes;
                let _: fn(&ExecutionGraph) -> usize = ExecutionGraph::num_edges;
                let _: fn(&ExecutionGraph) -> Option<(Id, &ExecutionNode, u64)> = ExecutionGraph::slowest_kernel;
                let _: fn(&ExecutionGraph) -> (Vec<Id>, u64) = ExecutionGraph::critical_path;
                let _: fn(&ExecutionGraph) -> HashMap<Id, u64> = ExecutionGraph::compute_slack;
                let _: fn(&ExecutionGraph, f32, f32) -> HashMap<Id, f32> = ExecutionGraph::roofline_distance;
                let _: fn(&ExecutionGraph) -> Vec<(Id, Id)> = ExecutionGraph::detect_ping_pong;
                let _: fn(&ExecutionGraph) -> String = ExecutionGraph::critical_path_summary;
                let _: fn(&ExecutionGraph) -> String = ExecutionGraph::to_dot;
                let _: fn(&ExecutionGraph) -> String = ExecutionGraph::to_ascii_tree;
                let _: fn(&mut ExecutionGraph) = ExecutionGraph::clear;
                let _: fn(&ExecutionGraph) -> bool = ExecutionGraph::is_scope_balanced;

                let _: fn(&ExecutionNode) -> String = ExecutionNode::name;
                let of_node: [fn(&ExecutionNode) -> bool; 3] =
                    [ExecutionNode::is_kernel, ExecutionNode::is_brick, ExecutionNode::is_transfer];
                let of_work: [fn(&ExecutionNode) -> Option<u64>; 3] =
                    [ExecutionNode::timing_ns, ExecutionNode::ptx_hash, ExecutionNode::transfer_bytes];
                let of_rate: [fn(&ExecutionNode) -> Option<f32>; 2] =
                    [ExecutionNode::arithmetic_intensity, ExecutionNode::achieved_tflops];
                assert_eq!(of_node.len() + of_work.len() + of_rate.len(), 8);

                let _: fn() -> PtxRegistry = PtxRegistry::new;
                let _: fn(&mut PtxRegistry, &str, &str, Option<&Path>) = PtxRegistry::register;
                let _: fn(&str) -> u64 = PtxRegistry::hash_ptx;
                let _: fn(&PtxRegistry, u64) -> Option<&str> = PtxRegistry::lookup;
                let _: fn(&PtxRegistry, u64) -> Option<&str> = PtxRegistry::lookup_name;
                let _: fn(&PtxRegistry, u64) -> Option<&Path> = PtxRegistry::lookup_path;
                let _: fn(&PtxRegistry) -> usize = PtxRegistry::len;
                let _: fn(&PtxRegistry) -> bool = PtxRegistry::is_empty;
            }

            /// Functions that return iterators, fields, and the macro.
            #[test]
            fn snippets_of_the_rest_compile() {
                let mut profiler = BrickProfiler::enabled();
                profiler.enable_graph();
                profiler.graph_push_scope(ExecutionNode::Layer { index: 0 });
                profiler.graph_record_kernel("k", 1, (1, 1, 1), (1, 1, 1), 0);
                let value = $($time)::+!(profiler, "mine", 1, { 7 });
                assert_eq!(value, 7);
                assert_eq!(profiler.all_brick_stats().count(), 1);
                let levels: Vec<TileLevel> = profiler.all_tile_stats().iter().map(|stats| stats.level).collect();
                assert_eq!(levels[..3], [TileLevel::Macro, TileLevel::Midi, TileLevel::Micro]);
                let graph = profiler.execution_graph();
                assert_eq!(graph.kernel_nodes().count(), 1);
                let kernel = graph.kernel_nodes().next().unwrap().0;
                assert_eq!(graph.incoming_edges(kernel).count(), 1);
                assert_eq!(graph.outgoing_edges(ExecutionNodeId(0)).next().unwrap().edge_type, EdgeType::Launches);
                profiler.record_checksum("k", 1, 2, &[1.0]);
                let KernelChecksum { name, layer_idx, position, checksum, .. } = &profiler.get_checksums()[0];
                assert_eq!((name.as_str(), *layer_idx, *position), ("k", 1, 2));
                assert_eq!(*checksum, fnv1a_f32_checksum(&[1.0]));
            }
        }
    };
}

signatures!(original, trueno::brick, trueno::time_brick);
signatures!(
    ours,
    trueno_brick_profiler,
    trueno_brick_profiler::time_brick
);
