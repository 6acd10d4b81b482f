//! Examples in the help of each command. A test parses every line that begins with the program's name.

/// Shown below `trueno-analyze --help`.
pub(super) const ROOT: &str = "\
Examples:
  Try it on a small run that comes with the program:
    trueno-analyze demo
  Show what limits a run, or a trace of another profiler:
    trueno-analyze report decode.run
    trueno-analyze report trace.json.gz --html trace.html
  Fail a build on what was found, and keep the numbers:
    trueno-analyze report decode.run --fail-on high --json report.json
  Compare two runs; fail if the second is slower:
    trueno-analyze compare before.run after.run --fail-on slower
  Check budgets and regressions:
    trueno-analyze check decode.run --golden decode.golden.json
  Query a run with SQL:
    trueno-analyze query decode.run \"SELECT name, dur_ns FROM kernels\"
  Browse large runs:
    trueno-analyze serve before.run after.run --open

Each command has examples of its own: trueno-analyze COMMAND --help

Exit codes:
  0  fine
  1  a check or finding failed: a section failed, something is at or above
     --fail-on, check, plugins check; recover: rows are lost
  2  could not analyse: wrong arguments, no run, no plugin, or every section
     failed or was skipped
  3  not measurable: the run holds no event, nothing can be compared, or rows
     are missing that --fail-on, check or golden save need";

pub(super) const REPORT: &str = "\
Examples:
  trueno-analyze report decode.run
  trueno-analyze report trace.json.gz --html trace.html
  trueno-analyze report decode.run --what-if kind:transfer=0
  trueno-analyze report decode.run --baseline before.run --fail-on high";

pub(super) const DEMO: &str = "\
Examples:
  trueno-analyze demo
  trueno-analyze demo -o /tmp/demo";

pub(super) const COMPARE: &str = "\
Examples:
  trueno-analyze compare before.run after.run --fail-on slower --single
  trueno-analyze compare a1.run b1.run b2.run b3.run --base a2.run --base a3.run";

pub(super) const CHECK: &str = "\
Examples:
  trueno-analyze check decode.run --golden decode.golden.json
  trueno-analyze check decode.run --assert budgets.toml --junit check.xml";

pub(super) const GOLDEN: &str = "\
Examples:
  trueno-analyze golden save decode.run
  trueno-analyze golden show decode.golden.json";

pub(super) const GOLDEN_SAVE: &str = "\
Examples:
  trueno-analyze golden save decode.run -o tests/decode.golden.json";

pub(super) const GOLDEN_LIST: &str = "\
Examples:
  trueno-analyze golden list tests";

pub(super) const GOLDEN_SHOW: &str = "\
Examples:
  trueno-analyze golden show decode.golden.json";

pub(super) const QUERY: &str = "\
Examples:
  trueno-analyze query decode.run \"SELECT name, dur_ns FROM kernels\"
  trueno-analyze query decode.run \"SELECT * FROM kernels\" --format csv -o k.csv
  trueno-analyze query b.run --run a=a.run \"SELECT COUNT(*) FROM a.kernels\"";

pub(super) const TABLES: &str = "\
Examples:
  trueno-analyze tables decode.run
  trueno-analyze tables decode.run kernels";

pub(super) const INFO: &str = "\
Examples:
  trueno-analyze info decode.run
  trueno-analyze info decode.run --format json";

pub(super) const TREE: &str = "\
Examples:
  trueno-analyze tree decode.run --merge
  trueno-analyze tree decode.run --name Attention --depth 4";

pub(super) const TUI: &str = "\
Examples:
  trueno-analyze tui decode.run";

pub(super) const SERVE: &str = "\
Examples:
  trueno-analyze serve decode.run --open
  trueno-analyze serve before.run after.run --port 8080";

pub(super) const WATCH: &str = "\
Examples:
  trueno-analyze watch decode.run --wait
  trueno-analyze watch decode.run --last 30s --format json";

pub(super) const PTX: &str = "\
Examples:
  trueno-analyze ptx decode.run
  trueno-analyze ptx decode.run gemv --launches";

pub(super) const IMPORT: &str = "\
Examples:
  trueno-analyze import trace.json.gz -o trace.run
  trueno-analyze import rank0.json.gz rank1.json.gz -o job.run
  trueno-analyze import ncu.csv --into trace.run -o counted.run";

pub(super) const EXPORT: &str = "\
Examples:
  trueno-analyze export perfetto decode.run -o decode.pftrace
  trueno-analyze export parquet decode.run -o decode.parquet";

pub(super) const EXPORT_OTLP: &str = "\
Examples:
  trueno-analyze export otlp decode.run --endpoint http://localhost:4318";

pub(super) const EXPORT_PARQUET: &str = "\
Examples:
  trueno-analyze export parquet decode.run -o decode.parquet
  trueno-analyze export parquet job.run -o tables --by-table";

pub(super) const EXPORT_DOT: &str = "\
Examples:
  trueno-analyze export dot decode.run --depth 4 -o decode.dot";

pub(super) fn export_to_file(exporter: &str) -> String {
    let ending = match exporter {
        "chrome" => "json.gz",
        "perfetto" => "pftrace",
        one if one.starts_with("flamegraph") => "svg",
        _ => "txt",
    };
    format!("Examples:\n  trueno-analyze export {exporter} decode.run -o decode.{ending}")
}

pub(super) const RECOVER: &str = "\
Examples:
  trueno-analyze recover decode.run
  trueno-analyze recover decode.run -o recovered.run";

pub(super) const PLUGINS: &str = "\
Examples:
  trueno-analyze plugins list
  trueno-analyze plugins new idle_gaps --lang python";

pub(super) const PLUGINS_LIST: &str = "\
Examples:
  trueno-analyze plugins list -v --plugin-dir build";

pub(super) const PLUGINS_NEW: &str = "\
Examples:
  trueno-analyze plugins new idle_gaps";

pub(super) const PLUGINS_CHECK: &str = "\
Examples:
  trueno-analyze plugins check libtrueno_plugin_idle_gaps.so decode.run";

pub(super) const CATEGORIES: &str = "\
Examples:
  trueno-analyze categories";

pub(super) const MCP: &str = "\
Examples:
  trueno-analyze mcp --root runs --timeout 30s";

pub(super) const RANK_TASK: &str = "\
Examples:
  trueno-analyze rank-task task.json";

pub(super) const TRUST: &str = "\
Examples:
  trueno-analyze trust
  trueno-analyze trust project/trueno.toml";

pub(super) const MAN: &str = "\
Examples:
  trueno-analyze man -o share/man/man1";

pub(super) const COMPLETIONS: &str = "\
Examples:
  trueno-analyze completions bash";
