//! The files that paths stand for: traces, folders of them, standard input.

use std::path::{Path, PathBuf};

use anyhow::Context;

use super::key;
use crate::commands::import::folders;
use crate::commands::import::trace_files::{TraceFiles, listed};

/// File name for the content of standard input, and so the label of its run.
pub(super) const STANDARD_INPUT: &str = "standard input";

pub(super) struct Sources {
    pub(super) shown: String,
    /// The path to import, or the first of several.
    pub(super) path: PathBuf,
    /// Name of the run, part of its key.
    pub(super) name: PathBuf,
    /// File names are hashed relative to this folder.
    pub(super) root: PathBuf,
    pub(super) files: Vec<PathBuf>,
    pub(super) label: Option<String>,
    pub(super) is_job: bool,
    pub(super) skipped: Option<String>,
}

impl Sources {
    pub(super) fn find(
        paths: &[&Path],
        standard_input: impl Fn() -> anyhow::Result<PathBuf>,
    ) -> anyhow::Result<Self> {
        if let [path] = paths {
            return Self::of_one(path, standard_input);
        }
        let (mut files, mut skipped) = (Vec::new(), None);
        for path in paths {
            let of_path = Self::of_one(path, &standard_input)?;
            if path.is_dir() && !of_path.is_job {
                files.push(of_path.path);
            } else {
                files.extend(of_path.files);
            }
            skipped = skipped.or(of_path.skipped);
        }
        let names: Vec<String> = paths
            .iter()
            .map(|path| path.display().to_string())
            .collect();
        Ok(Self {
            shown: listed(&names),
            path: files.first().cloned().unwrap_or_default(),
            name: PathBuf::new(),
            root: PathBuf::new(),
            files,
            label: None,
            is_job: true,
            skipped,
        })
    }

    fn of_one(
        path: &Path,
        standard_input: impl Fn() -> anyhow::Result<PathBuf>,
    ) -> anyhow::Result<Self> {
        let shown = path.display().to_string();
        if path == Path::new("-") {
            let file = standard_input()?;
            return Ok(Self::one_file(STANDARD_INPUT.to_owned(), file));
        }
        if !path.is_dir() {
            return Ok(Self::one_file(shown, path.to_owned()));
        }
        if folders::recognises(path) {
            let files = key::files_in(path).with_context(|| format!("{shown}: cannot be read"))?;
            let one = Self::one_file(shown, path.to_owned());
            return Ok(Self {
                files,
                root: path.to_owned(),
                ..one
            });
        }
        let found = TraceFiles::find(path)?;
        let skipped = found.skipped();
        if let [trace] = found.traces.as_slice() {
            let one = Self::one_file(trace.display().to_string(), trace.clone());
            return Ok(Self { skipped, ..one });
        }
        let name = path.canonicalize().ok();
        let name = name
            .as_deref()
            .and_then(Path::file_name)
            .or(path.file_name());
        let label = name.map(|name| name.to_string_lossy().into_owned());
        Ok(Self {
            shown,
            path: path.to_owned(),
            name: name.map(PathBuf::from).unwrap_or_default(),
            root: path.to_owned(),
            files: found.traces,
            label,
            is_job: true,
            skipped,
        })
    }

    fn one_file(shown: String, file: PathBuf) -> Self {
        Self {
            shown,
            name: file.clone(),
            root: file.parent().unwrap_or(Path::new("")).to_owned(),
            files: vec![file.clone()],
            path: file,
            label: None,
            is_job: false,
            skipped: None,
        }
    }
}
