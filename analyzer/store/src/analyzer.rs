//! The program `trueno-analyze`, which does the work.

use std::env;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};

const ANALYZE: &str = "trueno-analyze";

/// The given analyzer, or else the one next to this program or in PATH.
///
/// # Errors
/// There is none.
pub fn found(named: Option<&Path>) -> anyhow::Result<PathBuf> {
    if let Some(file) = named {
        let file = std::path::absolute(file)?;
        ensure!(
            file.is_file(),
            "{}: there is no such program (hint: --analyze FILE)",
            file.display()
        );
        return Ok(file);
    }
    let own = env::current_exe()?;
    let beside = own.parent().map(Path::to_owned);
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = beside.into_iter().chain(env::split_paths(&path));
    let mut files = folders.map(|folder| folder.join(ANALYZE));
    files.find(|file| file.is_file()).with_context(|| {
        format!("{ANALYZE} is neither beside this command nor in PATH (hint: --analyze FILE)")
    })
}
