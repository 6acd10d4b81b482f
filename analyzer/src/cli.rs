//! The command line as it was typed.
//!
//! Flags are listed in the order of their structs, in groups by `help_heading`. A flag with `hide_short_help` is not in
//! `-h`, one with `hide_long_help` only in `--help-all`: the first screen is for the flags that most people need. The first
//! paragraph of a comment is the line in `-h` and `--help`; `--help-all` and manual pages have all of it.

pub mod check;
pub mod compare;
mod examples;
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
use trueno_command_line::{CompletionArgs, HelpArgs, ManArgs};
use trueno_compare::tolerances::Tolerance;
use trueno_format::schema::{FORMAT_MAJOR, FORMAT_MINOR};
use trueno_host::plugin::isolate;
use trueno_host::window::WindowSpec;
use trueno_model::Severity;
use trueno_model::time_text::{parse_duration, parse_time};
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

/// Reads recorded runs, analyses them with plugins, and reports
#[derive(Debug, Parser)]
#[command(
    name = "trueno-analyze",
    version,
    long_version = long_version(),
    about = "Find out what limits a program, from a run that was recorded or imported",
    after_long_help = examples::ROOT,
    max_term_width = 100,
    propagate_version = true,
    disable_help_flag = true,
    disable_version_flag = true
)]
pub struct Cli {
    /// The command.
    #[command(subcommand)]
    pub command: Command,
    /// Show more: all findings and tables, and each step
    #[arg(short, long, global = true, action = ArgAction::Count, help_heading = GLOBAL, hide_short_help = true)]
    pub verbose: u8,
    /// Show less: the head of a report, and only errors
    #[arg(short, long, global = true, conflicts_with = "verbose", help_heading = GLOBAL, hide_short_help = true)]
    pub quiet: bool,
    /// Use colors
    ///
    /// auto: on a terminal, unless NO_COLOR is set.
    #[arg(long, global = true, value_enum, default_value_t = Color::Auto, value_name = "WHEN", help_heading = GLOBAL, hide_short_help = true)]
    pub color: Color,
    /// Import a trace for this command only
    ///
    /// Without it, the run made of a trace is cached for the next command.
    #[arg(long, global = true, help_heading = GLOBAL, hide_short_help = true)]
    pub no_cache: bool,
    /// Ignore project files
    ///
    /// A project file is trueno.toml in the working directory or above it.
    #[arg(long, global = true, help_heading = GLOBAL, hide_short_help = true)]
    pub no_project: bool,
    /// Use this project file, and trust it
    ///
    /// It may then load plugins and write files. No other project file is looked for.
    #[arg(long, global = true, value_name = "FILE", conflicts_with = "no_project", help_heading = GLOBAL, hide_short_help = true)]
    pub project: Option<PathBuf>,
    /// Help and version.
    #[command(flatten)]
    pub help: HelpArgs,
}

/// Heading of the flags that every command has.
const GLOBAL: &str = "Global options";

