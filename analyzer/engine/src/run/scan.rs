//! Contents of a run directory, before any of it is judged.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::{fs, io};

use trueno_format::journal::JOURNAL;
use trueno_format::run_json::{RUN_JSON, RunJson};
use trueno_format::salvage::Salvaged;
use trueno_model::Problem;

use super::completeness::Writer;
use super::journal::Journal;
use super::layout::{self, SegmentFile};
use super::table_folder::is_table_folder;
use super::verify::Checked;
use super::{RunError, live_segments, manifest, read};

pub(super) struct Gathered {
    pub(super) path: PathBuf,
    pub(super) manifest: Option<RunJson>,
    pub(super) writer: Writer,
    pub(super) journal: Journal,
    pub(super) files: BTreeMap<String, SegmentFile>,
    pub(super) rest: Option<Salvaged>,
    pub(super) problems: Vec<Problem>,
}

impl Gathered {
    pub(super) fn read(path: &Path) -> Result<Gathered, RunError> {
        let mut problems = Vec::new();
        check_directory(path)?;
        let manifest = manifest::read(path, &mut problems)?;
        let writer = manifest
            .as_ref()
            .map_or(Writer::Ended, |run| Writer::find(path, run));
        // Before the files: every chunk it lists is then either there or being written.
        let mut journal = Journal::read(path, &mut problems);
        let mut files =
            layout::segments(path, &mut problems).map_err(|source| RunError::Unreadable {
                path: path.to_path_buf(),
                source,
            })?;
        let rest = match writer {
            Writer::Gone { .. } => live_segments::read(path, &mut problems),
            Writer::Ended | Writer::Alive { .. } => None,
        };
        if let Some(rest) = &rest {
            live_segments::take_back_cut(&mut journal, &mut files, &rest.cut);
        }
        Ok(Gathered {
            path: path.to_path_buf(),
            manifest,
            writer,
            journal,
            files,
            rest,
            problems,
        })
    }

    pub(super) fn segment_names(&self) -> BTreeSet<&String> {
        self.journal
            .segments
            .keys()
            .chain(self.files.keys())
            .collect()
    }

    /// Verifies the existing segments against the journal, except unreadable ones.
    pub(super) fn checked(&self) -> BTreeMap<String, Checked> {
        let checked = self.files.iter().filter_map(|(name, file)| {
            let checked = read::check(name, file, self.journal.chunks(name)).ok()?;
            Some((name.clone(), checked))
        });
        checked.collect()
    }
}

fn check_directory(path: &Path) -> Result<(), RunError> {
    let not_a_run = |reason| RunError::NotARun {
        path: path.to_path_buf(),
        reason,
    };
    match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(RunError::Missing {
                path: path.to_path_buf(),
            });
        }
        Err(source) => {
            return Err(RunError::Unreadable {
                path: path.to_path_buf(),
                source,
            });
        }
        Ok(metadata) if !metadata.is_dir() => return Err(not_a_run("it is a file")),
        Ok(_) => {}
    }
    if path.join(RUN_JSON).exists() || path.join(JOURNAL).exists() {
        return Ok(());
    }
    if is_table_folder(path) {
        return Err(RunError::TablesOfJob {
            path: path.to_path_buf(),
        });
    }
    let files = layout::segments(path, &mut Vec::new()).map_err(|source| RunError::Unreadable {
        path: path.to_path_buf(),
        source,
    })?;
    if files.is_empty() {
        return Err(not_a_run("it holds neither run.json nor segments"));
    }
    Ok(())
}
