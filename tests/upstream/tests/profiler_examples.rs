//! The examples of aprender-compute that use its profiler, as they are and with the import changed.

#![allow(unused_imports, reason = "as the examples have it")]

use std::process::Command;

mod original {
    #[allow(clippy::all)]
    pub mod execution_graph {
        include!(concat!(env!("OUT_DIR"), "/original_execution_graph.rs"));
    }
}

mod moved {
    #[allow(clippy::all)]
    pub mod execution_graph {
        include!(concat!(env!("OUT_DIR"), "/moved_execution_graph.rs"));
    }
    #[allow(clippy::all)]
    pub mod tile_profiler_demo {
        include!(concat!(env!("OUT_DIR"), "/moved_tile_profiler_demo.rs"));
    }
    #[allow(clippy::all)]
    pub mod brick_profiler_v2 {
        include!(concat!(env!("OUT_DIR"), "/moved_brick_profiler_v2.rs"));
    }
    #[allow(clippy::all)]
    pub mod simd_softmax_quant {
        include!(concat!(env!("OUT_DIR"), "/moved_simd_softmax_quant.rs"));
    }
}
#[test]
fn a() {
    original::execution_graph::main();
}
#[test]
fn b() {
    moved::execution_graph::main();
}
#[test]
fn c() {
    moved::tile_profiler_demo::main();
}
#[test]
fn d() {
    moved::brick_profiler_v2::main();
}
#[test]
fn e() {
    moved::simd_softmax_quant::main();
}
