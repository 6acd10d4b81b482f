//! The folder of imported runs: the user's cache, or one for temporary files.
//!
//! Who uses it holds its lock together with others. Who opens it and finds nobody else there cleans it: of what
//! killed processes left behind, and of the runs that are too much.

use std::env;
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, bail};
use trueno_engine::run::is_run;

use crate::commands::interrupt::RemovedOnInterrupt;

/// Size limit of the cache. Beyond it the least recently used runs are removed.
const MAX_BYTES: u64 = 10 << 30;
const LOCK: &str = "lock";
const REPLACING_LOCK: &str = "replacing.lock";
const ENDING: &str = ".run";

pub(super) struct Store {
    folder: PathBuf,
    /// Set for a folder that is removed on drop.
    temporary: Option<RemovedOnInterrupt>,
    _lock: File,
}

impl Store {
    /// `$XDG_CACHE_HOME/trueno-analyze/imported`, else `~/.cache/trueno-analyze/imported`.
    pub(super) fn cache() -> anyhow::Result<Self> {
        let absolute = |name: &str| {
            let path = env::var_os(name).map(PathBuf::from);
            path.filter(|path| path.is_absolute())
        };
        let cache = absolute("XDG_CACHE_HOME");
        let cache = cache.or_else(|| absolute("HOME").map(|home| home.join(".cache")));
        let cache = cache
            .context("no cache folder: neither XDG_CACHE_HOME nor HOME is an absolute path")?;
        let folder = cache.join("trueno-analyze/imported");
        let shown = folder.display();
        let problem = || format!("{shown}: no runs can be stored there");
        make(&folder).with_context(problem)?;
        trueno_trust::check_folder(&folder).with_context(problem)?;
        let lock = lock(&folder).with_context(problem)?;
        Ok(Self {
            folder,
            temporary: None,
            _lock: lock,
        })
    }

    /// A temporary subfolder of the cache, removed on drop.
    pub(super) fn temporary() -> anyhow::Result<Self> {
        // SAFETY: it takes nothing, and cannot fail.
        let user = unsafe { libc::geteuid() };
        let base = env::temp_dir().join(format!("trueno-analyze-{user}"));
        let shown = base.display();
        let problem = || format!("{shown}: no runs can be created there (hint: set TMPDIR)");
        make(&base).with_context(problem)?;
        // Anybody can put something of that name there.
        let found = fs::symlink_metadata(&base).with_context(problem)?;
        if !found.is_dir() || found.uid() != user || found.mode() & 0o022 != 0 {
            bail!("{shown}: is not a folder that this user alone can write (hint: set TMPDIR)");
        }
        let lock = lock(&base).with_context(problem)?;
        let folder = base.join(unique("once"));
        let temporary = Some(RemovedOnInterrupt::new(&folder));
        make(&folder).with_context(problem)?;
        Ok(Self {
            folder,
            temporary,
            _lock: lock,
        })
    }

    pub(super) fn is_kept(&self) -> bool {
        self.temporary.is_none()
    }

    pub(super) fn place(&self, key: &str) -> PathBuf {
        self.folder.join(format!("{key}{ENDING}"))
    }

    /// A unique path to make the run in. It does not exist yet.
    pub(super) fn aside(&self, key: &str) -> Aside {
        let path = self.folder.join(unique(key));
        let on_interrupt = RemovedOnInterrupt::new(&path);
        Aside {
            path,
            _on_interrupt: on_interrupt,
        }
    }

    /// While it is held, no other process removes a run of this folder.
    pub(super) fn lock_for_replacing(&self) -> io::Result<File> {
        let lock = lock_file(&self.folder.join(REPLACING_LOCK))?;
        // Where a file system has no locks, the last one to import a trace wins.
        let _ = lock.lock();
        Ok(lock)
    }

    /// Removes a run at once, so that nobody sees a part of it.
    pub(super) fn remove(&self, place: &Path) -> anyhow::Result<()> {
        let aside = self.folder.join(unique("removed"));
        match fs::rename(place, &aside).and_then(|()| fs::remove_dir_all(&aside)) {
            // Another process was faster.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => removed.with_context(|| format!("{}: cannot be removed", place.display())),
        }
    }

    pub(super) fn touch(&self, place: &Path) {
        // It would only be removed sooner.
        let _ = File::open(place).and_then(|run| run.set_modified(SystemTime::now()));
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        if !self.is_kept() {
            // What cannot be removed is left to the next one.
            let _ = fs::remove_dir_all(&self.folder);
        }
    }
}

/// A run being made, removed when dropped without [`Aside::keep`].
pub(super) struct Aside {
    path: PathBuf,
    _on_interrupt: RemovedOnInterrupt,
}

impl Aside {
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Moves the run to its place. If another process was faster, its run is kept, which is as good.
    pub(super) fn keep(self, place: &Path) -> anyhow::Result<()> {
        match fs::rename(&self.path, place) {
            Err(_) if is_run(place) => Ok(()),
            result => result.with_context(|| format!("{}: cannot be made", place.display())),
        }
    }
}

impl Drop for Aside {
    fn drop(&mut self) {
        // After `keep` there is nothing of that name.
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// A name that is unique among processes and differs from finished runs.
fn unique(what: &str) -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let now_ns = since.map_or(0, |since| since.as_nanos());
    format!("{what}-{}-{now_ns}", std::process::id())
}

fn make(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// Takes a shared lock of a folder. Cleans it first if no other process uses it.
fn lock(folder: &Path) -> io::Result<File> {
    let lock = lock_file(&folder.join(LOCK))?;
    if lock.try_lock().is_ok() {
        clean(folder);
    }
    // Where a file system has no locks nothing is ever removed.
    let _ = lock.lock_shared();
    Ok(lock)
}

fn lock_file(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.create(true).truncate(false).write(true).open(path)
}

/// Removes leftovers of killed processes and, above the size limit, the least recently used runs except the last.
/// What cannot be removed is tried again next time.
fn clean(folder: &Path) {
    let mut runs = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let is_finished = entry.file_name().to_string_lossy().ends_with(ENDING);
        match entry.metadata() {
            Ok(found) if found.is_dir() && is_finished => {
                runs.push((found.modified().ok(), path));
            }
            Ok(found) if found.is_dir() && is_unfinished(&entry.file_name().to_string_lossy()) => {
                let _ = fs::remove_dir_all(path);
            }
            _ => {}
        }
    }
    runs.sort();
    let mut bytes = 0;
    for (nth, (_, run)) in runs.iter().rev().enumerate() {
        bytes += length(run);
        if nth > 0 && bytes > MAX_BYTES {
            let _ = fs::remove_dir_all(run);
        }
    }
}

/// Whether a name comes from [`unique`]: a folder that its process will rename or remove.
fn is_unfinished(name: &str) -> bool {
    let number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let parts: Vec<&str> = name.split('-').collect();
    matches!(parts.as_slice(), [_, process, time] if number(process) && number(time))
}

fn length(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| match entry.metadata() {
            Ok(found) if found.is_dir() => length(&entry.path()),
            found => found.map_or(0, |found| found.len()),
        })
        .sum()
}
