//! The examples of aprender-compute that use its profiler, as they are and with the import changed: the same output, but
//! where the original's is wrong.

use std::path::Path;
use std::process::Command;

use trueno_testing::{folder, table};

macro_rules! examples {
    ($($module:ident: $($name:ident $file:literal),*;)*) => {
        $(mod $module {
            $(#[allow(unused, unexpected_cfgs, clippy::all, reason = "as the example has it")]
            pub mod $name {
                include!(concat!(env!("OUT_DIR"), $file));
            })*
        })*

        fn run(name: &str) {
            match name {
                $($(concat!(stringify!($module), "::", stringify!($name)) => $module::$name::main(),)*)*
                _ => panic!("no example {name}"),
            }
        }
    };
}

examples! {
    original:
        brick_profiler_v2 "/original_brick_profiler_v2.rs",
        execution_graph "/original_execution_graph.rs",
        simd_softmax_quant "/original_simd_softmax_quant.rs",
        tile_profiler_demo "/original_tile_profiler_demo.rs";
    moved:
        brick_profiler_v2 "/moved_brick_profiler_v2.rs",
        execution_graph "/moved_execution_graph.rs",
        simd_softmax_quant "/moved_simd_softmax_quant.rs",
        tile_profiler_demo "/moved_tile_profiler_demo.rs";
}

const EXAMPLE: &str = "TRUENO_TEST_EXAMPLE";

/// Runs the example that the environment variable names, in the child process.
#[test]
fn child() {
    if let Ok(name) = std::env::var(EXAMPLE) {
        run(&name);
    }
}

/// Output lines of an example in its own process. If `path` is set, it is recorded there.
fn lines(name: &str, path: Option<&Path>) -> Vec<String> {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "child", "--nocapture"]);
    child.env(EXAMPLE, name).env_remove("TRUENO_RUN");
    if let Some(path) = path {
        child.env("TRUENO_RUN", path);
    }
    let output = child.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.is_empty(), "{name}: {said}");
    let text = String::from_utf8(output.stdout).unwrap();
    let lines = text.lines().map(str::to_owned);
    let mut lines: Vec<String> = lines.skip_while(|line| !line.starts_with("===")).collect();
    lines.truncate(
        lines
            .iter()
            .position(|line| line.contains("child ... ok"))
            .unwrap_or(lines.len()),
    );
    lines
}

/// Removes what differs from run to run: times, fractions and spaces.
fn without_times(lines: &[String]) -> Vec<String> {
    let word = |word: &str| {
        let figure = word.trim_matches(|c: char| "(),%x".contains(c));
        let number = figure.trim_end_matches(|c: char| c.is_alphabetic());
        let is_time = ["ns", "µs", "ms", "s"].contains(&&figure[number.len()..]);
        if number.parse::<f64>().is_ok() && (is_time || number.contains('.')) {
            "#".to_owned()
        } else {
            word.to_owned()
        }
    };
    let line = |line: &String| {
        line.split_whitespace()
            .map(word)
            .collect::<Vec<_>>()
            .join(" ")
    };
    lines.iter().map(line).collect()
}

/// Output of the original and of ours, and the run that ours recorded.
fn both(
    name: &str,
) -> (
    Vec<String>,
    Vec<String>,
    (tempfile::TempDir, std::path::PathBuf),
) {
    let run = folder();
    let original = lines(&format!("original::{name}"), None);
    let ours = lines(&format!("moved::{name}"), Some(&run.1));
    (original, ours, run)
}

#[test]
fn brick_profiler_v2_prints_the_same() {
    let (original, ours, (_folder, path)) = both("brick_profiler_v2");
    // Elements a second of what slept: the one figure without a fraction that depends on time.
    let plain = |lines: &[String]| -> Vec<String> {
        let lines = without_times(lines).into_iter();
        lines
            .map(|line| line.split(" tokens").next().unwrap().to_owned())
            .collect()
    };
    assert_eq!(plain(&ours), plain(&original));
    let bricks = table(&path, "bricks");
    assert_eq!(bricks.rows, 17);
    assert_eq!(table(&path, "kernels").texts("timing"), [Some("bound"); 2]);
}

