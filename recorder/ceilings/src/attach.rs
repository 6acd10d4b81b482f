//! Ceilings for a run that was recorded without them.
//!
//! A run whose files are as they were written, recorded on this machine, gets rows of `ceilings` and
//! says so in `run.json` (`joined`, `values.peaks`). The run with them is put together in a hidden
//! folder beside it, of links to the same segments, and both change places in one step of the file
//! system: whenever this is stopped, the run's path holds a whole run.

mod error;
mod host;
mod rows;
mod verify;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

pub use error::AttachError;

use super::CpuCeilings;
use rows::{CEILINGS, Old};
use trueno_format::edit::{self, NOT_LINKED, Stage, added_rows};
use trueno_format::live;
use trueno_format::regular_file;
use trueno_format::run_json::{Joined, RUN_JSON, RunJson, State, resealed};
use trueno_format::schema::FORMAT_MAJOR;

const TOOL: &str = "trueno-record peaks";
/// Suffix of the hidden folder beside the run.
const STAGE: &str = "peaks";

/// Outcome for a run that got ceilings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attached {
    /// Rows that are new.
    pub ceilings: u64,
    /// Measured ceilings of the processor that were there and are no more.
    pub replaced: u64,
    /// Facts that could not be compared with this machine, since the run does not say them; in words.
    pub not_compared: Vec<&'static str>,
}

/// A run that can get ceilings, and that nobody else gives any meanwhile.
pub struct Attachment {
    run: PathBuf,
    text: Vec<u8>,
    old: Old,
    not_compared: Vec<&'static str>,
    stage: Stage,
}

impl Attachment {
    /// Looks at the run at `path`; to be called before anything is measured. Nothing is changed yet.
    ///
    /// Ceilings of GPUs and nominal ones stay in any case; measured ones of the processor are
    /// replaced if `replace` says so.
    ///
    /// # Errors
    /// See [`AttachError`].
    pub fn begin(path: &Path, replace: bool) -> Result<Self, AttachError> {
        Self::begin_with(path, replace, || {})
    }

