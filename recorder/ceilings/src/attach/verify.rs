//! Verification of a run's files against its journal.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Read};
use std::path::Path;

use trueno_format::journal::{Chunk, JOURNAL, Line, chunk_hash};
use trueno_format::regular_file;

/// Reads every segment once and compares it with the journal.
///
/// # Errors
/// The first file that is not as it was written, and what was found.
pub(super) fn check(run: &Path) -> Result<(), (String, String)> {
    let journal = |problem: String| (JOURNAL.to_owned(), problem);
    let text = regular_file::read(&run.join(JOURNAL))
        .map_err(|e| journal(format!("cannot be read: {e}")))?;
    let mut segments: BTreeMap<String, Vec<Line>> = BTreeMap::new();
    for (number, line) in text.split_inclusive(|byte| *byte == b'\n').enumerate() {
        let line = Line::decode(line)
            .ok_or_else(|| journal(format!("line {} cannot be read", number + 1)))?;
        segments.entry(line.segment.clone()).or_default().push(line);
    }
    for (name, lines) in &segments {
        segment(&run.join(name), lines).map_err(|problem| (name.clone(), problem))?;
    }
    let listed: BTreeSet<&str> = segments.keys().map(String::as_str).collect();
    let there = files(run).map_err(|e| (".".to_owned(), format!("cannot be listed: {e}")))?;
    match there.into_iter().find(|name| !listed.contains(&**name)) {
        Some(name) => Err((name, "the journal does not list it".to_owned())),
        None => Ok(()),
    }
}

fn segment(path: &Path, lines: &[Line]) -> Result<(), String> {
    if lines.last().is_none_or(|line| line.chunk != Chunk::Tail) {
        return Err("it was never sealed".to_owned());
    }
    let read = |e: io::Error| format!("cannot be read: {e}");
    let mut file = regular_file::open(path).map_err(read)?;
    let length = file.metadata().map_err(read)?.len();
    let mut end = 0;
    let mut bytes = Vec::new();
    for line in lines {
        if line.offset != end {
            return Err(format!("the journal lists nothing at byte {end}"));
        }
        end = end.saturating_add(line.bytes);
        if end > length {
            return Err(format!("ends at byte {length}, in the middle of a chunk"));
        }
        bytes.clear();
        let chunk = (&mut file).take(line.bytes).read_to_end(&mut bytes);
        chunk.map_err(read)?;
        if chunk_hash(&bytes) != line.xxh3 {
            return Err(format!(
                "bytes {} to {end} are not those that were written",
                line.offset
            ));
        }
    }
    if length == end {
        Ok(())
    } else {
        Err(format!("goes on behind byte {end}, where it should end"))
    }
}

/// Existing segments, sealed or not, by their names in the journal.
fn files(run: &Path) -> io::Result<BTreeSet<String>> {
    let mut out = BTreeSet::new();
    for folder in fs::read_dir(run)? {
        let folder = folder?;
        if !folder.file_type()?.is_dir() {
            continue;
        }
        for file in fs::read_dir(folder.path())? {
            let (table, file) = (folder.file_name(), file?.file_name());
            let (table, file) = (table.to_string_lossy(), file.to_string_lossy());
            if file.ends_with(".arrow") || file.ends_with(".arrow.open") {
                out.insert(format!("{table}/{file}"));
            }
        }
    }
    Ok(out)
}
