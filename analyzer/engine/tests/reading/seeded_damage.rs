//! Damage drawn by seeds over runs of every kind: whatever differs from the undamaged run is announced.
//!
//! A difference of rows or facts that no problem tells, in a run that is not said to be incomplete, is an *unseen
//! change*. There is none, with a journal or without.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use tempfile::TempDir;
use trueno_engine::run::{Run, recover};
use trueno_testing::damage::Victim;

use crate::exported::exported;
use crate::sample::{Sample, copy, problem_texts, unsealed};

#[derive(PartialEq)]
struct Told {
    facts: String,
    is_incomplete: bool,
    rows: Vec<(String, Result<Vec<String>, String>)>,
    problems: Vec<String>,
}

fn tell(dir: &Path) -> Option<Told> {
    let run = Run::open(dir).ok()?;
    let database = run.sql_context().ok()?;
    let made = ["run", "segments", "problems", "ranks"];
    let tables = run.tables().into_iter().map(|table| table.name);
    let tables = tables.filter(|name| !made.contains(&name.as_str()));
    let all = |name: String| {
        let frame =
            trueno_engine::query::collect_in_order(&database, &format!("SELECT * FROM \"{name}\""));
        let rows = frame.map(|frame| rows_of(&frame));
        (name, rows.map_err(|error| error.to_string()))
    };
    let mut facts = run.facts().clone();
    facts.complete = None;
    Some(Told {
        facts: format!("{facts:?}"),
        is_incomplete: run.facts().complete == Some(false),
        rows: tables.map(all).collect(),
        problems: problem_texts(&run),
    })
}

/// Rows as strings, without numbers of texts, which differ each time a run is opened.
fn rows_of(frame: &polars::prelude::DataFrame) -> Vec<String> {
    let columns = frame.columns();
    let names: Vec<&str> = columns
        .iter()
        .map(|column| column.name().as_str())
        .collect();
    let is_number = |name: &str| {
        name.strip_suffix("_id")
            .is_some_and(|of| names.contains(&of))
    };
    let columns: Vec<_> = columns.iter().filter(|c| !is_number(c.name())).collect();
    let row = |at: usize| {
        let cells = columns.iter().map(|column| format!("{:?}", column.get(at)));
        cells.collect::<Vec<_>>().join("|")
    };
    (0..frame.height()).map(row).collect()
}

#[derive(Debug, Default)]
struct Counts {
    cases: u64,
    refused: u64,
    announced: u64,
    same: u64,
}

/// Damages a copy of the run with each seed. Panics and undetected changes are failures.
fn damage_everything(
    name: &str,
    run: &Path,
    seeds: std::ops::Range<u64>,
    faults: &mut Vec<String>,
) -> Counts {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().join("victim.run");
    copy(run, &dir);
    let before = tell(&dir).expect("the undamaged run opens");
    let mut counts = Counts::default();
    let victim = Victim::new(&dir);
    for seed in seeds {
        let look = |what: &str| {
            let told = catch_unwind(AssertUnwindSafe(|| tell(&dir)));
            (what.to_owned(), told)
        };
        let Some((what, told)) = victim.damage(seed, look) else {
            continue;
        };
        counts.cases += 1;
        let after = match told {
            Err(_) => {
                faults.push(format!("{name}: {what}: panic"));
                continue;
            }
            Ok(None) => {
                counts.refused += 1;
                continue;
            }
            Ok(Some(after)) => after,
        };
        let is_new = |problem: &&String| !before.problems.contains(problem);
        let is_announced = after.is_incomplete && !before.is_incomplete
            || after.problems.iter().any(|problem| is_new(&problem));
        if is_announced {
            counts.announced += 1;
        } else if after.rows == before.rows && after.facts == before.facts {
            counts.same += 1;
        } else {
            let differs = |(a, b): (&(String, _), &(String, _))| (a != b).then(|| a.0.clone());
            let tables: Vec<String> = before
                .rows
                .iter()
                .zip(&after.rows)
                .filter_map(differs)
                .collect();
            faults.push(format!(
                "{name}: {what}: unseen change: facts {}, tables {tables:?}",
                after.facts != before.facts
            ));
        }
    }
    counts
}

