//! Folders that may be read.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use trueno_model::width::printable;

use crate::program::Failure;

/// Depth to which a run is searched for links: a job, its ranks, their segments.
const MAX_DEPTH: usize = 4;

/// Folders that may be read, including everything below them.
#[derive(Clone, Debug)]
pub struct Roots {
    folders: Vec<PathBuf>,
}

impl Roots {
    /// Allows these folders. Links in their paths are resolved.
    ///
    /// # Errors
    /// One of them is no folder that can be read.
    pub fn new(folders: &[PathBuf]) -> io::Result<Self> {
        let resolved = folders.iter().map(|folder| {
            let resolved = fs::canonicalize(folder);
            let resolved = resolved.and_then(|path| fs::read_dir(&path).map(|_| path));
            resolved
                .map_err(|why| io::Error::new(why.kind(), format!("{}: {why}", folder.display())))
        });
        Ok(Self {
            folders: resolved.collect::<io::Result<_>>()?,
        })
    }

    /// Resolves links in a path. Relative paths are relative to the first folder.
    ///
    /// # Errors
    /// There is nothing, or it lies elsewhere, or a link in it leads elsewhere.
    pub fn resolve(&self, path: &str) -> Result<PathBuf, Failure> {
        let shown = printable(path);
        let first = self.folders.first().map_or(Path::new(""), PathBuf::as_path);
        let full = first.join(path);
        let resolved = fs::canonicalize(&full);
        // The same words whether or not there is something: nothing is told of what lies elsewhere.
        let outside = || {
            Failure::Path(format!(
                "{shown}: lies outside of the folders that may be read: {} (next: move it there, or start the server \
                 with --root DIR)",
                self.shown()
            ))
        };
        let resolved = match resolved {
            Ok(resolved) if self.holds(&resolved) => resolved,
            Err(why) if self.holds(&plain(&full)) => {
                return Err(Failure::Path(format!(
                    "{shown}: cannot be read: {why}; expected a run directory or a file of another profiler below {} \
                     (next: check the path)",
                    self.shown()
                )));
            }
            _ => return Err(outside()),
        };
        match self.link_outside(&resolved, MAX_DEPTH) {
            None => Ok(resolved),
            Some(link) => Err(Failure::Path(format!(
                "{shown}: the link {} in it leads outside of the folders that may be read: {} (next: copy what it leads \
                 to)",
                printable(&link.display().to_string()),
                self.shown()
            ))),
        }
    }

    pub(crate) fn shown(&self) -> String {
        let names = self
            .folders
            .iter()
            .map(|folder| folder.display().to_string());
        printable(&names.collect::<Vec<_>>().join(", ")).into_owned()
    }

    fn holds(&self, path: &Path) -> bool {
        self.folders.iter().any(|folder| path.starts_with(folder))
    }

    fn link_outside(&self, folder: &Path, depth: usize) -> Option<PathBuf> {
        // A file, or a folder that nobody can read, has no entries.
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let (path, kind) = (entry.path(), entry.file_type().ok()?);
            if kind.is_symlink() {
                match fs::canonicalize(&path) {
                    Ok(to) if !self.holds(&to) => return Some(path),
                    _ => {}
                }
            } else if kind.is_dir()
                && depth > 0
                && let Some(link) = self.link_outside(&path, depth - 1)
            {
                return Some(link);
            }
        }
        None
    }
}

/// Removes `.` and `..` lexically.
fn plain(path: &Path) -> PathBuf {
    use std::path::Component::{CurDir, ParentDir};
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            CurDir => {}
            ParentDir => {
                plain.pop();
            }
            part => plain.push(part),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn refused(roots: &Roots, path: &str) -> String {
        roots.resolve(path).unwrap_err().to_string()
    }

    #[test]
    fn what_lies_outside_is_refused_by_whatever_way() {
        let place = tempfile::tempdir().unwrap();
        let (root, other) = (place.path().join("root"), place.path().join("other"));
        for folder in [
            root.join("a.run/ranks"),
            other.clone(),
            place.path().join("root2"),
        ] {
            fs::create_dir_all(folder).unwrap();
        }
        fs::write(other.join("secret"), "s").unwrap();
        symlink(&other, root.join("link")).unwrap();
        let roots = Roots::new(std::slice::from_ref(&root)).unwrap();
        let inside = roots.resolve("a.run").unwrap();
        assert_eq!(inside, fs::canonicalize(root.join("a.run")).unwrap());
        assert!(roots.resolve(root.join("a.run").to_str().unwrap()).is_ok());
        for path in [
            "../other/secret",
            "link/secret",
            "a.run/../../other",
            "/etc/passwd",
            "/no/such/file",
            "../nothing",
            "../root2",
        ] {
            let text = refused(&roots, path);
            assert!(
                text.contains("lies outside") && text.contains("--root DIR"),
                "{text}"
            );
        }
        let text = refused(&roots, "no.run");
        assert!(
            text.contains("cannot be read") && text.contains("No such file"),
            "{text}"
        );
        assert!(roots.resolve("a\0b").is_err());
    }

    #[test]
    fn links_in_a_run_may_not_lead_outside() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().join("root");
        fs::create_dir_all(root.join("a.run/segments")).unwrap();
        fs::write(place.path().join("secret"), "s").unwrap();
        fs::write(root.join("fine"), "s").unwrap();
        let roots = Roots::new(std::slice::from_ref(&root)).unwrap();
        symlink(root.join("fine"), root.join("a.run/segments/inside")).unwrap();
        assert!(roots.resolve("a.run").is_ok());
        symlink("../../../secret", root.join("a.run/segments/kernels.arrow")).unwrap();
        let text = refused(&roots, "a.run");
        assert!(
            text.contains("kernels.arrow") && text.contains("leads outside"),
            "{text}"
        );
    }

    #[test]
    fn a_root_that_is_none_is_an_error() {
        let why = Roots::new(&["/no/such/folder".into()]).unwrap_err();
        assert!(why.to_string().contains("/no/such/folder"), "{why}");
    }
}