    /// As [`Attachment::begin`]; `looked` is called when the run can have ceilings, before the folder is
    /// made: for programs that remove [`Attachment::folder`] when they are interrupted.
    ///
    /// # Errors
    /// See [`AttachError`].
    pub fn begin_with(
        path: &Path,
        replace: bool,
        looked: impl FnOnce(),
    ) -> Result<Self, AttachError> {
        let run = fs::canonicalize(path).map_err(AttachError::io(path, "find it"))?;
        if is_of_ranks(&run) {
            return Err(AttachError::Ranks(path.to_owned()));
        }
        let file = run.join(RUN_JSON);
        let text = match regular_file::read(&file) {
            Ok(text) => text,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
                return Err(AttachError::NoRun(path.to_owned()));
            }
            Err(e) => return Err(AttachError::io(&file, "read it")(e)),
        };
        let found: RunJson = serde_json::from_slice(&text)
            .map_err(|problem| AttachError::damaged(path, RUN_JSON, problem.to_string()))?;
        if found.format.major > FORMAT_MAJOR {
            return Err(AttachError::Newer(path.to_owned(), found.format.major));
        }
        match found.state {
            _ if live::is_recording(&run) == Some(true) => {
                return Err(AttachError::Recording(path.to_owned()));
            }
            State::Recording => return Err(AttachError::Unfinished(path.to_owned())),
            State::Finished | State::Failed | State::Recovered => {}
        }
        if found.exported_from.is_some() {
            return Err(AttachError::Exported(path.to_owned()));
        }
        if found.imported {
            return Err(AttachError::Imported(path.to_owned()));
        }
        let not_compared =
            host::compare(&found.host).map_err(|differs| AttachError::Elsewhere {
                run: path.to_owned(),
                differs,
            })?;
        for place in [&run, &file] {
            let found = fs::metadata(place).map_err(AttachError::io(place, "look at it"))?;
            if found.permissions().readonly() {
                return Err(AttachError::ReadOnly(place.clone()));
            }
        }
        verify::check(&run)
            .map_err(|(file, problem)| AttachError::damaged(path, &file, problem))?;
        let old = Old::read(&run)?;
        if old.measured > 0 && !replace {
            let when = found.values.get("peaks").cloned();
            return Err(AttachError::Already {
                run: path.to_owned(),
                count: old.measured,
                said: when.map_or_else(String::new, |when| format!(" ({when})")),
            });
        }
        looked();
        let stage = Stage::beside(&run, STAGE, &found.run_id, &text)
            .map_err(|why| AttachError::stage(&run, why))?;
        Ok(Self {
            run,
            text,
            old,
            not_compared,
            stage,
        })
    }

    /// The hidden folder in which the run with its ceilings is put together. It goes with this.
    pub fn folder(&self) -> &Path {
        self.stage.folder()
    }

    /// Puts the ceilings into the run.
    ///
    /// # Errors
    /// The run has changed meanwhile, or the file system refused. The run is then as it was.
    pub fn finish(self, measured: &CpuCeilings) -> Result<Attached, AttachError> {
        let file = self.run.join(RUN_JSON);
        if regular_file::read(&file).ok().as_ref() != Some(&self.text) {
            return Err(AttachError::Changed(self.run));
        }
        let folder = self.stage.folder();
        let mut writer = added_rows::writer(folder)?;
        rows::write(&mut writer, &self.old, measured)?;
        let added = writer.finish(None)?;
        let stays = self.old.stays();
        edit::link_or_copy(&self.run, folder, &|name| {
            NOT_LINKED.iter().any(|out| name == *out)
                || name == added_rows::ROWS
                || name == CEILINGS && !stays
        })?;
        let segments = added_rows::join(&self.run, folder, &added, &|segment| {
            !stays && segment.starts_with("ceilings/")
        })?;
        let run_json = self.run_json(measured, &added, segments)?;
        self.stage.publish(&self.run, &run_json)?;
        Ok(Attached {
            ceilings: measured.ceilings.len() as u64,
            replaced: self.old.measured,
            not_compared: self.not_compared,
        })
    }

    fn run_json(
        &self,
        measured: &CpuCeilings,
        added: &RunJson,
        segments: Vec<String>,
    ) -> Result<Vec<u8>, AttachError> {
        let file = self.run.join(RUN_JSON);
        let failed =
            |problem: serde_json::Error| AttachError::io(&file, "write it")(problem.into());
        let mut run: Value = serde_json::from_slice(&self.text).map_err(failed)?;
        let counts = added.tables.get(CEILINGS).cloned().unwrap_or_default();
        added_rows::count(&mut run, CEILINGS, &self.old.dropped, &counts);
        if !run["values"].is_object() {
            run["values"] = Value::Object(serde_json::Map::new());
        }
        for key in ["peaks", "peaks.clock_hz", "peaks.notes"] {
            if let Value::Object(values) = &mut run["values"] {
                values.remove(key);
            }
        }
        for (key, mut text) in measured.values() {
            if key == "peaks" {
                text.push_str(", joined after the recording");
                for fact in &self.not_compared {
                    text.push_str(&format!("; the run does not say its {fact}"));
                }
            }
            run["values"][key] = text.into();
        }

        let joined = Joined {
            tool: TOOL.to_owned(),
            segments,
            matched: [("ceilings".to_owned(), measured.ceilings.len() as u64)].into(),
            ..Joined::default()
        };
        // The segments of earlier ones are gone, if they were of the processor.
        let keeps = |one: &Value| one["tool"] != TOOL;
        added_rows::state(&mut run, added.format.minor, &joined, keeps).map_err(failed)?;
        resealed(&self.text, &run).map_err(failed)
    }
}

/// True for a folder of runs and for one that lists them.
fn is_of_ranks(run: &Path) -> bool {
    let text = regular_file::read(&run.join(RUN_JSON));
    match text.map(|text| serde_json::from_slice::<Value>(&text)) {
        Ok(Ok(found)) => found.get("ranks").is_some(),
        Ok(Err(_)) => false,
        Err(_) => fs::read_dir(run).is_ok_and(|entries| {
            let is_rank = |name: &str| name.starts_with("rank=");
            entries
                .flatten()
                .any(|entry| entry.file_name().to_str().is_some_and(is_rank))
        }),
    }
}