fn long_version() -> &'static str {
    static TEXT: LazyLock<String> = LazyLock::new(|| {
        let format = format!("{FORMAT_MAJOR}.{FORMAT_MINOR}");
        let abi = format!("{}.{}", abi::MAJOR, abi::MINOR);
        let more = [("run format", format), ("plugin ABI", abi)];
        trueno_command_line::long_version(env!("CARGO_PKG_VERSION"), &more)
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
    /// Show what limits a run and what to do about it
    #[command(after_help = examples::REPORT)]
    Report(Box<ReportArgs>),
    /// Try the program on two small runs that come with it
    #[command(after_help = examples::DEMO)]
    Demo(DemoArgs),
    /// Compare runs: what got slower or faster, with confidence intervals
    #[command(after_help = examples::COMPARE)]
    Compare(Box<CompareArgs>),
    /// Check a run against budgets, patterns and a golden run
    #[command(after_help = examples::CHECK)]
    Check(Box<CheckArgs>),
    /// Save a text summary of a run to compare against later
    #[command(after_help = examples::GOLDEN)]
    Golden {
        /// The command.
        #[command(subcommand)]
        command: GoldenCommand,
    },
    /// Run SQL over the tables of a run
    #[command(after_help = examples::QUERY)]
    Query(Box<QueryArgs>),
    /// List the tables of a run, or the columns of one
    #[command(after_help = examples::TABLES)]
    Tables(TablesArgs),
    /// Show what a run contains and whether it is complete
    #[command(after_help = examples::INFO)]
    Info(InfoArgs),
    /// Show the call tree with times
    #[command(after_help = examples::TREE)]
    Tree(Box<TreeArgs>),
    /// `export dot` by its old name
    #[command(hide = true, after_help = examples::EXPORT_DOT)]
    Dot(Box<DotArgs>),
    /// Browse a run on the terminal
    #[command(after_help = examples::TUI)]
    Tui(Box<TuiArgs>),
    /// Serve runs to a browser on this machine
    ///
    /// Timelines of any size, reports, SQL and comparisons.
    #[command(after_help = examples::SERVE)]
    Serve(Box<ServeArgs>),
    /// The process that reads a run for `serve`, which starts it itself
    #[command(hide = true)]
    ServeLanes(ServeLanesArgs),
    /// Watch a run while it is being recorded
    #[command(after_help = examples::WATCH)]
    Watch(Box<WatchArgs>),
    /// Print the source of a kernel and its launches
    #[command(after_help = examples::PTX)]
    Ptx(PtxArgs),
    /// Convert another profiler's trace into a run
    #[command(after_help = examples::IMPORT)]
    Import(ImportArgs),
    /// Convert a run into another program's format, or Parquet
    #[command(after_help = examples::EXPORT)]
    Export {
        /// The format.
        #[command(subcommand)]
        command: ExportCommand,
    },
    /// Recover a run whose program was killed
    #[command(after_help = examples::RECOVER)]
    Recover(RecoverArgs),
    /// List, create and check plugins
    #[command(after_help = examples::PLUGINS)]
    Plugins {
        /// The command.
        #[command(subcommand)]
        command: PluginsCommand,
    },
    /// Print the rules that assign names to categories
    #[command(after_help = examples::CATEGORIES)]
    Categories,
    /// Let an AI assistant query runs (Model Context Protocol)
    ///
    /// Speaks the protocol on standard input and output.
    #[command(after_help = examples::MCP)]
    Mcp(McpArgs),
    /// Analyse some ranks of a job, for `report --parts`
    #[command(after_help = examples::RANK_TASK)]
    RankTask(RankTaskArgs),
    /// Trust a project file to load plugins and write files, until it changes
    #[command(after_help = examples::TRUST)]
    Trust(TrustArgs),
    /// Print the manual page, or write those of all commands
    #[command(after_help = examples::MAN)]
    Man(ManArgs),
    /// Print shell completions
    #[command(after_help = examples::COMPLETIONS)]
    Completions(CompletionArgs),
    /// The process that runs one plugin, which the analyzer starts itself
    #[command(hide = true)]
    PluginHost,
}

/// Places to search for plugins.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Plugins")]
pub struct PluginArgs {
    /// Load this plugin too; repeatable
    ///
    /// The file may have any name.
    #[arg(
        long = "plugin-file",
        alias = "plugin",
        value_name = "FILE",
        hide_short_help = true
    )]
    pub plugin_files: Vec<PathBuf>,
    /// Search this folder for plugins first; repeatable
    #[arg(long = "plugin-dir", value_name = "DIR", hide_short_help = true)]
    pub plugin_dirs: Vec<PathBuf>,
    /// Ignore installed and built-in plugins
    ///
    /// Leaves out the folder of the executable, ../lib/trueno-analyze, and the plugins built into this program.
    #[arg(long, hide_long_help = true)]
    pub no_default_plugins: bool,
    /// Also load plugins that other users of this machine can change
    #[arg(long, hide_long_help = true)]
    pub allow_unsafe_plugins: bool,
    /// Run each plugin in a separate process
    ///
    /// A crash, an endless loop or exit() then costs only that plugin's section. Plugins from outside the folder of the
    /// executable and ../lib/trueno-analyze always run this way, unless --no-isolate is given.
    #[arg(long, overrides_with = "no_isolate", hide_long_help = true)]
    pub isolate: bool,
    /// Run all plugins in this process
    #[arg(long, overrides_with = "isolate", hide_long_help = true)]
    pub no_isolate: bool,
    /// Time limit of an isolated plugin, such as 30s [default: 60s plus 1s per MB of input]
    #[arg(long, value_name = "TIME", value_parser = parse_duration, hide_long_help = true)]
    pub plugin_timeout: Option<Duration>,
    /// CPU time limit of an isolated plugin, all threads together [default: its time limit]
    #[arg(long, value_name = "TIME", value_parser = parse_duration, hide_long_help = true)]
    pub plugin_cpu_time: Option<Duration>,
    /// Memory limit of an isolated plugin, such as 4GB [default: three quarters of the machine's]
    ///
    /// Its output may take a quarter of that.
    #[arg(long, value_name = "SIZE", value_parser = isolate::size, hide_long_help = true)]
    pub plugin_memory: Option<u64>,
}

