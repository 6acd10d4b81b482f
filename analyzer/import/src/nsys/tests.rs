mod damaged;
mod device;
mod doubtful;
mod fixture;
mod iterations;
mod json_lines;
mod nccl;
mod payloads;
mod samples;
mod shapes;
mod switches;
mod versions;

use crate::Error;
use fixture::{Export, FULL};

#[test]
fn every_table_becomes_rows_on_one_timeline() {
    let run = Export::new(FULL).import().unwrap();
    assert_eq!(run.wall_ns, Some(900));
    assert_eq!(
        run.rows("bricks", "id parent name start_ns dur_ns thread"),
        ["1 - step 0 900 0", "2 1 layer 10 490 0"]
    );
    assert_eq!(
        run.rows("calls", "name brick start_ns dur_ns correlation status"),
        [
            "cudaLaunchKernel 2 20 30 7 0",
            "cuLaunchKernel 2 25 20 7 0",
            "cudaMemcpyAsync 2 60 10 8 0",
            "cudaStreamSynchronize 2 100 310 9 0",
            "poll 1 600 50 - -",
        ]
    );
    assert_eq!(
        run.rows(
            "kernels",
            "name brick thread device stream correlation start_ns dur_ns"
        ),
        ["void saxpy<float>(float *) 2 0 0 13 7 200 100"]
    );
    assert_eq!(
        run.rows(
            "kernels",
            "timing grid_x grid_y block_x registers smem_static smem_dynamic graph_node valid"
        ),
        ["device 4 2 128 32 64 1024 - true"]
    );
    assert_eq!(
        run.rows(
            "transfers",
            "direction bytes src_kind dst_kind is_async start_ns dur_ns brick"
        ),
        [
            "h2d 4096 pinned device true 300 100 2",
            "memset 64 - device - 420 5 -"
        ]
    );
    // The export says 2 (a stream waits); the call knows better.
    assert_eq!(
        run.rows("syncs", "kind thread stream start_ns dur_ns"),
        ["stream 0 13 105 300"]
    );
    assert_eq!(
        run.rows("device_events", "event stream time_ns"),
        ["3 13 410"]
    );
    let launch = ["3 9 launches", "5 10 launches", "10 8 joins"];
    let edges = run.rows("edges", "from to kind");
    assert!(
        launch.iter().all(|edge| edges.iter().any(|e| e == edge)),
        "{edges:?}"
    );
    assert_eq!(run.rows("threads", "name os_id"), ["main 5"]);
    assert_eq!(run.run.clock.origin_realtime_ns, 1_000_100);
    assert_eq!(run.run.program.pid, Some(5));
    assert_eq!(run.run.values["nsys.schema_version"], "3.13.2");
    let columns = "kind name thread brick time_ns dur_ns";
    assert_eq!(run.rows("annotations", columns), ["instant mark 0 2 20 -"]);
    assert_eq!(run.notes.left_out["NVTX: a range that was never ended"], 1);
    assert_eq!(
        run.notes.left_out["table GPU_CONTEXT_SWITCH_EVENTS: has no place in a run"],
        1
    );
}

#[test]
fn the_same_export_gives_the_same_rows() {
    let all = |_| {
        let run = Export::new(FULL).import().unwrap();
        (
            run.rows("calls", "id name"),
            run.rows("kernels", "id"),
            run.notes,
        )
    };
    assert_eq!(all(0), all(1));
}

#[test]
fn missing_tables_and_columns_are_null_and_said() {
    let run = Export::new(
        "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, \"end\" INT, shortName INT);
         INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (5, 8, 1)",
    )
    .import()
    .unwrap();
    assert_eq!(
        run.rows(
            "kernels",
            "name device stream correlation grid_x start_ns dur_ns"
        ),
        ["kernel 1 - - - - 0 3"]
    );
    for word in [
        "no table StringIds",
        "CUPTI_ACTIVITY_KIND_KERNEL has no deviceId, contextId, streamId",
        "no table NVTX_EVENTS",
        "no launch in the file",
    ] {
        assert!(run.warns(word), "{word}");
    }
    let warnings = &run.notes.warnings;
    let about = |what: &str| warnings.iter().filter(|text| text.contains(what)).count();
    assert_eq!(
        (about("no table"), about("missing, and null")),
        (3, 1),
        "{warnings:?}"
    );
}

