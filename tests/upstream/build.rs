//! Takes examples and snippets of the book out of the sources of aprender-compute, wherever cargo has them.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// Examples that are recorded from outside.
const EXAMPLES: [&str; 2] = ["backend_detection", "matrix_operations"];

/// Examples that use its profiler. Each becomes two modules: one unchanged, and one with the import replaced.
const PROFILED: [&str; 4] = [
    "brick_profiler_v2",
    "execution_graph",
    "simd_softmax_quant",
    "tile_profiler_demo",
];

/// Names whose import from the profiler is replaced.
const MOVED: [&str; 9] = [
    "BrickCategory",
    "BrickId",
    "BrickProfiler",
    "ExecutionGraph",
    "ExecutionNode",
    "PtxRegistry",
    "SyncMode",
    "TileLevel",
    "TransferDirection",
];

/// Snippets of the book that use its profiler: page, a line of the snippet, and the expression that becomes its
/// value.
const SNIPPETS: [(&str, &str, &str); 17] = [
    (
        "performance/profiling",
        "let timer = profiler.start_brick(BrickId::QkvProjection);",
        "profiler",
    ),
    ("performance/profiling", "profiler.reset_epoch();", ""),
    (
        "performance/profiling",
        "profiler.enable_graph();  // Enable",
        "profiler",
    ),
    (
        "performance/profiling",
        "let hash = PtxRegistry::hash_ptx(ptx_source);",
        "source.map(str::to_owned)",
    ),
    (
        "performance/profiling",
        "std::fs::write(\"execution_tree.txt\", &tree)?;",
        "tree",
    ),
    (
        "performance/profiling",
        "profiler.stats_for(BrickId::RmsNorm)",
        "throughput",
    ),
    (
        "performance/profiling",
        "profiler.report()",
        "profiler.report()",
    ),
    (
        "performance/profiling",
        "Backend::Avx2 => graph.roofline_distance",
        "distance",
    ),
    (
        "performance/profiling",
        "let (critical_path, total_ns) = graph.critical_path();",
        "(critical_path, total_ns)",
    ),
    (
        "examples/execution-graph",
        "// Render to ASCII (no dependencies)",
        "tree",
    ),
    (
        "examples/execution-graph",
        "for (id, node) in graph.kernel_nodes()",
        "",
    ),
    (
        "examples/execution-graph",
        "println!(\"{}\", graph.critical_path_summary());",
        "total_ns",
    ),
    (
        "examples/execution-graph",
        "let slack = graph.compute_slack();",
        "slack",
    ),
    (
        "examples/execution-graph",
        "let distances = graph.roofline_distance(83.0, 1008.0);",
        "distances",
    ),
    (
        "examples/execution-graph",
        "graph.record_kernel_launch_with_metrics(",
        "",
    ),
    (
        "examples/execution-graph",
        "let ping_pongs = graph.detect_ping_pong();",
        "ping_pongs",
    ),
    (
        "advanced/tiling-compute-blocks",
        "let json = profiler.tile_stats_to_json();",
        "(profiler, json)",
    ),
];

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    let folder = source()?;
    let examples = folder.join("examples");
    for name in EXAMPLES {
        write(
            &format!("{name}.rs"),
            &without_header(&read(&examples, name)?),
        )?;
    }
    for name in PROFILED {
        let text =
            without_header(&read(&examples, name)?).replace("\nfn main()", "\npub fn main()");
        write(&format!("original_{name}.rs"), &text)?;
        write(&format!("moved_{name}.rs"), &with_moved_imports(&text))?;
    }
    for (number, (page, line, value)) in SNIPPETS.into_iter().enumerate() {
        let file = folder.join("book/src").join(page).with_extension("md");
        let text = fs::read_to_string(&file).map_err(|e| format!("{}: {e}", file.display()))?;
        let blocks = text.split("```rust\n").skip(1);
        let mut blocks = blocks.filter_map(|behind| behind.split("```").next());
        let block = blocks.find(|block| block.contains(line));
        let block = block.ok_or_else(|| format!("{}: no snippet has {line}", file.display()))?;
        let block = with_moved_imports(block);
        write(
            &format!("snippet_{number}.rs"),
            &format!("{{\n{block}\n{value}\n}}\n"),
        )?;
    }
    Ok(())
}

fn source() -> Result<PathBuf, Box<dyn Error>> {
    let output = Command::new(env::var("CARGO")?)
        .args(["metadata", "--format-version", "1", "--locked"])
        .args(["--filter-platform", &env::var("TARGET")?])
        .output()?;
    let metadata = String::from_utf8(output.stdout)?;
    let manifests = metadata.split("\"manifest_path\":\"").skip(1);
    let mut manifests = manifests.filter_map(|behind| behind.split('"').next());
    let manifest = manifests
        .find(|path| path.contains("/aprender-compute-"))
        .ok_or_else(|| {
            let said = String::from_utf8_lossy(&output.stderr);
            format!("cargo metadata names no aprender-compute (hint: cargo fetch)\n{said}")
        })?;
    Ok(Path::new(manifest).with_file_name(""))
}

fn read(folder: &Path, name: &str) -> Result<String, String> {
    let file = folder.join(name).with_extension("rs");
    fs::read_to_string(&file).map_err(|e| format!("{}: {e}", file.display()))
}

fn write(name: &str, text: &str) -> Result<(), Box<dyn Error>> {
    Ok(fs::write(
        Path::new(&env::var("OUT_DIR")?).join(name),
        text,
    )?)
}

/// Drops inner doc comments and attributes, which cannot be included.
fn without_header(text: &str) -> String {
    let lines = text
        .lines()
        .filter(|line| !line.starts_with("//!") && !line.starts_with("#!["));
    let lines: Vec<&str> = lines.collect();
    lines.join("\n")
}

/// Splits each `use trueno::…`, so that the profiler's names come from our crate.
fn with_moved_imports(text: &str) -> String {
    let mut parts = text.split("use trueno::");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (import, behind) = part.split_once(';').unwrap_or((part, ""));
        let (path, names) = match import.split_once('{') {
            Some((path, names)) => (path, names.trim_end_matches('}')),
            None => import
                .rsplit_once("::")
                .map_or(("", import), |(path, name)| {
                    (&import[..path.len() + 2], name)
                }),
        };
        let names = names.split(',').map(str::trim);
        let names = names.filter(|name| !name.is_empty());
        let (moved, left): (Vec<&str>, Vec<&str>) = names.partition(|name| MOVED.contains(name));
        if !moved.is_empty() {
            out += &format!("use trueno_brick_profiler::{{{}}};\n", moved.join(", "));
        }
        if !left.is_empty() {
            out += &format!("use trueno::{path}{{{}}};", left.join(", "));
        }
        out += behind;
    }
    out
}