const OUTPUT_FILES: &str = "Output files";
const ANALYSES: &str = "Analyses";
const COMPARISON: &str = "Comparison";
const MANY_RANKS: &str = "Jobs of many ranks";

/// `report`.
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// A run, a trace of another profiler, a folder of traces, or -
    ///
    /// - reads a trace from standard input.
    pub run: PathBuf,
    /// More traces of the same job or process
    #[arg(value_name = "TRACE")]
    pub more: Vec<PathBuf>,
    /// Write the report to FILE
    ///
    /// - is standard output.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Form of the report [default: text, none if files are written]
    #[arg(long, value_parser = report_form(), value_name = "FORMAT")]
    pub format: Option<&'static dyn ReportForm>,
    /// Also write the report as one HTML page
    ///
    /// - writes it to standard output, and nothing else.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Write only the summary and the timeline to the page
    #[arg(long, help_heading = OUTPUT_FILES, hide_long_help = true)]
    pub summary: bool,
    /// Also print the page to a PDF file, with Chromium or Chrome
    #[arg(long, value_name = "FILE", help_heading = OUTPUT_FILES, hide_long_help = true)]
    pub pdf: Option<PathBuf>,
    /// Also write the head of the report as a picture (PNG, 1200 × 630), for a chat
    #[arg(long, value_name = "FILE", help_heading = OUTPUT_FILES, hide_short_help = true)]
    pub card: Option<PathBuf>,
    /// Also write findings and the slowest functions as SARIF, for editors
    ///
    /// - writes it to standard output, and nothing else.
    #[arg(long, value_name = "FILE", help_heading = OUTPUT_FILES, hide_long_help = true)]
    pub sarif: Option<PathBuf>,
    /// Also write the same source lines as compiler warnings (FILE:LINE:COLUMN: warning: TEXT)
    ///
    /// - writes it to standard output, and nothing else.
    #[arg(long, value_name = "FILE", help_heading = OUTPUT_FILES, hide_long_help = true)]
    pub editor: Option<PathBuf>,
    /// Rows shown of each table [default: 10 at most]
    ///
    /// JSON and CSV always have all rows.
    #[arg(long, value_name = "N")]
    pub top: Option<usize>,
    /// Analyse only these iterations (iteration=3, iteration=3..8), or the time of one row (id=42)
    #[arg(long, value_name = "WHAT=N", value_parser = WindowSpec::parse, conflicts_with_all = ["from", "to"])]
    pub window: Option<WindowSpec>,
    /// Analyse the run only from this time on, such as 1.5s
    ///
    /// Times count from the start of the recording and need a unit: ns, us, ms, s, m or h.
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub from: Option<i64>,
    /// Look at the run up to this time
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub to: Option<i64>,
    /// Compare with another run, or with its golden file
    ///
    /// Plugins that compare use it. With --compare-backends it may be given several times.
    #[arg(long, value_name = "RUN|FILE")]
    pub baseline: Vec<PathBuf>,
    /// Predict the run if TARGET took VALUE, such as Attention=0.5; repeatable
    ///
    /// TARGET: a name, category:NAME, kind:KIND or id:N. VALUE: a factor, a time with its unit, or a share of its roof
    /// such as 0.8roof.
    #[arg(long, value_name = "TARGET=VALUE")]
    pub what_if: Vec<String>,
    /// Parallelism of the job, such as dp=4,tp=8,pp=2
    ///
    /// List those of dp, cp, tp and pp above 1; their product is the number of ranks. Ranks are numbered as Megatron does:
    /// tensor, then context, data and pipeline parallel. Default: inferred from groups and sends.
    #[arg(long, value_name = "KIND=N,...", hide_long_help = true)]
    pub parallel: Option<String>,
    /// Exit with 1 if a finding is this severe or worse
    ///
    /// Also exits with 1 if a section failed. The cause is printed on standard error.
    #[arg(long, value_name = "SEVERITY", value_enum)]
    pub fail_on: Option<FailOn>,

    /// Also write the report as JSON
    ///
    /// - writes it to standard output, and nothing else.
    #[arg(long, value_name = "FILE", help_heading = OUTPUT_FILES, hide_short_help = true)]
    pub json: Option<PathBuf>,
    /// Also write the report as Markdown
    ///
    /// - writes it to standard output, and nothing else.
    #[arg(long, value_name = "FILE", help_heading = OUTPUT_FILES, hide_short_help = true)]
    pub markdown: Option<PathBuf>,
    /// Write each table to DIR/PLUGIN.TABLE.csv
    #[arg(long, value_name = "DIR", help_heading = OUTPUT_FILES, hide_short_help = true)]
    pub csv: Option<PathBuf>,
    /// Do not protect CSV texts from spreadsheets
    ///
    /// Without it, a text that a spreadsheet would take for a formula gets an apostrophe in front.
    #[arg(long, help_heading = OUTPUT_FILES, hide_long_help = true)]
    pub csv_exact: bool,
    /// Write each chart to DIR, as SVG and PNG
    #[arg(long, value_name = "DIR", help_heading = OUTPUT_FILES, hide_short_help = true)]
    pub charts: Option<PathBuf>,
    /// Print findings as annotations of a CI build, on standard error
    #[arg(long, value_name = "FORM", value_enum, help_heading = OUTPUT_FILES, hide_short_help = true)]
    pub annotations: Option<AnnotationForm>,
    /// Columns of the page, 80 to 200 [default: the terminal's, else 80]
    #[arg(long, value_name = "COLUMNS", value_parser = clap::value_parser!(u16).range(80..=200), help_heading = OUTPUT_FILES, hide_short_help = true)]
    pub width: Option<u16>,

    /// Show all findings in full, and no tables
    #[arg(long, conflicts_with = "quiet", help_heading = ANALYSES, hide_short_help = true)]
    pub findings: bool,
    /// Show only these plugins, with all their tables
    #[arg(
        long = "plugin-id",
        alias = "only",
        value_name = "ID,…",
        value_delimiter = ',',
        help_heading = ANALYSES,
        hide_short_help = true
    )]
    pub only: Vec<String>,
    /// Do not run these plugins
    #[arg(long, value_name = "ID,…", value_delimiter = ',', help_heading = ANALYSES, hide_short_help = true)]
    pub skip: Vec<String>,
    /// Set an option of a plugin; repeatable
    ///
    /// VALUE is JSON, or else text.
    #[arg(long, value_name = "PLUGIN.KEY=VALUE", value_parser = setting, help_heading = ANALYSES, hide_short_help = true)]
    pub set: Vec<Setting>,
    /// Read plugin options from a TOML file, one table per plugin
    ///
    /// --set takes precedence.
    #[arg(long = "options", value_name = "FILE", help_heading = ANALYSES, hide_long_help = true)]
    pub options_file: Option<PathBuf>,
    /// Assign categories to names without one, by the rules in FILE
    ///
    /// `trueno-analyze categories` prints the default rules.
    #[arg(long, value_name = "FILE", help_heading = ANALYSES, hide_short_help = true)]
    pub categories: Option<PathBuf>,
    /// Use the machine limits in FILE, from `trueno-record peaks -o FILE`; repeatable
    ///
    /// Measure them on a machine like the run's. Those of GPUs come from `trueno-record peaks --gpu -o FILE`.
    #[arg(long, value_name = "FILE", help_heading = ANALYSES, hide_short_help = true)]
    pub ceilings: Vec<PathBuf>,
    /// Model operators by the rules in FILE (TOML), before the built-in ones
    ///
    /// Rules are patterns of names with formulas over dims.
    #[arg(long, value_name = "FILE", help_heading = ANALYSES, hide_long_help = true)]
    pub operators: Option<PathBuf>,

    /// Show only a comparison of backends
    ///
    /// In this run and the baselines: time, share of each one's own roof, speed-up, and where SIMD does not pay.
    #[arg(long, conflicts_with_all = ["only", "skip"], help_heading = COMPARISON, hide_short_help = true)]
    pub compare_backends: bool,
    /// A third run or golden file that shows which side of a divergence moved
    ///
    /// For example, a run of scalar code in f64.
    #[arg(long, value_name = "RUN|FILE", requires = "baseline", help_heading = COMPARISON, hide_long_help = true)]
    pub reference: Option<PathBuf>,
    /// Tolerance between tensors: rtol=X,atol=X, or a TOML file
    ///
    /// It replaces the computed tolerance. The file has these keys, and tables `[[tensor]]` of name (a pattern), rtol
    /// and atol.
    #[arg(long, value_name = "KEY=X,…|FILE", value_delimiter = ',', value_parser = Tolerance::parse, help_heading = COMPARISON, hide_long_help = true)]
    pub tolerance: Vec<Tolerance>,

    /// Cache the results of ranks in DIR
    ///
    /// A stopped report then continues where it was. `rank-task` makes parts on other machines.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["baseline", "reference", "together"], help_heading = MANY_RANKS, hide_long_help = true)]
    pub parts: Option<PathBuf>,
    /// Compute the parts on a cluster: ballista://HOST:PORT
    ///
    /// The address is that of `trueno-cluster scheduler`. All its machines see the job under the same path. The report
    /// is the same.
    #[arg(long, value_name = "ENGINE", default_value = "local", value_parser = engine, help_heading = MANY_RANKS, hide_long_help = true)]
    pub engine: Engine,
    /// Fail if the cluster has not made all parts in this time, such as 90s or 2h [default: 10m]
    #[arg(long, value_name = "TIME", value_parser = cluster_time, help_heading = MANY_RANKS, hide_long_help = true)]
    pub cluster_deadline: Option<String>,
    /// Ranks per task of the cluster [default: 4; of more than 1,024 ranks, one 256th]
    #[arg(long, value_name = "N", help_heading = MANY_RANKS, hide_long_help = true)]
    pub ranks_per_task: Option<NonZeroUsize>,
    /// Above N rows, plugins that need all ranks at once analyse only one iteration
    ///
    /// It is one of median length, and the report names it. Most plugins work rank by rank and are not affected.
    #[arg(long = "max-rows", alias = "most-rows", value_name = "N", default_value_t = trueno_host::MAX_ROWS, help_heading = MANY_RANKS, hide_long_help = true)]
    pub max_rows: u64,
    /// Give the rows of all ranks at once also to plugins that work rank by rank: the same result with more memory.
    #[arg(long, hide = true)]
    pub together: bool,
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

