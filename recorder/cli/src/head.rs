//! A run of a program that is recorded from outside: its head, and its end where the program does not begin.

use std::cell::OnceCell;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use trueno_format::folder::Folder;
use trueno_format::host;
use trueno_format::run_json::{Clock, Producer, Program, RUN_JSON, RunJson};
use trueno_format::run_writer::RunWriter;

use crate::Failure;
use crate::kept::Keep;
use crate::run::hint;

pub fn head(command: &[OsString], process: i32) -> RunJson {
    let words = command
        .iter()
        .map(|word| word.to_string_lossy().into_owned());
    RunJson {
        producer: Producer {
            name: "trueno-record".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        },
        run_id: run_id(process),
        label: command
            .first()
            .and_then(|program| Path::new(program).file_name())
            .map(|name| name.to_string_lossy().into_owned()),
        program: Program {
            argv: words.collect(),
            pid: u32::try_from(process).ok(),
        },
        host: host::facts(),
        clock: Clock {
            source: "monotonic".to_owned(),
            ..Clock::default()
        },
        ..RunJson::default()
    }
}

/// Unique among the runs of this machine.
fn run_id(process: i32) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now_ns = now.map_or(0, |since| since.as_nanos() as u64);
    format!(
        "{:016x}",
        now_ns ^ (u64::from(process.unsigned_abs()) << 40)
    )
}

/// The run of a program. Its folder is kept open, so that it can still be found after a rename.
#[derive(Debug)]
pub struct Output {
    path: PathBuf,
    keep: Option<Keep>,
    folder: OnceCell<Arc<Folder>>,
}

impl Output {
    pub fn new(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            keep: None,
            folder: OnceCell::new(),
        }
    }

    pub fn keeping(self, keep: Option<Keep>) -> Self {
        Self { keep, ..self }
    }

    /// Creates the run. Rows that wait to be written survive the death of this process.
    pub fn create(&self, head: RunJson) -> Result<RunWriter, trueno_format::Error> {
        let mut run = RunWriter::create_surviving(&self.path, head)?;
        if let Some(keep) = self.keep {
            keep.begin(&mut run, &self.path);
        }
        // Made once.
        let _ = self.folder.set(run.folder().clone());
        Ok(run)
    }

    pub fn path(&self) -> PathBuf {
        let folder = self.folder.get();
        folder.map_or_else(|| self.path.clone(), |folder| path_of(folder, &self.path))
    }

    /// Removes the run, if it exists, because its program did not start.
    pub fn remove(&self) {
        if let Some(folder) = self.folder.get() {
            let _ = folder.remove(Some(RUN_JSON));
        }
    }
}

/// Path of a folder: the given one, unless the folder has been renamed.
pub fn path_of(folder: &Folder, given: &Path) -> PathBuf {
    if folder.is_at(given) {
        given.to_owned()
    } else {
        folder.path()
    }
}

pub fn not_begun(program: &OsStr, error: &io::Error) -> Failure {
    let hint = hint(error, program);
    let shown = program.display();
    Failure::NotStarted(format!("{shown}: cannot be started: {error}{hint}"))
}
