//! Search for `libcupti`.
//!
//! A library that the process has loaded already comes first: a second copy would see nothing.

use std::collections::BTreeSet;
use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use crate::driver::Driver;

/// Variable by which `trueno-record` tells the recorded process where to look first: paths with `:`.
pub const CANDIDATES_VARIABLE: &str = "TRUENO_CUPTI_CANDIDATES";

/// The newest first.
const NAMES: [&str; 3] = ["libcupti.so.13", "libcupti.so.12", "libcupti.so"];

/// A library to try.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// A name for the loader to look for, or a path.
    pub path: PathBuf,
    /// Only if the process has it already: a second CUPTI beside it would see nothing.
    pub only_if_loaded: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places {
    /// The user's choice; nothing else is tried then.
    pub chosen: Option<PathBuf>,
    /// Libraries that were found beforehand.
    pub first: Vec<PathBuf>,
    /// Folders that hold Python packages.
    pub python: Vec<PathBuf>,
    /// Folders where CUDA is installed.
    pub cuda: Vec<PathBuf>,
    /// Major version of the driver: a CUPTI of a later one does not work with it.
    pub driver_major: Option<u32>,
}

impl Places {
    /// Places as the environment of this process says.
    pub fn here() -> Self {
        let paths = |name: &str| -> Vec<PathBuf> {
            let value: OsString = env::var_os(name).unwrap_or_default();
            let paths = env::split_paths(&value);
            paths.filter(|path| !path.as_os_str().is_empty()).collect()
        };
        let mut cuda: Vec<PathBuf> = ["CUDA_HOME", "CUDA_PATH", "CUDA_ROOT"]
            .into_iter()
            .filter_map(env::var_os)
            .filter(|path| !path.is_empty())
            .map(PathBuf::from)
            .collect();
        cuda.push("/usr/local/cuda".into());
        let mut python = Vec::new();
        if let Some(root) = env::var_os("VIRTUAL_ENV").or_else(|| env::var_os("CONDA_PREFIX")) {
            python.extend(python_folders(Path::new(&root)));
        }
        if let Some(root) = env::current_exe()
            .ok()
            .and_then(|exe| Some(exe.parent()?.parent()?.to_owned()))
        {
            python.extend(python_folders(&root));
        }
        Self {
            chosen: env::var_os("TRUENO_CUPTI")
                .filter(|path| !path.is_empty())
                .map(PathBuf::from),
            first: paths(CANDIDATES_VARIABLE),
            python,
            cuda,
            driver_major: Driver::loaded()
                .and_then(Driver::version)
                .map(|version| version / 1000),
        }
    }
}

/// `lib/python3.*/site-packages` of an installation, in order.
pub fn python_folders(root: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(root.join("lib")) else {
        return Vec::new();
    };
    let mut found: Vec<PathBuf> = entries
        .filter_map(Result::ok)
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("python3"))
        .map(|entry| entry.path().join("site-packages"))
        .filter(|path| path.is_dir())
        .collect();
    found.sort();
    found
}

/// 0 for a library of the driver's major version, 1 if either version is unknown, 2 for another version.
fn rank(path: &Path, driver_major: Option<u32>) -> u8 {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let major = name.strip_prefix("libcupti.so.");
    let major = major.and_then(|rest| rest.split('.').next()?.parse::<u32>().ok());
    match (major, driver_major) {
        (Some(major), Some(driver)) if major == driver => 0,
        (Some(_), Some(_)) => 2,
        _ => 1,
    }
}

/// Lists the candidates, in order.
pub fn candidates(places: &Places) -> Vec<Candidate> {
    if let Some(path) = &places.chosen {
        return vec![Candidate {
            path: path.clone(),
            only_if_loaded: false,
        }];
    }
    let mut all = Vec::new();
    // Frameworks link it: then it is there before the driver is initialised.
    let loaded = NAMES[..2].iter().map(PathBuf::from);
    all.extend(loaded.map(|path| (path, true)));
    all.extend(places.first.iter().map(|path| (path.clone(), false)));
    let by_loader = NAMES.iter().map(PathBuf::from);
    all.extend(by_loader.map(|path| (path, false)));
    let in_python = |folder: &PathBuf| {
        ["nvidia/cu13/lib", "nvidia/cuda_cupti/lib"].map(|part| folder.join(part))
    };
    let in_cuda = |folder: &PathBuf| {
        [
            "extras/CUPTI/lib64",
            "lib64",
            "targets/x86_64-linux/lib",
            "targets/sbsa-linux/lib",
        ]
        .map(|part| folder.join(part))
    };
    let python = places.python.iter().flat_map(in_python);
    let folders = python.chain(places.cuda.iter().flat_map(in_cuda));
    for folder in folders {
        let files = NAMES.iter().map(|name| folder.join(name));
        all.extend(files.filter(|path| path.exists()).map(|path| (path, false)));
    }
    // Those for the driver first, then those that do not say; what is loaded stays in front.
    all.sort_by_key(|(path, only_if_loaded)| (!only_if_loaded, rank(path, places.driver_major)));
    let mut seen = BTreeSet::new();
    all.into_iter()
        .filter(|candidate| seen.insert(candidate.clone()))
        .map(|(path, only_if_loaded)| Candidate {
            path,
            only_if_loaded,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_of_the_drivers_own_version_comes_first() {
        let mut places = Places {
            first: vec!["/a/libcupti.so.13".into(), "/b/libcupti.so.12".into()],
            driver_major: Some(12),
            ..Places::default()
        };
        let first = |places: &Places| {
            let found = candidates(places);
            let mut to_open = found.into_iter().filter(|found| !found.only_if_loaded);
            to_open.next().unwrap().path
        };
        assert_eq!(first(&places), Path::new("/b/libcupti.so.12"));
        places.driver_major = Some(13);
        assert_eq!(first(&places), Path::new("/a/libcupti.so.13"));
        places.driver_major = None;
        assert_eq!(first(&places), Path::new("/a/libcupti.so.13"));
    }

    #[test]
    fn what_is_loaded_comes_first_and_what_was_chosen_alone() {
        let folder = tempfile::tempdir().unwrap();
        let site = folder.path().join("lib/python3.12/site-packages");
        let wheel = site.join("nvidia/cu13/lib");
        fs::create_dir_all(&wheel).unwrap();
        fs::write(wheel.join("libcupti.so.13"), "").unwrap();
        assert_eq!(python_folders(folder.path()), std::slice::from_ref(&site));
        let mut places = Places {
            python: vec![site.clone(), site],
            first: vec!["/here/libcupti.so.13".into()],
            ..Places::default()
        };
        let found = candidates(&places);
        assert!(found[0].only_if_loaded && found[1].only_if_loaded);
        assert_eq!(found[2].path, Path::new("/here/libcupti.so.13"));
        let in_wheel = found
            .iter()
            .filter(|c| c.path == wheel.join("libcupti.so.13"));
        assert_eq!(in_wheel.count(), 1, "each once");
        places.chosen = Some("/mine.so".into());
        assert_eq!(candidates(&places).len(), 1);
    }
}
