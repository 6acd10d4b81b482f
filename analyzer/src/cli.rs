//! The command line as it was typed.

pub mod check;
pub mod compare;
pub mod export;
pub mod golden;
pub mod graph;
pub mod mcp;
pub mod output;
pub mod plugins;
pub mod serve;
pub mod trust;
pub mod watch;

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::LazyLock;
use std::time::Duration;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};
use trueno_compare::tolerances::Tolerance;
use trueno_format::schema::{FORMAT_MAJOR, FORMAT_MINOR};
use trueno_host::plugin::isolate;
use trueno_host::window::{self, Wanted};
use trueno_manual::{CompletionArgs, ManArgs};
use trueno_model::Severity;
use trueno_plugin::abi;
use trueno_render::{FORMS, ReportForm, form};

pub use check::{CheckArgs, CheckFormat};
pub use compare::{CompareArgs, CompareFail, CompareFormat, CompareOperators};
pub use export::{ExportArgs, ExportCommand, FileExport, OtlpArgs, OtlpCompression, ParquetArgs};
pub use golden::{GoldenCommand, GoldenListArgs, GoldenSaveArgs, GoldenShowArgs};
pub use graph::{DotArgs, GraphArgs, PtxArgs, TreeArgs, TuiArgs};
pub use mcp::McpArgs;
pub use output::{TextFormat, TextOutput};
pub use plugins::{Lang, ListArgs, NewArgs, PluginCheckArgs, PluginsCommand};
pub use serve::{ServeArgs, ServeLanesArgs};
pub use trust::TrustArgs;
pub use watch::WatchArgs;

const EXAMPLES: &str = "\
EXAMPLES:
  Look at a run:
    trueno-analyze report decode.run
  Gate a build on it, and keep the numbers:
    trueno-analyze report decode.run --fail-on high --json report.json
  See what ran inside what; walk through it:
    trueno-analyze tree decode.run --merge
    trueno-analyze tui decode.run
  Watch a program that is recording:
    trueno-analyze watch decode.run
  Look at large ones in a browser:
    trueno-analyze serve before.run after.run
  See what a change has made slower; gate a build on it:
    trueno-analyze compare before.run after.run --fail-on slower
  Check budgets and regressions in a build:
    trueno-analyze check decode.run --assert trueno.toml --golden decode.golden.json --junit check.xml
  Keep what a run was like, small enough for git, for check --golden, compare and report --baseline:
    trueno-analyze golden save decode.run
  Ask it something of your own:
    trueno-analyze query decode.run \"SELECT name, SUM(dur_ns) AS ns FROM bricks GROUP BY name ORDER BY ns DESC\"
  Recover a run whose program was killed:
    trueno-analyze recover decode.run
  Look at one iteration, and ask what a change would buy end to end:
    trueno-analyze report decode.run --window iteration=3
    trueno-analyze report decode.run --what-if QkvProjection=0.5 --what-if kind:transfer=0
  See it on a timeline, in Perfetto or chrome://tracing:
    trueno-analyze export chrome decode.run -o decode.json.gz
  Keep a run, smaller, and in files that databases read:
    trueno-analyze export parquet decode.run -o decode.parquet
  Look at it in a browser, or put its charts elsewhere:
    trueno-analyze report decode.run --html decode.html
    trueno-analyze report decode.run --charts charts/
  Look at another profiler's trace; make a run of it, or one of several ranks:
    trueno-analyze report trace.json.gz
    trueno-analyze import trace.json.gz -o trace.run
    trueno-analyze import rank0.json.gz rank1.json.gz -o job.run
  Join what Nsight Compute counted to the kernels of a run:
    trueno-analyze import ncu.csv --into trace.run -o counted.run
  Join the functions that `trueno-record run --sample` saw running to the run that the program recorded:
    trueno-analyze import sampled.run --into decode.run -o both.run
  See what can be asked, and which plugins there are:
    trueno-analyze tables decode.run
    trueno-analyze plugins list
  Let an assistant ask about the runs below a folder (its configuration names this command):
    trueno-analyze mcp --root runs
  Write a plugin, and hold it to the rules:
    trueno-analyze plugins new idle_gaps
    trueno-analyze plugins check idle_gaps/target/debug/libtrueno_plugin_idle_gaps.so

