//! `trueno-analyze tui`: the execution graph to walk through.
//!
//! [`state`] is all there is on the screen, [`update`] makes the next one of a key,
//! [`draw`] paints it; only `terminal` knows that there is a terminal.

mod detail;
mod draw;
pub(super) mod keys;
mod lane_strip;
mod state;
#[cfg(unix)]
mod terminal;
#[cfg(test)]
mod tests;
mod update;

use std::io::{self, IsTerminal};

use anyhow::bail;
use draw::Looks;
use state::Model;
use trueno_display_names::DisplayNames;
use trueno_engine::run::Run;
use trueno_model::units::{Unit, duration, show as show_number};
use trueno_model::{Cell, exit};
use trueno_plugin::agreeing;

use super::graph_input::{GraphInput, Want};
use super::runs::Runs;
use super::stderr::Stderr;
use super::stdout::{is_coloured, on_terminal, palette};
use super::watch;
use crate::cli::{Cli, TuiArgs};

const NO_TERMINAL: &str = "tui needs a terminal (hint: `trueno-analyze tree RUN` prints the same, `trueno-analyze export dot RUN` draws it)";

/// Shows the graph until the user quits. Exit code 3 if the run has no rows.
pub fn tui(args: &TuiArgs, cli: &Cli, runs: &Runs<'_>, stderr: &Stderr) -> anyhow::Result<u8> {
    let dumb = std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
    if dumb || !io::stdin().is_terminal() || !on_terminal() {
        bail!(NO_TERMINAL);
    }
    let palette = palette(cli.color, true);
    if args.follow && watch::until_end(&args.graph.run, palette, stderr)? == watch::Outcome::Left {
        return Ok(exit::FINE);
    }
    let mut look = GraphInput::open(
        &args.graph,
        Want {
            edges: false,
            slack: true,
            path_later: true,
        },
        runs,
        stderr,
    )?;
    if look.graph.rows() == 0 {
        stderr.warn("the run holds no row with a time");
        return Ok(exit::NOT_MEASURABLE);
    }
    show(&mut look, is_coloured(cli.color, true))
}

fn model<'a>(
    look: &'a GraphInput,
    source: &'a dyn Fn(&str) -> Result<String, String>,
) -> Model<'a> {
    let wall = look
        .graph
        .wall_ns
        .map_or_else(|| "–".to_owned(), |ns| duration(ns as f64));
    Model {
        graph: &look.graph,
        names: DisplayNames::new(look.graph.names.iter().map(String::as_str)),
        critical: look.critical,
        can_find_path: look.can_find_path(),
        title: format!(
            "wall {wall}, {} {}{}",
            show_number(Cell::U64(look.graph.rows() as u64), Unit::None),
            agreeing(look.graph.rows(), "row", "rows"),
            if look.can_find_path() {
                ", c finds the critical path"
            } else {
                ""
            }
        ),
        source,
    }
}

fn source(run: &Run, hash: &str) -> Result<String, String> {
    match run.kernel_source(hash) {
        Ok((text, true)) => Ok(text),
        Ok((_, false)) => Err("the source is no longer what was recorded".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

#[cfg(unix)]
fn show(look: &mut GraphInput, coloured: bool) -> anyhow::Result<u8> {
    // Who draws it asks the descriptor of standard output.
    #[cfg(target_os = "linux")]
    let _own = trueno_host::plugin::OwnScreen::take();
    let mut screen = terminal::Shown::open(Looks { coloured })?;
    let mut state = None;
    loop {
        let source = |hash: &str| source(&look.run, hash);
        let model = model(look, &source);
        let (mut left, outcome) = screen.show(&model, state)?;
        match outcome {
            terminal::Outcome::Quit => return Ok(exit::FINE),
            terminal::Outcome::Signal => {
                drop(screen);
                bail!("stopped by a signal")
            }
            terminal::Outcome::WantsPath => {
                drop(model);
                if let Err(why) = look.find_path() {
                    left.message = Some(format!("the critical path is not marked: {why}"));
                }
                state = Some(left);
            }
        }
    }
}

#[cfg(not(unix))]
fn show(_: &mut GraphInput, _: bool) -> anyhow::Result<u8> {
    bail!("tui runs on Unix terminals only (hint: `trueno-analyze tree RUN` prints the same)")
}
