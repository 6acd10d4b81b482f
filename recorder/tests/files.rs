//! Segments and their journal.

use std::fs;

use trueno_format::journal::{Chunk, chunk_hash};
use trueno_format::schema::{self, ColumnType};
use trueno_format::segment::{BATCH_ROWS, SEGMENT_ROWS, dictionary_bytes, head_bytes};
use trueno_recorder::{Ceiling, CeilingKind, Overflow, Recorder, Source, TileLevel};
use trueno_testing::{Cell, Table, folder, journal, run_json, segments, table};

/// A run with every table that the recorder fills, several batches, nulls, and new names throughout.
fn varied(path: &std::path::Path) {
    let rec = Recorder::builder(path)
        .overflow(Overflow::Block)
        .create()
        .unwrap();
    for n in 0..20_000u64 {
        let _layer = (n % 10 < 5).then(|| rec.layer(0));
        let mut brick = rec.brick(format!("brick {}", n / 1000));
        if n > 12_000 {
            brick.backend("late");
        }
        let mut tile = rec.tile(TileLevel::ALL[(n % 4) as usize], n as u32, 0);
        tile.elements(n);
    }
    rec.kernel("k").flops(1);
    rec.checksum("c", None, &[f32::NAN], &[1]);
    rec.allocation("tag", 1, None);
    rec.counter("n", 1.0, "unit", Source::Measured);
    drop(rec.wait("w", &[rec.brick("last").id()]));
    rec.ptx("m", "source");
    rec.ceiling(Ceiling {
        level: Some("DRAM".into()),
        threads: Some(1),
        operation: Some("read".into()),
        median: Some(0.9 * 1e10),
        repetitions: Some(9),
        ..Ceiling::new("cpu", CeilingKind::Bandwidth, 1e10, Source::Measured)
    });
    rec.finish().unwrap();
}

#[test]
fn chunks_cover_every_file_and_hashes_match() {
    let (_folder, path) = folder();
    varied(&path);
    let journal = journal(&path);
    let mut tables: Vec<&str> = journal
        .keys()
        .map(|segment| segment.split('/').next().unwrap())
        .collect();
    tables.sort_unstable();
    assert_eq!(
        tables,
        [
            "allocations",
            "bricks",
            "ceilings",
            "checksums",
            "clock_pairs",
            "counters",
            "edges",
            "kernels",
            "ptx",
            "syncs",
            "threads",
            "tiles"
        ]
    );
    for (segment, lines) in &journal {
        let bytes = fs::read(path.join(segment)).unwrap();
        let mut offset = 0;
        for line in lines {
            assert_eq!(line.offset, offset, "{segment}: no holes");
            let chunk = &bytes[offset as usize..(offset + line.bytes) as usize];
            assert_eq!(line.xxh3, chunk_hash(chunk), "{segment} at {offset}");
            offset += line.bytes;
        }
        assert_eq!(offset, bytes.len() as u64, "{segment}: to the end");
        let kinds: Vec<Chunk> = lines.iter().map(|line| line.chunk).collect();
        assert_eq!(
            (kinds[0], kinds[kinds.len() - 1]),
            (Chunk::Head, Chunk::Tail)
        );
        assert!(
            kinds[1..kinds.len() - 1]
                .iter()
                .all(|kind| *kind == Chunk::Batch)
        );
        let rows: u64 = lines
            .iter()
            .filter(|l| l.chunk == Chunk::Batch)
            .filter_map(|l| l.rows)
            .sum();
        assert_eq!(lines.last().unwrap().rows, Some(rows));
        let table_name = segment.split('/').next().unwrap();
        assert_eq!(table(&path, table_name).rows as u64, rows);
        let head = head_bytes(schema::table(table_name).unwrap());
        assert_eq!(
            &bytes[..lines[0].bytes as usize],
            head,
            "{segment}: the head is known"
        );
    }
}