EXIT CODES:
  0  fine
  1  a finding or bottleneck at or above --fail-on, or, with --fail-on, a section that failed; recover: rows are lost;
     compare --fail-on: something is slower, or has changed; check: an assertion is violated;
     plugins check: a rule is broken
  2  nothing could be analysed: wrong arguments, no run, no plugin, every section failed or was skipped
  3  not measurable: the run holds no event, or has no tensor in common with --baseline; compare: nothing could be
     compared; check: nothing is violated, and an assertion cannot be measured";

/// Reads recorded runs, runs analyses over them as plugins, and reports.
#[derive(Debug, Parser)]
#[command(name = "trueno-analyze", version, long_version = long_version(), after_help = EXAMPLES, max_term_width = 100, propagate_version = true)]
pub struct Cli {
    /// The command.
    #[command(subcommand)]
    pub command: Command,
    /// Colours: auto looks at the terminal and at NO_COLOR.
    #[arg(long, global = true, value_enum, default_value_t = Color::Auto, value_name = "WHEN")]
    pub color: Color,
    /// Import a file of another profiler for this command only; else its run is kept in the user's cache.
    #[arg(long, global = true)]
    pub no_cache: bool,
    /// Do not look for a project file, trueno.toml in the working directory or above it.
    #[arg(long, global = true)]
    pub no_project: bool,
    /// Take this project file, and what it loads and writes, instead of looking for one.
    #[arg(long, global = true, value_name = "FILE", conflicts_with = "no_project")]
    pub project: Option<PathBuf>,
    /// Say less: errors only on standard error, and of a report's page only what it opens with.
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Say more: each step on the way, all there is in lists, and all tables of a report.
    #[arg(short, long, global = true, action = ArgAction::Count)]
    pub verbose: u8,
}

/// Text of `--version`.
fn long_version() -> &'static str {
    static TEXT: LazyLock<String> = LazyLock::new(|| {
        let format = format!("{FORMAT_MAJOR}.{FORMAT_MINOR}");
        let abi = format!("{}.{}", abi::MAJOR, abi::MINOR);
        let more = [("run format", format), ("plugin ABI", abi)];
        trueno_manual::long_version(env!("CARGO_PKG_VERSION"), &more)
    });
    &TEXT
}

/// Use of colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal, unless NO_COLOR is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// The command.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run the analyses and show what they found.
    Report(Box<ReportArgs>),
    /// Show what ran inside what, where, and for how long.
    Tree(Box<TreeArgs>),
    /// `export dot`, as it was called.
    #[command(hide = true)]
    Dot(Box<DotArgs>),
    /// Walk through the same on the terminal.
    Tui(Box<TuiArgs>),
    /// Watch a run that is being recorded: rates, times, gauges and warnings of the last seconds.
    Watch(Box<WatchArgs>),
    /// Serve a page about runs to a browser of this machine: timelines of any size, reports, SQL, comparisons.
    Serve(Box<ServeArgs>),
    /// The process that reads a run for `serve`, which starts it itself.
    #[command(hide = true)]
    ServeLanes(ServeLanesArgs),
    /// Print the source of a kernel, with its launches.
    Ptx(PtxArgs),
    /// Compare runs: what got slower or faster, and how surely.
    Compare(Box<CompareArgs>),
    /// Check what must hold of a run: budgets, patterns, regressions.
    Check(Box<CheckArgs>),
    /// Keep what a run was like in a small text, to compare with later.
    Golden {
        /// The command.
        #[command(subcommand)]
        command: GoldenCommand,
    },
    /// Run SQL over the tables of a run.
    Query(Box<QueryArgs>),
    /// List the tables of a run, or the columns of one.
    Tables(TablesArgs),
    /// Say what a run holds and how complete it is.
    Info(InfoArgs),
    /// Recover a run whose program was killed.
    Recover(RecoverArgs),
    /// Write a run in the format of another program, or as Parquet.
    Export {
        /// The format.
        #[command(subcommand)]
        command: ExportCommand,
    },
    /// Make a run of another profiler's file.
    Import(ImportArgs),
    /// Let an assistant ask about runs, by the Model Context Protocol over standard input and output.
    Mcp(McpArgs),
    /// Print the rules that give names a category, to make your own of them.
    Categories,
    /// List, create and check plugins.
    Plugins {
        /// The command.
        #[command(subcommand)]
        command: PluginsCommand,
    },
    /// Let a project file, trueno.toml, load plugins and write files, until it changes.
    Trust(TrustArgs),
    /// Print the manual page of this program, or write those of all its commands.
    Man(ManArgs),
    /// Print completions of the command line for a shell.
    Completions(CompletionArgs),
    /// Make the parts of some ranks of a job, for `report --parts` on another machine; the task is JSON.
    RankTask(RankTaskArgs),
    /// The process with one plugin in it, which the analyzer itself starts.
    #[command(hide = true)]
    PluginHost,
}

