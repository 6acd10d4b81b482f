use super::fixture::{Export, FULL};
use crate::nsys::IMPORTER;
use crate::nsys::processes;
use crate::read_back::{Imported, imported_with};
use crate::{Options, Part};

pub const TABLES: &str = "
CREATE TABLE COMPOSITE_EVENTS (id INTEGER PRIMARY KEY, start INTEGER, cpu INTEGER, threadState INTEGER,
    globalTid INTEGER, cpuCycles INTEGER);
CREATE TABLE SAMPLING_CALLCHAINS (id INTEGER, symbol INTEGER, module INTEGER, kernelMode INTEGER,
    unresolved INTEGER, specialEntry INTEGER, originalIP INTEGER, stackDepth INTEGER);
INSERT INTO StringIds VALUES (20, 'main'), (21, '/bin/app'), (22, 'spin'), (23, '0x7f00'), (24, '[Unknown]'),
    (25, '[kernel.kallsyms]'), (26, '0xffffffff90e6fa47'), (27, '[Max depth]'), (28, '_start');
";

/// A sample of the fixture's thread, one of another thread of it, and one of process 6, which ran nothing else.
pub const SAMPLES: &str = "
INSERT INTO COMPOSITE_EVENTS VALUES (1, 90, 3, 1, 83886085, 1), (2, 1010, 4, 1, 83886086, 1),
    (3, 300, NULL, 1, 100663302, 1);
INSERT INTO SAMPLING_CALLCHAINS VALUES (1, 22, 21, NULL, NULL, NULL, 4200, 0), (2, 26, 25, 1, 1, NULL, -1863910841, 0),
    (1, 20, 21, NULL, NULL, NULL, 4100, 1), (3, 20, 21, NULL, NULL, NULL, 4100, 0);
";

const STACKS: &str = "id caller function module address";

fn import(sql: &str) -> Imported {
    Export::new(&format!("{FULL}{TABLES}{sql}"))
        .import()
        .unwrap()
}

/// Two samples with these rows of `SAMPLING_CALLCHAINS`.
fn functions(values: &str) -> Imported {
    import(&format!(
        "INSERT INTO COMPOSITE_EVENTS VALUES (1, 100, 0, 1, 83886085, 1), (2, 110, 0, 1, 83886085, 1);
         INSERT INTO SAMPLING_CALLCHAINS VALUES {values}"
    ))
}

#[test]
fn samples_have_threads_times_and_stacks_and_lengthen_the_run() {
    let run = import(SAMPLES);
    // The first sample is at 90, the other rows are from 100 to 1000.
    assert_eq!(run.wall_ns, Some(920));
    assert_eq!(run.run.clock.origin_realtime_ns, 1_000_090);
    assert_eq!(
        run.rows("samples", "time_ns thread stack event period cpu"),
        ["0 0 2 time - 3", "920 1 3 time - 4", "210 2 1 time - -"]
    );
    assert_eq!(
        run.rows("stacks", STACKS),
        [
            "1 - main /bin/app -",
            "2 1 spin /bin/app -",
            "3 - - [kernel] 18446744071845640775",
        ]
    );
    assert_eq!(
        run.rows("threads", "os_id start_ns"),
        ["5 0", "6 920", "6 210"]
    );
    assert_eq!(run.notes.read["COMPOSITE_EVENTS"], 3);
    assert_eq!(run.notes.read["SAMPLING_CALLCHAINS"], 4);
    assert!(!run.notes.left_out.keys().any(|reason| {
        reason.contains("COMPOSITE_EVENTS") || reason.contains("SAMPLING_CALLCHAINS")
    }));
}

#[test]
fn unresolved_functions_have_an_address_and_no_name() {
    let run = functions(
        "(1, 23, 21, NULL, 1, NULL, 32512, 0), (1, 28, 21, NULL, 1, NULL, 4300, 1), (1, 24, 24, NULL, 1, NULL, 0, 2),
         (2, 99, 21, 0, 0, NULL, 4400, 0), (2, 24, 24, 1, 0, NULL, 4500, 1)",
    );
    assert_eq!(
        run.rows("stacks", STACKS),
        [
            "1 - - - 0",
            "2 1 - /bin/app 4300",
            "3 2 - /bin/app 32512",
            "4 - - [kernel] 4500",
            "5 4 - /bin/app 4400",
        ]
    );
    let reason = "SAMPLING_CALLCHAINS: symbol that StringIds lacks: null";
    assert_eq!(run.notes.left_out[reason], 1);
}

