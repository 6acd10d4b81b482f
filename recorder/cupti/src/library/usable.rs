//! The first `libcupti` that can be used.

use super::{Candidate, Cupti, Library, MIN_VERSION};

/// A `libcupti` that is open and new enough.
#[derive(Clone, Debug)]
pub struct Usable {
    pub cupti: Cupti,
    /// Its own version number.
    pub version: u32,
    /// File it was loaded from.
    pub path: String,
}

/// Outcome of a search: the library, and those passed over, each with its path and the reason.
#[derive(Clone, Debug, Default)]
pub struct Search {
    /// `None`: there is none.
    pub found: Option<Usable>,
    /// Libraries passed over, in the order in which they were tried.
    pub passed_over: Vec<String>,
    /// Reason why the search ended early.
    pub stopped: Option<String>,
}

/// Why a library that is new enough is not used.
#[derive(Clone, Debug)]
pub enum Rejection {
    /// Another library may work.
    PassOver(String),
    /// No other library would work either.
    Stop(String),
}

/// Tries candidates in their order, until `accept` takes one.
pub fn first_usable(
    candidates: Vec<Candidate>,
    mut accept: impl FnMut(&Usable) -> Result<(), Rejection>,
) -> Search {
    let mut search = Search::default();
    for candidate in candidates {
        let shown = candidate.path.display().to_string();
        let opened = if candidate.only_if_loaded {
            match Library::loaded(&candidate.path) {
                Some(library) => Ok(Cupti::load(library)),
                None => continue,
            }
        } else {
            Cupti::open(&candidate.path).map_err(|error| error.to_string())
        };
        let usable = opened.and_then(|cupti| {
            let version = cupti.version().map_err(|refused| refused.to_string())?;
            if version < MIN_VERSION {
                return Err(format!(
                    "version {version}, expected {MIN_VERSION} (CUDA 11.8) or later"
                ));
            }
            let path = cupti.path().unwrap_or_else(|| shown.clone());
            Ok(Usable {
                cupti,
                version,
                path,
            })
        });
        match usable {
            Ok(usable) => match accept(&usable) {
                Ok(()) => {
                    search.found = Some(usable);
                    return search;
                }
                Err(Rejection::PassOver(why)) => {
                    search.passed_over.push(format!("{}: {why}", usable.path));
                }
                Err(Rejection::Stop(why)) => {
                    search.stopped = Some(why);
                    return search;
                }
            },
            // The loader's words begin with the name.
            Err(problem) if problem.starts_with(&shown) => search.passed_over.push(problem),
            Err(problem) => search.passed_over.push(format!("{shown}: {problem}")),
        }
    }
    search
}