/// Places to search for plugins.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Plugins")]
pub struct PluginArgs {
    /// Load this library too, whatever its name; may be given again.
    #[arg(long = "plugin", value_name = "FILE")]
    pub plugin_files: Vec<PathBuf>,
    /// Look for plugins in this folder first; may be given again.
    #[arg(long = "plugin-dir", value_name = "DIR")]
    pub plugin_dirs: Vec<PathBuf>,
    /// Leave out the folder of the executable, ../lib/trueno-analyze, and the standard plugins, which are a part of this program.
    #[arg(long)]
    pub no_default_plugins: bool,
    /// Load also what other users of this machine can write.
    #[arg(long)]
    pub allow_unsafe_plugins: bool,
    /// Run each plugin in a process of its own: a crash, an endless loop or exit() costs its section alone. So it is
    /// anyway for plugins that lie neither beside the executable nor in ../lib/trueno-analyze.
    #[arg(long, overrides_with = "no_isolate")]
    pub isolate: bool,
    /// Run all plugins in this process.
    #[arg(long, overrides_with = "isolate")]
    pub no_isolate: bool,
    /// Time limit of an isolated plugin, such as 30s or 500ms [default: 60s, and 1 s for each MB of its inputs].
    #[arg(long, value_name = "TIME", value_parser = timeout)]
    pub plugin_timeout: Option<Duration>,
    /// Limit of processor time of an isolated plugin, of all its threads together [default: its time limit].
    #[arg(long, value_name = "TIME", value_parser = timeout)]
    pub plugin_cpu_time: Option<Duration>,
    /// Memory limit of an isolated plugin, such as 512M or 4GB [default: three quarters of the machine's]; what it gives
    /// may take a quarter of that.
    #[arg(long, value_name = "SIZE", value_parser = isolate::size)]
    pub plugin_memory: Option<u64>,
}

