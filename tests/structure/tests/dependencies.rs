//! Crates of others: their licences, where they come from, and which are there twice.
//!
//! Most of `cargo deny check bans licenses sources` by `deny.toml`, from the lock files and `cargo metadata` of what is
//! already here: it takes no time, and no tool or network can be missing. `packaging/deny` checks the rest.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde::Deserialize;
use serde_json::Value;
use trueno_structure::{root, text};

const LOCKS: [&str; 8] = [
    "Cargo.lock",
    "analyzer/cluster/Cargo.lock",
    "analyzer/python/Cargo.lock",
    "analyzer/store/Cargo.lock",
    "recorder/model/Cargo.lock",
    "recorder/overhead_vs_peers/Cargo.lock",
    "recorder/wgpu/Cargo.lock",
    "tests/fuzz/Cargo.lock",
];
/// The only registry, as lock files write it.
const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";
/// Crates that lock files have in several versions, although none of our systems builds them.
const NOT_BUILT: [&str; 2] = ["r-efi", "windows-sys"];

/// What `deny.toml` allows.
#[derive(Deserialize)]
struct Deny {
    licenses: Licenses,
    bans: Bans,
}

#[derive(Deserialize)]
struct Licenses {
    allow: Vec<String>,
}

#[derive(Deserialize)]
struct Bans {
    /// Older versions that are allowed beside a newer one.
    skip: Vec<Skip>,
}

#[derive(Deserialize)]
struct Skip {
    /// `NAME@VERSION`.
    #[serde(rename = "crate")]
    name: String,
}

fn deny() -> Deny {
    toml::from_str(&text(&root().join("deny.toml"))).expect("deny.toml has these lists")
}

/// Name, version, source and checksum of each package of a lock file.
fn locked(lock: &str) -> Vec<[Option<String>; 4]> {
    let field = |package: &str, key: &str| {
        let line = package.lines().find_map(|line| line.strip_prefix(key));
        line.map(|value| value.trim_start_matches(" = ").trim_matches('"').to_owned())
    };
    let packages = lock.split("[[package]]\n").skip(1);
    packages
        .map(|package| ["name", "version", "source", "checksum"].map(|key| field(package, key)))
        .collect()
}

#[test]
fn crates_come_from_one_registry_with_a_checksum() {
    let mut foreign = Vec::new();
    let mut seen = 0;
    for lock in LOCKS {
        for [name, _, source, checksum] in locked(&text(&root().join(lock))) {
            let name = name.expect("a package has a name");
            match source {
                // Ours.
                None => assert!(
                    ["trueno", "recorder-"]
                        .iter()
                        .any(|ours| name.starts_with(ours)),
                    "{lock}: {name} has no source"
                ),
                Some(source) if source == REGISTRY && checksum.is_some() => seen += 1,
                Some(source) => foreign.push(format!("{lock}: {name} of {source}")),
            }
        }
    }
    assert!(foreign.is_empty(), "{}", foreign.join("\n"));
    assert!(seen > 100, "{seen} crates");
}

#[test]
fn a_crate_is_there_twice_for_a_reason() {
    let mut versions: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for [name, version, ..] in locked(&text(&root().join("Cargo.lock"))) {
        let (name, version) = name.zip(version).expect("a package has both");
        versions.entry(name).or_default().insert(version);
    }
    versions.retain(|_, versions| versions.len() > 1);
    let found: BTreeSet<&str> = versions.keys().map(String::as_str).collect();
    let skipped = deny().bans.skip;
    let allowed = skipped
        .iter()
        .filter_map(|skip| skip.name.split('@').next());
    let allowed: BTreeSet<&str> = allowed.chain(NOT_BUILT).collect();
    assert_eq!(found, allowed, "{versions:?}");
}

/// True if the expression can be satisfied with allowed licences. It is an SPDX expression, or two licences
/// separated by `/`.
fn is_allowed(allowed: &[String], expression: &str) -> bool {
    let expression = expression.trim();
    // The weakest binding first, outside parentheses.
    for (operator, any) in [(" OR ", true), ("/", true), (" AND ", false)] {
        let parts = split(expression, operator);
        if parts.len() > 1 {
            let mut parts = parts.into_iter().map(|part| is_allowed(allowed, part));
            return if any {
                parts.any(|part| part)
            } else {
                parts.all(|part| part)
            };
        }
    }
    match expression
        .strip_prefix('(')
        .and_then(|inner| inner.strip_suffix(')'))
    {
        Some(inner) => is_allowed(allowed, inner),
        None => allowed.iter().any(|licence| licence == expression),
    }
}

/// Splits a text at `operator`, outside parentheses.
fn split<'a>(text: &'a str, operator: &str) -> Vec<&'a str> {
    let (mut parts, mut from, mut depth) = (Vec::new(), 0, 0);
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        if depth == 0 && at >= from && text[at..].starts_with(operator) {
            parts.push(&text[from..at]);
            from = at + operator.len();
        }
    }
    parts.push(&text[from..]);
    parts
}

#[test]
fn licences_are_read_as_they_are_meant() {
    let allowed = deny().licenses.allow;
    for good in [
        "MIT",
        "MIT/Apache-2.0",
        "GPL-3.0 OR MIT",
        "(MIT OR GPL-3.0) AND Unicode-3.0",
        "Apache-2.0 WITH LLVM-exception OR GPL-2.0",
        "MIT AND (GPL-2.0 OR (ISC AND Zlib))",
    ] {
        assert!(is_allowed(&allowed, good), "{good}");
    }
    for bad in [
        "",
        "GPL-3.0",
        "MIT AND GPL-3.0",
        "(MIT OR GPL-3.0) AND GPL-2.0",
        "GPL-2.0 OR (MIT AND AGPL-3.0)",
    ] {
        assert!(!is_allowed(&allowed, bad), "{bad}");
    }
}

#[test]
fn every_crate_may_be_given_away() {
    let arguments = [
        "metadata",
        "--format-version",
        "1",
        "--offline",
        "--filter-platform",
    ];
    let platform = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let output = Command::new(env!("CARGO"))
        .args(arguments)
        .arg(platform)
        .current_dir(root())
        .output()
        .expect("cargo runs");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo metadata is JSON");
    let packages = metadata["packages"].as_array().expect("a list");
    assert!(packages.len() > 200, "{} crates", packages.len());
    let allowed = deny().licenses.allow;
    let refused: Vec<String> = packages
        .iter()
        .filter(|package| !is_allowed(&allowed, package["license"].as_str().unwrap_or_default()))
        .map(|package| {
            format!(
                "{} {}: {}",
                package["name"], package["version"], package["license"]
            )
        })
        .collect();
    assert!(refused.is_empty(), "{}", refused.join("\n"));
}