#[test]
fn batches_are_whole_and_types_are_those_of_the_schema() {
    let (_folder, path) = folder();
    varied(&path);
    let bricks = table(&path, "bricks");
    assert_eq!(bricks.rows, 20_000 + 10_000 + 1);
    // The last batch may be short, and one for each second that has begun: rows do not wait for longer.
    let whole = |rows: &&usize| **rows == BATCH_ROWS;
    let short = bricks.batches.len() - bricks.batches.iter().filter(whole).count();
    assert!(bricks.batches.iter().all(|rows| *rows <= BATCH_ROWS));
    let seconds = run_json(&path).wall_ns.unwrap() as usize / 1_000_000_000;
    assert!(short <= 2 + seconds, "{:?}", bricks.batches);
    for described in schema::TABLES {
        let found = table(&path, described.name);
        for column in described.columns.iter().filter(|_| found.rows > 0) {
            for cell in &found.columns[column.name] {
                let fits = match (cell, column.ty) {
                    (Cell::Null, _) => column.nullable,
                    (Cell::U(_), ColumnType::U32 | ColumnType::U64)
                    | (Cell::I(_), ColumnType::I64)
                    | (Cell::F(_), ColumnType::F64)
                    | (Cell::B(_), ColumnType::Bool)
                    | (Cell::T(_), ColumnType::Text) => true,
                    _ => false,
                };
                assert!(fits, "{}.{}: {cell:?}", described.name, column.name);
            }
        }
    }
    let rows: Vec<_> = (0..20_000).map(|n| Some(i128::from(n))).collect();
    assert_eq!(table(&path, "tiles").numbers("row"), rows);
    let backends = bricks.texts("backend");
    assert_eq!(backends.iter().flatten().count(), 7_999);
}

/// A segment that lost its tail is read from its head, its batches and the journal's dictionaries.
#[test]
fn a_segment_without_its_tail_is_put_together_from_the_journal() {
    let (_folder, path) = folder();
    varied(&path);
    for (segment, lines) in journal(&path) {
        let name = segment.split('/').next().unwrap();
        let file = fs::read(path.join(&segment)).unwrap();
        let batches = lines.iter().filter(|line| line.chunk == Chunk::Batch);
        let mut rebuilt = Table::default();
        rebuilt.add_batches(name, &file, batches);
        let sealed = table(&path, name);
        assert_eq!(rebuilt.rows, sealed.rows);
        for (column, cells) in &sealed.columns {
            // NaN is not equal to itself; no column that is written here holds one.
            assert_eq!(&rebuilt.columns[column], cells, "{segment} {column}");
        }
    }
}

#[test]
fn dictionaries_list_names_as_they_first_appear() {
    let (_folder, path) = folder();
    varied(&path);
    let lines = &journal(&path)["bricks/000000.arrow"];
    let listed: Vec<String> = lines
        .iter()
        .flat_map(|line| line.new.get("name").cloned().unwrap_or_default())
        .collect();
    let mut seen = Vec::new();
    for name in table(&path, "bricks").texts("name").into_iter().flatten() {
        if !seen.iter().any(|known| known == name) {
            seen.push(name.to_owned());
        }
    }
    assert_eq!(listed, seen);
}

#[test]
fn a_full_segment_is_sealed_and_another_one_begins() {
    let (_folder, path) = folder();
    let rec = Recorder::builder(&path)
        .overflow(Overflow::Block)
        .create()
        .unwrap();
    let (early, late) = (rec.name("early"), rec.name("late"));
    let total = SEGMENT_ROWS + 10_000;
    for n in 0..total {
        drop(rec.brick(if n < SEGMENT_ROWS { early } else { late }));
    }
    let summary = rec.finish().unwrap();
    assert_eq!((summary.tables["bricks"].rows, summary.dropped), (total, 0));
    assert_eq!(segments(&path, "bricks").len(), 2);
    let journal = journal(&path);
    let new = |segment: &str| -> Vec<String> {
        journal[segment]
            .iter()
            .flat_map(|line| line.new.get("name").cloned().unwrap_or_default())
            .collect()
    };
    let rows = |segment: &str| journal[segment].last().unwrap().rows.unwrap();
    // Dictionaries are each segment's own. Batches of the timer may let it overshoot by one.
    assert_eq!(new("bricks/000000.arrow")[0], "early");
    assert!(new("bricks/000001.arrow").contains(&"late".to_owned()));
    assert!(rows("bricks/000000.arrow") >= SEGMENT_ROWS);
    assert_eq!(
        rows("bricks/000000.arrow") + rows("bricks/000001.arrow"),
        total
    );
    assert!(
        fs::read_dir(path.join("bricks")).unwrap().count() == 2,
        "no .open file is left"
    );
}

#[test]
fn a_column_that_is_no_text_has_no_dictionary() {
    let bricks = schema::table("bricks").unwrap();
    assert!(dictionary_bytes(bricks, "id", &["x"]).is_none());
    assert!(dictionary_bytes(bricks, "no such column", &["x"]).is_none());
    assert!(dictionary_bytes(bricks, "backend", &[] as &[&str]).is_some());
}
