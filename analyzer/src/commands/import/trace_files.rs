//! Traces of a folder: a log folder of TensorBoard, a folder with a trace for each rank.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use trueno_engine::run::is_run;
use trueno_import::detect_trace;
use trueno_model::width::printable;

use super::folders;

const MAX_DEPTH: usize = 8;
const MAX_FILES: usize = 20_000;
/// Formats of profilers' traces, the most detailed last. Files of other formats next to them are logs and listings.
/// JAX writes a profile and a less detailed trace for Chrome.
const PREFERRED: [&str; 4] = ["perfetto", "kineto", "nsys-sqlite", "xplane"];
const MAX_NAMED: usize = 5;

#[derive(Debug, Default)]
pub(in crate::commands) struct TraceFiles {
    pub(in crate::commands) traces: Vec<PathBuf>,
    skipped: Vec<PathBuf>,
    runs: Vec<PathBuf>,
    /// How to unpack the first archive, if there is one.
    why: Option<String>,
}

/// Whether a folder may hold traces: it is neither a run nor an export that consists of a folder.
pub(in crate::commands) fn may_hold_traces(folder: &Path) -> bool {
    folder.is_dir() && !is_run(folder) && !folders::recognises(folder)
}

impl TraceFiles {
    /// Searches a folder and its subfolders for traces.
    ///
    /// # Errors
    /// The folder cannot be read, or contains no trace.
    pub(in crate::commands) fn find(folder: &Path) -> anyhow::Result<Self> {
        let mut found = Self::default();
        let mut files = Vec::new();
        found
            .list(folder, folder, MAX_DEPTH, &mut files)
            .with_context(|| format!("{}: cannot be read", folder.display()))?;
        files.sort();
        let mut formats: BTreeMap<&str, Vec<PathBuf>> = BTreeMap::new();
        for file in files {
            match detect_trace(&file) {
                Ok(importer) => formats.entry(importer.name).or_default().push(file),
                Err(error) => {
                    let why = error.to_string();
                    // Of what is packed the next step is worth a line.
                    if why.contains("unpack it first") {
                        found.why.get_or_insert(why);
                    }
                    found.skipped.push(relative(folder, &file));
                }
            }
        }
        let most = formats
            .iter()
            .max_by_key(|(name, files)| {
                let preference = PREFERRED.iter().position(|preferred| preferred == *name);
                (preference.is_some(), files.len(), preference)
            })
            .map(|(name, _)| *name);
        for (format, files) in formats {
            if Some(format) == most {
                found.traces = files;
            } else {
                let others = files.iter().map(|file| relative(folder, file));
                found.skipped.extend(others);
            }
        }
        found.skipped.sort();
        if found.traces.is_empty() {
            bail!(found.nothing(folder));
        }
        Ok(found)
    }

    fn list(
        &mut self,
        root: &Path,
        folder: &Path,
        depth: usize,
        files: &mut Vec<PathBuf>,
    ) -> io::Result<()> {
        let mut entries: Vec<fs::DirEntry> = fs::read_dir(folder)?.collect::<io::Result<_>>()?;
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let path = entry.path();
            let is_hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
            // A link to a file is followed, one to a folder could lead around in a circle.
            let kind = entry.file_type()?;
            if is_hidden {
                continue;
            }
            if kind.is_dir() {
                if is_run(&path) {
                    self.runs.push(relative(root, &path));
                } else if depth > 1 {
                    // A folder that cannot be read costs itself.
                    let _ = self.list(root, &path, depth - 1, files);
                }
            } else if path.is_file() && files.len() < MAX_FILES {
                files.push(path);
            }
        }
        Ok(())
    }

    /// Error text: what was found, what was expected, what to do next.
    fn nothing(&self, folder: &Path) -> String {
        let shown = printable(&folder.display().to_string()).into_owned();
        if let [first, ..] = self.runs.as_slice() {
            return format!(
                "{shown}: expected a run or a folder of traces, found a folder of {} runs (hint: give one of them, such as {})",
                self.runs.len(),
                folder.join(first).display()
            );
        }
        let found = match self.skipped.len() {
            0 => "found no files".to_owned(),
            1 => "found one file that is not a trace".to_owned(),
            count => format!("found {count} files that are not traces"),
        };
        let why = self.why.as_ref();
        let why = why.map_or(String::new(), |why| format!("; {why}"));
        format!(
            "{shown}: not a run directory, and not a folder of traces that `trueno-analyze import` reads: {found}{why}"
        )
    }

    pub(in crate::commands) fn skipped(&self) -> Option<String> {
        let names = self.skipped.iter().map(|path| path.display().to_string());
        let names: Vec<String> = names.collect();
        let what = match names.len() {
            0 => return None,
            1 => "1 file that is not a trace of this kind".to_owned(),
            count => format!("{count} files that are not traces of this kind"),
        };
        Some(format!("skipped {what}: {}", listed(&names)))
    }
}

pub(in crate::commands) fn listed(names: &[String]) -> String {
    let shown = names.len().min(MAX_NAMED);
    let more = match names.len() - shown {
        0 => String::new(),
        count => format!(" and {count} more"),
    };
    format!("{}{more}", names[..shown].join(", "))
}

fn relative(folder: &Path, path: &Path) -> PathBuf {
    let below = path.strip_prefix(folder).unwrap_or(path);
    if below.as_os_str().is_empty() {
        return Path::new(path.file_name().unwrap_or(OsStr::new(""))).to_owned();
    }
    below.to_owned()
}
