//! The original itself, from the registry: its tests and the programs of its README with only the import changed, and
//! its public items against ours.
//!
//! `cargo test -p trueno-axonml-profile --test upstream -- --ignored`

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use quote::ToTokens;
use syn::{Fields, ImplItem, Item, Type, UseTree, Visibility};
use trueno_testing::table;

const VERSION: &str = "0.6.2";
const MODULES: [&str; 7] = [
    "lib",
    "bottleneck",
    "compute",
    "error",
    "memory",
    "report",
    "timeline",
];

/// Sources of the original; cargo downloads them if they are missing.
fn upstream() -> PathBuf {
    let found = || {
        let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
        let user = || std::env::home_dir().map(|user| user.join(".cargo"));
        let registry = home.or_else(user)?.join("registry").join("src");
        let mirrors = fs::read_dir(registry).ok()?.flatten();
        let name = format!("axonml-profile-{VERSION}");
        let mut sources = mirrors.map(|mirror| mirror.path().join(&name));
        sources.find(|source| source.join("README.md").is_file())
    };
    found().unwrap_or_else(|| {
        let package = format!("axonml-profile@{VERSION}");
        let done = Command::new("cargo").args(["info", &package]).output();
        found().unwrap_or_else(|| panic!("no source of {package}: {done:?}"))
    })
}

/// A type without its lifetimes, which may be named or elided.
fn plain(tokens: impl ToTokens) -> String {
    let text = tokens.to_token_stream().to_string();
    let words = text.split(' ').filter(|word| !word.starts_with('\''));
    let text = words.collect::<Vec<_>>().join("");
    ["std::time::", "std::collections::", "std::fmt::", "<>"]
        .iter()
        .fold(text, |text, path| text.replace(path, ""))
}

fn signature(of: &syn::Signature) -> String {
    let types = of.inputs.iter().map(|input| match input {
        syn::FnArg::Receiver(receiver) => plain(receiver),
        syn::FnArg::Typed(typed) => plain(&typed.ty),
    });
    let types: Vec<_> = types.collect();
    format!("{}({}){}", of.ident, types.join(","), plain(&of.output))
}

fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

fn fields(of: &str, fields: &Fields, public: bool, items: &mut BTreeSet<String>) {
    for (at, field) in fields.iter().enumerate() {
        if public || is_public(&field.vis) {
            let name = field
                .ident
                .as_ref()
                .map_or(at.to_string(), ToString::to_string);
            items.insert(format!("{of}.{name}: {}", plain(&field.ty)));
        }
    }
}

fn names(tree: &UseTree, items: &mut BTreeSet<String>) {
    match tree {
        UseTree::Path(path) => names(&path.tree, items),
        UseTree::Group(group) => group.items.iter().for_each(|tree| names(tree, items)),
        UseTree::Name(name) => {
            items.insert(format!("use {}", name.ident));
        }
        UseTree::Rename(_) | UseTree::Glob(_) => {}
    }
}

fn public_items(file: &Path, items: &mut BTreeSet<String>) {
    let file = syn::parse_file(&fs::read_to_string(file).unwrap()).unwrap();
    for item in file.items {
        match item {
            Item::Fn(of) if is_public(&of.vis) => {
                items.insert(format!("fn {}", signature(&of.sig)));
            }
            Item::Struct(of) if is_public(&of.vis) => {
                items.insert(format!("type {}", of.ident));
                fields(&of.ident.to_string(), &of.fields, false, items);
            }
            Item::Enum(of) if is_public(&of.vis) => {
                items.insert(format!("type {}", of.ident));
                for variant in of.variants {
                    let name = format!("{}::{}", of.ident, variant.ident);
                    fields(&name, &variant.fields, true, items);
                    items.insert(name);
                }
            }
            Item::Type(of) if is_public(&of.vis) => {
                items.insert(format!("type {} = {}", of.ident, plain(&of.ty)));
            }
            Item::Macro(of) => {
                items.extend(of.ident.map(|name| format!("macro {name}")));
            }
            Item::Mod(of) if is_public(&of.vis) => {
                items.insert(format!("mod {}", of.ident));
            }
            Item::Use(of) if is_public(&of.vis) => names(&of.tree, items),
            Item::Impl(of) => {
                let Type::Path(ty) = &*of.self_ty else {
                    continue;
                };
                let ty = ty.path.segments.last().unwrap().ident.to_string();
                for item in of.items {
                    if let ImplItem::Fn(of) = item
                        && is_public(&of.vis)
                    {
                        items.insert(format!("{ty}::{}", signature(&of.sig)));
                    }
                }
            }
            _ => {}
        }
    }
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found)
        } else {
            found.push(path)
        }
    }
}

