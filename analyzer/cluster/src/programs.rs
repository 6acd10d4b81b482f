//! The programs that tasks are made of.

use std::env;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};

const ANALYZE: &str = "trueno-analyze";
const STORE: &str = "trueno-store";

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Programs {
    pub analyze: PathBuf,
    pub mirrors: Option<PathBuf>,
}

impl Programs {
    /// The given analyzer, or else the one next to this program or in PATH.
    ///
    /// # Errors
    /// There is none.
    pub fn find(analyze: Option<&Path>, mirrors: Option<&Path>) -> anyhow::Result<Self> {
        let hint = "hint: --analyze FILE";
        let analyze = match analyze {
            Some(file) => std::path::absolute(file)?,
            None => find_program(ANALYZE, hint)?,
        };
        ensure!(
            analyze.is_file(),
            "{}: there is no such program ({hint})",
            analyze.display()
        );
        let mirrors = mirrors.map(std::path::absolute).transpose()?;
        Ok(Self { analyze, mirrors })
    }
}

/// The client of object stores, which only jobs in a store need.
///
/// # Errors
/// There is none.
pub fn store() -> anyhow::Result<PathBuf> {
    find_program(
        STORE,
        "hint: cargo build --manifest-path analyzer/store/Cargo.toml makes it",
    )
}

/// A program next to this one, or else in PATH.
fn find_program(name: &str, hint: &str) -> anyhow::Result<PathBuf> {
    let own = env::current_exe()?;
    let beside = own.parent().map(Path::to_owned);
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = beside.into_iter().chain(env::split_paths(&path));
    let mut files = folders.map(|folder| folder.join(name));
    let file = files.find(|file| file.is_file());
    file.with_context(|| format!("{name} is neither beside this command nor in PATH ({hint})"))
}
