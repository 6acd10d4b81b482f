//! Sources of files, and cycles of modules.

use std::path::Path;

use trueno_structure::{Crate, cycles, packages, relative, rust_files, text};

/// Sources that may be included from another crate. The model runs the ring's own file with loom's atomics instead
/// of the standard ones, which no dependency can exchange.
const INCLUDED: [&str; 2] = [
    "recorder/model/tests/ring.rs",
    "recorder/model/tests/weakened.rs",
];

#[test]
fn sources_are_included_from_their_own_crate_only() {
    let mut wrong = Vec::new();
    let free = |file: &std::path::PathBuf| !INCLUDED.contains(&relative(file).as_str());
    for file in rust_files().into_iter().filter(free) {
        let own = manifest_folder(&file);
        for line in text(&file).lines() {
            let Some(path) = line.trim().strip_prefix("#[path = \"") else {
                continue;
            };
            let target = file.with_file_name(path.trim_end_matches("\"]"));
            let target = target.canonicalize().unwrap_or(target);
            if !target.starts_with(&own) || manifest_folder(&target) != own {
                wrong.push(format!("{}: {line}", relative(&file)));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn manifest_folder(file: &Path) -> std::path::PathBuf {
    let mut folders = file.ancestors().skip(1);
    folders
        .find(|folder| folder.join("Cargo.toml").is_file())
        .expect("every source belongs to a package")
        .to_path_buf()
}

#[test]
fn no_circle_of_modules_spans_folders() {
    let mut wrong = Vec::new();
    for package in packages() {
        for root in &package.roots {
            for circle in cycles(&Crate::read(root)) {
                let files: Vec<String> = circle.iter().map(|file| relative(file)).collect();
                wrong.push(format!("{}:\n    {}", package.name, files.join("\n    ")));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
