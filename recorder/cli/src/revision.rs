//! A revision of the current repository in a worktree of its own, for as long as it is needed.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::{env, process};

use crate::{Failure, signals};

/// Removed when dropped.
pub struct Worktree {
    /// Temporary folder around the worktree.
    folder: PathBuf,
    /// The folder in it that corresponds to the working directory.
    pub directory: PathBuf,
}

impl Worktree {
    /// Checks out a revision of the repository around the working directory.
    pub fn new(revision: &OsStr) -> Result<Self, Failure> {
        let shown = revision.to_string_lossy();
        let prefix = git([OsStr::new("rev-parse"), OsStr::new("--show-prefix")])
            .map_err(|why| failed(&format!("--git {shown}: no repository here"), &why))?;
        let commit = [revision.as_bytes(), b"^{commit}"].concat();
        let rev_parse = ["rev-parse", "--verify", "--end-of-options"].map(OsStr::new);
        let commit = git(rev_parse.into_iter().chain([OsStr::from_bytes(&commit)]))
            .map_err(|why| failed(&format!("--git {shown}: no such revision"), &why))?;
        let folder = env::temp_dir().join(format!("trueno-record-{}", process::id()));
        let made = DirBuilder::new().mode(0o700).create(&folder);
        made.map_err(|why| {
            failed(
                &folder.display().to_string(),
                &format!("cannot be made: {why}"),
            )
        })?;
        let tree = folder.join("tree");
        // From here on, dropping it removes what there is.
        let out = Self {
            directory: tree.join(OsStr::from_bytes(&prefix)),
            folder,
        };
        let add = ["worktree", "add", "--detach", "--quiet"].map(OsStr::new);
        git(add
            .into_iter()
            .chain([tree.as_os_str(), OsStr::from_bytes(&commit)]))
        .map_err(|why| failed(&format!("--git {shown}: cannot be checked out"), &why))?;
        if !out.directory.is_dir() {
            let prefix = Path::new(OsStr::from_bytes(&prefix)).display().to_string();
            return Err(failed(
                &format!("--git {shown}"),
                &format!("has no folder {prefix}"),
            ));
        }
        Ok(out)
    }
}

impl Drop for Worktree {
    fn drop(&mut self) {
        let tree = self.folder.join("tree");
        let remove = ["worktree", "remove", "--force"].map(OsStr::new);
        // Without git, its list of worktrees keeps an entry that `git worktree prune` removes.
        let _ = git(remove.into_iter().chain([tree.as_os_str()]));
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn failed(what: &str, why: &str) -> Failure {
    Failure::NotStarted(format!("{what}: {why}; nothing was recorded"))
}

/// What git prints, without the end of the line.
fn git<'a>(words: impl IntoIterator<Item = &'a OsStr>) -> Result<Vec<u8>, String> {
    let mut command = signals::command("git");
    command.args(words).stdin(Stdio::null());
    let done = command.output().map_err(|why| format!("git: {why}"))?;
    if !done.status.success() {
        let said = String::from_utf8_lossy(&done.stderr);
        return Err(said.trim().replace('\n', "; "));
    }
    let mut out = done.stdout;
    out.truncate(out.trim_ascii_end().len());
    Ok(out)
}
