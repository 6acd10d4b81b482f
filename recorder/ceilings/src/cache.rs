//! Ceilings kept between programs: one JSON file a machine in the user's cache folder.

use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::Arc;

use super::{CpuCeilings, Machine};
use trueno_format::{Error, regular_file};
use trueno_trust::{Distrust, check_file, check_folder};

/// File that keeps measured ceilings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CeilingCache {
    file: PathBuf,
    /// True for the file in the cache folder, false for one that the user named.
    is_found: bool,
}

/// A reason why there are no cached ceilings to use.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CacheError {
    /// There is no file.
    #[error("{}: no ceilings are saved (hint: run `trueno-record peaks` once)", .file.display())]
    Missing {
        /// The file that is not there.
        file: PathBuf,
    },
    /// They were measured on another machine or in another way.
    #[error("{}: the saved ceilings are stale: {what} changed (hint: run `trueno-record peaks` again)", .file.display())]
    Stale {
        /// The file.
        file: PathBuf,
        /// The part that changed.
        what: &'static str,
    },
    /// The file cannot be read or has no ceilings.
    #[error("{}: cannot read the saved ceilings: {problem} (hint: run `trueno-record peaks` again)", .file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// The finding.
        problem: String,
    },
    /// Another user could have written it.
    #[error("{}: the saved ceilings are not used: {distrust} (hint: prevent others from writing there, and run `trueno-record peaks` again)", .file.display())]
    Distrusted {
        /// The file.
        file: PathBuf,
        /// Who could have written it.
        distrust: Distrust,
    },
    /// There is no cache folder.
    #[error("no cache folder: neither XDG_CACHE_HOME nor HOME is an absolute path")]
    NoFolder,
}

impl CeilingCache {
    /// For `machine`, in `$XDG_CACHE_HOME/trueno-record`, else `~/.cache/trueno-record`. The
    /// file's name has a hash of the machine: several may share a home.
    ///
    /// # Errors
    /// [`CacheError::NoFolder`].
    pub fn for_user(machine: &Machine) -> Result<Self, CacheError> {
        let folder = cache_folder()?;
        let key = serde_json::to_vec(machine).unwrap_or_default();
        let hash = xxhash_rust::xxh3::xxh3_64(&key);
        Ok(Self {
            file: folder.join(format!("peaks-{hash:016x}.json")),
            is_found: true,
        })
    }

    /// A cache in this file.
    pub fn at(file: impl Into<PathBuf>) -> Self {
        Self {
            file: file.into(),
            is_found: false,
        }
    }

    /// The file.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Loads the cached ceilings of `machine`.
    ///
    /// # Errors
    /// Nothing is, it was measured on another machine or by other code, or it cannot be read.
    pub fn load(&self, machine: &Machine) -> Result<CpuCeilings, CacheError> {
        let file = self.file.clone();
        let text = if self.is_found {
            read_found(&file)?
        } else {
            read(&file)?
        };
        let unreadable = |problem: String| CacheError::Unreadable {
            file: file.clone(),
            problem,
        };
        let measured: CpuCeilings =
            serde_json::from_slice(&text).map_err(|e| unreadable(e.to_string()))?;
        if let Some(what) = machine.difference(&measured.machine) {
            return Err(CacheError::Stale { file, what });
        }
        let is_rate = |value: f64| value.is_finite() && value > 0.0;
        if !measured
            .ceilings
            .iter()
            .all(|ceiling| is_rate(ceiling.value))
        {
            return Err(unreadable("a ceiling is not positive".to_owned()));
        }
        Ok(measured)
    }

    /// Keeps them, in place of others; whoever reads at the same time sees these or the others.
    ///
    /// # Errors
    /// The file or its folder cannot be made.
    pub fn save(&self, measured: &CpuCeilings) -> Result<(), Error> {
        if self.is_found {
            replace_found(&self.file, measured)
        } else {
            replace(&self.file, measured)
        }
    }

