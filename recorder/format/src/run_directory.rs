//! Where a run may be made, and what may be replaced by it: one answer for the recorder, both commands, importers and
//! exporters.
//!
//! A run is made at a new path or in an empty folder, and takes the place of another run only where that is allowed. A
//! folder that holds anything but a run is never touched, a run that is being recorded neither, and a link is not
//! followed to replace what it leads to.

mod ours;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use xxhash_rust::xxh3::xxh3_64;

use crate::edit;
use crate::error::Error;
use crate::file_lock::FileLock;
use crate::folder::{Folder, absolute};
use crate::live;
use crate::run_json::RUN_JSON;

/// The path of a run that is to be made, looked at.
#[derive(Debug)]
pub struct Destination {
    /// As given by the caller, for messages.
    given: PathBuf,
    path: PathBuf,
    found: Found,
}

#[derive(Debug)]
enum Found {
    Nothing,
    EmptyFolder(Folder),
    Run(Folder),
}

/// A new run's folder, which is empty and held. Its lock keeps others out until the run says itself that it is recorded.
#[derive(Debug)]
pub struct NewRun {
    pub(crate) folder: Folder,
    pub(crate) lock: FileLock,
}

impl NewRun {
    /// The folder without its lock, for another process to make the run in it.
    pub fn into_folder(self) -> Folder {
        self.folder
    }
}

impl Destination {
    /// Looks at a path. Nothing is changed.
    ///
    /// # Errors
    /// There is a run, and `overwrite` is false; a run that is being recorded; a link to a run; anything else.
    pub fn check(path: &Path, overwrite: bool) -> Result<Self, Error> {
        let invalid = |error| Error::io_with_hint(path, "make the run directory", error, NEW_PATH);
        if path.as_os_str().is_empty() {
            let error = io::Error::new(io::ErrorKind::InvalidInput, "its path is empty");
            return Err(invalid(error));
        }
        let given = path.to_owned();
        let path = absolute(path).map_err(invalid)?;
        let found = look(&given, &path, overwrite)?;
        Ok(Self { given, path, found })
    }

    /// True if a run is there and would be replaced.
    pub fn is_run(&self) -> bool {
        matches!(self.found, Found::Run(_))
    }

    /// Makes the folder of the run. A run that is there is removed.
    ///
    /// # Errors
    /// What is there has changed since it was looked at, or the operating system refuses.
    pub fn make(self) -> Result<NewRun, Error> {
        let failed =
            |error| Error::io_with_hint(&self.given, "make the run directory", error, NEW_PATH);
        let folder = match &self.found {
            Found::Nothing => {
                let parent = self.path.parent().unwrap_or(Path::new("/"));
                fs::create_dir_all(parent).map_err(failed)?;
                match fs::create_dir(&self.path) {
                    Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                        return Err(Error::Changed { path: self.given });
                    }
                    made => made.map_err(failed)?,
                }
                Folder::open_no_link(&self.path).map_err(failed)?
            }
            Found::EmptyFolder(_) => Folder::open(&self.path).map_err(failed)?,
            Found::Run(_) => {
                let old = self.locked_run()?;
                let removed = old.folder.empty(Some(RUN_JSON));
                removed.map_err(|error| self.not_removed(error))?;
                return Ok(old);
            }
        };
        let lock = self.lock(&folder)?;
        if !folder.entries().map_err(failed)?.is_empty() {
            return Err(Error::Changed { path: self.given });
        }
        Ok(NewRun { folder, lock })
    }

    /// Removes a run that is there, with its folder, for a run that is made later.
    ///
    /// # Errors
    /// As [`Destination::make`].
    pub fn clear(self) -> Result<(), Error> {
        if !self.is_run() {
            return Ok(());
        }
        let old = self.locked_run()?;
        let removed = old.folder.remove(Some(RUN_JSON));
        removed.map_err(|error| self.not_removed(error))
    }

    /// Puts the run that was made at `work` there, on the same file system. A run that is there is then at `work`.
    ///
    /// # Errors
    /// As [`Destination::make`]; what is there stays there.
    pub fn put(&self, work: &Path) -> Result<(), Error> {
        let failed = |error: io::Error| match error.kind() {
            io::ErrorKind::AlreadyExists => Error::Changed {
                path: self.given.clone(),
            },
            _ => Error::io(&self.given, "put the run there", error),
        };
        match &self.found {
            Found::Nothing => edit::rename_new(work, &self.path).map_err(failed),
            Found::EmptyFolder(old) => edit::put_in_place(work, &self.path, old).map_err(failed),
            Found::Run(_) => {
                let old = self.locked_run()?;
                edit::put_in_place(work, &self.path, &old.folder).map_err(failed)
            }
        }
    }

    /// Locks the run to be replaced, after checking that it is still the one that was found and may still be
    /// replaced.
    fn locked_run(&self) -> Result<NewRun, Error> {
        let changed = || Error::Changed {
            path: self.given.clone(),
        };
        let found = match &self.found {
            Found::Run(found) if found.is_at(&self.path) => found,
            _ => return Err(changed()),
        };
        let folder = Folder::open_no_link(&self.path).map_err(|_| changed())?;
        if !found.is_same(&folder) {
            return Err(changed());
        }
        let lock = self.lock(&folder)?;
        check_replaceable(&self.given, &folder)?;
        Ok(NewRun { folder, lock })
    }

    fn lock(&self, folder: &Folder) -> Result<FileLock, Error> {
        let lock = folder.lock();
        let lock = lock.map_err(|error| Error::io(&self.given, "lock the folder", error))?;
        lock.ok_or_else(|| Error::RunInUse {
            path: self.given.clone(),
        })
    }

    fn not_removed(&self, error: io::Error) -> Error {
        let hint = "choose another path";
        Error::io_with_hint(&self.given, "remove the run that is there", error, hint)
    }
}

