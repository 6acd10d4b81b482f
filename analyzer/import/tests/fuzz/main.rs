//! Mutated files for as long as one likes: every one ends with a run or with an error, soon, and
//! in bounded memory.
//!
//! ```text
//! TRUENO_FUZZ_CORPUS=DIR cargo test -p trueno-import --test fuzz -- --ignored --nocapture
//! ```
//!
//! `TRUENO_FUZZ_CORPUS` is a folder of traces (`.json`, `.json.gz`, `.sqlite`), looked through
//! whole; without it there are small ones. `TRUENO_FUZZ_SECONDS` (10) is for each of the two
//! tests, `TRUENO_FUZZ_SEED` (1) repeats what was found: a case depends on the corpus, the seed and
//! its number, which `TRUENO_FUZZ_CASE` chooses alone.

mod corpus;
mod database;
mod json;
mod random;
mod watch;

use std::path::Path;

use random::Random;
use trueno_format::run_json::RunJson;
use trueno_format::run_writer::RunWriter;
use trueno_import::{Import, Importer, Notes, Options, chrome, nsys};

/// Imports a file and checks that the written rows match the counts.
fn import(file: &Path, folder: &Path, random: &mut Random, importer: &Importer) -> bool {
    let path = folder.join("imported.run");
    let mut run = RunWriter::create(&path, RunJson::default()).unwrap();
    let mut notes = Notes::default();
    let options = Options {
        partial: random.one_in(2),
        ..Options::default()
    };
    let is_good = match importer.import(Import {
        path: file,
        options: &options,
        into: &mut run,
        notes: &mut notes,
        progress: &mut |_| (),
    }) {
        Ok(wall_ns) => {
            let json = run.finish(wall_ns).unwrap();
            let written: u64 = json.tables.values().map(|table| table.rows).sum();
            assert_eq!(notes.kept.values().sum::<u64>(), written);
            true
        }
        Err(error) => {
            assert!(!error.to_string().is_empty());
            drop(run);
            false
        }
    };
    std::fs::remove_dir_all(path).unwrap();
    is_good
}

#[test]
#[ignore = "runs as long as it is told"]
fn mutated_traces_become_runs_or_errors() {
    let corpus = corpus::traces();
    watch::cases("chrome", |folder, random| {
        let file = folder.join("trace.json");
        std::fs::write(&file, json::mutated(random.choice(&corpus), random)).unwrap();
        import(&file, folder, random, &chrome::IMPORTER)
    });
}

#[test]
#[ignore = "runs as long as it is told"]
fn mutated_databases_become_runs_or_errors() {
    let corpus = corpus::databases();
    watch::cases("nsys", |folder, random| {
        let file = folder.join("export.sqlite");
        let one: &Vec<u8> = random.choice(&corpus);
        database::mutated(one, &file, random);
        import(&file, folder, random, &nsys::IMPORTER)
    });
}