/// `report`.
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// The run directory, or a file that `import` knows.
    pub run: PathBuf,
    /// A run to compare with, or its golden file, for the plugins that do; with --compare-backends there may be several.
    #[arg(long, value_name = "RUN|FILE")]
    pub baseline: Vec<PathBuf>,
    /// Compare what ran under several backends, in this run and in the baselines, and nothing else: time, share of each one's own roof, speed-up, and where SIMD does not pay.
    #[arg(long, conflicts_with_all = ["only", "skip"])]
    pub compare_backends: bool,
    /// Show these plugins only; what they read is run as well.
    #[arg(
        long = "plugin-id",
        alias = "only",
        value_name = "ID,…",
        value_delimiter = ','
    )]
    pub only: Vec<String>,
    /// Do not run these plugins.
    #[arg(long, value_name = "ID,…", value_delimiter = ',')]
    pub skip: Vec<String>,
    /// Set an option of a plugin; VALUE is JSON, or else text; may be given again.
    #[arg(long, value_name = "PLUGIN.KEY=VALUE", value_parser = setting)]
    pub set: Vec<Setting>,
    /// Read options of plugins from a TOML file: a table named after each, with keys and values in it; --set goes before it.
    #[arg(long = "options", value_name = "FILE")]
    pub options_file: Option<PathBuf>,
    /// Give names without a category one by the rules in FILE; `trueno-analyze categories` prints the default ones.
    #[arg(long, value_name = "FILE")]
    pub categories: Option<PathBuf>,
    /// Hold the run against the ceilings in FILE, which `trueno-record peaks -o FILE` (of GPUs `peaks --gpu -o FILE`) wrote on a machine like its own; may be given again.
    #[arg(long, value_name = "FILE")]
    pub ceilings: Vec<PathBuf>,
    /// Give operators that have no model one by the rules in FILE (TOML: patterns of names, formulas over dims); they go before those that are built in.
    #[arg(long, value_name = "FILE")]
    pub operators: Option<PathBuf>,
    /// Look at a part of the run: iteration=N, or id=N for the times of one row.
    #[arg(long, value_name = "WHAT=N", value_parser = Wanted::parse, conflicts_with_all = ["from", "to"])]
    pub window: Option<Wanted>,
    /// Look at the run from this time on, such as 250us, 1.5ms or 2s since its start.
    #[arg(long, value_name = "TIME", value_parser = window::time)]
    pub from: Option<i64>,
    /// Look at the run up to this time.
    #[arg(long, value_name = "TIME", value_parser = window::time)]
    pub to: Option<i64>,
    /// Of a job of ranks, give a plugin that cannot work rank by rank at most N rows at once; with more its section says why it is not there.
    #[arg(long, value_name = "N", default_value_t = trueno_host::MOST_ROWS)]
    pub most_rows: u64,
    /// Give the rows of all ranks at once also to plugins that can work rank by rank: the same result with more memory.
    #[arg(long, hide = true)]
    pub together: bool,
    /// Of a job of ranks, take the parts of ranks that are in this folder, and keep there those that are made: a report that was stopped goes on, and `rank-task` makes them elsewhere.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["baseline", "reference", "together"])]
    pub parts: Option<PathBuf>,
    /// Have a cluster make the parts first, of a job that all its machines see under the same path: ballista://HOST:PORT, the address of `trueno-cluster scheduler`. The report is the same.
    #[arg(long, value_name = "ENGINE", default_value = "local", value_parser = engine)]
    pub engine: Engine,
    /// Time after which it is an error that a cluster has not made all parts, such as 90s, 10m or 2h [default: 10m].
    #[arg(long, value_name = "TIME")]
    pub cluster_deadline: Option<String>,
    /// Ranks that a task of a cluster makes the parts of [default: 4, of more than 1,024 ranks a 256th of them].
    #[arg(long, value_name = "N")]
    pub ranks_per_task: Option<NonZeroUsize>,
    /// Predict the run if TARGET (a name, category:NAME, kind:KIND, id:N) took VALUE: a factor, a time with its unit, or a share of its roof such as 0.8roof; may be given again.
    #[arg(long, value_name = "TARGET=VALUE")]
    pub what_if: Vec<String>,
    /// A third run, or its golden file, such as one of scalar code in f64: says which side of a divergence moved.
    #[arg(long, value_name = "RUN|FILE", requires = "baseline")]
    pub reference: Option<PathBuf>,
    /// Tolerance of differences between tensors, in place of the computed one: rtol=X,atol=X, or a TOML
    /// file with these keys, and tables `[[tensor]]` of name (a pattern), rtol and atol.
    #[arg(long, value_name = "KEY=X,…|FILE", value_delimiter = ',', value_parser = Tolerance::parse)]
    pub tolerance: Vec<Tolerance>,
    /// Exit with 1 when there is a finding or bottleneck this bad or worse, or a section failed, and name it on standard
    /// error; of findings `warning` is medium and `error` high.
    #[arg(long, value_name = "SEVERITY", value_enum)]
    pub fail_on: Option<FailOn>,
    /// Say what was found as annotations of a build too, on standard error: errors are those of --fail-on.
    #[arg(long, value_name = "FORM", value_enum)]
    pub annotations: Option<AnnotationForm>,
    /// Rows shown of each table, 10 when not given, 7 on a brief page; JSON and CSV have all.
    #[arg(long, value_name = "N")]
    pub top: Option<usize>,
    /// Columns of the page, 80 to 200; the terminal's own when not given, 80 without one.
    #[arg(long, value_name = "COLUMNS", value_parser = clap::value_parser!(u16).range(80..=200))]
    pub width: Option<u16>,
    /// Write the report as JSON; - is standard output, and nothing else goes there then.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Write the report as Markdown; - is standard output, and nothing else goes there then.
    #[arg(long, value_name = "FILE")]
    pub markdown: Option<PathBuf>,
    /// Write the report as one HTML file that needs nothing else; - is standard output, and nothing else goes there then.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Write each table to DIR/PLUGIN.TABLE.csv.
    #[arg(long, value_name = "DIR")]
    pub csv: Option<PathBuf>,
    /// Write texts in CSV to the byte, also those that a spreadsheet would take for a formula: without it they have an apostrophe in front.
    #[arg(long)]
    pub csv_exact: bool,
    /// Write each chart to DIR, as SVG and as PNG.
    #[arg(long, value_name = "DIR")]
    pub charts: Option<PathBuf>,
    /// Form of the report.
    #[arg(long, default_value = FORMS[0].name(), value_parser = report_form(), value_name = "FORMAT")]
    pub format: &'static dyn ReportForm,
    /// Output file [default: standard output].
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Plugins to load.
    #[command(flatten)]
    pub plugins: PluginArgs,
}