/// A time as the command of the cluster takes it.
fn cluster_time(text: &str) -> Result<String, String> {
    parse_duration(text).map(|_| text.to_owned())
}

/// `rank-task`.
#[derive(Debug, Args)]
pub struct RankTaskArgs {
    /// The task as JSON [default: standard input]
    ///
    /// {"job": PATH, "ranks": [0, 1], "parts": FOLDER, "catalog": FILE, "report": [FLAG, …]}
    #[arg(value_name = "FILE")]
    pub task: Option<PathBuf>,
    /// Write the catalog that the task names, and analyse nothing
    ///
    /// Tasks that name a catalog open their own ranks only.
    #[arg(long)]
    pub write_catalog: bool,
}

const PLUGIN_TABLES: &str = "Tables of plugins";
const QUERY_LIMITS: &str = "Limits and clusters";

/// `query`.
#[derive(Debug, Args)]
pub struct QueryArgs {
    /// A run directory, or a trace of another profiler
    pub run: PathBuf,
    /// The query; - or nothing reads it from standard input
    ///
    /// On a terminal, a query that is left out starts a session. `trueno-analyze tables RUN` lists what a query can use.
    /// A table PLUGIN.TABLE is made by running that plugin.
    pub sql: Option<String>,
    /// Write the result to FILE instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Form of the result
    #[arg(long, value_enum, default_value_t = QueryFormat::Text, value_name = "FORMAT")]
    pub format: QueryFormat,
    /// Rows shown as text; the other forms have all
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub top: usize,
    /// Columns of the text [default: the terminal's; no limit in a pipe or file]
    #[arg(long, value_name = "COLUMNS", value_parser = clap::value_parser!(u16).range(20..))]
    pub width: Option<u16>,
    /// Another run, whose tables are NAME.bricks and so on; repeatable
    #[arg(long = "run", value_name = "NAME=RUN", value_parser = named_run)]
    pub others: Vec<NamedRun>,
    /// Do not protect CSV texts from spreadsheets
    ///
    /// Without it, a text that a spreadsheet would take for a formula gets an apostrophe in front.
    #[arg(long, hide_short_help = true)]
    pub csv_exact: bool,

