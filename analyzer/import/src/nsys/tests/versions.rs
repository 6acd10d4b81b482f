//! Tables whose names end in a version.

use super::fixture::{Export, FULL};
use crate::nsys::processes;

#[test]
fn tables_of_a_later_version_are_read_as_those_without_one() {
    let newer = FULL
        .replace(
            "CUPTI_ACTIVITY_KIND_KERNEL",
            "CUPTI_ACTIVITY_KIND_KERNEL_V2",
        )
        .replace(
            "CUPTI_ACTIVITY_KIND_RUNTIME",
            "CUPTI_ACTIVITY_KIND_RUNTIME_V3",
        );
    let export = Export::new(&newer);
    let (run, plain) = (
        export.import().unwrap(),
        Export::new(FULL).import().unwrap(),
    );
    for (table, columns) in [
        ("kernels", "name start_ns dur_ns"),
        ("calls", "name start_ns dur_ns"),
        ("edges", "from to kind"),
    ] {
        assert_eq!(
            run.rows(table, columns),
            plain.rows(table, columns),
            "{table}"
        );
    }
    assert!(!run.warns("no table"));
    assert_eq!(processes(&export.path()).unwrap().len(), 1);
}

#[test]
fn of_two_versions_the_one_with_rows_is_read_and_the_other_counted() {
    let columns =
        "(start INTEGER, end INTEGER, globalTid INTEGER, correlationId INTEGER, nameId INTEGER)";
    let empty = FULL.replace(
        "CUPTI_ACTIVITY_KIND_RUNTIME",
        "CUPTI_ACTIVITY_KIND_RUNTIME_V10",
    );
    let older = format!(
        "{empty} CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME {columns};
         CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME_V9 {columns};
         INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME_V9 VALUES (120, 150, 83886085, 7, 1);"
    );
    let run = Export::new(&older).import().unwrap();
    assert_eq!(run.rows("calls", "name").len(), 5);
    let reason = "table CUPTI_ACTIVITY_KIND_RUNTIME_V9: another version of CUPTI_ACTIVITY_KIND_RUNTIME was read";
    assert_eq!(run.notes.left_out[reason], 1);
}
