//! Completions of a command line by a shell.

use std::io::{self, Write};

use clap::{Args, Command};
use clap_complete::Shell;

/// `completions`.
#[derive(Debug, Args)]
pub struct CompletionArgs {
    /// The shell.
    pub shell: Shell,
}

/// Prints the completions of `command`.
///
/// # Errors
/// Those of standard output.
pub fn completions(command: &mut Command, args: &CompletionArgs) -> io::Result<()> {
    let name = command.get_name().to_owned();
    let mut script = Vec::new();
    clap_complete::generate(args.shell, command, name, &mut script);
    io::stdout().write_all(&script)
}