    /// A run to compare with, or its golden file
    #[arg(long, value_name = "RUN|FILE", help_heading = PLUGIN_TABLES, hide_short_help = true)]
    pub baseline: Option<PathBuf>,
    /// Set an option of a plugin; repeatable
    #[arg(long, value_name = "PLUGIN.KEY=VALUE", value_parser = setting, help_heading = PLUGIN_TABLES, hide_short_help = true)]
    pub set: Vec<Setting>,
    /// Assign categories to names without one, by the rules in FILE
    #[arg(long, value_name = "FILE", help_heading = PLUGIN_TABLES, hide_short_help = true)]
    pub categories: Option<PathBuf>,

    /// Time limit, such as 30s [default: 10m; none in a session]
    #[arg(long, value_name = "TIME", value_parser = parse_duration, help_heading = QUERY_LIMITS, hide_short_help = true)]
    pub timeout: Option<Duration>,
    /// Memory limit, such as 4GB [default: three quarters of the machine's; none in a session]
    #[arg(long, value_name = "SIZE", value_parser = isolate::size, help_heading = QUERY_LIMITS, hide_short_help = true)]
    pub memory: Option<u64>,
    /// Let a cluster read, filter and group the tables: ballista://HOST:PORT
    ///
    /// The address is that of `trueno-cluster scheduler`. The answer is the same.
    #[arg(long, value_name = "ENGINE", default_value = "local", value_parser = engine, help_heading = QUERY_LIMITS, hide_long_help = true)]
    pub engine: Engine,
    /// Folder with the job's tables that all machines of the cluster see
    ///
    /// As `export parquet --by-table` writes them. They are written there if they are missing.
    #[arg(long, value_name = "DIR", help_heading = QUERY_LIMITS, hide_long_help = true)]
    pub tables: Option<PathBuf>,
    /// Fail if the cluster would return more rows
    #[arg(long = "max-rows", alias = "most-rows", value_name = "N", default_value_t = 10_000_000, help_heading = QUERY_LIMITS, hide_long_help = true)]
    pub max_rows: u64,
    /// Plugins to load.
    #[command(flatten)]
    pub plugins: PluginArgs,
}

