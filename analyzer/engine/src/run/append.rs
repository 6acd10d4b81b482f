//! A new run out of another one, whose files it shares, and further rows.
//!
//! Nothing of the old run is touched: its segments are in the new run too, as second names of the
//! same files or as copies, its journal goes on in the new one, and `run.json` says what was added.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde_json::Value;
use trueno_format::journal::{JOURNAL, Line};
use trueno_format::link_or_copy::{LinkError, link_or_copy, next_segment};
use trueno_format::run_json::{Joined, RUN_JSON, RunJson, State};
use trueno_format::run_writer::RunWriter;

use super::{manifest, ranks};

/// Files that the new run has in another form, or not at all.
const LEFT_OUT: [&str; 4] = [RUN_JSON, "run.json.tmp", JOURNAL, "live"];
/// Where the rows are until the run is whole.
const ROWS: &str = ".added";

/// The reason why nothing was added.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AddError {
    /// Without `run.json` there is nothing to say it in.
    #[error("{}: run.json is missing or damaged, so that rows cannot be added (hint: import or record the run again)", .0.display())]
    Unknown(PathBuf),
    /// Each rank is a run of its own.
    #[error("{}: holds several ranks (hint: give one of them, such as {}/rank=0)", .0.display(), .0.display())]
    Ranks(PathBuf),
    /// More rows may come.
    #[error("{}: its recording has not ended (hint: wait for its end, or `trueno-analyze recover` it)", .0.display())]
    Unfinished(PathBuf),
    /// The rows cannot be written.
    #[error(transparent)]
    Write(#[from] trueno_format::Error),
    /// The file system refused.
    #[error("{}: cannot {action}: {source}", .path.display())]
    Io {
        /// File or folder.
        path: PathBuf,
        /// The operation.
        action: &'static str,
        /// Error of the system.
        source: io::Error,
    },
}

fn failed(path: &Path, action: &'static str) -> impl FnOnce(io::Error) -> AddError {
    let path = path.to_path_buf();
    move |source| AddError::Io {
        path,
        action,
        source,
    }
}

impl From<LinkError> for AddError {
    fn from(why: LinkError) -> Self {
        failed(&why.path, why.doing)(why.source)
    }
}

/// A run that is being put together.
pub struct Adding {
    from: PathBuf,
    to: PathBuf,
    rows: RunWriter,
}

impl Adding {
    /// Begins a run at `to`, where nothing may be, that will hold all of `from`.
    ///
    /// # Errors
    /// See [`AddError`].
    pub fn begin(from: &Path, to: &Path) -> Result<Self, AddError> {
        if let ranks::Found::Ranks(_) = ranks::find(from) {
            return Err(AddError::Ranks(from.to_path_buf()));
        }
        match manifest::read(from, &mut Vec::new()) {
            Ok(Some(run)) if run.state == State::Recording => {
                return Err(AddError::Unfinished(from.to_path_buf()));
            }
            Ok(Some(_)) => {}
            Ok(None) | Err(_) => return Err(AddError::Unknown(from.to_path_buf())),
        }
        fs::create_dir(to).map_err(failed(to, "make the folder"))?;
        let rows = RunWriter::create(&to.join(ROWS), RunJson::default())?;
        Ok(Self {
            from: from.to_path_buf(),
            to: to.to_path_buf(),
            rows,
        })
    }

    /// Takes the rows to be added.
    pub fn rows(&mut self) -> &mut RunWriter {
        &mut self.rows
    }

    /// Puts the run together; `joined` says what the rows are, without their segments.
    ///
    /// # Errors
    /// The file system refused.
    pub fn finish(self, mut joined: Joined) -> Result<(), AddError> {
        let Self { from, to, rows } = self;
        let added = rows.finish(None)?;
        link_or_copy(&from, &to, &|name| LEFT_OUT.iter().any(|out| name == *out))?;
        let rows = to.join(ROWS);
        let mut renamed = Vec::new();
        for (table, counts) in &added.tables {
            fs::create_dir_all(to.join(table)).map_err(failed(&to, "make a folder in it"))?;
            let first = next_segment(&to.join(table))?;
            for number in 0..counts.segments {
                let old = format!("{table}/{number:06}.arrow");
                let new = format!("{table}/{:06}.arrow", first + number);
                fs::rename(rows.join(&old), to.join(&new))
                    .map_err(failed(&to.join(&new), "put it there"))?;
                joined.segments.push(new.clone());
                renamed.push((old, new));
            }
        }
        journal(&from, &to, &renamed)?;
        run_json(&from, &to, &added, joined)?;
        fs::remove_dir_all(&rows).map_err(failed(&rows, "remove it"))
    }
}

/// The old journal as it is, then the lines of the new segments under their new names.
fn journal(from: &Path, to: &Path, renamed: &[(String, String)]) -> Result<(), AddError> {
    let path = to.join(JOURNAL);
    let mut text = match fs::read(from.join(JOURNAL)) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(failed(&from.join(JOURNAL), "read it")(error)),
    };
    if text.last().is_some_and(|last| *last != b'\n') {
        text.push(b'\n');
    }
    let added = to.join(ROWS).join(JOURNAL);
    let lines = fs::read(&added).map_err(failed(&added, "read it"))?;
    for line in lines.split(|byte| *byte == b'\n') {
        let Some(mut line) = Line::decode(line) else {
            continue;
        };
        if let Some((_, new)) = renamed.iter().find(|(old, _)| *old == line.segment) {
            line.segment.clone_from(new);
        }
        let line = line.encode().map_err(io::Error::other);
        text.extend(line.map_err(failed(&path, "write it"))?.into_bytes());
    }
    write(&path, &text)
}

/// The old `run.json`, whatever it holds, with the new counts and with what was joined.
fn run_json(from: &Path, to: &Path, added: &RunJson, joined: Joined) -> Result<(), AddError> {
    let path = from.join(RUN_JSON);
    let read = fs::read(&path).and_then(|text| Ok(serde_json::from_slice::<Value>(&text)?));
    let mut run = read.map_err(failed(&path, "read it"))?;
    for (table, counts) in &added.tables {
        let tables = &mut run["tables"];
        let found: trueno_format::run_json::Table =
            serde_json::from_value(tables[table].clone()).unwrap_or_default();
        tables[table]["rows"] = (found.rows + counts.rows).into();
        tables[table]["segments"] = (found.segments + counts.segments).into();
        tables[table]["bytes"] = (found.bytes + counts.bytes).into();
        tables[table]["dropped"] = found.dropped.into();
    }
    let minor = run["format"]["minor"].as_u64().unwrap_or(0);
    run["format"]["minor"] = minor.max(u64::from(added.format.minor)).into();
    if !run["joined"].is_array() {
        run["joined"] = Value::Array(Vec::new());
    }
    let path = to.join(RUN_JSON);
    let done = serde_json::to_value(joined).and_then(|joined| {
        if let Value::Array(all) = &mut run["joined"] {
            all.push(joined);
        }
        serde_json::to_vec_pretty(&run)
    });
    let text = done.map_err(|error| failed(&path, "write it")(error.into()))?;
    write(&path, &text)
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), AddError> {
    let written = File::create(path).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()
    });
    written.map_err(failed(path, "write it"))
}
