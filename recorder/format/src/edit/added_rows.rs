//! Rows that join a finished run: further segments, their lines in the journal, and what `run.json` says of them.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use serde_json::Value;

use super::file::{FileError, write_synced};
use super::link_or_copy::next_segment;
use crate::error::Error;
use crate::journal::{JOURNAL, Line};
use crate::regular_file;
use crate::run_json::{Joined, RunJson, Table};
use crate::run_writer::RunWriter;

/// Folder in the new run that has the rows until they are under its tables.
pub const ROWS: &str = ".added";

/// A writer for the rows, which are a run of their own in the new run's folder.
///
/// # Errors
/// It cannot be made.
pub fn writer(new: &Path) -> Result<RunWriter, Error> {
    RunWriter::create(&new.join(ROWS), RunJson::default())
}

/// Puts the rows of [`writer`], which was finished as `added`, under the tables of the new run: the old segments that
/// stay are there already. The journal becomes the old one's lines, but for segments that `replaces` names, and those
/// of the new segments. Gives the names of these.
///
/// # Errors
/// The operating system refuses.
pub fn join(
    old: &Path,
    new: &Path,
    added: &RunJson,
    replaces: &dyn Fn(&str) -> bool,
) -> Result<Vec<String>, FileError> {
    let rows = new.join(ROWS);
    let mut renamed = Vec::new();
    for (table, counts) in &added.tables {
        let folder = new.join(table);
        fs::create_dir_all(&folder).map_err(FileError::on(&folder, "make the folder"))?;
        let first = next_segment(&folder)?;
        for number in 0..counts.segments {
            let was = format!("{table}/{number:06}.arrow");
            let name = format!("{table}/{:06}.arrow", first + number);
            let (from, to) = (rows.join(&was), new.join(&name));
            File::open(&from)
                .and_then(|file| file.sync_all())
                .and_then(|()| fs::rename(&from, &to))
                .map_err(FileError::on(&to, "put it there"))?;
            renamed.push((was, name));
        }
    }
    join_journals(old, new, &renamed, replaces)?;
    fs::remove_dir_all(&rows).map_err(FileError::on(&rows, "remove it"))?;
    Ok(renamed.into_iter().map(|(_, name)| name).collect())
}

fn join_journals(
    old: &Path,
    new: &Path,
    renamed: &[(String, String)],
    replaces: &dyn Fn(&str) -> bool,
) -> Result<(), FileError> {
    let file = old.join(JOURNAL);
    let lines = match regular_file::read(&file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        read => read.map_err(FileError::on(&file, "read it"))?,
    };
    let mut text = Vec::with_capacity(lines.len());
    for line in lines.split_inclusive(|byte| *byte == b'\n') {
        if !Line::decode(line).is_some_and(|line| replaces(&line.segment)) {
            text.extend(line);
        }
    }
    if text.last().is_some_and(|last| *last != b'\n') {
        text.push(b'\n');
    }
    let file = new.join(ROWS).join(JOURNAL);
    let added = regular_file::read(&file).map_err(FileError::on(&file, "read it"))?;
    let file = new.join(JOURNAL);
    for mut line in added.split(|byte| *byte == b'\n').filter_map(Line::decode) {
        if let Some((_, name)) = renamed.iter().find(|(was, _)| *was == line.segment) {
            line.segment.clone_from(name);
        }
        let line = line.encode().map_err(io::Error::other);
        text.extend(line.map_err(FileError::on(&file, "write it"))?.into_bytes());
    }
    write_synced(&file, &text)
}

/// Changes what `run.json` says of a table, whatever else it holds: `replaced` is no longer there, `added` is.
pub fn count(run: &mut Value, table: &str, replaced: &Table, added: &Table) {
    let counts = &mut run["tables"][table];
    let found: Table = serde_json::from_value(counts.clone()).unwrap_or_default();
    counts["rows"] = (found.rows.saturating_sub(replaced.rows) + added.rows).into();
    counts["segments"] = (found.segments.saturating_sub(replaced.segments) + added.segments).into();
    counts["bytes"] = (found.bytes.saturating_sub(replaced.bytes) + added.bytes).into();
    counts["dropped"] = found.dropped.into();
}

/// Says in `run.json` that rows joined, of a format of that minor version; those of the same tool stay if `keeps` them.
///
/// # Errors
/// Never for what this crate makes.
pub fn state(
    run: &mut Value,
    format_minor: u32,
    joined: &Joined,
    keeps: impl Fn(&Value) -> bool,
) -> serde_json::Result<()> {
    let minor = run["format"]["minor"].as_u64().unwrap_or(0);
    run["format"]["minor"] = minor.max(u64::from(format_minor)).into();
    if !run["joined"].is_array() {
        run["joined"] = Value::Array(Vec::new());
    }
    if let Value::Array(all) = &mut run["joined"] {
        all.retain(keeps);
        all.push(serde_json::to_value(joined)?);
    }
    Ok(())
}
