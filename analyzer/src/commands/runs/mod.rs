//! Runs by their paths: run directories, and files of other profilers, which become runs on the way.

mod key;
mod sources;
mod store;

use std::cell::OnceCell;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use sources::{STANDARD_INPUT, Sources};
use store::{Aside, Store};
use trueno_compare::golden::{Opened, is_golden};
use trueno_engine::run::{Run, RunError, is_run};
use trueno_import::{Error, Options};
use trueno_model::Problem;

use super::import::folders;
use super::import::job::{self, JobInput};
use super::import::parts::{self, Part};
use super::import::single::{self, Input};
use super::import::summary::Summary;
use super::import::trace_files::listed;
use super::stderr::Stderr;

/// Opens every path that a command reads as a run.
pub(super) struct Runs<'a> {
    stderr: &'a Stderr,
    is_cached: bool,
    /// File with the content of standard input. Dropped before the store that holds it.
    standard_input: OnceCell<Aside>,
    /// Cache of imported runs, opened on the first import.
    store: OnceCell<Store>,
}

impl<'a> Runs<'a> {
    /// Without the cache each file is imported again into a temporary folder.
    pub fn new(is_cached: bool, stderr: &'a Stderr) -> Self {
        Self {
            stderr,
            is_cached,
            standard_input: OnceCell::new(),
            store: OnceCell::new(),
        }
    }

    pub fn open(&self, path: &Path) -> anyhow::Result<Run> {
        if is_importable(path) {
            return Ok(self.imported(&[path])?.0);
        }
        Ok(Run::open(path)?)
    }

    /// Opens several traces as one run: the ranks of a job, or consecutive traces of one process.
    pub fn open_all(&self, paths: &[&Path]) -> anyhow::Result<Run> {
        if let [path] = paths {
            return self.open(path);
        }
        if let Some(run) = paths.iter().find(|path| !is_importable(path)) {
            bail!(
                "{}: is a run, and several paths are traces of one job (hint: give the run alone; `trueno-analyze \
                 compare` takes several runs)",
                run.display()
            );
        }
        Ok(self.imported(paths)?.0)
    }

    /// Like [`Self::open`], but also accepts a golden file.
    pub fn open_side(&self, path: &Path) -> anyhow::Result<Opened> {
        if !is_importable(path) || is_golden(path) {
            return Opened::open(path);
        }
        let imported = self.imported(&[path]);
        let what = || format!("{}: not a golden file", path.display());
        Ok(Opened::from(imported.with_context(what)?.0))
    }

    pub fn directory(&self, path: &Path) -> anyhow::Result<PathBuf> {
        if is_importable(path) && !is_golden(path) {
            return Ok(self.imported(&[path])?.1);
        }
        Ok(path.to_owned())
    }

    /// Replaces `-` by the file with the content of standard input.
    pub fn with_standard_input(&self, paths: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
        let file = |path: &PathBuf| {
            if path == Path::new("-") {
                self.standard_input(self.store()?)
            } else {
                Ok(path.clone())
            }
        };
        paths.iter().map(file).collect()
    }

    /// Replaces that file's path in an error by "standard input".
    pub fn shown_in(&self, error: anyhow::Error) -> anyhow::Error {
        match self.standard_input.get() {
            Some(_) => anyhow::anyhow!(self.shown(&format!("{error:#}"))),
            None => error,
        }
    }

    /// Replaces that file's path in a text by "standard input".
    pub fn shown(&self, text: &str) -> String {
        let Some(aside) = self.standard_input.get() else {
            return text.to_owned();
        };
        let file = aside.path().join(STANDARD_INPUT).display().to_string();
        text.replace(&file, STANDARD_INPUT)
    }

