//! Files of a run directory.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fs, io};

use trueno_model::Problem;

use crate::catalog;

const SEALED: &str = ".arrow";
const OPEN: &str = ".arrow.open";
const PARQUET: &str = ".parquet";

#[derive(Clone, Debug)]
pub(super) struct SegmentFile {
    pub(super) path: PathBuf,
    /// The file has the extension of a segment that is still being written.
    pub(super) open: bool,
    pub(super) bytes: u64,
}

pub(super) fn is_parquet(name: &str) -> bool {
    name.ends_with(PARQUET)
}

/// The table in a segment name such as `bricks/000000.arrow`; `None` for other names.
pub(super) fn segment_table(name: &str) -> Option<&str> {
    let (table, file) = name.split_once('/')?;
    let stem = file
        .strip_suffix(SEALED)
        .or_else(|| file.strip_suffix(PARQUET))?;
    let fine = |part: &str| {
        !part.is_empty() && !part.starts_with('.') && !part.contains(['/', '\\', '\0'])
    };
    (no_table(table).is_none() && fine(stem)).then_some(table)
}

/// Every segment file under `dir`, by its name in the journal.
pub(super) fn segments(
    dir: &Path,
    problems: &mut Vec<Problem>,
) -> io::Result<BTreeMap<String, SegmentFile>> {
    let mut found = BTreeMap::new();
    for folder in sorted_names(dir)? {
        let path = dir.join(&folder);
        if !path.is_dir() {
            continue;
        }
        if let Some(why) = no_table(&folder) {
            if holds_segments(&path) {
                let text = format!("{folder}/ is left out: {why}");
                problems.push(Problem::warning("folder_left_out", text));
            }
            continue;
        }
        let files = match sorted_names(&path) {
            Ok(files) => files,
            Err(error) => {
                problems.push(Problem::error(
                    "folder_unreadable",
                    format!("{folder}/ cannot be read: {error}"),
                ));
                continue;
            }
        };
        for file in files {
            add(&mut found, &folder, &path, &file, problems);
        }
    }
    Ok(found)
}

/// Why the segments of a folder belong to no table that can be published.
fn no_table(folder: &str) -> Option<&'static str> {
    let is_made_here = catalog::RUN_TABLES.contains(&folder)
        || [catalog::RANKS, catalog::PART].contains(&folder)
        || catalog::ADDED.contains(&folder);
    match () {
        () if is_made_here => Some("a table of that name is computed from the run"),
        () if !trueno_plugin::is_identifier(folder) => Some("names of tables fit [a-z][a-z0-9_]*"),
        () => None,
    }
}

fn holds_segments(folder: &Path) -> bool {
    let names = sorted_names(folder).unwrap_or_default();
    names
        .iter()
        .any(|name| segment_table(&format!("t/{name}")).is_some())
}

fn add(
    found: &mut BTreeMap<String, SegmentFile>,
    folder: &str,
    path: &Path,
    file: &str,
    problems: &mut Vec<Problem>,
) {
    let open = file.ends_with(OPEN);
    let name = format!("{folder}/{}", file.strip_suffix(".open").unwrap_or(file));
    if segment_table(&name).is_none() {
        return;
    }
    let path = path.join(file);
    match fs::metadata(&path) {
        Ok(metadata) if metadata.is_file() => {
            // Sorted: the sealed file comes first.
            if found.contains_key(&name) {
                problems.push(Problem::warning(
                    "segment_twice",
                    format!("{name} exists both sealed and open: the sealed file is read"),
                ));
                return;
            }
            found.insert(
                name,
                SegmentFile {
                    path,
                    open,
                    bytes: metadata.len(),
                },
            );
        }
        Ok(_) => {}
        Err(error) => {
            problems.push(Problem::error(
                "segment_unreadable",
                format!("{folder}/{file} cannot be read: {error}"),
            ));
        }
    }
}

/// Names in a directory, sorted. Names that are not UTF-8 are skipped, because the format has none.
fn sorted_names(dir: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(dir)? {
        if let Ok(name) = entry?.file_name().into_string() {
            names.push(name);
        }
    }
    names.sort_unstable();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::segment_table;

    #[test]
    fn segment_names_stay_within_the_run() {
        assert_eq!(segment_table("bricks/000000.arrow"), Some("bricks"));
        assert_eq!(segment_table("bricks/000000.parquet"), Some("bricks"));
        for bad in [
            "000000.arrow",
            "../x.arrow",
            "a/../b.arrow",
            "a/b.arrow.open",
            "/b.arrow",
            "a/.arrow",
            "a/b.parquet.open",
            "a/.parquet",
            "a/b",
            "a\"b/c.arrow",
            "ranks/c.arrow",
            "run/c.arrow",
            "report_window/c.arrow",
            "report_part/c.arrow",
        ] {
            assert_eq!(segment_table(bad), None, "{bad}");
        }
    }
}
