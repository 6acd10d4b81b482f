//! The commands of the command line, one module each.

mod annotations;
mod browser;
mod ceilings;
mod charts;
mod check;
mod check_plugin;
mod child_process;
mod cluster;
mod compare;
mod demo;
mod dot;
mod escaped;
mod export;
mod golden;
mod graph_input;
mod import;
mod inspect;
mod interrupt;
mod leftovers;
mod mcp;
mod new_plugin;
mod options;
mod otlp;
mod output;
mod parquet;
mod pdf;
mod plugins;
mod ptx;
mod query;
mod rank_task;
mod recover;
mod report;
mod report_setup;
mod rerun;
mod running;
mod runs;
mod screen;
mod search;
mod serve;
mod staging;
mod stderr;
mod stdout;
mod terminal_modes;
mod tree;
mod trust;
mod tui;
mod watch;

use std::io::{self, IsTerminal};

use clap::CommandFactory;
use runs::Runs;
use stderr::Stderr;
pub use stdout::palette;
use stdout::to_stdout;
use trueno_host::plugin::isolate;
use trueno_model::categories::DEFAULT;
use trueno_model::exit;

use crate::cli::{Cli, Command, PluginsCommand};

/// Entry points for fuzzing, not part of the interface.
#[doc(hidden)]
pub mod fuzzing {
    pub use super::import::nsys_parquet::import as import_nsys_parquet;
}

/// Runs a command line and returns the exit code.
///
/// # Errors
/// Nothing could be analysed (exit code 2), or standard output was closed.
pub fn run(cli: &Cli) -> anyhow::Result<u8> {
    interrupt::file_sizes_are_errors();
    interrupt::cut_files_are_told();
    let stderr = Stderr::new(cli, palette(cli.color, io::stderr().is_terminal()));
    let runs = Runs::new(!cli.no_cache, &stderr);
    let page = palette(cli.color, io::stdout().is_terminal());
    match &cli.command {
        Command::Report(args) => report::report(args, page, &runs, &stderr),
        Command::Plugins { command } => match command {
            PluginsCommand::List(args) => plugins::list(args, cli.verbose, page, &stderr),
            PluginsCommand::New(args) => new_plugin::new(args, page),
            PluginsCommand::Check(args) => check_plugin::check(args, page, &runs, &stderr),
        },
        Command::Demo(args) => demo::demo(args, page, &runs, &stderr),
        Command::Trust(args) => trust::trust(args, &stderr),
        Command::Categories => {
            to_stdout(DEFAULT.as_bytes())?;
            Ok(exit::FINE)
        }
        Command::Export { command } => export::export(command, &runs, &stderr),
        Command::Tree(args) => tree::tree(args, page, &runs, &stderr),
        Command::Dot(args) => dot::dot(args, &runs, &stderr),
        Command::Tui(args) => tui::tui(args, cli, &runs, &stderr),
        Command::Watch(args) => watch::watch(args, page, cli, &stderr),
        Command::Serve(args) => serve::serve(args, cli, &runs, &stderr),
        Command::ServeLanes(args) => serve::lane_frames(args, &runs),
        Command::Ptx(args) => ptx::ptx(args, &runs, &stderr),
        Command::Check(args) => check::check(args, page, &runs, &stderr),
        Command::Compare(args) => compare::compare(args, page, &runs, &stderr),
        Command::Golden { command } => golden::golden(command, &runs, &stderr),
        Command::Query(args) => query::query(args, &runs, &stderr),
        Command::RankTask(args) => rank_task::rank_task(args, &runs, &stderr),
        Command::Tables(args) => inspect::tables(args, &runs, &stderr),
        Command::Info(args) => inspect::info(args, &runs, &stderr),
        Command::Recover(args) => recover::recover(args, &stderr),
        Command::Import(args) => import::import(args, &runs, &stderr),
        Command::Mcp(args) => mcp::mcp(args, cli.no_cache, &stderr),
        Command::Man(args) => {
            trueno_command_line::man(trueno_command_line::every_flag(Cli::command()), args)?;
            Ok(exit::FINE)
        }
        Command::Completions(args) => {
            let mut command = trueno_command_line::every_flag(Cli::command());
            trueno_command_line::completions(&mut command, args)?;
            Ok(exit::FINE)
        }
        Command::PluginHost => match isolate::serve(search::linked()) {
            Ok(never) => match never {},
            Err(why) => anyhow::bail!(why),
        },
    }
}
