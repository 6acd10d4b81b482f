//! A damaged journal.

use std::fs;

use trueno_engine::run::Run;

use crate::sample::{all_rows, has_problem, originals, problem_texts, sample};

#[test]
fn without_a_journal_everything_is_read_and_nothing_verified() {
    let sample = sample();
    fs::remove_file(sample.path("batches.jsonl")).unwrap();
    let run = sample.open();
    assert_eq!(all_rows(&run), originals());
    assert!(has_problem(&run, &["warning", "batches.jsonl is missing"]));
    for segment in [
        "bricks/000000.arrow",
        "edges/000000.arrow",
        "edges/000001.arrow",
    ] {
        assert!(has_problem(&run, &[segment, "not verified"]));
    }
    assert!(run.facts().complete == Some(false));
    assert_eq!(run.facts().rows_lost, 0);
    assert!(
        run.facts().clean_end,
        "what cannot be verified has still ended cleanly"
    );
}

#[test]
fn rows_that_nothing_vouches_for_are_told_in_one_line() {
    let sample = sample();
    fs::remove_file(sample.path("batches.jsonl")).unwrap();
    let run = sample.open();
    let told = problem_texts(&run);
    let told: Vec<_> = told
        .iter()
        .filter(|text| text.contains("NOT VERIFIED"))
        .collect();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("37 rows in 3 of 3 segments"), "{told:?}");
}

#[test]
fn without_a_journal_segments_are_verified_by_their_own_hashes() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().join("full.run");
    trueno_testing::full(&dir, None);
    let whole = Run::open(&dir).unwrap();
    fs::remove_file(dir.join("batches.jsonl")).unwrap();
    let run = Run::open(&dir).unwrap();
    assert_eq!(run.facts(), whole.facts(), "complete as before");
    let new = problem_texts(&run).len() - problem_texts(&whole).len();
    assert_eq!(new, 1, "{:?}", problem_texts(&run));
    assert!(has_problem(&run, &["batches.jsonl is missing"]));

    // Tables of the same columns are told apart, and a damaged batch loses itself alone.
    let file = dir.join("bricks/000000.arrow");
    let before = fs::read(&file).unwrap();
    let other = fs::read(dir.join("threads/000000.arrow")).unwrap();
    fs::write(&file, other).unwrap();
    let run = Run::open(&dir).unwrap();
    assert!(has_problem(
        &run,
        &["error", "bricks/000000.arrow", "it is one of threads"]
    ));
    let mut damaged = before.clone();
    let end = damaged.len() - 40;
    damaged[end] ^= 1;
    fs::write(&file, damaged).unwrap();
    let run = Run::open(&dir).unwrap();
    assert!(has_problem(
        &run,
        &["error", "bricks/000000.arrow", "its end is damaged"]
    ));
    assert!(run.facts().complete == Some(false));
}

#[test]
fn a_segment_of_another_table_is_left_out_and_named() {
    let sample = sample();
    let edges = fs::read(sample.path("edges/000000.arrow")).unwrap();
    fs::write(sample.path("bricks/000001.arrow"), edges).unwrap();
    let run = sample.open();
    assert_eq!(all_rows(&run), originals());
    assert!(
        has_problem(
            &run,
            &[
                "error",
                "bricks/000001.arrow",
                "not those of bricks: it has no column"
            ]
        ),
        "{:?}",
        problem_texts(&run)
    );
    assert!(run.facts().complete == Some(false));
}

#[test]
fn garbage_lines_are_left_out_and_the_rest_is_used() {
    let sample = sample();
    sample.change("batches.jsonl", |bytes| {
        let text = String::from_utf8(std::mem::take(bytes)).unwrap();
        let mut lines: Vec<&str> = text.lines().collect();
        lines.insert(3, "{\"segment\":\"../x.arrow\",\"chunk\":\"head\",\"offset\":0,\"bytes\":1,\"xxh3\":\"0000000000000000\"}");
        lines.insert(2, "no json");
        *bytes = (lines.join("\n") + "\n").into_bytes();
    });
    let run = sample.open();
    assert!(
        has_problem(
            &run,
            &[
                "batches.jsonl: 2 of ",
                "lines cannot be read, the first is line 3"
            ]
        ),
        "{:?}",
        problem_texts(&run)
    );
    assert_eq!(all_rows(&run), originals());
    assert_eq!(run.facts().rows_lost, 0);
}

#[test]
fn a_torn_last_line_is_named() {
    let sample = sample();
    sample.change("batches.jsonl", |bytes| bytes.truncate(bytes.len() - 30));
    let run = sample.open();
    assert!(has_problem(
        &run,
        &["batches.jsonl: the last line, line ", "was cut"]
    ));
    // The segment whose tail is not listed any more is read all the same.
    assert!(has_problem(
        &run,
        &["edges/000001.arrow: not verified: the journal lists only parts of it"]
    ));
    assert_eq!(all_rows(&run)["edges"].len(), 17);
}

#[test]
fn rows_are_counted_in_the_file_not_in_the_journal() {
    let sample = sample();
    sample.change_line(1, |line| line["rows"] = 9.into());
    let run = sample.open();
    assert_eq!(run.facts().rows, 37);
    assert!(has_problem(
        &run,
        &[
            "bricks/000000.arrow",
            "holds 8 rows, the journal (batches.jsonl) says 9"
        ]
    ));
    assert!(run.facts().complete == Some(false));
}

#[test]
fn absurd_numbers_do_not_matter() {
    for key in ["offset", "bytes", "rows"] {
        let sample = sample();
        for line in 0..4 {
            sample.change_line(line, |l| l[key] = u64::MAX.into());
        }
        let run = sample.open();
        assert!(has_problem(&run, &["bricks/000000.arrow"]), "{key}");
        assert_eq!(all_rows(&run)["edges"].len(), 17);
    }
}
