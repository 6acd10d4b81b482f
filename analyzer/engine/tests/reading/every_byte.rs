//! Damage at every place of every file of a small run, one place at a time.
//!
//! Whatever is damaged: no panic, no row that was never written, and either all
//! rows are read or a problem names the file.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use trueno_engine::run::{Run, RunError};

use crate::exported::exported;
use crate::sample::{Sample, copy, problem_texts, rows, small, unsealed};

const FILES: [&str; 6] = [
    "edges/000000.parquet",
    "edges/000000.arrow",
    "edges/000001.arrow",
    "edges/000001.arrow.open",
    "batches.jsonl",
    "run.json",
];
const SQL: &str = "SELECT \"from\", \"to\", kind FROM edges";

struct Expected {
    rows: Vec<String>,
    set: BTreeSet<String>,
}

fn expected() -> Expected {
    let sample = small();
    let rows = rows(&sample.open().sql_context().unwrap(), SQL);
    assert_eq!(rows.len(), 9);
    Expected {
        set: rows.iter().cloned().collect(),
        rows,
    }
}

/// Opens a run with one damaged file. `what` describes the damage.
fn look(dir: &Path, file: &str, expected: &Expected, what: &str) {
    let run = match Run::open(dir) {
        Ok(run) => run,
        Err(RunError::NewerFormat { .. }) if file == "run.json" => return,
        Err(error) => panic!("{what}: {error}"),
    };
    let read = rows(&run.sql_context().unwrap(), SQL);
    let problems = problem_texts(&run);
    assert!(
        read.iter().all(|row| expected.set.contains(row)),
        "{what}: a row that was never written: {read:?}"
    );
    assert_eq!(
        read.len() as u64,
        run.facts().rows,
        "{what}: rows are counted as they are read"
    );
    if read != expected.rows {
        // A journal that is damaged damages what is known of a segment.
        let named = |text: &String| {
            text.contains(segment(file).unwrap_or(file))
                || (file == "batches.jsonl" && text.contains("edges/00000"))
        };
        assert!(
            problems.iter().any(named),
            "{what}: rows are missing, and no problem names it: {problems:?}"
        );
        assert!(
            run.facts().complete == Some(false),
            "{what}: said to be complete"
        );
    }
    if let Some(segment) = segment(file) {
        assert!(
            problems.iter().any(|text| text.contains(segment)),
            "{what}: not noticed"
        );
    }
}

/// The name of a segment file as in problems.
fn segment(file: &str) -> Option<&str> {
    file.starts_with("edges/")
        .then(|| file.strip_suffix(".open").unwrap_or(file))
}

/// Runs `damage` on each position of each file, on two threads.
fn everywhere(
    sample: &Sample,
    damage: impl Fn(&mut Vec<u8>, usize) + Sync,
    look: impl Fn(&Path, &str, &str) + Sync,
) {
    std::thread::scope(|scope| {
        for worker in 0..2 {
            let (damage, look) = (&damage, &look);
            scope.spawn(move || {
                let dir = sample.temp.path().join(format!("copy-{worker}"));
                copy(&sample.dir, &dir);
                for file in FILES.iter().filter(|f| sample.path(f).exists()) {
                    let original = fs::read(sample.path(file)).unwrap();
                    for at in (worker..original.len()).step_by(2) {
                        let mut bytes = original.clone();
                        damage(&mut bytes, at);
                        fs::write(dir.join(file), &bytes).unwrap();
                        look(&dir, file, &format!("{file} at {at}"));
                    }
                    fs::write(dir.join(file), &original).unwrap();
                }
            });
        }
    });
}

#[test]
fn a_flipped_bit_anywhere() {
    let expected = expected();
    everywhere(
        &small(),
        |bytes, at| bytes[at] ^= 1 << (at % 8),
        |dir, file, what| look(dir, file, &expected, what),
    );
}

#[test]
fn a_cut_anywhere() {
    let expected = expected();
    everywhere(
        &small(),
        |bytes, at| bytes.truncate(at),
        |dir, file, what| look(dir, file, &expected, what),
    );
}

#[test]
fn a_flipped_bit_or_a_cut_anywhere_in_a_segment_that_was_never_sealed() {
    let sample = unsealed();
    let rows = rows(&sample.open().sql_context().unwrap(), SQL);
    let expected = Expected {
        set: rows.iter().cloned().collect(),
        rows,
    };
    let segments = |dir: &Path, file: &str, what: &str| look(dir, file, &expected, what);
    everywhere(&sample, |bytes, at| bytes[at] ^= 1 << (at % 8), segments);
    everywhere(&sample, |bytes, at| bytes.truncate(at), segments);
}

#[test]
fn a_flipped_bit_anywhere_without_a_journal() {
    let sample = small();
    fs::remove_file(sample.path("batches.jsonl")).unwrap();
    everywhere(
        &sample,
        |bytes, at| bytes[at] ^= 0x80 >> (at % 8),
        |dir, file, what| {
            let Ok(run) = Run::open(dir) else { return };
            // Values may have changed: that is what `not verified` says.
            assert_eq!(
                run.facts().rows,
                rows(&run.sql_context().unwrap(), SQL).len() as u64,
                "{what}"
            );
            if let Some(segment) = segment(file) {
                assert!(
                    problem_texts(&run)
                        .iter()
                        .any(|text| text.contains(segment)),
                    "{what}: not noticed"
                );
            }
            assert!(run.facts().complete == Some(false), "{what}");
        },
    );
}

#[test]
fn a_flipped_bit_or_a_cut_anywhere_in_an_export() {
    let (sample, expected) = (exported(&small(), 3, 8), expected());
    let run = |dir: &Path, file: &str, what: &str| look(dir, file, &expected, what);
    everywhere(&sample, |bytes, at| bytes[at] ^= 1 << (at % 8), run);
    everywhere(&sample, |bytes, at| bytes.truncate(at), run);
}

#[test]
fn a_flipped_bit_anywhere_in_an_export_that_has_its_own_hashes_only() {
    let (sample, expected) = (exported(&small(), 3, 8), expected());
    fs::remove_file(sample.path("batches.jsonl")).unwrap();
    let run = |dir: &Path, file: &str, what: &str| look(dir, file, &expected, what);
    everywhere(&sample, |bytes, at| bytes[at] ^= 0x80 >> (at % 8), run);
}
