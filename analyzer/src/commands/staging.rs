//! A run directory that is made beside its place, so that what fails costs nothing that was there.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use trueno_engine::run::{foreign_in_table_folder, is_run, is_table_folder};
use trueno_format::edit::exchange;
use trueno_format::run_directory::check_removable;
use trueno_format::salvage;

use super::interrupt::RemovedOnInterrupt;
use super::leftovers;

/// Staging of a run beside its place; removed when it is dropped without [`Staging::keep`].
pub(super) struct Staging {
    place: PathBuf,
    work: PathBuf,
    is_kept: bool,
    on_interrupt: Option<RemovedOnInterrupt>,
}

impl Staging {
    /// `doing` is part of the name of the folder beside the place.
    pub(super) fn new(place: &Path, overwrite: bool, doing: &str) -> anyhow::Result<Self> {
        if is_taken(place) {
            if !is_run(place) {
                bail!(
                    "{}: exists and is not a run directory (hint: choose another path)",
                    place.display()
                );
            }
            if is_recording(place) {
                bail!(
                    "{}: is being recorded now (hint: choose another path, or wait for its end)",
                    place.display()
                );
            }
            if !overwrite {
                bail!(
                    "{}: a run is there already (hint: choose another path, or give --overwrite)",
                    place.display()
                );
            }
            check_removable(place)?;
        }
        Self::beside(place, doing)
    }

    /// The same of a folder of tables for databases.
    pub(super) fn of_tables(place: &Path, overwrite: bool, doing: &str) -> anyhow::Result<Self> {
        if is_taken(place) {
            if !is_table_folder(place) || is_run(place) {
                bail!(
                    "{}: exists and holds no tables of a job (hint: choose another path)",
                    place.display()
                );
            }
            if !overwrite {
                bail!(
                    "{}: tables are there already (hint: choose another path, or give --overwrite)",
                    place.display()
                );
            }
            if let Some(foreign) = foreign_in_table_folder(place)? {
                bail!(
                    "{}: not a part of the tables beside it, and not to be lost (hint: choose another path)",
                    foreign.display()
                );
            }
        }
        Self::beside(place, doing)
    }

    fn beside(place: &Path, doing: &str) -> anyhow::Result<Self> {
        if place.file_name().is_none() {
            bail!("{}: no name for a run directory", place.display());
        }
        let work = leftovers::beside(place, doing);
        Ok(Self {
            place: place.to_owned(),
            on_interrupt: Some(RemovedOnInterrupt::new(&work)),
            work,
            is_kept: false,
        })
    }

    /// The folder to make the run in; it is not there yet.
    pub(super) fn work(&self) -> &Path {
        &self.work
    }

    /// Puts the run in its place.
    pub(super) fn keep(mut self) -> anyhow::Result<()> {
        // From here on it may be the only run there is.
        self.on_interrupt = None;
        let is_replaced = self.place.symlink_metadata().is_ok();
        // Whenever this is stopped, the place holds the old run or the new one.
        if !is_replaced || exchange(&self.work, &self.place).is_err() {
            if is_replaced {
                fs::remove_dir_all(&self.place)
                    .with_context(|| format!("{}: cannot be replaced", self.place.display()))?;
            }
            fs::rename(&self.work, &self.place)
                .with_context(|| format!("{}: cannot be made", self.place.display()))?;
            self.is_kept = true;
        }
        Ok(())
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        if !self.is_kept {
            // An old run that was replaced, or an unfinished one. What cannot be removed has a name that says what it is.
            let _ = fs::remove_dir_all(&self.work);
        }
    }
}

/// Tells whether there is anything at a place but an empty folder.
fn is_taken(place: &Path) -> bool {
    let is_empty = || fs::read_dir(place).is_ok_and(|mut entries| entries.next().is_none());
    place.symlink_metadata().is_ok() && !is_empty()
}

/// Tells whether a run, or one of its ranks, is being written.
fn is_recording(place: &Path) -> bool {
    let ranks = fs::read_dir(place).into_iter().flatten().flatten();
    salvage::is_recording(place) == Some(true)
        || ranks
            .filter(|entry| entry.file_name().to_string_lossy().starts_with("rank="))
            .any(|entry| salvage::is_recording(&entry.path()) == Some(true))
}