    /// Loads the cached ceilings of `machine`, else those that `measure` gives, which are cached. The second value
    /// says why it could not be kept.
    pub fn load_or(
        &self,
        machine: &Machine,
        measure: impl FnOnce() -> CpuCeilings,
    ) -> (CpuCeilings, Option<Error>) {
        match self.load(machine) {
            Ok(measured) => (measured, None),
            Err(_) => {
                let measured = measure();
                let problem = self.save(&measured).err();
                (measured, problem)
            }
        }
    }
}

/// `$XDG_CACHE_HOME/trueno-record`, else `~/.cache/trueno-record`.
pub(super) fn cache_folder() -> Result<PathBuf, CacheError> {
    let folder = |name: &str| env::var_os(name).map(PathBuf::from);
    let absolute = |path: &PathBuf| path.is_absolute();
    let cache = folder("XDG_CACHE_HOME").filter(absolute);
    let home = || {
        folder("HOME")
            .filter(absolute)
            .map(|home| home.join(".cache"))
    };
    let cache = cache.or_else(home).ok_or(CacheError::NoFolder)?;
    Ok(cache.join("trueno-record"))
}

fn read(file: &Path) -> Result<Vec<u8>, CacheError> {
    regular_file::read(file).map_err(|error| {
        let file = file.to_owned();
        if error.kind() == io::ErrorKind::NotFound {
            return CacheError::Missing { file };
        }
        CacheError::Unreadable {
            file,
            problem: error.to_string(),
        }
    })
}

/// Reads a file of the cache folder, if only the user and root could have put it there.
pub(super) fn read_found(file: &Path) -> Result<Vec<u8>, CacheError> {
    if let Err(error) = fs::symlink_metadata(file)
        && error.kind() == io::ErrorKind::NotFound
    {
        let file = file.to_owned();
        return Err(CacheError::Missing { file });
    }
    check_file(file).map_err(|distrust| CacheError::Distrusted {
        file: file.to_owned(),
        distrust,
    })?;
    read(file)
}

/// Writes a file of the cache folder, if only the user and root can write there.
pub(super) fn replace_found(file: &Path, value: &impl serde::Serialize) -> Result<(), Error> {
    let folder = file.parent().unwrap_or(Path::new("/"));
    let fail = |action, source: io::Error| Error::Io {
        path: file.to_owned(),
        action,
        source: Arc::new(source),
    };
    fs::create_dir_all(folder).map_err(|error| fail("make the folder", error))?;
    check_folder(folder).map_err(|distrust| fail("write", io::Error::other(distrust)))?;
    replace(file, value)
}

