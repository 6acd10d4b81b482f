use super::fixture::{Export, FULL};
use crate::nsys::IMPORTER;
use crate::nsys::processes;
use crate::read_back::{Imported, imported_with};
use crate::{Options, Part};

const TABLE: &str =
    "CREATE TABLE SCHED_EVENTS (start INTEGER, cpu INTEGER, isSchedIn INTEGER, globalTid INTEGER);";
const WAITS: &str = "kind thread start_ns dur_ns";
const TIMES: &str = "name thread time_ns value unit source";

/// The fixture's rows are from 100 to 1000, all of thread 5 (83886085).
fn import(values: &str) -> Imported {
    let sql = format!("{FULL}{TABLE} INSERT INTO SCHED_EVENTS VALUES {values};");
    Export::new(&sql).import().unwrap()
}

fn waits(run: &Imported) -> Vec<String> {
    let all = run.rows("syncs", WAITS);
    all.into_iter()
        .filter(|row| row.starts_with("off_cpu"))
        .collect()
}

#[test]
fn a_thread_waits_between_switching_out_and_in_and_runs_otherwise() {
    let run = import(
        "(40, 0, 1, 83886085), (650, 0, 0, 83886085), (690, 3, 1, 83886085), (710, 3, 0, 83886085), (740, 3, 1, 83886085),
         (2000, 3, 0, 83886085)",
    );
    // Before the first row and after the last the run has no time.
    assert_eq!(run.wall_ns, Some(900));
    assert_eq!(waits(&run), ["off_cpu 0 550 40", "off_cpu 0 610 30"]);
    assert_eq!(
        run.rows("counters", TIMES),
        ["cpu_time 0 900 830 ns measured"]
    );
    assert_eq!(run.rows("threads", "os_id start_ns"), ["5 0"]);
    assert_eq!(run.notes.read["SCHED_EVENTS"], 6);
    let mut reasons = run.notes.left_out.keys();
    assert!(!reasons.any(|reason| reason.contains("SCHED_EVENTS")));
}

#[test]
fn a_wait_beyond_the_last_row_ends_the_thread() {
    let run = import(
        "(650, 0, 0, 83886085), (690, 3, 1, 83886085), (950, 3, 0, 83886085), (1100, 3, 1, 83886085), (1200, 3, 0, 83886085)",
    );
    assert_eq!(waits(&run), ["off_cpu 0 550 40"]);
    assert_eq!(
        run.rows("counters", TIMES),
        ["cpu_time 0 850 260 ns measured"]
    );
}

#[test]
fn a_lost_switch_makes_the_time_that_a_thread_ran_unknown() {
    for values in [
        "(40, 0, 1, 83886085), (300, 0, 1, 83886085), (650, 0, 0, 83886085), (690, 0, 1, 83886085)",
        "(40, 0, 1, 83886085), (300, 0, 0, 83886085), (650, 0, 0, 83886085), (690, 0, 1, 83886085)",
    ] {
        let run = import(values);
        assert_eq!(waits(&run), ["off_cpu 0 550 40"], "{values}");
        assert!(run.rows("counters", TIMES).is_empty(), "{values}");
    }
}

#[test]
fn threads_of_libraries_are_left_out_as_are_switches_without_a_state_or_time() {
    let run = import(
        "(200, 0, 1, 83886086), (300, 0, 0, 83886086), (400, 0, 1, 83886086), (200, 0, NULL, 83886085), ('x', 0, 1, 83886085),
         (500, 0, 1, NULL)",
    );
    assert!(waits(&run).is_empty());
    assert_eq!(run.rows("threads", "os_id"), ["5"]);
    for (reason, count) in [
        (
            "SCHED_EVENTS: switch of a thread without calls of CUDA and ranges",
            4,
        ),
        ("SCHED_EVENTS: switch neither in nor out", 1),
        ("SCHED_EVENTS: no start, or one beyond 64 bits", 1),
    ] {
        assert_eq!(run.notes.left_out[reason], count, "{reason}");
    }
}

#[test]
fn a_rank_has_the_switches_of_its_process() {
    let sql = format!(
        "{FULL}{TABLE}
         INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (300, 320, 0, 100663302, 7, 1, 0);
         INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES
             (400, 500, 1, 1, 13, 7, 100663296, 5, 6, 4, 2, 1, 128, 1, 1, 32, 64, 1024, 0);
         INSERT INTO SCHED_EVENTS VALUES (650, 0, 0, 83886085), (690, 0, 1, 83886085), (330, 1, 0, 100663302),
             (390, 1, 1, 100663302);"
    );
    let export = Export::new(&sql);
    let all = processes(&export.path()).unwrap();
    let of_rank = |rank: usize| {
        let options = Options {
            part: Some(Part::Process(all[rank])),
            ..Options::default()
        };
        waits(&imported_with(&IMPORTER, &export.path(), &options).unwrap())
    };
    assert_eq!(of_rank(0), ["off_cpu 0 550 40"]);
    assert_eq!(of_rank(1), ["off_cpu 0 230 60"]);
}