#[test]
fn a_mark_of_a_cut_stack_is_no_function() {
    let run = functions(
        "(1, 27, 27, NULL, NULL, NULL, NULL, 2), (1, 20, 21, NULL, NULL, NULL, 4100, 1),
         (1, 22, 21, NULL, NULL, NULL, 4200, 0), (2, 22, 21, NULL, NULL, NULL, 4200, 0)",
    );
    assert_eq!(run.rows("samples", "stack"), ["2", "3"]);
    assert_eq!(
        run.rows("stacks", "caller function"),
        ["- main", "1 spin", "- spin"]
    );
    let reason = "SAMPLING_CALLCHAINS: mark of a stack that is cut";
    assert_eq!(run.notes.left_out[reason], 1);
    assert!(run.notes.skipped.contains(reason));
    assert!(run.warns("1 of 2 CPU samples have no callers"));
    assert!(run.warns("1 of 2 CPU samples lack the outermost functions"));
}

#[test]
fn event_and_period_are_those_that_the_export_states() {
    for (trigger, expected) in [
        ("Software", "cpu-clock 2000000"),
        ("Hardware", "cycles 2000000"),
    ] {
        let run = import(&format!(
            "{SAMPLES} CREATE TABLE META_DATA_CAPTURE (name TEXT, value TEXT);
             INSERT INTO META_DATA_CAPTURE VALUES ('LINUX_PERF_OPTIONS:SAMPLING_PERIOD', '2000000'),
                 ('LINUX_PERF_OPTIONS:CPU_IP_TRIGGER_TYPE', '{trigger}'),
                 ('LINUX_PERF_OPTIONS:COLLECTION_MODE', 'ProcessTree'), ('SAMPLE_ALL_TASKS', 'false');"
        ));
        assert_eq!(run.rows("samples", "event period"), [expected; 3]);
    }
}

#[test]
fn of_the_whole_system_only_processes_with_other_rows_are_kept() {
    let run = import(&format!(
        "{SAMPLES} CREATE TABLE META_DATA_CAPTURE (name TEXT, value TEXT);
         INSERT INTO META_DATA_CAPTURE VALUES ('LINUX_PERF_OPTIONS:COLLECTION_MODE', 'SystemWide');"
    ));
    assert_eq!(run.rows("samples", "time_ns thread"), ["910 1"]);
    assert_eq!(run.wall_ns, Some(910));
    assert_eq!(run.run.program.pid, Some(5));
    for (reason, count) in [
        (
            "COMPOSITE_EVENTS: sample of a process that has no other row",
            1,
        ),
        ("COMPOSITE_EVENTS: sample from before all other rows", 1),
        ("SAMPLING_CALLCHAINS: function of a sample left out", 3),
    ] {
        assert_eq!(run.notes.left_out.get(reason), Some(&count), "{reason}");
    }
}

#[test]
fn one_process_gets_its_own_samples_and_counts_those_of_no_rank() {
    let export = Export::new(&format!("{FULL}{TABLES}{SAMPLES}"));
    let process = processes(&export.path()).unwrap()[0];
    let options = Options {
        part: Some(Part::Process(process)),
        ..Options::default()
    };
    let run = imported_with(&IMPORTER, &export.path(), &options).unwrap();
    assert_eq!(
        run.rows("samples", "time_ns thread stack"),
        ["0 0 2", "920 1 3"]
    );
    // The sample and its function.
    assert_eq!(
        run.notes.left_out["rows of processes that ran no kernels"],
        2
    );
    assert!(
        !run.notes
            .left_out
            .keys()
            .any(|reason| reason.contains("CALLCHAINS"))
    );
}