    /// Returns the imported run and its folder, from the cache if possible.
    fn imported(&self, paths: &[&Path]) -> anyhow::Result<(Run, PathBuf)> {
        let store = self.store()?;
        let sources = Sources::find(paths, || self.standard_input(store))?;
        let shown = &sources.shown;
        if let Some(skipped) = &sources.skipped {
            self.stderr.note(&format!("{shown}: {skipped}"));
        }
        self.stderr.step(&format!("reading {shown}"));
        let key_of = || {
            let key = key::of(&sources.name, &sources.root, &sources.files);
            key.with_context(|| format!("{shown}: cannot be read"))
        };
        let key = key_of()?;
        let place = store.place(&key);
        if let Some(run) = self.kept(store, &place)? {
            let ranks = job_text(&run);
            let words = format!("{shown}: {ranks}taken from {}", place.display());
            self.stderr.note(&words);
            return Ok((run, place));
        }
        let aside = store.aside(&key);
        let (members, text) = self
            .import(&sources, aside.path(), &place)
            .map_err(|error| self.shown_in(error))?;
        if key_of()? != key {
            bail!("{shown}: was written to while it was read (hint: try again)");
        }
        aside.keep(&place)?;
        for summary in members {
            summary.counts.warn(self.stderr);
        }
        let place_shown = place.display();
        self.stderr.note(&if store.is_kept() {
            format!("{shown}: {text}imported into {place_shown}")
        } else {
            format!("{shown}: {text}imported, but not cached")
        });
        Ok((Run::open(&place)?, place))
    }

    /// The run of that place in the cache, if it is there and whole. One that is damaged, or that others can write, is
    /// removed.
    fn kept(&self, store: &Store, place: &Path) -> anyhow::Result<Option<Run>> {
        let open = || {
            if std::fs::symlink_metadata(place).is_err() {
                return Ok(None);
            }
            if let Err(distrust) = trueno_trust::check_tree(place) {
                return Err(format!(
                    "{distrust}, so the cached run is not used and the trace is imported again"
                ));
            }
            match Run::open(place) {
                // Problems that its importer found are the file's own, and would be found again.
                Ok(run) if run.problems().iter().all(may_be_kept) => Ok(Some(run)),
                Err(RunError::Missing { .. }) => Ok(None),
                _ => Err(format!(
                    "{}: damaged, so it is imported again",
                    place.display()
                )),
            }
        };
        let run = match open() {
            Ok(run) => run,
            Err(_) => {
                let _replacing = store.lock_for_replacing()?;
                // Another process may have replaced it meanwhile, and must not lose its own.
                match open() {
                    Ok(run) => run,
                    Err(reason) => {
                        self.stderr.warn(&reason);
                        store.remove(place)?;
                        None
                    }
                }
            }
        };
        if run.is_some() {
            store.touch(place);
        }
        Ok(run)
    }

    /// Imports the traces. Returns the outcome of each file and how they were interpreted.
    fn import(
        &self,
        sources: &Sources,
        work: &Path,
        place: &Path,
    ) -> anyhow::Result<(Vec<Summary>, String)> {
        let options = Options::default();
        let hint = |error: anyhow::Error| {
            // What is no trace becomes none by options.
            if matches!(error.downcast_ref(), Some(Error::Format { .. })) {
                return error;
            }
            let shown = &sources.shown;
            error.context(format!(
                "{shown}: cannot be imported (hint: options are those of `trueno-analyze import`)"
            ))
        };
        if !sources.is_job {
            let input = Input {
                files: &[&sources.path],
                label: None,
                format: None,
                options: &options,
            };
            let imported = single::import(&input, work, place, self.stderr);
            let Err(error) = &imported else {
                return Ok((vec![imported?.summary], String::new()));
            };
            let Some(Error::Merged { ranks, .. }) = error.downcast_ref() else {
                return Ok((vec![imported.map_err(hint)?.summary], String::new()));
            };
            std::fs::remove_dir_all(work)?;
            std::fs::create_dir(work)?;
            let parts = single::parts_of_ranks(ranks, &options);
            let parts = parts.into_iter().map(|(rank, options)| Part {
                file: &sources.path,
                rank,
                options,
            });
            let parts: Vec<Part<'_>> = parts.collect();
            let members = parts::import(&parts, None, work, place, self.stderr).map_err(hint)?;
            let names = ranks
                .iter()
                .map(|(rank, label)| format!("{rank} = {label}"));
            let names = listed(&names.collect::<Vec<_>>());
            let text = format!("a job of {} ranks ({names}); ", members.len());
            let summaries = members.into_iter().map(|member| member.summary);
            return Ok((summaries.collect(), text));
        }
        let input = JobInput {
            files: &sources.files,
            ranks: &[],
            label: sources.label.as_deref(),
            format: None,
            options: &options,
            is_lenient: true,
        };
        let made = job::import(&input, work, place, self.stderr).map_err(hint)?;
        let summaries = made.members.into_iter().map(|member| member.summary);
        Ok((summaries.collect(), format!("{}; ", made.text)))
    }

