//! Files that use each other, found over imports that are followed to where a name is defined.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::modules::{Crate, Module};

/// Maximum number of imports followed for one name. Two files that import `*` from each other would never end.
const MAX_IMPORTS: usize = 16;

/// Sets of files that use each other, directly or not, and lie in more than one folder. If there is a folder `a`,
/// both `a.rs` and `a/mod.rs` count as lying in it.
pub fn cycles(of: &Crate) -> Vec<BTreeSet<PathBuf>> {
    let edges = edges(of);
    let files: BTreeSet<&PathBuf> = edges.keys().collect();
    let reached: BTreeMap<&PathBuf, BTreeSet<&PathBuf>> = files
        .iter()
        .map(|file| (*file, reach(file, &edges)))
        .collect();
    let mut found: BTreeSet<BTreeSet<PathBuf>> = BTreeSet::new();
    for file in files {
        let circle: BTreeSet<PathBuf> = reached[file]
            .iter()
            .filter(|other| reached.get(**other).is_some_and(|back| back.contains(file)))
            .map(|other| (*other).clone())
            .collect();
        let folders: BTreeSet<PathBuf> = circle.iter().map(|file| folder(file)).collect();
        if folders.len() > 1 {
            found.insert(circle);
        }
    }
    found.into_iter().collect()
}

fn edges(of: &Crate) -> BTreeMap<PathBuf, BTreeSet<PathBuf>> {
    let mut edges: BTreeMap<PathBuf, BTreeSet<PathBuf>> = BTreeMap::new();
    for module in &of.modules {
        let used = edges.entry(module.file.clone()).or_default();
        for path in module.references.iter().chain(module.imports.values()) {
            if let Some(Found::Item(file)) = resolve(of, module, path, MAX_IMPORTS)
                && file != module.file
            {
                used.insert(file);
            }
        }
    }
    edges
}

enum Found<'a> {
    Module(&'a Module),
    Item(PathBuf),
}

/// Follows a path from a module to the definition of its last name; `None` if that is outside this crate.
fn resolve<'a>(of: &'a Crate, from: &'a Module, path: &[String], left: usize) -> Option<Found<'a>> {
    let left = left.checked_sub(1)?;
    let mut at = from;
    let mut rest = path;
    let mut first = true;
    while let Some((name, after)) = rest.split_first() {
        let child = || {
            let mut inner = at.path.clone();
            inner.push(name.clone());
            of.module(&inner)
        };
        match name.as_str() {
            "crate" if first => at = of.module(&[])?,
            "self" if first => {}
            "super" => at = of.module(at.path.split_last()?.1)?,
            _ => {
                if let Some(module) = child() {
                    at = module;
                } else if let Some(import) = at.imports.get(name).filter(|import| *import != path) {
                    let mut whole = import.clone();
                    whole.extend_from_slice(after);
                    return resolve(of, at, &whole, left);
                } else if let Some(file) = through_globs(of, at, name, left) {
                    return Some(Found::Item(file));
                } else if first {
                    return None;
                } else {
                    return Some(Found::Item(at.file.clone()));
                }
            }
        }
        first = false;
        rest = after;
    }
    Some(Found::Module(at))
}

/// The file of a name that comes from one of a module's `*` imports.
fn through_globs(of: &Crate, at: &Module, name: &str, left: usize) -> Option<PathBuf> {
    let globs = at.imports.iter().filter(|(key, _)| key.starts_with('*'));
    globs
        .filter_map(|(_, path)| match resolve(of, at, path, left)? {
            Found::Module(module) if module.imports.contains_key(name) => {
                match resolve(of, module, &module.imports[name], left)? {
                    Found::Item(file) => Some(file),
                    Found::Module(_) => None,
                }
            }
            _ => None,
        })
        .next()
}

fn reach<'a>(
    from: &Path,
    edges: &'a BTreeMap<PathBuf, BTreeSet<PathBuf>>,
) -> BTreeSet<&'a PathBuf> {
    let mut reached = BTreeSet::new();
    let mut open: Vec<&PathBuf> = edges[from].iter().collect();
    while let Some(file) = open.pop() {
        if reached.insert(file) {
            open.extend(edges.get(file).into_iter().flatten());
        }
    }
    reached
}

fn folder(file: &Path) -> PathBuf {
    let own = file.with_extension("");
    if own.is_dir() {
        return own;
    }
    file.parent()
        .expect("a file lies in a folder")
        .to_path_buf()
}
