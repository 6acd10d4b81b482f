//! The folder in which a recovered run is put together.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use trueno_format::edit::{NEW_RUN_JSON, NOT_LINKED, write_synced};
use trueno_format::journal::{Chunk, JOURNAL, Line};
use trueno_format::regular_file;
use trueno_format::run_json::{RUN_JSON, RunJson, Table, resealed};

use super::place::Place;
use super::{RecoverError, seal};
use crate::run::Run;
use crate::run::scan::Gathered;
use crate::run::segment::SegmentState;

pub(super) struct Stage<'a> {
    place: &'a Place,
    lines: BTreeMap<String, Vec<Line>>,
    /// Segments that were sealed, so that they no longer show what was lost.
    rewritten: BTreeSet<String>,
    pub(super) sealed: u64,
    pub(super) added: u64,
    pub(super) problems: Vec<String>,
}

/// Segments that are not sealed, by what is done with them.
#[derive(Default)]
pub(super) struct Sorted {
    /// Files that the new run will not have, relative to the run.
    pub(super) replaced: BTreeSet<PathBuf>,
    seal: Vec<String>,
    /// Segments that are sealed but not yet renamed.
    rename: Vec<String>,
}

impl<'a> Stage<'a> {
    pub(super) fn new(place: &'a Place) -> Result<Self, RecoverError> {
        let folder = place.stage();
        fs::create_dir(folder).map_err(RecoverError::io(folder, "make the folder"))?;
        let stage = Stage {
            place,
            lines: BTreeMap::new(),
            rewritten: BTreeSet::new(),
            sealed: 0,
            added: 0,
            problems: Vec::new(),
        };
        // First: it says whose folder this is.
        let (from, to) = (place.old().join(RUN_JSON), folder.join(RUN_JSON));
        fs::copy(&from, &to).map_err(RecoverError::io(&to, "write it"))?;
        let permissions = fs::metadata(place.old()).map(|found| found.permissions());
        permissions
            .and_then(|permissions| fs::set_permissions(folder, permissions))
            .map_err(RecoverError::io(folder, "set its permissions"))?;
        Ok(stage)
    }

    pub(super) fn sort(&mut self, old: &Gathered, before: &Run) -> Result<Sorted, RecoverError> {
        let mut sorted = Sorted::default();
        let segments = before.segments().iter();
        let states: BTreeMap<&str, SegmentState> =
            segments.map(|s| (s.name.as_str(), s.state)).collect();
        for (name, file) in &old.files {
            let chunks = old
                .journal
                .segments
                .get(name)
                .map_or(&[][..], Vec::as_slice);
            if !file.open {
                continue;
            }
            let path = PathBuf::from(format!("{name}.open"));
            let table = name.split('/').next().unwrap_or_default();
            match states.get(name.as_str()) {
                // There was never a row in it.
                None => {}
                Some(SegmentState::Sealed) => sorted.rename.push(name.clone()),
                Some(SegmentState::Open | SegmentState::Rebuilt)
                    if seal::can_seal(table, chunks) =>
                {
                    sorted.seal.push(name.clone());
                    self.rewritten.insert(name.clone());
                }
                Some(SegmentState::Open | SegmentState::Rebuilt) => {
                    self.problems.push(format!(
                        "{name}: left open: its columns are not those that this program knows"
                    ));
                    continue;
                }
                Some(_) => continue,
            }
            sorted.replaced.insert(path);
        }
        for (name, chunks) in &old.journal.segments {
            let stays = !self.rewritten.contains(name) && states.contains_key(name.as_str());
            if stays {
                let lines = chunks.iter().map(|chunk| seal::line(name, chunk)).collect();
                self.lines.insert(name.clone(), lines);
            }
        }
        for segment in before
            .segments()
            .iter()
            .filter(|s| self.rewritten.contains(&s.name))
        {
            let name = &segment.name;
            let faults = segment
                .faults
                .iter()
                .map(|fault| format!("{name}: {fault}"));
            self.problems.extend(faults);
        }
        Ok(sorted)
    }