/// Form of a query's result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum QueryFormat {
    /// Text for people.
    #[value(alias = "table")]
    Text,
    /// An array of objects, one per row.
    Json,
    /// RFC 4180.
    Csv,
    /// A stream of Arrow IPC, for programs.
    Arrow,
}

/// Arguments of `demo`.
#[derive(Debug, Args)]
pub struct DemoArgs {
    /// Write the runs to this new folder
    #[arg(short, long, value_name = "DIR", default_value = "trueno-demo")]
    pub output: PathBuf,
}

/// `tables`.
#[derive(Debug, Args)]
pub struct TablesArgs {
    /// A run directory, or a trace of another profiler
    pub run: PathBuf,
    /// Show the columns of this table
    pub table: Option<String>,
    /// Form and place of the result.
    #[command(flatten)]
    pub result: TextOutput,
}

/// `info`.
#[derive(Debug, Args)]
pub struct InfoArgs {
    /// A run directory, or a trace of another profiler
    pub run: PathBuf,
    /// Form and place of the result.
    #[command(flatten)]
    pub result: TextOutput,
}

/// `recover`.
#[derive(Debug, Args)]
pub struct RecoverArgs {
    /// The run directory
    pub run: PathBuf,
    /// Write the recovered run to this path, and keep the damaged one unchanged
    #[arg(short, long, value_name = "NEW")]
    pub output: Option<PathBuf>,
    /// Form of the summary
    #[arg(long, value_enum, default_value_t = TextFormat::Text, value_name = "FORMAT")]
    pub format: TextFormat,
    /// Old spelling of `--format json`.
    #[arg(long, hide = true, conflicts_with = "format")]
    pub json: bool,
}

