//! Manual pages: one of the command, and one of each command in it.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::{Args, Command};
use clap_mangen::Man;

/// `man`.
#[derive(Debug, Args)]
pub struct ManArgs {
    /// Write all pages, also those of the commands in it, to this folder [default: the first page, to standard output].
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
}

/// Prints the page of `command`, or writes all pages to a folder.
///
/// # Errors
/// Those of the folder or of standard output.
pub fn man(command: Command, args: &ManArgs) -> io::Result<()> {
    match &args.output {
        None => {
            let mut page = Vec::new();
            Man::new(command).render(&mut page)?;
            io::stdout().write_all(&page)
        }
        Some(folder) => {
            std::fs::create_dir_all(folder)?;
            clap_mangen::generate_to(command, folder)
        }
    }
}