#[test]
fn rows_that_make_no_sense_are_left_out_or_not_valid_and_counted() {
    let run = Export::new(
        "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
         INSERT INTO StringIds VALUES (1, 'a' || char(0) || 'b'), (2, CAST(x'fffe41' AS TEXT));
         CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL
             (start, \"end\", deviceId, correlationId, shortName, gridX, registersPerThread);
         INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES
             (10, 20, 0, 1, 1, 4, 8), (30, 25, 0, 2, 2, 4, 8), (0, 0, 0, 3, 1, 4, 8),
             (40, 50, 'x', 4, 1, -1, 99999999999), ('soon', 60, 0, 5, 1, 4, 8), (61, NULL, 0, 6, 1, 4, 8),
             (-9223372036854775807, 9223372036854775807, 0, 7, 1, 4, 8);
         CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start, \"end\", bytes, copyKind);
         INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (1, 2, -5, 1), (1, 2, 5, 99), (3, 2, 5, 1)",
    )
    .import()
    .unwrap();
    let rows = run.rows(
        "kernels",
        "name device grid_x registers dur_ns valid reason",
    );
    assert_eq!(
        rows,
        [
            "a\0b 0 4 8 10 true -",
            "\u{fffd}\u{fffd}A 0 4 8 -5 false end before start",
            "a\0b - - - 10 true -",
        ]
    );
    let table = "CUPTI_ACTIVITY_KIND_KERNEL";
    for (reason, count) in [
        (format!("{table}: no start"), 1),
        (format!("{table}: no end"), 1),
        (
            format!("{table}: start and end are 0, so it was not timed"),
            1,
        ),
        (format!("{table}: length beyond 64 bits"), 1),
        (format!("{table}.deviceId is no integer: null"), 1),
        (format!("{table}.gridX is not of 32 bits: null"), 1),
        ("CUPTI_ACTIVITY_KIND_MEMCPY: end before start".to_owned(), 1),
    ] {
        assert_eq!(run.notes.left_out.get(&reason), Some(&count), "{reason}");
    }
    assert_eq!(
        run.rows("transfers", "direction bytes"),
        ["h2d -", "unknown 5"]
    );
}

#[test]
fn records_that_only_name_something_do_not_lengthen_the_run() {
    // A library creates its domain when it is loaded; a mark is what the program did.
    let events = |enumeration: &str| {
        Export::new(&format!(
            "{FULL} {enumeration}
             INSERT INTO NVTX_EVENTS VALUES (-1878000000, NULL, 75, 'TensorRT', NULL, 83886085, NULL),
                 (-1878000001, NULL, 33, 'loss', NULL, 83886085, NULL), (40, NULL, 34, 'begin', NULL, 83886085, NULL),
                 (-5000000000, NULL, 99, 'copies', NULL, 83886085, NULL);"
        ))
        .import()
        .unwrap()
    };
    for enumeration in [
        "",
        "CREATE TABLE ENUM_NSYS_EVENT_TYPE (id INTEGER, name TEXT, label TEXT);
         INSERT INTO ENUM_NSYS_EVENT_TYPE VALUES (33, 'NvtxCategory', ''), (75, 'NvtxDomainCreate', ''),
             (34, 'NvtxMark', ''), (59, 'NvtxPushPopRange', ''), (60, 'NvtxStartEndRange', '');",
    ] {
        let run = events(enumeration);
        assert_eq!(run.wall_ns, Some(960));
        assert_eq!(
            run.rows("annotations", "name time_ns"),
            ["begin 0", "mark 80"]
        );
        let left_out = &run.notes.left_out;
        assert_eq!(left_out["NVTX: NvtxDomainCreate is not a range"], 1);
    }
}

#[test]
fn migrations_of_managed_memory_have_no_launch_and_need_none() {
    let copies = |kind: u32| {
        Export::new(&format!(
            "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start, \"end\", deviceId, bytes, copyKind);
             INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (1, 2, 0, 65536, {kind})"
        ))
        .import()
        .unwrap()
    };
    let columns = "direction bytes src_kind dst_kind";
    let migration = copies(11);
    assert_eq!(
        migration.rows("transfers", columns),
        ["h2d 65536 managed managed"]
    );
    assert!(!migration.warns("no launch in the file"));
    let copy = copies(1);
    assert_eq!(copy.rows("transfers", columns), ["h2d 65536 - -"]);
    assert!(copy.warns("no launch in the file"));
}

#[test]
fn a_prefetch_of_managed_memory_is_an_asynchronous_copy() {
    let run = Export::new(
        "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start, \"end\", deviceId, bytes, copyKind, migrationCause);
         INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (1, 2, 0, 65536, 11, 1), (3, 4, 0, 65536, 11, 2),
             (5, 6, 0, 65536, 11, NULL)",
    )
    .import()
    .unwrap();
    assert_eq!(run.rows("transfers", "is_async"), ["true", "-", "-"]);
}

#[test]
fn correlation_ids_are_of_a_process_and_ambiguous_ones_link_nothing() {
    let (one, two) = ((5_i64 << 24) | 5, (6_i64 << 24) | 6);
    let run = Export::new(&format!(
        "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start, \"end\", globalTid, nameId, correlationId);
         INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES
             (0, 5, {one}, 1, 7), (1, 6, {two}, 2, 7), (10, 12, {one}, 1, 8), (20, 22, {one}, 1, 8);
         CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL
             (start, \"end\", deviceId, contextId, streamId, correlationId, globalPid, shortName);
         INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES
             (30, 31, 0, 1, 7, 7, {one}, 1), (32, 33, 0, 1, 7, 7, {two}, 1), (34, 35, 0, 1, 7, 8, {one}, 1)"
    ))
    .import()
    .unwrap();
    assert_eq!(
        run.rows("kernels", "thread stream correlation"),
        ["0 7 7", "1 1000007 4294967303", "- 7 -"]
    );
    assert_eq!(run.rows("edges", "from to"), ["1 5", "2 6"]);
    assert!(run.warns("streams of different processes"));
    assert_eq!(
        run.rows("threads", "name os_id"),
        ["process 5 5", "process 6 6"]
    );
}

#[test]
fn databases_without_activity_and_of_others_are_named() {
    for (tables, words) in [
        (
            &["ANALYSIS_DETAILS", "TARGET_INFO_SYSTEM_ENV"][..],
            "without activity",
        ),
        (&["KERN", "OPS"], "results.json"),
        (&["users"], "no known profiler"),
        (&["StringIds"], "CUPTI_ACTIVITY_KIND_KERNEL"),
    ] {
        let tables = tables
            .iter()
            .map(|table| format!("CREATE TABLE {table} (x INTEGER);"));
        let error = Export::new(&tables.collect::<String>())
            .import()
            .err()
            .unwrap();
        assert!(error.to_string().contains(words), "{error}");
    }
}

#[test]
fn other_files_are_refused_with_the_next_step() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a file.sqlite");
    for bytes in [&b""[..], b"SQLite", b"{\"traceEvents\": []}"] {
        std::fs::write(&path, bytes).unwrap();
        let error = fixture::import(&path).err().unwrap();
        assert!(matches!(error, Error::Format { .. }), "{error}");
        assert!(error.to_string().contains("nsys export"), "{error}");
    }
    let other = Export::new("CREATE TABLE people (name TEXT)")
        .import()
        .err()
        .unwrap();
    assert!(other.to_string().contains("tables people"), "{other}");
    let missing = fixture::import(&folder.path().join("none")).err().unwrap();
    assert!(matches!(missing, Error::Io { .. }));
}

#[test]
fn a_database_in_use_is_read_and_what_is_beside_it_is_said() {
    let export = Export::new(FULL);
    let writer = rusqlite::Connection::open(export.path()).unwrap();
    writer
        .execute_batch("PRAGMA locking_mode=EXCLUSIVE; BEGIN EXCLUSIVE")
        .unwrap();
    std::fs::write(export.path().with_file_name("export.sqlite-wal"), b"newer").unwrap();
    let run = export.import().unwrap();
    assert_eq!(run.rows("kernels", "start_ns"), ["200"]);
    assert!(run.warns("-wal"));
}

#[test]
fn messages_of_other_processes_are_not_those_of_the_run() {
    // Process 5 ran; 6 did not. 281474976710656 is the session.
    let run = Export::new(&format!(
        "{FULL}
CREATE TABLE DIAGNOSTIC_EVENT (timestamp INTEGER, severity INTEGER, text TEXT, globalPid INTEGER);
INSERT INTO DIAGNOSTIC_EVENT VALUES (100, 2, 'No CUDA events collected.', 100663296),
    (100, 2, 'Not all events were collected.', 83886080), (100, 2, 'Paranoid.', 281474976710656);"
    ))
    .import()
    .unwrap();
    let messages = run.rows("diagnostics", "severity text");
    for message in [
        "info process 6: No CUDA events collected.",
        "warning Not all events were collected.",
        "warning Paranoid.",
    ] {
        assert!(messages.iter().any(|row| row == message), "{messages:?}");
    }
}

#[test]
fn messages_that_differ_only_by_a_number_are_one_warning() {
    // Processes 5, 6 and 7 ran; there is a message about NVTX for each.
    let calls = [6_i64, 7].map(|pid| {
        let thread = (pid << 24) | pid;
        format!("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (120, 150, 0, {thread}, 7, 1, 0);")
    });
    let message = |pid: i64, text: &str| format!("(100, 2, '{text}', {})", pid << 24);
    let messages = [
        message(5, "No NVTX events collected."),
        message(6, "Buffer 1 of 20\n was\\nlost."),
        message(6, "No NVTX events collected."),
        message(7, "No NVTX events collected."),
    ];
    let run = Export::new(&format!(
        "{FULL} {} CREATE TABLE DIAGNOSTIC_EVENT (timestamp INTEGER, severity INTEGER, text TEXT, globalPid INTEGER);
         INSERT INTO DIAGNOSTIC_EVENT VALUES {};",
        calls.concat(),
        messages.join(", ")
    ))
    .import()
    .unwrap();
    let warnings = run.notes.warnings.iter();
    let warnings: Vec<&String> = warnings
        .filter(|text| text.starts_with("the profiler said"))
        .collect();
    assert_eq!(
        warnings,
        [
            "the profiler said: process 5: No NVTX events collected. (3 messages that differ at most by numbers)",
            "the profiler said: process 6: Buffer 1 of 20 was lost.",
        ]
    );
    // The run has each of them.
    assert_eq!(run.rows("diagnostics", "text").len(), 4);
}
