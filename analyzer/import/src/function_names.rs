//! Names of functions that differ where the functions do.
//!
//! A function is a name in a file: `forward` of two files is two functions. Where a profile has a name in several places,
//! the name gets its place, as `NAME (FILE)` or, where lines tell functions apart too, `NAME (FILE:LINE)`. Of the file's
//! path only as many folders are added as tell it from the others of that name.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Debug, Default)]
pub(crate) struct FunctionNames<'t> {
    places: BTreeMap<&'t str, BTreeSet<Place<'t>>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place<'t> {
    file: &'t str,
    line: Option<u32>,
}

impl<'t> FunctionNames<'t> {
    /// Adds a function of the profile. `line` is the one where the function begins; `None` if only the line that ran is
    /// known.
    pub fn add(&mut self, name: &'t str, file: Option<&'t str>, line: Option<u32>) {
        if let Some(file) = file.filter(|file| !file.is_empty() && !name.is_empty()) {
            let places = self.places.entry(name).or_default();
            places.insert(Place { file, line });
        }
    }

    pub fn name(&self, name: &'t str, file: Option<&str>, line: Option<u32>) -> Cow<'t, str> {
        let places = self.places.get(name).filter(|places| places.len() > 1);
        let Some((places, file)) = places.zip(file.filter(|file| !file.is_empty())) else {
            return Cow::Borrowed(name);
        };
        let others: Vec<&str> = places
            .iter()
            .map(|place| place.file)
            .filter(|other| *other != file)
            .collect();
        let file = distinct_end(file, &others);
        Cow::Owned(match line {
            Some(line) => format!("{name} ({file}:{line})"),
            None => format!("{name} ({file})"),
        })
    }
}

const SEPARATORS: [char; 2] = ['/', '\\'];

/// The shortest end of a path that no other path has.
fn distinct_end<'p>(path: &'p str, others: &[&str]) -> &'p str {
    let begins = path.rmatch_indices(SEPARATORS).map(|(at, _)| at + 1);
    let is_end_of = |end: &str, other: &str| {
        other
            .strip_suffix(end)
            .is_some_and(|before| before.is_empty() || before.ends_with(SEPARATORS))
    };
    begins
        .map(|begin| &path[begin..])
        .filter(|end| !end.is_empty())
        .find(|end| !others.iter().any(|other| is_end_of(end, other)))
        .unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(functions: &[(&'static str, &'static str, Option<u32>)]) -> Vec<String> {
        let mut names = FunctionNames::default();
        for (name, file, line) in functions {
            names.add(name, Some(file), *line);
        }
        let name = |(name, file, line): &(&'static str, &'static str, Option<u32>)| {
            names.name(name, Some(file), *line).into_owned()
        };
        functions.iter().map(name).collect()
    }

    #[test]
    fn a_name_in_several_places_gets_its_place() {
        let files = [
            ("forward", "/t/nn/conv.py", None),
            ("forward", "/t/nn/pool.py", None),
            ("main", "/t/a.py", None),
        ];
        assert_eq!(
            names(&files),
            ["forward (conv.py)", "forward (pool.py)", "main"]
        );
        let folders = [
            ("__init__", "/t/cuda/__init__.py", None),
            ("__init__", "/t/nn/__init__.py", None),
            ("__init__", "C:\\t\\nn2\\__init__.py", None),
            ("__init__", "__init__.py", None),
        ];
        assert_eq!(
            names(&folders),
            [
                "__init__ (cuda/__init__.py)",
                "__init__ (nn/__init__.py)",
                "__init__ (nn2\\__init__.py)",
                "__init__ (__init__.py)"
            ]
        );
        let lines = [
            ("run", "/t/a.py", Some(3)),
            ("run", "/t/a.py", Some(9)),
            ("main", "/t/a.py", Some(1)),
            ("", "/t/a.py", Some(1)),
            ("", "/t/b.py", Some(1)),
        ];
        assert_eq!(
            names(&lines),
            ["run (a.py:3)", "run (a.py:9)", "main", "", ""]
        );
        let mut names = FunctionNames::default();
        names.add("f", Some("a"), None);
        names.add("f", Some("b"), None);
        assert_eq!(names.name("f", None, None), "f");
    }
}