    /// Takes over all unchanged files. Anything but files and links to files is left out and reported.
    pub(super) fn carry(&mut self, replaced: &BTreeSet<PathBuf>) -> Result<(), RecoverError> {
        self.carry_folder(Path::new(""), replaced)
    }

    fn carry_folder(
        &mut self,
        folder: &Path,
        replaced: &BTreeSet<PathBuf>,
    ) -> Result<(), RecoverError> {
        let from = self.place.old().join(folder);
        let listed = fs::read_dir(&from)
            .and_then(|entries| entries.collect::<io::Result<Vec<_>>>())
            .map_err(RecoverError::io(&from, "list the folder"))?;
        for entry in listed {
            let name = folder.join(entry.file_name());
            let left_out = NOT_LINKED.iter().any(|out| name == Path::new(out));
            if left_out || replaced.contains(&name) {
                continue;
            }
            let to = self.place.stage().join(&name);
            let done = match entry.file_type() {
                Ok(kind) if kind.is_dir() => {
                    fs::create_dir(&to).map_err(RecoverError::io(&to, "make the folder"))?;
                    self.carry_folder(&name, replaced)?;
                    continue;
                }
                Ok(_) if !entry.path().is_file() => {
                    self.problems
                        .push(format!("{}: left out: not a regular file", name.display()));
                    continue;
                }
                Ok(kind) if kind.is_symlink() => fs::read_link(entry.path())
                    .and_then(|target| std::os::unix::fs::symlink(target, &to)),
                Ok(_) => self.carry_file(&entry.path(), &to),
                Err(error) => Err(error),
            };
            done.map_err(RecoverError::io(&to, "copy it"))?;
        }
        Ok(())
    }

    /// In place, a hard link suffices, because nothing writes to the file any more.
    fn carry_file(&self, from: &Path, to: &Path) -> io::Result<()> {
        let in_place = self.place.old() == self.place.target();
        if in_place && fs::hard_link(from, to).is_ok() {
            return Ok(());
        }
        fs::copy(from, to)?;
        File::open(to)?.sync_all()
    }

    pub(super) fn seal(&mut self, old: &Gathered, sorted: &Sorted) -> Result<(), RecoverError> {
        for name in &sorted.rename {
            let to = self.place.stage().join(name);
            self.carry_file(&old.files[name].path, &to)
                .map_err(RecoverError::io(&to, "copy it"))?;
        }
        for name in &sorted.seal {
            let path = self.place.stage().join(name);
            let table = name.split('/').next().unwrap_or_default();
            let chunks = old
                .journal
                .segments
                .get(name)
                .map_or(&[][..], Vec::as_slice);
            let (bytes, lines) = seal::seal(name, table, &old.files[name], chunks)
                .map_err(|reason| RecoverError::io(&path, "seal it")(io::Error::other(reason)))?;
            // A segment without a row is none.
            if lines.iter().any(|line| line.chunk == Chunk::Batch) {
                self.write(name, &bytes)?;
                self.lines.insert(name.clone(), lines);
                self.sealed += 1;
            }
        }
        Ok(())
    }

