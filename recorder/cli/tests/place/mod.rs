//! A folder to record in.

use std::path::{Path, PathBuf};
use std::process::Command;

pub struct Place(tempfile::TempDir);

impl Place {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder().join(name)
    }

    pub fn folder(&self) -> &Path {
        self.0.path()
    }

    pub fn run(&self) -> PathBuf {
        self.path("it.run")
    }

    pub fn command(&self, flags: &[&str], program: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_trueno-record"));
        command
            .args(["run", "-o", "it.run"])
            .args(flags)
            .arg("--")
            .args(program)
            .current_dir(self.folder());
        command
    }
}