/// Place where parts of ranks are made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Engine {
    /// This process.
    Local,
    /// A cluster of Apache Ballista, as ballista://HOST:PORT.
    Ballista(String),
}

fn engine(text: &str) -> Result<Engine, String> {
    match text {
        "local" => Ok(Engine::Local),
        url if url.starts_with("ballista://") => Ok(Engine::Ballista(url.to_owned())),
        _ => Err("expected local or ballista://HOST:PORT".to_owned()),
    }
}

/// `rank-task`.
#[derive(Debug, Args)]
pub struct RankTaskArgs {
    /// The task: a file with {"job": PATH, "ranks": [0, 1], "parts": FOLDER, "report": [FLAG, …]} [default: standard input].
    #[arg(value_name = "FILE")]
    pub task: Option<PathBuf>,
}

/// `query`.
#[derive(Debug, Args)]
pub struct QueryArgs {
    /// The run directory, or a file that `import` knows.
    pub run: PathBuf,
    /// The query, - or nothing for standard input, which on a terminal is a session; `trueno-analyze tables RUN` lists
    /// what it can use. A table PLUGIN.TABLE is made by running that plugin.
    pub sql: Option<String>,
    /// Another run, whose recorded tables are NAME.bricks and so on; may be given again.
    #[arg(long = "run", value_name = "NAME=RUN", value_parser = named_run)]
    pub others: Vec<NamedRun>,
    /// Form of the result.
    #[arg(long, value_enum, default_value_t = QueryFormat::Table, value_name = "FORMAT")]
    pub format: QueryFormat,
    /// Write texts in CSV to the byte, also those that a spreadsheet would take for a formula: without it they have an
    /// apostrophe in front.
    #[arg(long)]
    pub csv_exact: bool,
    /// Output file [default: standard output].
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Rows shown as a table; the other forms have all.
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub top: usize,
    /// Time limit of a query, such as 30s; in a session there is none [default: 10m].
    #[arg(long, value_name = "TIME", value_parser = timeout)]
    pub timeout: Option<Duration>,
    /// Memory limit of a query, such as 512M or 4GB; in a session there is none [default: three quarters of the machine's].
    #[arg(long, value_name = "SIZE", value_parser = isolate::size)]
    pub memory: Option<u64>,
    /// Have a cluster read the tables of a job, leave out rows and make groups: ballista://HOST:PORT, the address of `trueno-cluster scheduler`. The answer is the same.
    #[arg(long, value_name = "ENGINE", default_value = "local", value_parser = engine)]
    pub engine: Engine,
    /// For a cluster: the job's tables, as `export parquet --by-table` writes them, in a folder that all its machines see under the same path; made where there are none.
    #[arg(long, value_name = "DIR")]
    pub tables: Option<PathBuf>,
    /// For a cluster: rows that it may hand over; a query that needs more is an error.
    #[arg(long, value_name = "N", default_value_t = 10_000_000)]
    pub most_rows: u64,
    /// For tables of plugins: a run to compare with.
    #[arg(long, value_name = "RUN")]
    pub baseline: Option<PathBuf>,
    /// For tables of plugins: set an option of one; may be given again.
    #[arg(long, value_name = "PLUGIN.KEY=VALUE", value_parser = setting)]
    pub set: Vec<Setting>,
    /// For tables of plugins: give names without a category one by the rules in FILE.
    #[arg(long, value_name = "FILE")]
    pub categories: Option<PathBuf>,
    /// Plugins to load.
    #[command(flatten)]
    pub plugins: PluginArgs,
}

