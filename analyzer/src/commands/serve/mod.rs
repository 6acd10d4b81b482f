//! `trueno-analyze serve`: a page about runs, on loopback, as long as the command runs.

mod lane_frames;

use std::ffi::OsString;
use std::sync::Arc;

use anyhow::Context;
use trueno_engine::run::Run;
use trueno_model::exit;
use trueno_serve::Server;
use trueno_serve::processes::{Place, Program, QueryLimits, Runs as ServedRuns};

pub(super) use self::lane_frames::lane_frames;
use super::browser;
use super::child_process::end_with_this_thread;
use super::interrupt;
use super::runs::Runs;
use super::stderr::Stderr;
use super::stdout::to_stdout;
use crate::cli::{Cli, ServeArgs};

/// Hidden command that a server runs to read a run's lanes.
const LANES_COMMAND: &str = "serve-lanes";

pub(super) fn serve(
    args: &ServeArgs,
    cli: &Cli,
    runs: &Runs<'_>,
    stderr: &Stderr,
) -> anyhow::Result<u8> {
    let mut places = Vec::new();
    for path in &args.runs {
        let folder = runs.directory(path)?;
        // What is no run is said now; what becomes of it later is said on the page.
        Run::open(&folder).with_context(|| format!("{}: cannot be served", path.display()))?;
        places.push(Place {
            shown: path.display().to_string(),
            folder,
        });
    }
    let mut flags: Vec<OsString> = vec!["--color=never".into()];
    if cli.no_project {
        flags.push("--no-project".into());
    }
    if let Some(project) = &cli.project {
        let mut flag = OsString::from("--project=");
        flag.push(project);
        flags.push(flag);
    }
    let program = Program {
        file: std::env::current_exe().context("this program cannot be found again")?,
        flags,
        plugin_flags: args.plugins.flags(),
        lanes_command: LANES_COMMAND,
        before_start: end_with_this_thread,
    };
    let limits = QueryLimits {
        rows: args.query_rows,
        time: args.query_timeout,
        memory_bytes: args.query_memory,
    };
    let server = Server::bind(args.port)?;
    let address = server.address();
    let served = Arc::new(ServedRuns::new(program, places, limits));
    // Before anything is begun that an interrupt must end.
    let interrupted = interrupt::caught();
    served.start()?;
    server.start(served.clone())?;
    to_stdout(format!("{address}\n").as_bytes())?;
    let opened = args.open.then(|| browser::open(&address));
    if let Some(Err(why)) = &opened {
        stderr.warn(&format!("no browser was opened: {why}"));
    }
    if let Some(Ok(())) = opened {
        stderr.note("opening this address in the browser; Ctrl-C ends it");
    } else {
        stderr.note("open this address in a browser on this machine; Ctrl-C ends it");
    }
    interrupted.wait();
    served.stop();
    Ok(exit::FINE)
}