fn without_journal(run: &Path) -> TempDir {
    let temp = tempfile::tempdir().unwrap();
    copy(run, &temp.path().join("a.run"));
    for file in trueno_testing::damage::files(temp.path()) {
        if file.ends_with("batches.jsonl") {
            fs::remove_file(temp.path().join(file)).unwrap();
        }
    }
    temp
}

fn runs() -> Vec<(&'static str, TempDir, std::path::PathBuf)> {
    let mut runs = Vec::new();
    let temp = tempfile::tempdir().unwrap();
    let finished = temp.path().join("a.run");
    trueno_testing::full(&finished, None);
    let bare = without_journal(&finished);
    let bare_path = bare.path().join("a.run");
    let export = exported(
        &Sample {
            temp,
            dir: finished.clone(),
        },
        2,
        2,
    );
    let bare_export = without_journal(&export.dir);
    let bare_export_path = bare_export.path().join("a.run");
    // The source is needed no longer than that.
    let temp = tempfile::tempdir().unwrap();
    let finished = temp.path().join("a.run");
    trueno_testing::full(&finished, None);
    runs.push(("finished", temp, finished));
    runs.push(("without journal", bare, bare_path));
    runs.push(("exported", export.temp, export.dir));
    runs.push(("exported, without journal", bare_export, bare_export_path));

    let sample = unsealed();
    recover(&sample.dir, None, &mut |_| ()).unwrap();
    runs.push(("recovered", sample.temp, sample.dir));

    let temp = tempfile::tempdir().unwrap();
    let ranks = temp.path().join("ranks.run");
    for rank in 0..2 {
        let path = ranks.join(format!("rank={rank}"));
        fs::create_dir_all(&ranks).unwrap();
        trueno_testing::sample(&path);
    }
    let bare = without_journal(&ranks);
    let bare_path = bare.path().join("a.run");
    runs.push(("ranks", temp, ranks));
    runs.push(("ranks, without journals", bare, bare_path));
    runs
}

fn all_kinds(seeds: u64) {
    let mut faults = Vec::new();
    let (mut cases, mut kinds) = (0, 0);
    let runs = runs();
    std::thread::scope(|scope| {
        let work: Vec<_> = runs
            .iter()
            .enumerate()
            .map(|(nth, (name, _, path))| {
                scope.spawn(move || {
                    let mut faults = Vec::new();
                    // Other seeds for each, the same each time.
                    let first = nth as u64 * 1_000_000_000;
                    let counts = damage_everything(name, path, first..first + seeds, &mut faults);
                    (name, counts, faults)
                })
            })
            .collect();
        for work in work {
            let (name, counts, found) = work.join().unwrap();
            println!("{name}: {counts:?}, {} faults", found.len());
            // It shows nothing where next to nothing differs.
            assert!(counts.announced > counts.cases / 4, "{name}: {counts:?}");
            cases += counts.cases;
            kinds += 1;
            faults.extend(found);
        }
    });
    println!(
        "{cases} cases over {kinds} kinds of runs, {} faults",
        faults.len()
    );
    assert!(
        faults.is_empty(),
        "{} faults\n{}",
        faults.len(),
        faults.join("\n")
    );
}

#[test]
fn no_damage_changes_a_run_unseen() {
    all_kinds(60);
}

/// `TRUENO_TEST_DAMAGES=20000 cargo test -p trueno-engine --test reading -- --ignored --nocapture damages`
#[test]
#[ignore = "minutes: as many damages of each kind of run as TRUENO_TEST_DAMAGES says"]
fn many_damages_change_no_run_unseen() {
    let seeds = std::env::var("TRUENO_TEST_DAMAGES").ok();
    all_kinds(seeds.and_then(|seeds| seeds.parse().ok()).unwrap_or(5_000));
}
