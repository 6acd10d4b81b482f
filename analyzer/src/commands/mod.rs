//! The commands of the command line, one module each.

mod charts;
mod check;
mod check_plugin;
mod compare;
mod dot;
mod export;
mod golden;
mod graph_input;
mod import;
mod inspect;
mod interrupt;
mod new_plugin;
mod options;
mod output;
mod parquet;
mod plugins;
mod ptx;
mod query;
mod recover;
mod report;
mod staging;
mod stderr;
mod tree;
mod tui;

use std::io::{self, IsTerminal, Write};

use stderr::Stderr;
use trueno_host::plugin::Search;
use trueno_host::plugin::isolate::{self, AVAILABLE, Isolation, Limits, Which};
use trueno_model::categories::DEFAULT;
use trueno_model::exit;
use trueno_render::style::Palette;
use trueno_render::terminal;

use crate::cli::{Cli, Color, Command, PluginArgs, PluginsCommand};

/// Runs what was typed; the exit code.
///
/// # Errors
/// Nothing could be analysed (exit code 2), or standard output was closed.
pub fn run(cli: &Cli) -> anyhow::Result<u8> {
    interrupt::file_sizes_are_errors();
    let stderr = Stderr::new(cli, palette(cli.color, io::stderr().is_terminal()));
    let page = palette(cli.color, io::stdout().is_terminal());
    match &cli.command {
        Command::Report(args) => report::report(args, page, &stderr),
        Command::Plugins { command } => match command {
            PluginsCommand::List(args) => plugins::list(args, cli.verbose, page),
            PluginsCommand::New(args) => new_plugin::new(args, page),
            PluginsCommand::Check(args) => check_plugin::check(args, page, &stderr),
        },
        Command::Categories => {
            to_stdout(DEFAULT.as_bytes())?;
            Ok(exit::FINE)
        }
        Command::Export { command } => export::export(command, &stderr),
        Command::Tree(args) => tree::tree(args, page, &stderr),
        Command::Dot(args) => dot::dot(args, &stderr),
        Command::Tui(args) => tui::tui(args, cli.color, &stderr),
        Command::Ptx(args) => ptx::ptx(args, &stderr),
        Command::Check(args) => check::check(args, page, &stderr),
        Command::Compare(args) => compare::compare(args, page, &stderr),
        Command::Golden { command } => golden::golden(command, &stderr),
        Command::Query(args) => query::query(args, &stderr),
        Command::Tables(args) => inspect::tables(args),
        Command::Info(args) => inspect::info(args),
        Command::Recover(args) => recover::recover(args, &stderr),
        Command::Import(args) => import::import(args, &stderr),
        Command::PluginHost => match isolate::serve() {
            Ok(never) => match never {},
            Err(why) => anyhow::bail!(why),
        },
    }
}

/// Colours as asked for; on `auto` those of a terminal that has not been asked to go without.
pub fn palette(color: Color, is_terminal: bool) -> Palette {
    Palette::new(is_coloured(color, is_terminal))
}

fn is_coloured(color: Color, is_terminal: bool) -> bool {
    let unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
        || std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    match color {
        Color::Always => true,
        Color::Never => false,
        Color::Auto => is_terminal && !unwanted,
    }
}

/// Tells whether a person reads standard output as it comes.
fn on_terminal() -> bool {
    io::stdout().is_terminal()
}

/// Columns of a page: as asked for, else those of the terminal, else the fewest.
fn page_width(asked: Option<u16>) -> usize {
    let fewest = *terminal::WIDTHS.start();
    match asked {
        Some(width) => usize::from(width),
        None if on_terminal() => terminal_size::terminal_size()
            .map_or(fewest, |(width, _)| usize::from(width.0))
            .max(fewest),
        None => fewest,
    }
}

/// Standard output, all at once: a report is data, and a broken pipe is an error to be seen.
fn to_stdout(bytes: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(bytes)?;
    out.flush()
}

fn isolation(args: &PluginArgs) -> Isolation {
    let which = match (args.isolate, args.no_isolate) {
        (true, _) => Which::All,
        (false, true) => Which::None,
        (false, false) if AVAILABLE => Which::Outside,
        (false, false) => Which::None,
    };
    let mut limits = Limits::default();
    if let Some(time) = args.plugin_timeout {
        limits.time = time;
    }
    if let Some(bytes) = args.plugin_memory {
        limits.memory_bytes = bytes;
    }
    Isolation { which, limits }
}

fn search(args: &PluginArgs) -> Search {
    let executable = std::env::current_exe().and_then(std::fs::canonicalize).ok();
    Search {
        files: args.plugin_files.clone(),
        dirs: args.plugin_dirs.clone(),
        path_variable: std::env::var_os(trueno_host::plugin::PATH_VARIABLE),
        executable: executable.filter(|_| !args.no_default_plugins),
        allow_unsafe: args.allow_unsafe_plugins,
        isolation: isolation(args),
    }
}
