//! Messages on standard error.

use std::io::Write;
use std::path::Path;

use trueno_engine::run::Run;
use trueno_host::plugin::OwnOutput;
use trueno_model::width::printable;
use trueno_render::style::{Meaning, Palette};

use crate::cli::Cli;

/// Says things on standard error, as much as was asked for.
pub struct Stderr {
    quiet: bool,
    verbose: u8,
    palette: Palette,
}

impl Stderr {
    pub fn new(cli: &Cli, palette: Palette) -> Stderr {
        Stderr {
            quiet: cli.quiet,
            verbose: cli.verbose,
            palette,
        }
    }

    /// Something the user should know, unless they asked for quiet.
    pub fn warn(&self, text: &str) {
        if !self.quiet {
            self.say(Meaning::Warning, "warning:", text);
        }
    }

    /// Reasons why rows or facts of a run may be others than those that were recorded.
    pub fn doubts(&self, path: &Path, run: &Run) {
        for problem in run.problems().iter().filter(|problem| problem.is_doubt()) {
            self.warn(&format!("{}: {}", path.display(), problem.text));
        }
    }

    /// A reason why the command fails, however quiet it was asked to be.
    pub fn fail(&self, text: &str) {
        self.say(Meaning::Error, "failed:", text);
    }

    /// Something worth a line, unless they asked for quiet.
    pub fn note(&self, text: &str) {
        if !self.quiet {
            self.say(Meaning::Faint, "note:", text);
        }
    }

    /// Tells whether only errors are wanted.
    pub fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// Tells whether more is wanted.
    pub fn is_verbose(&self) -> bool {
        self.verbose > 0
    }

    /// A step, with `-v`.
    pub fn step(&self, text: &str) {
        if self.verbose > 0 {
            self.say(Meaning::Faint, "…", text);
        }
    }

    fn say(&self, meaning: Meaning, lead: &str, text: &str) {
        let text = printable(text);
        // With standard error gone there is nobody left to tell.
        let line = format!("{} {text}\n", self.palette.paint(meaning, lead));
        let _ = OwnOutput::Stderr.write_all(line.as_bytes());
    }
}
