//! The parsers of foreign bytes as functions of bytes.
//!
//! Each [`Target`] takes any bytes and says whether they were accepted. It panics where something does not hold that
//! must hold of any bytes: the parser itself panics, makes more of them than they can hold, or says that what was
//! changed is whole. libFuzzer calls them (`tests/fuzz`), and so does the test that replays the corpus and all findings.
//!
//! Where a format has hashes, a target puts right ones around the bytes, which no fuzzer would guess.

mod corpus;
pub mod cupti;
#[cfg(feature = "engine")]
pub mod engine;
mod frames;
pub mod imports;
pub mod journal;
pub mod live_remains;
pub mod rules;
pub mod run_json;
mod scratch;
pub mod spool;

pub use corpus::{pack, unpack};

/// A parser, with the properties that must hold for any input.
pub struct Target {
    /// Also the name of its corpus.
    pub name: &'static str,
    /// Parses the bytes. True if it accepted them.
    pub run: fn(&[u8]) -> bool,
}

pub const TARGETS: &[Target] = &[
    Target {
        name: "journal",
        run: journal::journal,
    },
    Target {
        name: "run_json",
        run: run_json::run_json,
    },
    Target {
        name: "live_log",
        run: live_remains::log,
    },
    Target {
        name: "live_remains",
        run: live_remains::remains,
    },
    Target {
        name: "cupti_records",
        run: cupti::records,
    },
    Target {
        name: "spool",
        run: spool::items,
    },
    Target {
        name: "spool_run",
        run: spool::run,
    },
    Target {
        name: "chrome",
        run: imports::chrome,
    },
    Target {
        name: "nsys_sqlite",
        run: imports::nsys_sqlite,
    },
    Target {
        name: "nsys_rows",
        run: imports::nsys_rows,
    },
    Target {
        name: "ncu_csv",
        run: imports::ncu_csv,
    },
    Target {
        name: "strace",
        run: imports::strace,
    },
    Target {
        name: "renacer",
        run: imports::renacer,
    },
    Target {
        name: "otlp",
        run: imports::otlp,
    },
    Target {
        name: "perfetto",
        run: imports::perfetto,
    },
    Target {
        name: "xplane",
        run: imports::xplane,
    },
    Target {
        name: "device_csv",
        run: imports::device_csv,
    },
    Target {
        name: "rocprof_json",
        run: imports::rocprof_json,
    },
    Target {
        name: "rocpd",
        run: imports::rocpd,
    },
    Target {
        name: "nvprof",
        run: imports::nvprof,
    },
    Target {
        name: "flight_recorder",
        run: imports::flight_recorder,
    },
    Target {
        name: "torch_memory",
        run: imports::torch_memory,
    },
    Target {
        name: "speedscope",
        run: imports::speedscope,
    },
    Target {
        name: "firefox",
        run: imports::firefox,
    },
    Target {
        name: "tensorrt",
        run: imports::tensorrt,
    },
    Target {
        name: "proton",
        run: imports::proton,
    },
    Target {
        name: "nsys_json_lines",
        run: imports::nsys_json_lines,
    },
    Target {
        name: "axonml",
        run: imports::axonml,
    },
    Target {
        name: "brick_profiler",
        run: imports::brick_profiler,
    },
    Target {
        name: "cgp",
        run: imports::cgp,
    },
    Target {
        name: "perf_script",
        run: imports::perf_script,
    },
    Target {
        name: "packed",
        run: imports::packed,
    },
    Target {
        name: "unescaped",
        run: imports::unescaped,
    },
    Target {
        name: "detect",
        run: imports::detect,
    },
    Target {
        name: "category_rules",
        run: rules::categories,
    },
    Target {
        name: "operator_rules",
        run: rules::operators,
    },
    #[cfg(feature = "engine")]
    Target {
        name: "segment",
        run: engine::segment,
    },
    #[cfg(feature = "engine")]
    Target {
        name: "parquet_part",
        run: engine::parquet_part,
    },
    #[cfg(feature = "engine")]
    Target {
        name: "nsys_parquet",
        run: engine::nsys_parquet,
    },
    #[cfg(feature = "engine")]
    Target {
        name: "plugin_messages",
        run: engine::messages,
    },
    #[cfg(feature = "engine")]
    Target {
        name: "sql",
        run: engine::sql,
    },
    #[cfg(feature = "engine")]
    Target {
        name: "assertions",
        run: engine::assertions,
    },
    #[cfg(feature = "engine")]
    Target {
        name: "project",
        run: engine::project,
    },
    #[cfg(feature = "engine")]
    Target {
        name: "golden",
        run: engine::golden,
    },
];

/// The target with this name.
///
/// # Panics
/// There is none.
pub fn target(name: &str) -> &'static Target {
    let found = TARGETS.iter().find(|target| target.name == name);
    found.unwrap_or_else(|| panic!("there is no target {name}"))
}