/// Form of a query's result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum QueryFormat {
    /// Text for people.
    Table,
    /// An array of objects, one a row.
    Json,
    /// RFC 4180.
    Csv,
    /// A stream of Arrow IPC, for programs.
    Arrow,
}

/// `tables`.
#[derive(Debug, Args)]
pub struct TablesArgs {
    /// The run directory, or a file that `import` knows.
    pub run: PathBuf,
    /// Show the columns of this table.
    pub table: Option<String>,
    /// Form and place of the result.
    #[command(flatten)]
    pub result: TextOutput,
}

/// `info`.
#[derive(Debug, Args)]
pub struct InfoArgs {
    /// The run directory, or a file that `import` knows.
    pub run: PathBuf,
    /// Form and place of the result.
    #[command(flatten)]
    pub result: TextOutput,
}

/// `recover`.
#[derive(Debug, Args)]
pub struct RecoverArgs {
    /// The run directory.
    pub run: PathBuf,
    /// Leave the run as it is, and make the recovered one here.
    #[arg(short, long, value_name = "NEW")]
    pub output: Option<PathBuf>,
    /// Form of what is said of it.
    #[arg(long, value_enum, default_value_t = TextFormat::Text, value_name = "FORMAT")]
    pub format: TextFormat,
    /// As JSON: `--format json` is the spelling of today.
    #[arg(long, hide = true, conflicts_with = "format")]
    pub json: bool,
}

/// `import`.
#[derive(Debug, Args)]
pub struct ImportArgs {
    /// A trace; several of one job become the ranks of one run.
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// The run directory to make.
    #[arg(short, long, value_name = "RUN")]
    pub output: PathBuf,
    /// Join the counters of Nsight Compute's CSV to the kernels of this run, by name, launch shape and order; or a run of
    /// samples of the same program (`trueno-record run --sample`), by thread and time. -o is then that run with them, and
    /// RUN stays as it is.
    #[arg(long, value_name = "RUN", conflicts_with = "ranks")]
    pub into: Option<PathBuf>,
    /// With --into: the process whose kernels are joined, where the CSV has several.
    #[arg(long, value_name = "PID", requires = "into")]
    pub process: Option<u64>,
    /// Ranks of the files, in their order; else as the files say, or else from 0 on.
    #[arg(long, value_name = "N,…", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(..65_536))]
    pub ranks: Vec<u32>,
    /// Make a rank of each process that ran kernels in one export of Nsight Systems, as of `nsys profile torchrun …`.
    #[arg(long, conflicts_with = "into")]
    pub by_process: bool,
    /// Input format [default: detected].
    #[arg(long, value_name = "FORMAT", value_parser = import_formats())]
    pub format: Option<String>,
    /// Keep what stands before the first damage of a file, and say so.
    #[arg(long)]
    pub partial: bool,
    /// Replace a run that is there, once the new one is whole.
    #[arg(long)]
    pub overwrite: bool,
    /// Reject archives that expand more than N-fold.
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u64).range(1..))]
    pub max_ratio: u64,
    /// Print the summary as JSON.
    #[arg(long)]
    pub json: bool,
}

impl ImportArgs {
    /// Limits on how bad a file may be.
    pub fn options(&self) -> trueno_import::Options {
        trueno_import::Options {
            partial: self.partial,
            max_ratio: self.max_ratio,
            process: None,
        }
    }
}