const NEW_PATH: &str = "choose the path of a new folder, below one that can be written to";

fn look(given: &Path, path: &Path, overwrite: bool) -> Result<Found, Error> {
    let Ok(found) = path.symlink_metadata() else {
        // If it is there and cannot be looked at, it cannot be made either.
        return Ok(Found::Nothing);
    };
    let not_a_run = || Error::NotARun { path: given.into() };
    let failed = |error| Error::io(given, "look at what is there", error);
    let folder = match Folder::open(path) {
        Ok(folder) => folder,
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Err(failed(error)),
        Err(_) => return Err(not_a_run()),
    };
    if folder.entries().map_err(failed)?.is_empty() {
        return Ok(Found::EmptyFolder(folder));
    }
    if !ours::is_run(&folder).map_err(failed)? {
        return Err(not_a_run());
    }
    if is_in_use(&folder) {
        return Err(Error::RunInUse { path: given.into() });
    }
    if !overwrite {
        return Err(Error::RunExists { path: given.into() });
    }
    if found.is_symlink() {
        return Err(Error::Link {
            path: given.into(),
            target: fs::canonicalize(path).unwrap_or_else(|_| path.into()),
        });
    }
    check_replaceable(given, &folder)?;
    Ok(Found::Run(folder))
}

/// Rejects a run that is being recorded, has files that are not of a run, or could only be removed in part.
fn check_replaceable(given: &Path, run: &Folder) -> Result<(), Error> {
    if is_recorded(run) {
        return Err(Error::RunInUse { path: given.into() });
    }
    ours::check_removable(given, run)
}

/// True if a run or one of its ranks is being recorded, created or replaced by another process.
fn is_in_use(run: &Folder) -> bool {
    run.is_locked() || is_recorded(run) || ranks(run).iter().any(Folder::is_locked)
}

fn is_recorded(run: &Folder) -> bool {
    let is_recorded = |run: &Folder| live::is_recording_in(run) == Some(true);
    is_recorded(run) || ranks(run).iter().any(is_recorded)
}

fn ranks(run: &Folder) -> Vec<Folder> {
    let entries = run.entries().unwrap_or_default().into_iter();
    let ranks = entries.filter(|entry| entry.name.to_str().is_some_and(ours::is_rank));
    ranks
        .filter_map(|entry| run.folder(&entry.name).ok())
        .collect()
}

/// A `run_id`, which tells runs apart: random where the system has randomness, else time and process.
pub fn new_run_id() -> String {
    format!("{:016x}", random_number())
}

