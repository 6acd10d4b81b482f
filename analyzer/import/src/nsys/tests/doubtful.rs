//! Work that cannot be beside all other work.

use super::fixture::Export;

fn kernels(rows: &str) -> Export {
    Export::new(&format!(
        "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER,
            streamId INTEGER, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER);
         INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES {rows}"
    ))
}

/// Twenty kernels of 800 ns, one per microsecond, starting at `from_ns`.
fn usual(from_ns: i64) -> String {
    let row = |at: i64| {
        let start = from_ns + 1_000 * at;
        format!("({start}, {}, 0, 1, 7, {at}, 83886080, NULL)", start + 800)
    };
    (1..=20).map(row).collect::<Vec<_>>().join(", ")
}

#[test]
fn a_row_far_from_all_others_is_set_aside_and_counted() {
    let from_ns = 1_700_000_000_000_000_000;
    let run = kernels(&format!(
        "{}, (5, 805, 0, 1, 7, 90, 83886080, NULL)",
        usual(from_ns)
    ));
    let run = run.import().unwrap();
    assert_eq!(run.rows("kernels", "start_ns").len(), 20);
    assert_eq!(run.wall_ns, Some(19_800));
    assert!(run.warns("1 row has"), "{:?}", run.notes.warnings);
}

#[test]
fn a_kernel_that_lasts_over_the_next_ones_of_its_stream_is_not_valid() {
    let run = kernels(&format!(
        "{}, (1100, 900000000, 0, 1, 7, 90, 83886080, NULL)",
        usual(0)
    ));
    let run = run.import().unwrap();
    let invalid: Vec<String> = run.rows("kernels", "correlation valid reason");
    let invalid: Vec<&String> = invalid.iter().filter(|row| row.contains("false")).collect();
    assert_eq!(invalid.len(), 1, "{invalid:?}");
    assert!(
        invalid[0].contains("lasts over the next 19 kernels"),
        "{invalid:?}"
    );
    assert_eq!(run.wall_ns, Some(19_800));
    // Two streams at once are nothing special.
    let apart = kernels(&format!(
        "{}, (1100, 900000000, 0, 1, 8, 90, 83886080, NULL)",
        usual(0)
    ));
    assert!(!apart.import().unwrap().warns("lasts over"));
}

#[test]
fn a_row_of_the_host_far_from_all_others_is_set_aside_too() {
    let (hour_ns, from_ns) = (3_600_000_000_000_i64, 1_700_000_000_000_000_000_i64);
    let calls = |more: &str| {
        let row = |at: i64| {
            let start = from_ns + 1_000 * at - 500;
            format!("({start}, {}, 83886085, {at}, NULL, 0)", start + 300)
        };
        let rows: Vec<String> = (1..=20).map(row).collect();
        Export::new(&format!(
            "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, globalTid INTEGER,
                correlationId INTEGER, nameId INTEGER, returnValue INTEGER);
             INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES {}{more}",
            rows.join(", ")
        ))
    };
    let early = from_ns - hour_ns;
    for far in [
        format!(", ({early}, {}, 83886085, 90, NULL, 0)", early + 300),
        ", (5, 10, 83886085, 90, NULL, 0)".to_owned(),
    ] {
        let run = calls(&far).import().unwrap();
        assert_eq!(run.rows("calls", "start_ns").len(), 20);
        assert_eq!(run.wall_ns, Some(19_300));
        assert!(run.warns("1 row has"), "{:?}", run.notes.warnings);
    }
}

#[test]
fn of_rows_that_are_all_there_twice_each_counts_once() {
    let twice = kernels(&format!("{}, {}", usual(0), usual(0)));
    let run = twice.import().unwrap();
    assert_eq!(run.rows("kernels", "start_ns").len(), 20);
    assert!(run.warns("twice"), "{:?}", run.notes.warnings);
    // One that is there once proves that they are others.
    let more = kernels(&format!(
        "{}, {}, (30000, 30800, 0, 1, 7, 90, 83886080, NULL)",
        usual(0),
        usual(0)
    ));
    let run = more.import().unwrap();
    assert_eq!(run.rows("kernels", "start_ns").len(), 41);
    assert!(!run.warns("twice"), "{:?}", run.notes.warnings);
}
