use std::fs;

use super::fixture::{Export, FULL, import};
use super::samples::{SAMPLES, TABLES};
use crate::Error;
use crate::nsys::IMPORTER;
use crate::read_back::{Imported, imported_with, partial};
use proptest::prelude::*;

fn long() -> Export {
    Export::new(
        "PRAGMA page_size=512;
         CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, \"end\" INTEGER, deviceId INTEGER, gridX INTEGER);
         WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
         INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT 10 * i, 10 * i + 5, 0, i FROM n",
    )
}

/// Imports what can be read of a damaged export, after checking that it is refused otherwise.
fn import_partial(export: &Export) -> Imported {
    let refused = export.import().err().expect("it is damaged").to_string();
    assert!(
        refused.contains("CUPTI_ACTIVITY_KIND_KERNEL") || refused.contains("cut or damaged"),
        "{refused}"
    );
    assert!(refused.contains("--partial"), "{refused}");
    imported_with(&IMPORTER, &export.path(), &partial()).unwrap()
}

#[test]
fn a_cut_database_keeps_what_comes_before_the_cut() {
    let export = long();
    let bytes = fs::read(export.path()).unwrap();
    fs::write(export.path(), &bytes[..bytes.len() / 2]).unwrap();
    let run = import_partial(&export);
    let kept = run.rows("kernels", "grid_x").len();
    assert!((100..1000).contains(&kept), "{kept}");
    assert!(run.warns("is damaged") && run.warns("its first"));
    assert!(
        run.run
            .problems
            .iter()
            .any(|problem| problem.contains("CUPTI_ACTIVITY_KIND_KERNEL"))
    );
}

#[test]
fn a_database_of_rocprof_is_named() {
    for tables in ["HIP KERN", "HSA COPY A", "A HIP"] {
        let tables = tables.split(' ');
        let tables: Vec<String> = tables
            .map(|table| format!("CREATE TABLE {table} (\"Index\" INTEGER)"))
            .collect();
        let refused = Export::new(&tables.join("; ")).import().err().unwrap();
        let refused = refused.to_string();
        assert!(refused.contains("results.json"), "{refused}");
    }
}

#[test]
fn a_damaged_page_loses_itself_and_not_what_lies_behind() {
    let export = long();
    let mut bytes = fs::read(export.path()).unwrap();
    let middle = bytes.len() / 512 / 2 * 512;
    bytes[middle..middle + 512].fill(0xff);
    fs::write(export.path(), &bytes).unwrap();
    let run = import_partial(&export);
    let kept = run.rows("kernels", "grid_x");
    assert!((900..1000).contains(&kept.len()), "{}", kept.len());
    assert_eq!(kept[0], "1");
    assert_eq!(kept[kept.len() - 1], "1000");
    assert!(run.warns("its first"));
}

/// A text of 900 MB once made the import fail.
#[test]
fn very_long_texts_are_cut_between_characters_and_counted() {
    let run = Export::new(
        "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
         INSERT INTO StringIds VALUES (1, replace(printf('%.*c', 20000, 'x'), 'x', 'é')), (2, 'short');
         CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, \"end\", deviceId, correlationId, shortName);
         INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (10, 20, 0, 1, 1), (30, 40, 0, 2, 2)",
    )
    .import()
    .unwrap();
    let names = run.rows("kernels", "name");
    assert_eq!(names[0].len(), 1 << 14);
    assert!(names[0].chars().all(|c| c == 'é'), "no half of one");
    assert_eq!(names[1], "short");
    let said = "table StringIds: 1 very long texts were cut";
    assert!(run.warns(said));
    assert!(run.run.problems.is_empty(), "no row is lost");
}

#[test]
fn a_head_without_a_database_is_damaged() {
    let export = Export::new(FULL);
    let bytes = fs::read(export.path()).unwrap();
    fs::write(export.path(), &bytes[..100]).unwrap();
    let error = export.import().err().unwrap();
    assert!(
        matches!(error, Error::Damaged { .. } | Error::Format { .. }),
        "{error}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..2_000), magic: bool) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("export.sqlite");
        let mut file = if magic { b"SQLite format 3\0".to_vec() } else { Vec::new() };
        file.extend(bytes);
        fs::write(&path, file).unwrap();
        let _ = import(&path);
    }

    #[test]
    fn no_change_of_a_page_makes_it_panic(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..40),
        cut in prop::option::of(any::<prop::sample::Index>()),
        short: bool,
    ) {
        let export = if short { Export::new(&format!("{FULL}{TABLES}{SAMPLES}")) } else { long() };
        let mut bytes = fs::read(export.path()).unwrap();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        fs::write(export.path(), bytes).unwrap();
        if let Ok(run) = export.import() {
            let kept: u64 = run.notes.kept.values().sum();
            let written: u64 = run.run.tables.values().map(|table| table.rows).sum();
            prop_assert_eq!(kept, written);
        }
    }
}