/// Replaces a file by a value as JSON. Concurrent readers see either the old or the new content.
fn replace(file: &Path, value: &impl serde::Serialize) -> Result<(), Error> {
    let fail = |action| {
        move |source: io::Error| Error::Io {
            path: file.to_owned(),
            action,
            source: Arc::new(source),
        }
    };
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder).map_err(fail("make the folder"))?;
    }
    let mut text = serde_json::to_string_pretty(value)
        .map_err(io::Error::other)
        .map_err(fail("write"))?;
    text.push('\n');
    let mut name = file.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}", process::id()));
    let new = file.with_file_name(name);
    let moved = fs::write(&new, text).and_then(|()| fs::rename(&new, file));
    moved.map_err(|e| {
        // What is half written is of no use; that it cannot be removed changes nothing.
        let _ = fs::remove_file(&new);
        fail("write")(e)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CoreClock;
    use trueno_format::{Ceiling, CeilingKind, Source};

    fn measured(value: f64) -> CpuCeilings {
        let ceiling = Ceiling {
            level: Some("avx2".into()),
            precision: Some("f32".into()),
            threads: Some(2),
            operation: Some("fma".into()),
            median: Some(value),
            spread: Some(0.1),
            repetitions: Some(9),
            ..Ceiling::new("cpu", CeilingKind::Compute, value, Source::Measured)
        };
        CpuCeilings {
            machine: Machine::here(),
            measured_at_s: 1_700_000_000,
            clock: CoreClock {
                hz: Some(3.1e9),
                ..CoreClock::default()
            },
            notes: vec!["a \"note\"".to_owned()],
            ceilings: vec![ceiling],
        }
    }

    #[test]
    fn what_is_kept_is_read_back_to_the_bit() {
        let folder = tempfile::tempdir().unwrap();
        let store = CeilingCache::at(folder.path().join("new").join("peaks.json"));
        let here = Machine::here();
        assert!(matches!(store.load(&here), Err(CacheError::Missing { .. })));
        for value in [1.0, 124_443_041_083.0] {
            store.save(&measured(value)).unwrap();
            assert_eq!(store.load(&here), Ok(measured(value)));
        }
        let left = fs::read_dir(store.file().parent().unwrap())
            .unwrap()
            .count();
        assert_eq!(left, 1, "nothing half written is left");
    }

    #[test]
    fn a_stale_key_measures_anew_and_a_fresh_one_does_not() {
        let folder = tempfile::tempdir().unwrap();
        let store = CeilingCache::at(folder.path().join("peaks.json"));
        let here = Machine::here();
        let mut old = measured(1.0);
        old.machine.code_version += 1;
        store.save(&old).unwrap();
        assert!(matches!(
            store.load(&here),
            Err(CacheError::Stale {
                what: "the measuring code",
                ..
            })
        ));
        let (found, problem) = store.load_or(&here, || measured(2.0));
        assert_eq!(found.ceilings[0].value, 2.0);
        assert!(problem.is_none());
        let (found, _) = store.load_or(&here, || panic!("measured again"));
        assert_eq!(found.ceilings[0].value, 2.0);
    }

    #[test]
    fn a_damaged_file_is_named_and_measured_anew() {
        let folder = tempfile::tempdir().unwrap();
        let store = CeilingCache::at(folder.path().join("peaks.json"));
        let here = Machine::here();
        store.save(&measured(1.0)).unwrap();
        let whole = fs::read_to_string(store.file()).unwrap();
        let zero = whole.replace("\"value\": 1.0", "\"value\": 0.0");
        assert_ne!(zero, whole);
        for text in ["", "{}", &whole[..whole.len() / 2], &zero] {
            fs::write(store.file(), text).unwrap();
            let problem = store.load(&here).unwrap_err().to_string();
            assert!(problem.contains("peaks.json: cannot read"), "{problem}");
            let (found, _) = store.load_or(&here, || measured(3.0));
            assert_eq!(found.ceilings[0].value, 3.0);
        }
    }

    #[test]
    fn kept_ceilings_that_others_could_write_are_not_used() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let mode = |mode| {
            fs::set_permissions(folder.path(), fs::Permissions::from_mode(mode)).unwrap();
        };
        let store = CeilingCache {
            file: folder.path().join("peaks.json"),
            is_found: true,
        };
        let here = Machine::here();
        assert!(matches!(store.load(&here), Err(CacheError::Missing { .. })));
        store.save(&measured(1.0)).unwrap();
        assert_eq!(store.load(&here), Ok(measured(1.0)));
        mode(0o1777);
        let problem = store.load(&here).unwrap_err().to_string();
        assert!(problem.contains("can be written by everyone"), "{problem}");
        let problem = store.save(&measured(2.0)).unwrap_err().to_string();
        assert!(problem.contains("can be written by everyone"), "{problem}");
        let (found, _) = store.load_or(&here, || measured(3.0));
        assert_eq!(found.ceilings[0].value, 3.0);
        let named = CeilingCache::at(store.file());
        assert_eq!(named.load(&here), Ok(measured(1.0)), "the user's choice");
        mode(0o700);
        if trueno_trust::user() == 0 {
            std::os::unix::fs::chown(store.file(), Some(65_534), None).unwrap();
            let problem = store.load(&here).unwrap_err().to_string();
            assert!(problem.contains("another user (uid 65534)"), "{problem}");
        } else {
            eprintln!("skipped: only root can make files of other users");
        }
    }

    #[test]
    fn a_place_that_cannot_be_written_still_gives_ceilings() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("file"), "").unwrap();
        let store = CeilingCache::at(folder.path().join("file").join("peaks.json"));
        let (found, problem) = store.load_or(&Machine::here(), || measured(4.0));
        assert_eq!(found.ceilings[0].value, 4.0);
        assert!(
            problem
                .unwrap()
                .to_string()
                .contains("cannot make the folder")
        );
    }
}