/// Formats of files to import.
fn import_formats() -> PossibleValuesParser {
    let formats = trueno_import::IMPORTERS.into_iter();
    let values = formats.map(|format| PossibleValue::new(format.name()).help(format.description()));
    PossibleValuesParser::new(values)
}

/// One `--set`.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// The plugin.
    pub plugin: String,
    /// The option.
    pub key: String,
    /// Its value.
    pub value: serde_json::Value,
}

/// The forms there are, by their names.
fn report_form() -> impl TypedValueParser<Value = &'static dyn ReportForm> {
    let names = FORMS.map(|form| PossibleValue::new(form.name()).help(form.about()));
    let no_form = "no such form of a report";
    PossibleValuesParser::new(names).try_map(move |name| form(&name).ok_or(no_form))
}

fn timeout(text: &str) -> Result<Duration, String> {
    let ns = window::time(text)
        .ok()
        .and_then(|ns| u64::try_from(ns).ok());
    // A bare number would be nanoseconds, which nobody means here.
    let has_unit = text.trim_end().ends_with('s');
    match ns.filter(|ns| has_unit && *ns > 0) {
        Some(ns) => Ok(Duration::from_nanos(ns)),
        None => Err("expected a time with its unit, such as 30s or 500ms".to_owned()),
    }
}

/// A run and the name that a query has for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedRun {
    /// A word, which stands before its tables.
    pub name: String,
    /// The run directory, or a file that `import` knows.
    pub run: PathBuf,
}

fn named_run(text: &str) -> Result<NamedRun, String> {
    let is_word = |name: &str| {
        name.starts_with(|c: char| c.is_ascii_alphabetic())
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
    };
    match text.split_once('=') {
        Some((name, run)) if is_word(name) && !run.is_empty() => Ok(NamedRun {
            name: name.to_owned(),
            run: run.into(),
        }),
        _ => Err("expected NAME=RUN, such as before=base.run".to_owned()),
    }
}

fn setting(text: &str) -> Result<Setting, String> {
    let parts = text
        .split_once('=')
        .and_then(|(path, value)| Some((path.split_once('.')?, value)));
    match parts {
        Some(((plugin, key), value)) if !plugin.is_empty() && !key.is_empty() => Ok(Setting {
            plugin: plugin.to_owned(),
            key: key.to_owned(),
            value: serde_json::from_str(value)
                .unwrap_or_else(|_| serde_json::Value::String(value.to_owned())),
        }),
        _ => Err("expected PLUGIN.KEY=VALUE, such as category.unit=calls".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;
    use serde_json::json;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_setting_is_json_or_else_text() {
        let value = |text: &str| setting(text).unwrap().value;
        assert_eq!(value("a.k=3"), json!(3));
        assert_eq!(value("a.k=true"), json!(true));
        assert_eq!(value("a.k={\"x\":[1]}"), json!({"x": [1]}));
        assert_eq!(value("a.k=plain text"), json!("plain text"));
        assert_eq!(value("a.k=a=b"), json!("a=b"));
        assert_eq!(value("a.k="), json!(""));
        assert_eq!(setting("a.b.c=1").unwrap().key, "b.c");
        for wrong in ["", "a", "a.k", "a=1", ".k=1", "a.=1"] {
            assert!(setting(wrong).is_err(), "{wrong}");
        }
    }
}

/// Severities, as typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FailOn {
    /// Worth knowing.
    Info,
    /// Worth a look where time is left.
    Low,
    /// Worth acting on.
    #[value(alias = "warning")]
    Medium,
    /// Must not be so.
    #[value(alias = "error")]
    High,
    /// Most of the run.
    Critical,
}

impl From<FailOn> for Severity {
    fn from(severity: FailOn) -> Self {
        match severity {
            FailOn::Info => Severity::Info,
            FailOn::Low => Severity::Low,
            FailOn::Medium => Severity::Medium,
            FailOn::High => Severity::High,
            FailOn::Critical => Severity::Critical,
        }
    }
}

/// Builds that show annotations beside a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum AnnotationForm {
    /// Workflow commands of GitHub Actions.
    Github,
}
