//! Modules of a crate: their files, what each defines, imports and names.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use syn::{Item, UseTree};

use crate::references::paths_of;

/// A module of a crate. An inline module has the file that contains it.
#[derive(Debug)]
pub struct Module {
    /// Names from the crate root; empty for the root itself.
    pub path: Vec<String>,
    pub file: PathBuf,
    /// Names that it imports or re-exports, and their full paths.
    pub imports: BTreeMap<String, Vec<String>>,
    /// Paths in its code: those with several segments, and single names that may be imported.
    pub references: BTreeSet<Vec<String>>,
}

#[derive(Debug)]
pub struct Crate {
    /// Without modules that are compiled only for tests.
    pub modules: Vec<Module>,
}

impl Crate {
    pub fn read(file: &Path) -> Self {
        let mut read = Self {
            modules: Vec::new(),
        };
        let folder = file.parent().expect("a file lies in a folder");
        let items = parse(file).items;
        read.add(Vec::new(), file, folder, &items);
        read
    }

    pub fn module(&self, path: &[String]) -> Option<&Module> {
        self.modules.iter().find(|module| module.path == path)
    }

    fn add(&mut self, path: Vec<String>, file: &Path, folder: &Path, items: &[Item]) {
        let mut module = Module {
            path: path.clone(),
            file: file.to_path_buf(),
            imports: BTreeMap::new(),
            references: BTreeSet::new(),
        };
        for item in items.iter().filter(|item| !is_test(attributes(item))) {
            match item {
                Item::Use(import) => flatten(&import.tree, &mut Vec::new(), &mut module.imports),
                Item::Mod(inner) => {
                    let name = inner.ident.to_string();
                    let mut inner_path = path.clone();
                    inner_path.push(name.clone());
                    if let Some((_, items)) = &inner.content {
                        self.add(inner_path, file, &folder.join(&name), items);
                    } else if let Some((file, folder)) = find(folder, &name, &inner.attrs, file) {
                        let items = parse(&file).items;
                        self.add(inner_path, &file, &folder, &items);
                    }
                }
                other => paths_of(other, &mut module.references),
            }
        }
        self.modules.push(module);
    }
}

/// The file of `mod name;` and the folder of its own modules.
fn find(
    folder: &Path,
    name: &str,
    attributes: &[syn::Attribute],
    from: &Path,
) -> Option<(PathBuf, PathBuf)> {
    if let Some(path) = path_attribute(attributes) {
        let file = from.parent()?.join(path);
        let folder = file.parent()?.to_path_buf();
        return Some((file, folder));
    }
    let inner = folder.join(name);
    [folder.join(format!("{name}.rs")), inner.join("mod.rs")]
        .into_iter()
        .find(|file| file.is_file())
        .map(|file| (file, inner))
}

pub(crate) fn path_attribute(attributes: &[syn::Attribute]) -> Option<String> {
    attributes.iter().find_map(|attribute| {
        let syn::Meta::NameValue(pair) = &attribute.meta else {
            return None;
        };
        match &pair.value {
            syn::Expr::Lit(syn::ExprLit {
                lit: syn::Lit::Str(text),
                ..
            }) if pair.path.is_ident("path") => Some(text.value()),
            _ => None,
        }
    })
}

fn parse(file: &Path) -> syn::File {
    syn::parse_file(&crate::text(file))
        .unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

fn attributes(item: &Item) -> &[syn::Attribute] {
    match item {
        Item::Mod(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Const(item) => &item.attrs,
        _ => &[],
    }
}

/// True for code that is compiled only for tests.
fn is_test(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let syn::Meta::List(list) = &attribute.meta else {
            return false;
        };
        let condition = list.tokens.to_string();
        list.path.is_ident("cfg")
            && (condition == "test"
                || condition.starts_with("all(test")
                || condition.starts_with("all(test"))
    })
}

/// Lists the names of a `use` tree with their paths. `*` stands for all names.
fn flatten(tree: &UseTree, before: &mut Vec<String>, to: &mut BTreeMap<String, Vec<String>>) {
    let mut add = |name: String, last: Option<String>, before: &[String]| {
        let mut path = before.to_vec();
        path.extend(last);
        to.insert(name, path);
    };
    match tree {
        UseTree::Path(path) => {
            before.push(path.ident.to_string());
            flatten(&path.tree, before, to);
            before.pop();
        }
        UseTree::Name(name) if name.ident == "self" => {
            add(before.last().cloned().unwrap_or_default(), None, before);
        }
        UseTree::Name(name) => add(name.ident.to_string(), Some(name.ident.to_string()), before),
        UseTree::Rename(renamed) if renamed.ident == "self" => {
            add(renamed.rename.to_string(), None, before);
        }
        UseTree::Rename(renamed) => {
            // `as _` binds no name; the file is used all the same.
            let name = match renamed.rename.to_string() {
                name if name == "_" => format!("_{}", renamed.ident),
                name => name,
            };
            add(name, Some(renamed.ident.to_string()), before);
        }
        UseTree::Glob(_) => add(format!("*{}", before.join("::")), None, before),
        UseTree::Group(group) => {
            for tree in &group.items {
                flatten(tree, before, to);
            }
        }
    }
}
