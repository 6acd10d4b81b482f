//! All inputs that are kept, through the functions that fuzzers call.
//!
//! A corpus is `tests/fuzz/corpus/<target>.pack`; a finding that was mended is `tests/fuzz/findings/<target>/<name>`.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use trueno_fuzz_targets::{TARGETS, Target, target, unpack};

const MAX_BYTES: u64 = 300_000;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz")
}

fn corpus(target: &Target) -> Vec<Vec<u8>> {
    let pack = folder()
        .join("corpus")
        .join(target.name)
        .with_extension("pack");
    unpack(&fs::read(&pack).unwrap_or_else(|error| panic!("{}: {error}", pack.display())))
}

/// Inputs that fuzzers found, by target and name.
fn findings() -> Vec<(&'static Target, String, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder().join("findings")).unwrap() {
        let of_target = entry.unwrap().path();
        let target = target(of_target.file_name().unwrap().to_str().unwrap());
        for entry in fs::read_dir(of_target).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            found.push((target, name, fs::read(path).unwrap()));
        }
    }
    found
}

/// Returns whether the target accepted the input. The error names an input that made it panic.
fn replay(target: &Target, name: &str, input: &[u8]) -> Result<bool, String> {
    let done = catch_unwind(AssertUnwindSafe(|| (target.run)(input)));
    done.map_err(|_| format!("{} {name}", target.name))
}

#[test]
fn nothing_panics_on_what_fuzzers_found_and_each_target_accepts_and_refuses() {
    let (mut wrong, mut count) = (Vec::new(), 0);
    for target in TARGETS {
        let (mut accepted, mut refused) = (0, 0);
        for (nth, input) in corpus(target).iter().enumerate() {
            match replay(target, &format!("input {nth} of the corpus"), input) {
                Ok(true) => accepted += 1,
                Ok(false) => refused += 1,
                Err(name) => wrong.push(name),
            }
            count += 1;
        }
        // A target that takes everything, or nothing, reads nothing.
        assert!(
            accepted > 0 && refused > 0,
            "{}: {accepted} accepted, {refused} refused",
            target.name
        );
    }
    for (target, name, input) in findings() {
        wrong.extend(replay(target, &name, &input).err());
        count += 1;
    }
    assert!(wrong.is_empty(), "of {count} inputs:\n{}", wrong.join("\n"));
    assert!(count > 1_000, "only {count} inputs");
}

#[test]
fn corpora_stay_small() {
    let packs = fs::read_dir(folder().join("corpus")).unwrap();
    let bytes: u64 = packs
        .map(|pack| pack.unwrap().metadata().unwrap().len())
        .sum();
    assert!(bytes <= MAX_BYTES, "{bytes} bytes");
}

#[test]
fn each_target_has_a_program_and_a_dictionary() {
    let manifest = fs::read_to_string(folder().join("Cargo.toml")).unwrap();
    for target in TARGETS {
        let name = target.name;
        let program = folder().join("targets").join(name).with_extension("rs");
        let is_instrumented = program.exists();
        assert_eq!(
            is_instrumented,
            manifest.contains(&format!("name = \"{name}\"")),
            "{name}"
        );
        assert_eq!(is_instrumented, !IN_THE_WORKSPACE.contains(&name), "{name}");
        let dictionary = folder()
            .join("dictionaries")
            .join(name)
            .with_extension("dict");
        assert!(dictionary.exists(), "{name} has no dictionary");
    }
}

/// Targets that link the query engine. They are mutated without edge counters, see `tests/mutated.rs`.
const IN_THE_WORKSPACE: [&str; 8] = [
    "segment",
    "parquet_part",
    "nsys_parquet",
    "plugin_messages",
    "sql",
    "assertions",
    "project",
    "golden",
];
