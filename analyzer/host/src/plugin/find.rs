//! Search for the files that are plugins.
//!
//! Places, in order: `--plugin-file FILE`, `--plugin-dir DIR`, the folders of
//! `TRUENO_PLUGIN_PATH`, the folder of the executable, and
//! `../lib/trueno-analyze` from there; behind them all, what is linked into the
//! program ([`super::linked`]). Never the working directory. An id is
//! taken by the first place that has it, even when its file is then refused:
//! a file that cannot be trusted must not silently change which other one runs.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use super::isolate::limits::{Isolation, Which};
use super::linked::Linked;
use super::permissions;

/// Environment variable with further plugin folders, separated as in `PATH`.
pub const PATH_VARIABLE: &str = "TRUENO_PLUGIN_PATH";

#[derive(Clone, Debug, Default)]
pub struct Search {
    /// Libraries named one by one. They may have any file name.
    pub files: Vec<PathBuf>,
    pub dirs: Vec<PathBuf>,
    pub path_variable: Option<OsString>,
    /// The executable, for the default folders; `None` leaves those out.
    pub executable: Option<PathBuf>,
    pub allow_unsafe: bool,
    pub isolation: Isolation,
    /// Plugins linked into the executable. They have the lowest priority.
    pub linked: &'static [Linked],
}

impl Search {
    /// Whether a library, given by its real path, runs in a process of its own.
    pub fn isolates(&self, file: &Path) -> bool {
        match self.isolation.which {
            Which::None => false,
            Which::All => true,
            Which::Outside => !self.ships(file),
        }
    }

    /// Whether a library, given by its real path, lies in a default folder.
    pub fn ships(&self, file: &Path) -> bool {
        let dirs = defaults(self).into_iter();
        let mut real = dirs.filter_map(|dir| fs::canonicalize(dir).ok());
        real.any(|dir| file.parent() == Some(&dir))
    }

    fn place_of(&self, file: &Path) -> permissions::Place {
        if self.ships(file) {
            permissions::Place::BesideProgram
        } else {
            permissions::Place::Elsewhere
        }
    }

    fn place(&self, dir: &Path) -> permissions::Place {
        if defaults(self).iter().any(|default| default == dir) {
            permissions::Place::BesideProgram
        } else {
            permissions::Place::Elsewhere
        }
    }

    /// How a library was found, for users. The real path is accepted too.
    pub fn origin(&self, file: &Path) -> &'static str {
        let is = |path: &PathBuf, real: Option<&Path>| {
            real.is_some() && fs::canonicalize(path).ok().as_deref() == real
        };
        let real = fs::canonicalize(file).ok();
        let above = real.as_deref().and_then(Path::parent);
        let variable = self.path_variable.iter().flat_map(std::env::split_paths);
        if self.files.iter().any(|file| is(file, real.as_deref())) {
            "--plugin-file"
        } else if self.dirs.iter().any(|dir| is(dir, above)) {
            "--plugin-dir"
        } else if variable.into_iter().any(|dir| is(&dir, above)) {
            PATH_VARIABLE
        } else {
            "the default folders"
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// From the file name; `None` for `--plugin-file FILE` if the name is not that of a plugin.
    pub id: Option<String>,
    pub file: PathBuf,
    pub explicit: bool,
}

/// A library that is not used because another one has its id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shadowed {
    pub id: String,
    pub file: PathBuf,
    pub by: PathBuf,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    pub id: String,
    pub file: PathBuf,
    pub why: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub dir: PathBuf,
    /// Why nothing was loaded from it; `None` if it was read.
    pub why_not: Option<String>,
    /// Whether it exists but is not trusted, which the user should know.
    pub refused: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    pub candidates: Vec<Candidate>,
    pub shadowed: Vec<Shadowed>,
    pub refused: Vec<Refused>,
    pub places: Vec<Place>,
}

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FindError {
    #[error("plugin {}: {source}", .file.display())]
    File {
        file: PathBuf,
        source: std::io::Error,
    },
    #[error("--plugin-dir {}: {source}", .dir.display())]
    Dir {
        dir: PathBuf,
        source: std::io::Error,
    },
    #[error("{why}")]
    Unsafe {
        /// Names the place and what to do.
        why: String,
    },
}

/// Searches all places of `search`, in order. Opens no library.
///
/// # Errors
/// A file or folder the user named is missing or can be written by others.
/// Default folders and those of the environment may be missing.
pub fn find(search: &Search) -> Result<Found, FindError> {
    let mut found = Found::default();
    let mut taken: BTreeMap<String, PathBuf> = BTreeMap::new();
    for file in &search.files {
        let at = |source| FindError::File {
            file: file.clone(),
            source,
        };
        let real = fs::canonicalize(file).map_err(at)?;
        if !real.is_file() {
            return Err(at(std::io::Error::other(
                "not a file (hint: give the library; folders go to --plugin-dir)",
            )));
        }
        if !search.allow_unsafe {
            permissions::check_file(file, search.place_of(&real))
                .map_err(|why| FindError::Unsafe { why })?;
        }
        let id = id_of(file);
        if let Some(id) = &id {
            taken.entry(id.clone()).or_insert_with(|| file.clone());
        }
        found.candidates.push(Candidate {
            id,
            file: real,
            explicit: true,
        });
    }
    for dir in &search.dirs {
        let entries = list(dir).map_err(|source| FindError::Dir {
            dir: dir.clone(),
            source,
        })?;
        if !search.allow_unsafe {
            permissions::check_dir(dir, permissions::Place::Elsewhere)
                .map_err(|why| FindError::Unsafe { why })?;
        }
        take(dir, entries, search, &mut found, &mut taken);
    }
    for dir in from_variable(search, &mut found.places)
        .into_iter()
        .chain(defaults(search))
    {
        if found.places.iter().any(|place| place.dir == dir) {
            continue;
        }
        match list(&dir) {
            Ok(entries) => {
                let why_not = if search.allow_unsafe {
                    None
                } else {
                    permissions::check_dir(&dir, search.place(&dir)).err()
                };
                match why_not {
                    // A folder without plugins, such as /usr/lib of an odd system, is no concern.
                    Some(why) => {
                        found.places.push(Place {
                            dir,
                            why_not: Some(why),
                            refused: !entries.is_empty(),
                        });
                    }
                    None => take(&dir, entries, search, &mut found, &mut taken),
                }
            }
            Err(error) => found.places.push(Place {
                dir,
                why_not: Some(error.to_string()),
                refused: false,
            }),
        }
    }
    Ok(found)
}