fn random_number() -> u64 {
    let mut bytes = [0u8; 8];
    // SAFETY: the pointer and the length describe `bytes`.
    let got =
        unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), libc::GRND_NONBLOCK) };
    if got == bytes.len() as isize {
        return u64::from_le_bytes(bytes);
    }
    let since_epoch = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let realtime_ns = since_epoch.map_or(0, |since| since.as_nanos());
    let seed = format!("{} {}", realtime_ns, std::process::id());
    xxh3_64(seed.as_bytes())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::run_json::RunJson;
    use crate::run_writer::RunWriter;

    fn run(path: &Path) {
        let run = RunWriter::create(path, RunJson::default()).unwrap();
        run.finish(Some(1)).unwrap();
    }

    fn replaced(path: &Path) -> Result<Destination, Error> {
        Destination::check(path, true)
    }

    #[test]
    fn runs_are_replaced_in_each_way() {
        let place = tempfile::tempdir().unwrap();
        let path = |name: &str| place.path().join(name);
        run(&path("a"));
        assert!(matches!(
            Destination::check(&path("a"), false),
            Err(Error::RunExists { .. })
        ));
        let made = replaced(&path("a")).unwrap().make().unwrap();
        assert!(made.folder.entries().unwrap().is_empty());
        drop(made);

        run(&path("b"));
        replaced(&path("b")).unwrap().clear().unwrap();
        assert!(!path("b").exists());

        run(&path("c"));
        run(&path("work"));
        fs::write(path("work/new"), "").unwrap();
        replaced(&path("c")).unwrap().put(&path("work")).unwrap();
        assert!(path("c/new").exists() && path("work/run.json").exists());
    }

    #[test]
    fn what_has_come_meanwhile_is_left_alone() {
        let place = tempfile::tempdir().unwrap();
        let path = |name: &str| place.path().join(name);
        type Act = fn(Destination, &Path) -> Result<(), Error>;
        let acts: [Act; 3] = [
            |destination, _| destination.make().map(drop),
            |destination, _| destination.clear(),
            |destination, work| destination.put(work),
        ];
        for (number, act) in acts.into_iter().enumerate() {
            let [at, work] = ["at", "work"].map(|name| path(&format!("{name}{number}")));
            run(&at);
            run(&work);
            let destination = replaced(&at).unwrap();
            fs::rename(&at, path(&format!("moved{number}"))).unwrap();
            run(&at);
            fs::write(at.join("theirs"), "").unwrap();
            let done = act(destination, &work);
            assert!(matches!(done, Err(Error::Changed { .. })), "{done:?}");
            assert!(at.join("theirs").exists() && work.join(RUN_JSON).exists());
        }
        // Where nothing was.
        let destination = replaced(&path("new")).unwrap();
        run(&path("new"));
        let done = destination.put(&path("work0"));
        assert!(matches!(done, Err(Error::Changed { .. })), "{done:?}");
        let destination = replaced(&path("newer")).unwrap();
        run(&path("newer"));
        let done = destination.make().map(drop);
        assert!(matches!(done, Err(Error::Changed { .. })), "{done:?}");
    }

    #[test]
    fn a_run_that_is_being_made_is_in_use() {
        let place = tempfile::tempdir().unwrap();
        let path = |name: &str| place.path().join(name);
        let is_in_use = |path: &Path| {
            [false, true].iter().all(|overwrite| {
                let found = Destination::check(path, *overwrite);
                matches!(found, Err(Error::RunInUse { .. }))
            })
        };
        let made = RunWriter::create(&path("imported"), RunJson::default()).unwrap();
        assert!(is_in_use(&path("imported")));
        drop(made);
        replaced(&path("imported")).unwrap();

        let rank = path("job/rank=1");
        run(&path("job/rank=0"));
        let recorded = RunWriter::create_surviving(&rank, RunJson::default()).unwrap();
        assert!(is_in_use(&rank) && is_in_use(&path("job")));
        drop(recorded);
        replaced(&path("job")).unwrap().clear().unwrap();
        assert!(!path("job").exists());
    }

    #[test]
    fn a_link_is_not_followed_to_replace_a_run() {
        let place = tempfile::tempdir().unwrap();
        let path = |name: &str| place.path().join(name);
        run(&path("a"));
        symlink(path("a"), path("latest")).unwrap();
        for link in ["latest", "latest/"] {
            let found = replaced(&path(link));
            let Err(Error::Link { target, .. }) = found else {
                panic!("{link}: {found:?}");
            };
            assert_eq!(target, fs::canonicalize(path("a")).unwrap());
        }
        // One to an empty folder is a place like others.
        fs::create_dir(path("empty")).unwrap();
        symlink("empty", path("to_empty")).unwrap();
        drop(replaced(&path("to_empty")).unwrap().make().unwrap());
    }
}
