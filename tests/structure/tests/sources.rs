//! Files, modules and their names.

use std::collections::BTreeSet;
use std::path::Path;

use trueno_structure::{Crate, cycles, packages, relative, rust_files, text};

/// Names of files that say what a file is next to, instead of what it holds.
const SAY_NOTHING: [&str; 60] = [
    "added",
    "adrift",
    "alone",
    "around",
    "assess",
    "before",
    "blame",
    "carried",
    "close",
    "cover",
    "dependence",
    "discovery",
    "earlier",
    "ending",
    "faults",
    "found",
    "gather",
    "guard",
    "handlers_of_domains",
    "heat",
    "helper",
    "helpers",
    "ink",
    "inside",
    "job",
    "kept",
    "known",
    "lag",
    "later",
    "left",
    "level_test",
    "look",
    "made",
    "manager",
    "measures",
    "named",
    "near",
    "nest",
    "one",
    "only_waits",
    "ordered",
    "own",
    "own_hashes",
    "pictures",
    "publish",
    "rank_test",
    "reach",
    "refused",
    "rest",
    "roster",
    "settle",
    "small",
    "soundness",
    "spell",
    "stored",
    "strip",
    "talk",
    "utils",
    "verb",
    "wrote",
];

/// Lines of a file that can still be read in one sitting.
const MAX_LINES: usize = 700;

#[test]
fn files_keep_to_one_subject() {
    for file in rust_files() {
        let lines = text(&file).lines().count();
        assert!(lines <= MAX_LINES, "{} has {lines} lines", relative(&file));
    }
}

#[test]
fn names_of_files_say_what_is_in_them() {
    let banned = BTreeSet::from(SAY_NOTHING);
    let mut wrong = Vec::new();
    for file in rust_files() {
        let path = relative(&file);
        let names = Path::new(&path).with_extension("");
        let names = names.iter().filter_map(|name| name.to_str());
        if let Some(name) = names.into_iter().find(|name| banned.contains(name)) {
            wrong.push(format!("{path}: {name}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Sources of another crate that are included all the same: the model runs the ring's own file with loom's atomics in
/// place of the standard ones, which no dependency can exchange.
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

/// The folder of the package that a file belongs to.
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

/// First words of comments that ask instead of naming the thing.
const QUESTIONS: [&str; 7] = ["What", "Whether", "How", "Where", "Which", "Why", "When"];

#[test]
fn comments_begin_with_what_a_thing_is() {
    let mut wrong = Vec::new();
    for file in rust_files() {
        let mut inside = false;
        for (nth, line) in text(&file).lines().enumerate() {
            let doc = line
                .trim_start()
                .strip_prefix("///")
                .or(line.trim_start().strip_prefix("//!"));
            let starts = doc.is_some() && !inside;
            inside = doc.is_some();
            let first = doc
                .unwrap_or_default()
                .split_whitespace()
                .next()
                .unwrap_or_default()
                .trim_end_matches(['.', ',', ';', ':']);
            if starts && QUESTIONS.contains(&first) {
                wrong.push(format!("{}:{}: {}", relative(&file), nth + 1, line.trim()));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} lines:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}
