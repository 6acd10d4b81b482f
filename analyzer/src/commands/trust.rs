//! `trust`: project files that may load code and write files.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use clap::CommandFactory;
use trueno_model::exit;
use trueno_model::width::printable;

use super::stderr::Stderr;
use super::to_stdout;
use crate::cli::{Cli, TrustArgs};
use crate::project::{self, FILE, ProjectFile, Standing, TrustedFiles, list_file};

pub(super) fn trust(args: &TrustArgs, stderr: &Stderr) -> anyhow::Result<u8> {
    let list = list_file().context(
        "neither XDG_CONFIG_HOME nor HOME names a folder for the list of trusted files (hint: set one of them)",
    )?;
    let mut trusted = TrustedFiles::read(&list)?;
    if args.list {
        return show(&trusted);
    }
    let path = path(args.file.as_deref())?;
    if args.remove {
        if !trusted.remove(&path) {
            bail!(
                "{}: is not in the list of trusted files (hint: `trueno-analyze trust --list` shows it)",
                path.display()
            );
        }
        trusted.write(&list)?;
        stderr.note(&format!("{}: no longer trusted", path.display()));
        return Ok(exit::FINE);
    }
    let opened = trueno_trust::open_file(&path).map_err(|distrust| {
        anyhow!(
            "{}: cannot be trusted: {distrust} (hint: {})",
            path.display(),
            distrust.remedy()
        )
    })?;
    let file = ProjectFile::read(&path, &opened)?;
    let reaches = project::reaches(Cli::command(), &file)?;
    trusted.add(&file)?;
    trusted.write(&list)?;
    stderr.note(&format!(
        "{}: trusted until it changes{}",
        path.display(),
        if reaches.is_empty() {
            "; it sets no flag that needs it".to_owned()
        } else {
            format!(", and may set {}", reaches.join(", "))
        }
    ));
    Ok(exit::FINE)
}

/// The path of the file in its real folder, as the search finds it.
fn path(named: Option<&Path>) -> anyhow::Result<PathBuf> {
    let folder = std::env::current_dir().context("the working directory is gone")?;
    let Some(named) = named else {
        let home = std::env::home_dir();
        return project::nearest(&folder, home.as_deref()).with_context(|| {
            format!(
                "no {FILE} in {} or above, up to the repository's root or your home folder (hint: name one)",
                folder.display()
            )
        });
    };
    let whole = folder.join(named);
    let name = whole
        .file_name()
        .with_context(|| format!("{}: is not a file", named.display()))?;
    // One that is gone can still be taken off the list.
    let above = whole.parent().unwrap_or(&folder);
    let real = above.canonicalize().unwrap_or_else(|_| above.to_owned());
    Ok(real.join(name))
}

fn show(trusted: &TrustedFiles) -> anyhow::Result<u8> {
    let mut text = String::new();
    for path in trusted.paths() {
        let file = trueno_trust::open_file(path)
            .map_err(anyhow::Error::new)
            .and_then(|opened| ProjectFile::read(path, &opened));
        let standing = match file.map(|file| trusted.standing(&file)) {
            Ok(Standing::Trusted) => "trusted",
            Ok(_) => "changed",
            Err(_) => "ignored",
        };
        let path = path.display().to_string();
        let shown = printable(&path);
        // Writing to a text cannot fail.
        let _ = writeln!(text, "{standing:<10}  {shown}");
    }
    to_stdout(text.as_bytes())?;
    Ok(exit::FINE)
}