/// Folders of the environment variable. Empty entries (the working directory in a shell) and relative ones are
/// skipped, because they depend on the working directory.
fn from_variable(search: &Search, places: &mut Vec<Place>) -> Vec<PathBuf> {
    let Some(value) = &search.path_variable else {
        return Vec::new();
    };
    let (absolute, relative): (Vec<_>, Vec<_>) = std::env::split_paths(value)
        .filter(|dir| !dir.as_os_str().is_empty())
        .partition(|dir| dir.is_absolute());
    let why =
        format!("a relative folder in {PATH_VARIABLE} is not taken (hint: write the whole path)");
    places.extend(relative.into_iter().map(|dir| Place {
        dir,
        why_not: Some(why.clone()),
        refused: true,
    }));
    absolute
}

fn defaults(search: &Search) -> Vec<PathBuf> {
    let Some(beside) = search.executable.as_deref().and_then(Path::parent) else {
        return Vec::new();
    };
    let mut dirs = vec![beside.to_path_buf()];
    if let Some(above) = beside.parent() {
        dirs.push(above.join("lib").join("trueno-analyze"));
    }
    dirs
}

/// Plugin files of a folder, by id and then by name.
fn list(dir: &Path) -> std::io::Result<BTreeMap<String, Vec<PathBuf>>> {
    let mut by_id: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    for entry in fs::read_dir(dir)? {
        let file = entry?.path();
        if let Some(id) = id_of(&file) {
            by_id.entry(id).or_default().push(file);
        }
    }
    by_id.values_mut().for_each(|files| files.sort());
    Ok(by_id)
}

fn take(
    dir: &Path,
    entries: BTreeMap<String, Vec<PathBuf>>,
    search: &Search,
    found: &mut Found,
    taken: &mut BTreeMap<String, PathBuf>,
) {
    found.places.push(Place {
        dir: dir.to_path_buf(),
        why_not: None,
        refused: false,
    });
    for (id, files) in entries {
        if let Some(by) = taken.get(&id) {
            let behind = files.into_iter().filter(|file| !same_file(file, by));
            found.shadowed.extend(behind.map(|file| Shadowed {
                id: id.clone(),
                file,
                by: by.clone(),
            }));
            continue;
        }
        taken.insert(id.clone(), files[0].clone());
        if files.len() > 1 {
            let names: Vec<String> = files
                .iter()
                .map(|file| file.display().to_string())
                .collect();
            let why = format!(
                "one folder has the plugin {id} {} times: {} (hint: remove all but one)",
                files.len(),
                names.join(", ")
            );
            found.refused.extend(files.into_iter().map(|file| Refused {
                id: id.clone(),
                file,
                why: why.clone(),
            }));
            continue;
        }
        let file = files.into_iter().next().unwrap_or_default();
        let checked = fs::canonicalize(&file)
            .map_err(|error| format!("{}: {error}", file.display()))
            .and_then(|real| {
                if !search.allow_unsafe {
                    permissions::check_file(&file, search.place_of(&real))?;
                }
                Ok(real)
            });
        match checked {
            Ok(real) => found.candidates.push(Candidate {
                id: Some(id),
                file: real,
                explicit: false,
            }),
            Err(why) => found.refused.push(Refused { id, file, why }),
        }
    }
}

/// Two equal files do not shadow each other: the same folder may be named twice.
fn same_file(a: &Path, b: &Path) -> bool {
    matches!((fs::canonicalize(a), fs::canonicalize(b)), (Ok(a), Ok(b)) if a == b)
}

pub fn is_python(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension == "py")
}

/// The id in a file name: `libtrueno_plugin_<id>.so`, with `.dylib` on macOS and `.dll` on Windows. `lib` may be
/// missing, as in C builds of modules. For Python plugins: `trueno_plugin_<id>.py`.
pub fn id_of(file: &Path) -> Option<String> {
    let name = file.file_name()?.to_str()?;
    let suffix = if is_python(file) {
        ".py"
    } else {
        std::env::consts::DLL_SUFFIX
    };
    let stem = name.strip_suffix(suffix)?;
    let id = stem
        .strip_prefix("lib")
        .unwrap_or(stem)
        .strip_prefix("trueno_plugin_")?;
    trueno_plugin::is_identifier(id).then(|| id.to_owned())
}

#[cfg(test)]
#[path = "find_tests.rs"]
mod tests;