/// The original reports that 3 nodes of 0.30 ms are critical, although 8 bricks of 1.40 ms ran one after the other.
/// It prints a launch as three numbers: grid x, block x and block y. Its nodes with slack differ from run to run.
#[test]
fn execution_graph_prints_the_same_but_for_path_and_launches() {
    let (original, ours, (_folder, path)) = both("execution_graph");
    let until = |lines: &[String], end: &str| {
        let end = lines.iter().position(|line| line.contains(end)).unwrap();
        lines[..end].to_vec()
    };
    let graph = until(&ours, "Phase 9");
    assert_eq!(graph, until(&original, "Phase 9"));
    for line in [
        "  Nodes: 18",
        "  Edges: 16",
        "  Timing: 300.0µs",
        "  Brick: GateProjection",
    ] {
        assert!(graph.iter().any(|found| found == line), "{line}");
    }
    let has = |lines: &[String], line: &str| lines.iter().any(|found| found == line);
    assert!(has(&original, "Critical Path: 0.30ms (3 nodes)"));
    assert!(has(&ours, "Critical Path: 1.40ms (8 nodes)"));
    assert!(has(&ours, "8 kernels have no time and are not part of it"));
    assert!(
        !ours.iter().any(|line| line.contains("slack")),
        "it is serial"
    );
    let tree = |lines: &[String]| -> Vec<String> {
        let tree = lines.iter().skip_while(|line| *line != "Execution Graph");
        let launch = |line: &String| line.split("<<<").next().unwrap().to_owned();
        tree.map(launch).collect()
    };
    assert_eq!(tree(&ours), tree(&original));
    assert!(tree(&ours).len() > 18);
    assert!(has(
        &ours,
        "│   │   └── rmsnorm_kernel  <<<(16,1,1),(256,1,1)>>> smem=1024B"
    ));

    let bricks = table(&path, "bricks");
    assert_eq!(bricks.rows, 10, "2 layers, 8 bricks");
    let elements: i128 = bricks.numbers("elements").into_iter().flatten().sum();
    assert_eq!(elements, 8 * 4096);
    let kernels = table(&path, "kernels");
    for (row, brick) in kernels.numbers("brick").into_iter().enumerate() {
        let at = bricks
            .numbers("id")
            .iter()
            .position(|id| *id == brick)
            .unwrap();
        let name = bricks.texts("name")[at].unwrap();
        let expected = match kernels.texts("name")[row].unwrap() {
            "rmsnorm_kernel" => "RmsNorm",
            "batched_q4k_gemv" => "QkvProjection",
            "incremental_attention" => "AttentionScore",
            _ => "GateProjection",
        };
        assert_eq!(name, expected);
    }
    assert_eq!(kernels.texts("ptx_hash")[0], Some("1234567890abcdef"));
}

#[test]
fn tile_profiler_demo_prints_the_same_figures() {
    let (original, ours, (_folder, path)) = both("tile_profiler_demo");
    let is_report = |line: &&String| {
        let of_report = ["Level", "macro", "midi", "micro", "=== Tile", "* if", "{"];
        of_report
            .iter()
            .any(|start| line.trim_start().starts_with(start))
    };
    let plain = |lines: &[String]| -> Vec<String> {
        let lines: Vec<String> = lines
            .iter()
            .filter(|line| !is_report(line))
            .cloned()
            .collect();
        without_times(&lines)
    };
    assert_eq!(plain(&ours), plain(&original));
    let figures = |lines: &[String]| -> Vec<String> {
        let intensity = |line: &&String| line.contains("Arithmetic intensity");
        lines.iter().filter(intensity).cloned().collect()
    };
    assert_eq!(figures(&ours), figures(&original));
    assert_eq!(figures(&ours).len(), 3);
    let count = |lines: &[String]| {
        let line = lines
            .iter()
            .find(|line| line.contains("\"tiles\":["))
            .unwrap();
        [
            "\"count\":4,",
            "\"count\":64,",
            "\"count\":512,",
            "\"total_flops\":1073741824",
            "\"total_elements\":262144",
            "\"tile_profiling_enabled\":true",
        ]
        .map(|part| line.contains(part))
    };
    assert_eq!(count(&ours), [true; 6]);
    assert_eq!(count(&original), [true; 6]);
    let tiles = table(&path, "tiles");
    assert_eq!(tiles.rows, 4 + 64 + 512 + 10, "of both profilers");
}

#[test]
fn simd_softmax_quant_prints_the_same_results() {
    let (original, ours, (_folder, path)) = both("simd_softmax_quant");
    let plain = |lines: &[String]| -> Vec<String> {
        let end = lines
            .iter()
            .position(|line| line.contains("Tile Profiling Summary"));
        without_times(&lines[..end.unwrap()])
    };
    assert_eq!(plain(&ours), plain(&original));
    let is_result = |line: &&String| {
        ["Sum check", "Sample values", "Dot product"]
            .iter()
            .any(|part| line.contains(part))
    };
    let results =
        |lines: &[String]| -> Vec<String> { lines.iter().filter(is_result).cloned().collect() };
    assert_eq!(results(&ours), results(&original));
    assert_eq!(table(&path, "tiles").rows, 6);
}
