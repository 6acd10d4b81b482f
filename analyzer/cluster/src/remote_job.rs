//! Jobs in object stores: `trueno-store` makes a mirror, which all tasks of a machine share.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use serde::Deserialize;
use trueno_store::source::{Source, try_hold};

use crate::child;
use crate::programs::{self, Programs};
use crate::task::Remote;

/// How often a mirror may belong to another process before a task can read it.
const ATTEMPTS: usize = 3;
/// Polling interval for a mirror that another process is changing.
const PAUSE: Duration = Duration::from_millis(50);

/// A mirror that is locked against changes while this lives.
pub struct Mirrored {
    pub folder: PathBuf,
    pub held: File,
}

#[derive(Deserialize)]
struct Fetched {
    folder: PathBuf,
}

/// The mirror of a job, made by a child that does not outlive the executor.
///
/// # Errors
/// The store does not give it, or not by the deadline.
pub fn mirrored(programs: &Programs, remote: &Remote, end: Instant) -> Result<Mirrored, String> {
    for _ in 0..ATTEMPTS {
        let version = Some(remote.version.as_str());
        let folder = fetched(&remote.uri, version, programs.mirrors.as_deref(), end)?;
        if let Some(mirrored) = existing_mirror(&folder, remote, end)? {
            return Ok(mirrored);
        }
    }
    Err(format!(
        "{}: other processes are fetching another version of it",
        remote.uri
    ))
}

/// Mirrors an address. Returns the folder.
///
/// # Errors
/// There is no such program; the store does not give it, or not by the deadline.
pub fn fetched(
    uri: &str,
    version: Option<&str>,
    mirrors: Option<&Path>,
    end: Instant,
) -> Result<PathBuf, String> {
    let program = programs::store().map_err(|error| format!("{uri}: {error:#}"))?;
    let mut fetch = Command::new(program);
    fetch.arg("fetch");
    for (flag, value) in [
        ("--expect", version.map(Path::new)),
        ("--fetch-to", mirrors),
    ] {
        if let Some(value) = value {
            fetch.arg(flag).arg(value);
        }
    }
    fetch.arg("--").arg(uri);
    let (status, stdout, said) = child::output(&mut fetch, Vec::new(), end)?;
    let said = said
        .trim_start_matches([':', ' '])
        .trim_start_matches("error: ");
    match status {
        None => Err(format!("{uri}: it was not fetched by the deadline")),
        Some(status) if status.success() => match serde_json::from_slice::<Fetched>(&stdout) {
            Ok(fetched) => Ok(fetched.folder),
            Err(error) => Err(format!(
                "{uri}: the answer of trueno-store is not valid: {error}"
            )),
        },
        Some(status) if said.is_empty() => Err(format!("{uri}: trueno-store ended with {status}")),
        Some(_) => Err(format!("the job is not fetched: {said}")),
    }
}

/// The folder, if it is a complete mirror of this version.
fn existing_mirror(
    folder: &Path,
    remote: &Remote,
    end: Instant,
) -> Result<Option<Mirrored>, String> {
    let is_it = || {
        let source = Source::read(folder).ok().flatten();
        source.is_some_and(|source| {
            source.uri == remote.uri && source.version.as_deref() == Some(&remote.version)
        })
    };
    if !is_it() {
        return Ok(None);
    }
    loop {
        match try_hold(folder) {
            Ok(Some(held)) if is_it() => {
                let folder = folder.to_owned();
                return Ok(Some(Mirrored { folder, held }));
            }
            Ok(Some(_)) => return Ok(None),
            Ok(None) if Instant::now() >= end => {
                return Err(format!(
                    "{}: other processes are changing it",
                    folder.display()
                ));
            }
            Ok(None) => thread::sleep(PAUSE),
            Err(error) => return Err(format!("{}: {error}", folder.display())),
        }
    }
}
