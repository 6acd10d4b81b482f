//! A run directory that is made beside its place, so that what fails costs nothing that was there.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use trueno_engine::run::{foreign_in_table_folder, is_run, is_table_folder};
use trueno_format::edit::{put_in_place, rename_new};
use trueno_format::folder::Folder;
use trueno_format::run_directory::Destination;

use super::interrupt::RemovedOnInterrupt;
use super::leftovers;
use super::stderr::Stderr;

/// A temporary folder next to a run's place, removed when dropped without [`Staging::keep`].
pub(super) struct Staging {
    place: PathBuf,
    target: Target,
    work: PathBuf,
    on_interrupt: Option<RemovedOnInterrupt>,
}

enum Target {
    Run(Destination),
    /// Tables for databases, and the folder that they replace.
    Tables(Option<Folder>),
}

impl Staging {
    /// `doing` becomes part of the temporary folder's name.
    pub(super) fn new(place: &Path, overwrite: bool, doing: &str) -> anyhow::Result<Self> {
        let target = Target::Run(Destination::check(place, overwrite)?);
        Self::beside(place, target, doing)
    }

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
                    "{}: already contains tables (hint: choose another path, or give --overwrite)",
                    place.display()
                );
            }
            if let Some(foreign) = foreign_in_table_folder(place)? {
                bail!(
                    "{}: does not belong to the tables next to it, and would be lost (hint: choose another path)",
                    foreign.display()
                );
            }
        }
        let old = match place.symlink_metadata() {
            Ok(_) => Some(Folder::open_no_link(place).with_context(|| {
                let place = place.display();
                format!("{place}: cannot be replaced (hint: a link is not followed)")
            })?),
            Err(_) => None,
        };
        Self::beside(place, Target::Tables(old), doing)
    }

    fn beside(place: &Path, target: Target, doing: &str) -> anyhow::Result<Self> {
        if place.file_name().is_none() {
            bail!("{}: no name for a run directory", place.display());
        }
        let work = leftovers::beside(place, doing);
        Ok(Self {
            place: place.to_owned(),
            target,
            on_interrupt: Some(RemovedOnInterrupt::new(&work)),
            work,
        })
    }

    /// The folder to make the run in. It does not exist yet.
    pub(super) fn work(&self) -> &Path {
        &self.work
    }

    /// Moves the run to its place and confirms it on standard error. If interrupted at any point, the place
    /// holds either the old run or the new one.
    pub(super) fn keep(mut self, stderr: &Stderr) -> anyhow::Result<()> {
        // From here on it may be the only run there is.
        self.on_interrupt = None;
        let cannot_put = || format!("{}: cannot be put there", self.place.display());
        match &self.target {
            Target::Run(destination) => destination.put(&self.work)?,
            Target::Tables(Some(old)) => {
                put_in_place(&self.work, &self.place, old).with_context(cannot_put)?;
            }
            Target::Tables(None) => {
                rename_new(&self.work, &self.place).with_context(cannot_put)?;
            }
        }
        stderr.wrote(&self.place);
        Ok(())
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        // An old run that was replaced, or an unfinished one. What cannot be removed has a name that says what it is.
        let _ = fs::remove_dir_all(&self.work);
    }
}

/// An empty folder does not count.
fn is_taken(place: &Path) -> bool {
    let is_empty = || fs::read_dir(place).is_ok_and(|mut entries| entries.next().is_none());
    place.symlink_metadata().is_ok() && !is_empty()
}