    /// Writes the content of `live/`: rows as further segments, and kernel sources.
    pub(super) fn add_rest(&mut self, old: &Gathered) -> Result<(), RecoverError> {
        let Some(rest) = &old.rest else { return Ok(()) };
        let mut next: BTreeMap<&str, u32> = BTreeMap::new();
        for name in old.files.keys().chain(old.journal.segments.keys()) {
            let Some((table, file)) = name.split_once('/') else {
                continue;
            };
            let number = file
                .strip_suffix(".arrow")
                .and_then(|stem| stem.parse().ok());
            let after = number.map_or(0, |number: u32| number.saturating_add(1));
            let next = next.entry(table).or_default();
            *next = after.max(*next);
        }
        for segment in &rest.segments {
            let number = next.entry(segment.table).or_default();
            let name = format!("{}/{number:06}.arrow", segment.table);
            *number += 1;
            self.write(&name, &segment.bytes)?;
            self.lines.insert(name.clone(), segment.lines(&name));
            self.added += 1;
        }
        for (hash, source) in &rest.sources {
            let name = format!("ptx/{hash}.ptx");
            // The recorder may have written it, and have died half-way.
            let path = self.place.stage().join(&name);
            if regular_file::read(&path).is_ok_and(|there| there == source.as_bytes()) {
                continue;
            }
            let _ = fs::remove_file(&path);
            self.write(&name, source.as_bytes())?;
        }
        Ok(())
    }

    pub(super) fn journal(&self) -> Result<(), RecoverError> {
        let mut text = String::new();
        for line in self.lines.values().flatten() {
            let line = line.encode().map_err(io::Error::other);
            let path = self.place.stage().join(JOURNAL);
            text += &line.map_err(RecoverError::io(&path, "write it"))?;
        }
        self.write(JOURNAL, text.as_bytes())
    }

    /// Written last and atomically: before, the folder contains no recovered run. `from` is the run being
    /// recovered.
    pub(super) fn run_json(&self, run: &RunJson, from: &Path) -> Result<(), RecoverError> {
        let [temporary, path] = [NEW_RUN_JSON, RUN_JSON].map(|name| self.place.stage().join(name));
        let old = regular_file::read(&from.join(RUN_JSON));
        let text = resealed(&old.unwrap_or_default(), run)
            .map_err(|error| RecoverError::io(&path, "write it")(error.into()))?;
        self.write(NEW_RUN_JSON, &text)?;
        fs::rename(&temporary, &path).map_err(RecoverError::io(&path, "write it"))
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<(), RecoverError> {
        let path = self.place.stage().join(name);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(RecoverError::io(folder, "make the folder"))?;
        }
        Ok(write_synced(&path, bytes)?)
    }

    pub(super) fn tables(&self) -> BTreeMap<String, Table> {
        let mut tables: BTreeMap<String, Table> = BTreeMap::new();
        for (name, lines) in &self.lines {
            let table = name.split('/').next().unwrap_or_default();
            let counts = tables.entry(table.to_owned()).or_default();
            counts.segments += 1;
            counts.bytes = lines
                .iter()
                .map(|line| line.bytes)
                .fold(counts.bytes, u64::saturating_add);
            let batches = lines.iter().filter(|line| line.chunk == Chunk::Batch);
            counts.rows = batches
                .filter_map(|line| line.rows)
                .fold(counts.rows, u64::saturating_add);
        }
        tables
    }

    /// Lost rows of a table in segments that still show the loss.
    pub(super) fn still_lost(&self, before: &Run, table: &str) -> u64 {
        let segments = before.segments().iter();
        let shown = segments.filter(|s| s.table() == table && !self.rewritten.contains(&s.name));
        shown
            .filter_map(|segment| segment.rows_lost())
            .fold(0, u64::saturating_add)
    }

    /// Opens the new run, which must contain exactly the rows that were readable before.
    pub(super) fn compare(&self, before: &Run) -> Result<Run, RecoverError> {
        let after = Run::open(self.place.stage())?;
        let rows = |run: &Run| -> BTreeMap<String, u64> {
            let tables = run.facts().tables.iter().filter(|t| t.rows_read > 0);
            tables.map(|t| (t.name.clone(), t.rows_read)).collect()
        };
        let (expected, found) = (rows(before), rows(&after));
        if expected != found {
            return Err(RecoverError::Differs {
                path: self.place.old().to_path_buf(),
                difference: format!("expected rows {expected:?}, found {found:?}"),
            });
        }
        Ok(after)
    }
}
