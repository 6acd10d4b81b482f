//! `trueno-analyze mcp`: runs as tools of an assistant.

mod child;
mod command_line;

use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use trueno_mcp::{Roots, Server, serve_stdio};
use trueno_model::exit;

use self::child::Children;
use super::stderr::Stderr;
use crate::cli::McpArgs;

/// Default time limit of a call. Clients wait for a minute or several.
const DEFAULT_TIME: Duration = Duration::from_secs(120);

pub(super) fn mcp(args: &McpArgs, no_cache: bool, stderr: &Stderr) -> anyhow::Result<u8> {
    let here = [PathBuf::from(".")];
    let roots = match args.roots.as_slice() {
        [] => &here,
        given => given,
    };
    let roots = Roots::new(roots).context("--root: expected a folder that can be read")?;
    let children = Children::new(&args.plugins, no_cache)?;
    let limit = args.time_limit.unwrap_or(DEFAULT_TIME);
    if io::stdin().is_terminal() {
        stderr.note(
            "waits for an assistant on standard input; Ctrl-D ends it (hint: the assistant's configuration names this \
             command)",
        );
    }
    let server = Server::new(Arc::new(children), roots, limit, env!("CARGO_PKG_VERSION"));
    serve_stdio(server)
        .context("standard input and output: expected the Model Context Protocol")?;
    Ok(exit::FINE)
}
