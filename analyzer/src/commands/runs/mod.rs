//! Runs by their paths: run directories, and files of other profilers, which become runs on the way.

mod key;
mod store;

use std::cell::OnceCell;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use store::Store;
use trueno_compare::golden::{Opened, is_golden};
use trueno_engine::run::{Run, RunError, is_run};
use trueno_import::Options;
use trueno_model::Problem;

use super::import::{nsys_parquet, single};
use super::stderr::Stderr;

/// The one way from a path to a run.
pub(super) struct Runs<'a> {
    stderr: &'a Stderr,
    is_cached: bool,
    /// Imported runs; opened by the first file that is none.
    store: OnceCell<Store>,
}

impl<'a> Runs<'a> {
    /// Without the cache each file is imported anew, into a folder that goes with the value.
    pub fn new(is_cached: bool, stderr: &'a Stderr) -> Self {
        Self {
            stderr,
            is_cached,
            store: OnceCell::new(),
        }
    }

    /// Opens a run, or the run that a file of another profiler becomes.
    pub fn open(&self, path: &Path) -> anyhow::Result<Run> {
        match is_importable(path) {
            true => Ok(self.imported(path)?.0),
            false => Ok(Run::open(path)?),
        }
    }

    /// The same, or a golden file.
    pub fn open_side(&self, path: &Path) -> anyhow::Result<Opened> {
        match is_importable(path) && !is_golden(path) {
            true => {
                let imported = self.imported(path);
                let what = || format!("{}: no golden file", path.display());
                Ok(Opened::from(imported.with_context(what)?.0))
            }
            false => Opened::open(path),
        }
    }

    /// The run directory that stands for a path.
    pub fn directory(&self, path: &Path) -> anyhow::Result<PathBuf> {
        match is_importable(path) && !is_golden(path) {
            true => Ok(self.imported(path)?.1),
            false => Ok(path.to_owned()),
        }
    }

    /// The run of a file and its place: taken from the cache, or else imported into it.
    fn imported(&self, file: &Path) -> anyhow::Result<(Run, PathBuf)> {
        let store = match self.store.get() {
            Some(store) => store,
            None => {
                let store = self.open_store()?;
                self.store.get_or_init(|| store)
            }
        };
        let shown = file.display();
        self.stderr.step(&format!("reading {shown}"));
        let key_of = |file| key::of(file).with_context(|| format!("{shown}: cannot be read"));
        let key = key_of(file)?;
        let place = store.place(&key);
        self.remove_foreign(&place)?;
        match Run::open(&place) {
            // Problems that its importer found are the file's own, and would be found again.
            Ok(run) if run.problems().iter().all(Problem::is_of_source) => {
                store.touch(&place);
                let words = format!("{shown}: taken from {}", place.display());
                self.stderr.note(&words);
                return Ok((run, place));
            }
            Err(RunError::Missing { .. }) => {}
            _ => {
                let words = format!("{}: damaged, and made anew", place.display());
                self.stderr.warn(&words);
                std::fs::remove_dir_all(&place)
                    .with_context(|| format!("{}: cannot be removed", place.display()))?;
            }
        }
        let aside = store.aside(&key);
        let options = Options::default();
        let imported = single::import(file, aside.path(), &place, None, &options, self.stderr);
        let (summary, _) = imported.with_context(|| {
            format!(
                "{shown}: cannot be imported (hint: options are those of `trueno-analyze import`)"
            )
        })?;
        if key_of(file)? != key {
            bail!("{shown}: was written to while it was read (hint: try again)");
        }
        aside.keep(&place)?;
        summary.counts.warn(self.stderr);
        self.stderr.note(&match store.is_kept() {
            true => format!("{shown}: imported into {}", place.display()),
            false => format!("{shown}: imported, and not kept"),
        });
        Ok((Run::open(&place)?, place))
    }

    /// Removes a run of the cache that another user could have put there.
    fn remove_foreign(&self, place: &Path) -> anyhow::Result<()> {
        if std::fs::symlink_metadata(place).is_err() {
            return Ok(());
        }
        let Err(distrust) = trueno_trust::check_tree(place) else {
            return Ok(());
        };
        let shown = place.display();
        let remedy = distrust.remedy();
        self.stderr.warn(&format!(
            "{shown}: not believed, and made anew: {distrust} (hint: {remedy})"
        ));
        match std::fs::remove_dir_all(place) {
            // Another process was faster.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
            removed => removed.with_context(|| format!("{shown}: cannot be removed")),
        }
    }

    fn open_store(&self) -> anyhow::Result<Store> {
        if self.is_cached {
            match Store::cache() {
                Ok(store) => return Ok(store),
                Err(why) => self.stderr.warn(&format!(
                    "{why:#}: what is imported is not kept (hint: set XDG_CACHE_HOME, or give --no-cache)"
                )),
            }
        }
        Store::temporary()
    }
}

/// Tells that a path is no run directory, and may be what another profiler wrote.
fn is_importable(path: &Path) -> bool {
    path.is_file() || (path.is_dir() && !is_run(path) && nsys_parquet::recognises(path))
}
