//! Files with tables: segments, Parquet of exports, Parquet of Nsight Systems.

use std::fs;
use std::path::Path;

use trueno_analyze::commands::fuzzing::import_nsys_parquet;
use trueno_engine::query::collect;
use trueno_engine::run::Run;
use trueno_format::journal::{Chunk, JOURNAL, Line};
use trueno_format::run_json::{Format, RUN_JSON, RunJson, State, sealed};
use trueno_format::run_writer::RunWriter;
use trueno_format::schema::{FORMAT_MAJOR, FORMAT_MINOR, FORMAT_NAME, TABLES};
use trueno_import::{Import, Notes, Options};

use crate::scratch;

/// A segment. The first byte selects the table, and whether a journal lists the segment as one batch.
pub fn segment(bytes: &[u8]) -> bool {
    let Some((first, bytes)) = bytes.split_first() else {
        return false;
    };
    let table = TABLES[usize::from(*first) % TABLES.len()].name;
    let folder = scratch::folder();
    let journal = match first / 128 {
        0 => String::new(),
        _ => {
            let head =
                trueno_format::segment::head_bytes(&TABLES[usize::from(*first) % TABLES.len()]);
            lines(table, head.len().min(bytes.len()), bytes)
        }
    };
    run_of(
        folder.path(),
        &format!("{table}/000000.arrow"),
        bytes,
        &journal,
    );
    let rows = read(folder.path(), table);
    // Compressed columns of one value are short.
    assert!(
        rows <= 2048 * bytes.len() + 64,
        "{rows} rows of {} bytes",
        bytes.len()
    );
    rows > 0
}

/// Journal lines that describe `bytes` as a head and a batch.
fn lines(table: &str, head: usize, bytes: &[u8]) -> String {
    let name = format!("{table}/000000.arrow");
    let (head, rest) = bytes.split_at(head);
    let batch = Line {
        rows: Some(2),
        ..Line::new(&name, Chunk::Batch, head.len() as u64, rest)
    };
    let lines = [Line::new(&name, Chunk::Head, 0, head), batch];
    lines
        .iter()
        .map(|line| line.encode().expect("a line is JSON"))
        .collect()
}

pub fn parquet_part(bytes: &[u8]) -> bool {
    let Some((first, bytes)) = bytes.split_first() else {
        return false;
    };
    let table = TABLES[usize::from(*first) % TABLES.len()].name;
    let folder = scratch::folder();
    run_of(folder.path(), &format!("{table}/000000.parquet"), bytes, "");
    read(folder.path(), table) > 0
}

/// One table of a Parquet export of Nsight Systems. The first byte selects it.
pub fn nsys_parquet(bytes: &[u8]) -> bool {
    const NAMES: [&str; 4] = [
        "CUPTI_ACTIVITY_KIND_KERNEL",
        "NVTX_EVENTS",
        "StringIds",
        "OSRT_API",
    ];
    let Some((first, bytes)) = bytes.split_first() else {
        return false;
    };
    let folder = scratch::folder();
    let tables = folder.path().join("tables");
    fs::create_dir(&tables).expect("a folder");
    let name = NAMES[usize::from(*first) % NAMES.len()];
    fs::write(tables.join(name).with_extension("parquet"), bytes).expect("room for a table");
    let run = RunJson::default();
    let mut into = RunWriter::create(&folder.path().join("x.run"), run).expect("a run");
    let options = Options {
        partial: first / 128 == 1,
        ..Options::default()
    };
    let mut notes = Notes::default();
    let wall_ns = import_nsys_parquet(Import {
        path: &tables,
        options: &options,
        into: &mut into,
        notes: &mut notes,
        progress: &mut |_| (),
    });
    let Ok(wall_ns) = wall_ns else { return false };
    into.finish(wall_ns).expect("a run that ends");
    notes.kept.values().sum::<u64>() > 0
}

fn run_of(run: &Path, name: &str, bytes: &[u8], journal: &str) {
    let json = RunJson {
        format: Format {
            name: FORMAT_NAME.to_owned(),
            major: FORMAT_MAJOR,
            minor: FORMAT_MINOR,
        },
        state: State::Finished,
        ..RunJson::default()
    };
    fs::write(run.join(RUN_JSON), sealed(&json).expect("a run is JSON"))
        .expect("room for run.json");
    fs::write(run.join(JOURNAL), journal).expect("room for the journal");
    let file = run.join(name);
    fs::create_dir(file.parent().expect("a folder of the table")).expect("a folder");
    fs::write(file, bytes).expect("room for the file");
}

/// Reads all columns of a table and returns its number of rows.
fn read(run: &Path, table: &str) -> usize {
    let Ok(run) = Run::open(run) else { return 0 };
    let said = run.facts().rows;
    let Ok(database) = run.sql_context() else {
        return 0;
    };
    let frame = collect(&database, &format!("SELECT * FROM \"{table}\""));
    let Ok(frame) = frame else {
        assert!(
            !run.problems().is_empty() || said == 0,
            "rows that cannot be read, and nobody says so"
        );
        return 0;
    };
    assert!(
        frame.height() as u64 == said || !run.problems().is_empty(),
        "{} rows, and the run says {said}",
        frame.height()
    );
    if run.facts().complete == Some(true) {
        assert!(frame.height() as u64 == said, "said to be complete");
    }
    frame.height()
}