    fn store(&self) -> anyhow::Result<&Store> {
        if let Some(store) = self.store.get() {
            return Ok(store);
        }
        let store = self.open_store()?;
        Ok(self.store.get_or_init(|| store))
    }

    fn standard_input(&self, store: &Store) -> anyhow::Result<PathBuf> {
        if let Some(aside) = self.standard_input.get() {
            return Ok(aside.path().join(STANDARD_INPUT));
        }
        let mut input = std::io::stdin().lock();
        if input.is_terminal() {
            bail!(
                "-: standard input is a terminal (hint: pipe a trace into it, as in `xz -dc trace.json.xz | trueno-analyze \
                 report -`)"
            );
        }
        let aside = store.aside("input");
        let file = aside.path().join(STANDARD_INPUT);
        let mut write = || -> std::io::Result<()> {
            std::fs::create_dir(aside.path())?;
            std::io::copy(&mut input, &mut std::fs::File::create(&file)?)?;
            Ok(())
        };
        write()
            .with_context(|| format!("{}: standard input cannot be kept there", file.display()))?;
        let _ = self.standard_input.set(aside);
        Ok(file)
    }

    fn open_store(&self) -> anyhow::Result<Store> {
        if self.is_cached {
            match Store::cache() {
                Ok(store) => return Ok(store),
                Err(why) => self.stderr.warn(&format!(
                    "{why:#}: the imported run is not cached (hint: set XDG_CACHE_HOME, or give --no-cache)"
                )),
            }
        }
        Store::temporary()
    }
}

/// Whether a path is not a run directory and may be another profiler's trace.
fn is_importable(path: &Path) -> bool {
    if path == Path::new("-") || path.is_file() {
        return true;
    }
    if !path.is_dir() || is_run(path) {
        return false;
    }
    // A run whose run.json is gone is a run all the same.
    folders::recognises(path) || matches!(Run::open(path), Err(RunError::NotARun { .. }))
}

/// Describes the ranks of a job by their file names; empty for other runs.
fn job_text(run: &Run) -> String {
    let facts = run.facts();
    if facts.ranks.is_empty() {
        return String::new();
    }
    let names = facts.ranks.iter().zip(&facts.imports);
    let names = names.map(|(of, import)| format!("{} = {}", of.rank, import.file));
    let names: Vec<String> = names.collect();
    let ranks = match facts.ranks.len() {
        1 => "1 rank".to_owned(),
        count => format!("{count} ranks"),
    };
    format!("a job of {ranks} ({}), ", listed(&names))
}

/// Whether a problem comes from the imported file, not from damage of the cached run. An import would report it
/// again.
fn may_be_kept(problem: &Problem) -> bool {
    let is_of_job = matches!(
        &*problem.code,
        "rank_missing" | "rank_not_aligned" | "ranks_apart"
    );
    is_of_job || problem.is_of_source()
}