#[test]
#[ignore = "asks the registry for the sources of axonml-profile"]
fn every_public_item_of_the_original_is_here() {
    let (mut theirs, mut ours, mut files) = (BTreeSet::new(), BTreeSet::new(), Vec::new());
    for module in MODULES {
        let file = upstream().join("src").join(module).with_extension("rs");
        public_items(&file, &mut theirs);
    }
    sources(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("src"),
        &mut files,
    );
    for file in files {
        public_items(&file, &mut ours);
    }
    assert!(theirs.len() > 150, "only {} items are read", theirs.len());
    let missing: Vec<_> = theirs.difference(&ours).collect();
    assert!(missing.is_empty(), "{missing:#?}");
    println!("{} public items, {} of ours", theirs.len(), ours.len());
}

fn programs(readme: &str) -> (String, usize) {
    let mut tests = String::new();
    let pieces: Vec<&str> = readme.split("```rust").skip(1).collect();
    for (number, piece) in pieces.iter().enumerate() {
        let code = piece.split("```").next().unwrap();
        let _ = write!(
            tests,
            "#[test] fn program_{number}() -> Result<(), Box<dyn std::error::Error>> {{\n\
             struct Model; impl Model {{ fn forward(&self, input: &f32) -> f32 {{ *input }} }}\n\
             fn perform_computation() {{}} fn perform_another_computation() {{}}\n\
             let (model, input) = (Model, 1.0f32);\n{code}\nOk(()) }}\n"
        );
    }
    (tests, pieces.len())
}

#[test]
#[ignore = "asks the registry for the sources of axonml-profile, and builds programs"]
fn the_tests_and_the_readme_of_the_original_run_with_only_the_import_changed() {
    let upstream = upstream();
    let read = |name: &str| fs::read_to_string(upstream.join(name)).unwrap();
    let (programs, count) = programs(&read("README.md"));
    assert!(count >= 9, "the README has {count} programs");
    let mut code = format!(
        "#![allow(unused, clippy::all)]\npub use axonml_profile::*;\nmod readme {{\n{programs}}}\n"
    );
    let mut tested = 0;
    for module in MODULES {
        let text = read(&format!("src/{module}.rs"));
        let Some((_, tests)) = text.split_once("#[cfg(test)]\nmod tests {") else {
            continue;
        };
        let own = match module {
            "lib" => String::new(),
            module => format!("use axonml_profile::{module}::*;"),
        };
        tested += 1;
        let _ = write!(
            code,
            "mod {module}_tests {{ use axonml_profile::*; {own}\n\
             use std::{{collections::HashMap, time::Duration}};\nmod tests {{{tests}}}\n"
        );
    }
    assert_eq!(tested, 6, "files with tests");

    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("axonml-moved");
    let _ = fs::remove_dir_all(folder.join("src"));
    fs::create_dir_all(folder.join("src")).unwrap();
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    // The one change: the dependency of that name is ours.
    let manifest = format!(
        "[package]\nname = \"moved\"\nversion = \"0.0.0\"\nedition = \"2024\"\n[workspace]\n[dependencies]\n\
         axonml-profile = {{ package = \"trueno-axonml-profile\", path = {here:?}, features = [\"chrome-trace\"] }}\n"
    );
    fs::write(folder.join("Cargo.toml"), manifest).unwrap();
    fs::copy(here.join("../../Cargo.lock"), folder.join("Cargo.lock")).unwrap();
    fs::write(folder.join("src/lib.rs"), code).unwrap();
    let run = folder.join("moved.run");
    let _ = fs::remove_dir_all(&run);
    let done = Command::new("cargo")
        .args(["test", "--offline", "--lib"])
        .current_dir(&folder)
        .env("CARGO_TARGET_DIR", folder.join("target"))
        .env("TRUENO_RUN", &run)
        .output()
        .unwrap();
    let [out, err] = [done.stdout, done.stderr].map(|text| String::from_utf8(text).unwrap());
    assert!(done.status.success(), "{out}\n{err}");
    println!("{out}");
    let (bricks, memory) = (table(&run, "bricks"), table(&run, "allocations"));
    for name in ["forward_pass", "expensive_operation", "global_operation"] {
        bricks.named(name);
    }
    assert!(bricks.texts("name").contains(&Some("matmul")));
    let flops = bricks.numbers("flops");
    assert!(flops.contains(&Some(2 << 30)), "{flops:?}");
    assert!(memory.texts("tag").contains(&Some("activations")));
}
