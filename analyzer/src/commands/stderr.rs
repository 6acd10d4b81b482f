//! Messages on standard error.

use std::io::Write;
use std::path::{Path, PathBuf};

use trueno_engine::run::Run;
use trueno_host::plugin::OwnOutput;
use trueno_model::units;
use trueno_model::width::printable;
use trueno_plugin::counted;
use trueno_render::style::{Meaning, Palette};

use crate::cli::Cli;

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

    /// Prints nothing if the user asked for quiet.
    pub fn warn(&self, text: &str) {
        if !self.quiet {
            self.say(Meaning::Warning, "warning:", text);
        }
    }

    /// Warns about reasons why rows or facts of a run may differ from what was recorded.
    pub fn doubts(&self, path: &Path, run: &Run) {
        for problem in run.problems().iter().filter(|problem| problem.is_doubt()) {
            self.warn(&format!("{}: {}", path.display(), problem.text));
        }
    }

    pub fn fail(&self, text: &str) {
        self.say(Meaning::Error, "failed:", text);
    }

    /// Prints nothing if the user asked for quiet.
    pub fn note(&self, text: &str) {
        if !self.quiet {
            self.say(Meaning::Faint, "note:", text);
        }
    }

    pub fn wrote(&self, path: &Path) {
        let (files, bytes) = extent(path);
        let files = if path.is_dir() { Some(files) } else { None };
        self.confirm(path, files, bytes);
    }

    /// Confirms files in a folder that may hold others.
    pub fn wrote_files(&self, folder: &Path, files: &[PathBuf]) {
        let bytes = files.iter().map(|file| extent(file).1).sum();
        self.confirm(folder, Some(files.len() as u64), bytes);
    }

    fn confirm(&self, path: &Path, files: Option<u64>, bytes: u64) {
        if self.quiet {
            return;
        }
        let files = files.map_or_else(String::new, |files| {
            format!(", {}", counted(files, "file", "files"))
        });
        let size = units::scaled(bytes as f64, "B");
        let text = format!("{}{files}, {size}", path.display());
        self.say(Meaning::Faint, "wrote", &text);
    }

    pub fn is_quiet(&self) -> bool {
        self.quiet
    }

    pub fn is_verbose(&self) -> bool {
        self.verbose > 0
    }

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

fn extent(path: &Path) -> (u64, u64) {
    if !path.is_dir() {
        let found = std::fs::metadata(path);
        return (1, found.map_or(0, |found| found.len()));
    }
    let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
    let all = entries.map(|entry| extent(&entry.path()));
    all.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
}