/// `import`.
#[derive(Clone, Debug, Args)]
pub struct ImportArgs {
    /// Traces, or `-` for standard input; several of one job become the ranks of one run
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// The run directory to make
    #[arg(short, long, value_name = "RUN")]
    pub output: PathBuf,
    /// Replace a run that is already there
    ///
    /// It is replaced once the new one is complete.
    #[arg(long)]
    pub overwrite: bool,
    /// Import everything before the first damage of a file
    #[arg(long)]
    pub partial: bool,
    /// Keep events that contradict the others
    ///
    /// In Chrome traces and exports of Nsight Systems: events far from all others in time, kernels that overlap several later
    /// ones of their stream, and duplicates in a file that has every event twice. By default they are excluded and counted.
    #[arg(long, hide_short_help = true)]
    pub keep_doubtful: bool,
    /// Add counters or samples to this run; the result goes to -o
    ///
    /// FILE is a CSV of Nsight Compute, whose counters are added to kernels by name, launch shape and order; or a run of
    /// `trueno-record run --sample` of the same program, whose samples are added by thread and time. RUN stays as it is.
    #[arg(long, value_name = "RUN", conflicts_with = "ranks")]
    pub into: Option<PathBuf>,
    /// With --into: the process to add to, if the CSV has several
    #[arg(long, value_name = "PID", requires = "into", hide_short_help = true)]
    pub process: Option<u64>,
    /// Ranks of the files, in order [default: from the files, else 0, 1, …]
    #[arg(long, value_name = "N,…", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(..65_536))]
    pub ranks: Vec<u32>,
    /// Make each process a rank
    ///
    /// For one file that holds several: of an export of Nsight Systems, as of `nsys profile torchrun …`, the processes that
    /// ran kernels; of a trace, those with rows.
    #[arg(long, conflicts_with = "into", hide_short_help = true)]
    pub by_process: bool,
    /// Treat this process of a trace as a device
    ///
    /// By number or name, if the trace does not mark it as a device. May be given several times.
    #[arg(
        long = "device",
        value_name = "PROCESS",
        conflicts_with = "into",
        hide_short_help = true
    )]
    pub devices: Vec<String>,
    /// Form of the summary
    ///
    /// A format of files here is the old spelling of `--input-format`.
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = summary_formats())]
    format: String,
    /// Format of the files [default: detected]
    #[arg(long, value_name = "FORMAT", value_parser = import_formats(), hide_short_help = true)]
    input_format: Option<String>,
    /// Reject archives that expand more than N-fold
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u64).range(1..), hide_short_help = true)]
    pub max_ratio: u64,
    /// Old spelling of `--format json`.
    #[arg(long, hide = true)]
    json: bool,
}

impl ImportArgs {
    /// The same, of other files.
    pub fn with_files(&self, files: Vec<PathBuf>) -> Self {
        Self {
            files,
            ..self.clone()
        }
    }

    /// Tells whether the summary is to be JSON.
    pub fn is_json(&self) -> bool {
        self.json || self.format == "json"
    }

    /// The format of the files; `None`: detected.
    pub fn input_format(&self) -> Option<&str> {
        let old = Some(self.format.as_str()).filter(|one| !SUMMARY_FORMATS.contains(one));
        self.input_format.as_deref().or(old)
    }

    /// Limits on how bad a file may be.
    pub fn options(&self) -> trueno_import::Options {
        trueno_import::Options {
            partial: self.partial,
            keep_doubtful: self.keep_doubtful,
            max_ratio: self.max_ratio,
            part: None,
            devices: self.devices.clone(),
        }
    }
}

const SUMMARY_FORMATS: [&str; 2] = ["text", "json"];

/// Forms of the summary, and the formats of files that `--format` used to take.
fn summary_formats() -> PossibleValuesParser {
    let forms = SUMMARY_FORMATS.into_iter().map(PossibleValue::new);
    let old = trueno_import::IMPORTERS.into_iter();
    let old = old.map(|format| PossibleValue::new(format.name).hide(true));
    PossibleValuesParser::new(forms.chain(old))
}

/// Formats of files to import.
fn import_formats() -> PossibleValuesParser {
    let formats = trueno_import::IMPORTERS.into_iter();
    let values = formats.map(|format| PossibleValue::new(format.name).help(format.description));
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
    let names = FORMS.map(|form| {
        let value = PossibleValue::new(form.name()).help(form.about());
        value.aliases(form.old_names())
    });
    let no_form = "no such form of a report";
    PossibleValuesParser::new(names).try_map(move |name| form(&name).ok_or(no_form))
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
    /// Good to know.
    Info,
    /// Worth a look if time is left.
    Low,
    /// Worth acting on.
    #[value(alias = "warning")]
    Medium,
    /// Needs action.
    #[value(alias = "error")]
    High,
    /// Dominates the run.
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
