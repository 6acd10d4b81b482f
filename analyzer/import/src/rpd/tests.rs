use super::IMPORTER;
use crate::read_back::{Imported, KERNEL_COLUMNS, damage_pages, of_packed_sql, of_sql};

/// Tables of version 2, without unused columns.
const TABLES: &str = "
CREATE TABLE rocpd_string (id INTEGER PRIMARY KEY, string TEXT);
CREATE TABLE rocpd_api (id INTEGER PRIMARY KEY, pid INTEGER, tid INTEGER, start INTEGER, \"end\" INTEGER, apiName_id INTEGER, args_id INTEGER);
CREATE TABLE rocpd_op (id INTEGER PRIMARY KEY, gpuId INTEGER, queueId INTEGER, sequenceId INTEGER, completionSignal TEXT, start INTEGER, \"end\" INTEGER, description_id INTEGER, opType_id INTEGER);
CREATE TABLE rocpd_api_ops (id INTEGER PRIMARY KEY, api_id INTEGER, op_id INTEGER);
CREATE TABLE rocpd_kernelapi (api_ptr_id INTEGER PRIMARY KEY, stream TEXT, gridX INTEGER, gridY INTEGER, gridZ INTEGER, workgroupX INTEGER, workgroupY INTEGER, workgroupZ INTEGER, groupSegmentSize INTEGER, privateSegmentSize INTEGER, kernelName_id INTEGER);
CREATE TABLE rocpd_copyapi (api_ptr_id INTEGER PRIMARY KEY, stream TEXT, size INTEGER, kind INTEGER);
CREATE TABLE rocpd_monitor (id INTEGER PRIMARY KEY, deviceType TEXT, deviceId INTEGER, monitorType TEXT, start INTEGER, \"end\" INTEGER, value TEXT);
INSERT INTO rocpd_string VALUES (1, ''), (2, 'hipMemcpy'), (3, 'hipLaunchKernel'), (4, 'hipExtModuleLaunchKernel'), (5, 'hipGraphLaunch'),
  (6, 'UserMarker'), (7, 'aten::mm'), (8, 'OpTable::writeRows'), (9, 'CopyHostToDevice'), (10, 'KernelExecution'), (11, 'Task'), (12, 'gemm'), (13, 'add'), (14, 'Barrier');
INSERT INTO rocpd_api VALUES (1, 7, 8, 1000, 1100, 2, 1), (2, 7, 8, 1200, 1210, 3, 1), (3, 7, 8, 1220, 1230, 4, 1), (4, 7, 8, 1240, 1250, 5, 1),
  (5, 7, 8, 1150, 1260, 6, 7), (6, 7, 9, 1000, 3000, 8, 1);
INSERT INTO rocpd_op VALUES (1, 2, 0, 0, '', 1040, 1090, 1, 9), (2, 2, 0, 0, '', 1300, 1400, 12, 10), (3, 2, 0, 0, '', 1400, 1450, 12, 10),
  (4, 2, 1, 0, '', 1500, 1510, 13, 11), (5, 2, 1, 0, '', 1510, 1520, 13, 11), (6, 2, 1, 0, '', 1520, 1530, 1, 14), (7, 2, 0, 0, '', 1600, 1700, 13, 10);
INSERT INTO rocpd_api_ops VALUES (1, 1, 1), (2, 2, 2), (3, 3, 3), (4, 4, 4), (5, 4, 5), (6, 4, 6);
INSERT INTO rocpd_kernelapi VALUES (2, '0x0', 4, 2, 1, 64, 1, 1, 512, 0, 12), (3, '0x7f10', 256, 2, 1, 64, 1, 1, 0, 0, 12);
INSERT INTO rocpd_copyapi VALUES (1, '0x0', 4096, 1);
INSERT INTO rocpd_monitor VALUES (1, 'gpu', 0, 'sclk', 1000, 1200, '1700'), (2, 'gpu', 0, 'sclk', 1200, 1300, '');
";

fn read(more: &str) -> Imported {
    of_sql(&[TABLES, more].concat())
}

#[test]
fn work_has_its_call_shape_and_bytes() {
    let run = read("");
    assert_eq!(
        run.rows("kernels", KERNEL_COLUMNS),
        [
            "gemm 2 0 0 300 100 4 64 - 512",
            "gemm 2 1 0 400 50 4 64 - 0",
            "add 2 2 0 500 10 - - - -",
            "add 2 2 0 510 10 - - - -",
            "add 2 0 - 600 100 - - - -",
        ]
    );
    assert_eq!(
        run.rows("transfers", "direction bytes device"),
        ["h2d 4096 2"]
    );
    assert_eq!(run.rows("edges", "kind"), ["launches"; 5]);
    assert_eq!(
        run.notes.repeated.keys().collect::<Vec<_>>(),
        ["barrier of a queue, which is no work"]
    );
}

#[test]
fn markers_are_bricks_and_the_profiler_is_not_the_program() {
    let run = read("");
    assert_eq!(run.rows("bricks", "name dur_ns"), ["aten::mm 110"]);
    assert_eq!(run.rows("calls", "name").len(), 4);
    assert_eq!(run.rows("threads", "name").len(), 1);
    assert_eq!(run.rows("counters", "name value"), ["gpu0 sclk 1700"]);
}

#[test]
fn counters_and_texts_of_version_3_are_read() {
    let run = read(
        "CREATE TABLE rocpd_ustring (id INTEGER PRIMARY KEY, string TEXT);
         INSERT INTO rocpd_ustring VALUES (7, 'forward');
         CREATE TABLE rocpd_counter (id INTEGER PRIMARY KEY, value REAL, op_id INTEGER, name_id INTEGER);
         INSERT INTO rocpd_counter VALUES (1, 16.0, 2, 15);
         INSERT INTO rocpd_string VALUES (15, 'SQ_WAVES');",
    );
    assert_eq!(run.rows("bricks", "name"), ["forward"]);
    let kernel = run.rows("kernels", "id").swap_remove(0);
    let counters = run.rows("counters", "name value span");
    assert!(
        counters.contains(&format!("SQ_WAVES 16 {kernel}")),
        "{counters:?}"
    );
}

#[test]
fn packed_databases_are_unpacked() {
    let run = of_packed_sql(TABLES);
    assert_eq!(run.rows("kernels", "name").len(), 5);
}

#[test]
fn damaged_databases_are_errors_or_read_in_part() {
    damage_pages(&IMPORTER, TABLES);
}
