//! Tells whether other users could have put a library where it lies.

use std::fs;
use std::path::Path;

use trueno_trust::{Distrust, check_file as check_found_file, check_folder, check_shipped};

pub const ALLOW_FLAG: &str = "--allow-unsafe-plugins";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The program's own folders. A group that may write there can replace the program anyway.
    BesideProgram,
    Elsewhere,
}

/// Checks a library by the path it was found under, including links on that path.
pub fn check_file(file: &Path, place: Place) -> Result<(), String> {
    let checked = match place {
        Place::BesideProgram => {
            let real =
                fs::canonicalize(file).map_err(|error| format!("{}: {error}", file.display()))?;
            let folder = real.parent().unwrap_or(Path::new("/"));
            check_shipped(&real).and_then(|()| check_shipped(folder))
        }
        Place::Elsewhere => check_found_file(file).map(drop),
    };
    checked.map_err(|distrust| refusal(&distrust))
}

pub fn check_dir(dir: &Path, place: Place) -> Result<(), String> {
    let checked = match place {
        Place::BesideProgram => check_shipped(dir),
        Place::Elsewhere => check_folder(dir).map(drop),
    };
    checked.map_err(|distrust| refusal(&distrust))
}

fn refusal(distrust: &Distrust) -> String {
    let what = if distrust.path.is_dir() {
        "folder"
    } else {
        "library"
    };
    format!(
        "the {what} {distrust}, so nothing is loaded from there (hint: {}, or pass {ALLOW_FLAG})",
        distrust.remedy()
    )
}