#[test]
fn damaged_samples_and_functions_are_counted() {
    let tables = TABLES.replace("id INTEGER PRIMARY KEY, start", "id, start");
    let run = Export::new(&format!(
        "{FULL}{tables}
         INSERT INTO COMPOSITE_EVENTS VALUES (NULL, 200, 0, 1, 83886085, 1), (1, 'soon', 0, 1, 83886085, 1),
             (2, 210, -1, 1, 83886085, 1), (3, 220, 0, 2, 83886085, 1), (4, 230, 0, 77, NULL, 1),
             (5, 240, 0, 1, 83886085, 1), (5, 250, 0, 1, 83886085, 1), (6, 260, 0, 1, 83886085, 1),
             (7, 270, 0, 1, 83886085, 1);
         INSERT INTO SAMPLING_CALLCHAINS VALUES (NULL, 20, 21, 0, 0, 0, 1, 0), (1, 20, 21, 0, 0, 0, 1, 0),
             (2, 20, 21, 0, 0, 0, 1, -1), (2, 20, 21, 0, 0, 0, 1, NULL), (2, 22, 21, 0, 0, 0, 1, 0),
             (2, 20, 21, 0, 0, 0, 1, 0), (3, 20, 21, 0, 0, 0, 1, 0), (5, 20, 21, 0, 0, 0, 1, 0),
             (6, 20, 21, 0, 0, 0, 1, 3), (6, 22, 21, 0, 0, 0, 1, 0), (7, 20, 21, 0, 0, 0, 1, 1),
             (99, 20, 21, 0, 0, 0, 1, 0);"
    ))
    .import()
    .unwrap();
    assert_eq!(
        run.rows("samples", "time_ns thread stack cpu"),
        [
            "100 0 - 0",
            "110 0 1 -",
            "130 1 - 0",
            "150 0 - 0",
            "140 0 - 0",
            "160 0 1 0",
            "170 0 - 0",
        ]
    );
    for (reason, count) in [
        ("COMPOSITE_EVENTS: no start, or one beyond 64 bits", 1),
        ("COMPOSITE_EVENTS.cpu is not of 32 bits: null", 1),
        ("COMPOSITE_EVENTS: the thread did not run", 1),
        ("SAMPLING_CALLCHAINS: function of a sample left out", 2),
        (
            "SAMPLING_CALLCHAINS: function of two samples with the same id",
            1,
        ),
        ("SAMPLING_CALLCHAINS: function without its sample", 2),
        (
            "SAMPLING_CALLCHAINS: function without a depth in its stack",
            2,
        ),
        (
            "SAMPLING_CALLCHAINS: second function at one depth of a stack",
            1,
        ),
        (
            "SAMPLING_CALLCHAINS: gap in a stack: callers beyond it are not known",
            1,
        ),
        (
            "SAMPLING_CALLCHAINS: stack without its innermost function: null",
            1,
        ),
    ] {
        assert_eq!(run.notes.left_out.get(reason), Some(&count), "{reason}");
    }
}

#[test]
fn samples_need_neither_stacks_nor_all_columns_nor_other_tables() {
    let run = Export::new(
        "CREATE TABLE COMPOSITE_EVENTS (id INTEGER, start INTEGER, globalTid INTEGER);
         INSERT INTO COMPOSITE_EVENTS VALUES (1, 500, 83886085), (2, 700, 83886085);",
    )
    .import()
    .unwrap();
    assert_eq!(
        run.rows("samples", "time_ns thread stack cpu"),
        ["0 0 - -", "200 0 - -"]
    );
    assert!(run.warns("COMPOSITE_EVENTS has no cpu, threadState"));
    assert_eq!(run.wall_ns, Some(200));
    let run = Export::new(&format!(
        "{FULL} CREATE TABLE SAMPLING_CALLCHAINS (id INTEGER, symbol INTEGER);
         INSERT INTO SAMPLING_CALLCHAINS VALUES (1, 9);"
    ))
    .import()
    .unwrap();
    let reason = "SAMPLING_CALLCHAINS: function without its sample";
    assert_eq!(run.notes.left_out[reason], 1);
}
