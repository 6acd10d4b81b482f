use crate::read_back::{Imported, of_packed_sql, of_sql};

/// Tables as msprof and torch_npu write them, without unused columns.
const TABLES: &str = "
CREATE TABLE STRING_IDS (id INTEGER, value TEXT);
CREATE TABLE NPU_INFO (id INTEGER, name TEXT);
CREATE TABLE TASK (startNs INTEGER, endNs INTEGER, deviceId INTEGER, connectionId INTEGER, globalTaskId INTEGER, globalPid INTEGER, taskType INTEGER, contextId INTEGER, streamId INTEGER, taskId INTEGER, modelId INTEGER);
CREATE TABLE COMPUTE_TASK_INFO (name INTEGER, globalTaskId INTEGER, blockDim INTEGER);
CREATE TABLE CANN_API (startNs INTEGER, endNs INTEGER, type INTEGER, globalTid INTEGER, connectionId INTEGER, name INTEGER);
INSERT INTO STRING_IDS VALUES (1, 'AI_CORE'), (2, 'MatMulV2'), (3, 'EVENT_WAIT'), (4, 'EVENT_RECORD'), (5, 'MEMCPY_ASYNC'), (6, 'launch'),
  (7, 'aclrtMemcpyAsync'), (8, 'StreamSynchronize'), (9, 'aclrtSynchronizeStream'), (10, 'hcom_allReduce__1_0_1'), (11, 'Notify Wait'),
  (12, 'aten::mm'), (13, 'ProfilerStep#50'), (14, 'train.py(1): step'), (15, 'aic_total_time'), (16, 'aiv_total_time'), (17, 'aiv_vec_ratio'), (18, 'epoch');
INSERT INTO NPU_INFO VALUES (1, 'Ascend910B'), (-1, 'NA');
INSERT INTO TASK VALUES (1000, 1100, 1, 40, 1, 7, 1, 0, 2, 1, 0), (1100, 1150, 1, 41, 2, 7, 3, 0, 2, 2, 0), (1150, 1150, 1, 42, 3, 7, 4, 0, 2, 3, 0),
  (1200, 1260, 1, 43, 4, 7, 5, 0, 2, 4, 0), (1300, 1500, 1, 44, 5, 7, 11, 0, 4, 5, 0), (1300, 1510, 1, 44, 6, 7, 1, 0, 4, 6, 0), (1600, 1610, 1, 4294967295, 7, 7, 1, 0, 2, 7, 0);
INSERT INTO COMPUTE_TASK_INFO VALUES (2, 1, 24);
INSERT INTO CANN_API VALUES (900, 910, 10000, 30064771080, 40, 6), (1160, 1170, 20000, 30064771080, 43, 7), (1520, 1590, 20000, 30064771080, 0, 9), (1521, 1589, 5000, 30064771080, 0, 8), (1280, 1290, 10000, 30064771080, 44, 6);";

const COLLECTIVES: &str = "
CREATE TABLE COMMUNICATION_TASK_INFO (name INTEGER, globalTaskId INTEGER, taskType INTEGER, opId INTEGER);
CREATE TABLE COMMUNICATION_OP (opName INTEGER, startNs INTEGER, endNs INTEGER, connectionId INTEGER, opId INTEGER);
INSERT INTO COMMUNICATION_TASK_INFO VALUES (10, 5, 11, 1);
INSERT INTO COMMUNICATION_OP VALUES (10, 1300, 1510, 44, 1);";

fn read(more: &str) -> Imported {
    of_sql(&[TABLES, more].concat())
}

#[test]
fn tasks_become_kernels_copies_and_waits_of_their_calls() {
    let run = read("");
    let kernels = "name device stream start_ns dur_ns";
    assert_eq!(
        run.rows("kernels", kernels),
        [
            "MatMulV2 1 2 100 100",
            "AI_CORE 1 4 400 210",
            "AI_CORE 1 2 700 10"
        ]
    );
    assert_eq!(run.rows("transfers", "device dur_ns"), ["1 60"]);
    assert_eq!(
        run.rows("calls", "name"),
        [
            "Node@launch",
            "AscendCL@aclrtMemcpyAsync",
            "Node@launch",
            "AscendCL@aclrtSynchronizeStream",
        ]
    );
    assert_eq!(run.rows("devices", "device name"), ["gpu:1 Ascend910B"]);
    // A wait of the runtime lies in the call that waits. A mark is not work.
    assert_eq!(run.notes.repeated.values().sum::<u64>(), 2);
}

#[test]
fn a_collective_is_one_row_and_its_tasks_are_repeated() {
    let run = read(COLLECTIVES);
    let kernels = run.rows("kernels", "name stream dur_ns");
    assert_eq!(
        kernels,
        [
            "MatMulV2 2 100",
            "hcom_allReduce__1_0_1 4 210",
            "AI_CORE 2 10"
        ]
    );
}

#[test]
fn a_collective_states_how_long_its_tasks_only_wait() {
    let run = read(
        &[
            COLLECTIVES,
            "INSERT INTO TASK VALUES (2000, 2300, 1, 46, 8, 7, 11, 0, 4, 5, 0), (2250, 2400, 1, 46, 9, 7, 5, 0, 4, 6, 0);
             INSERT INTO COMMUNICATION_TASK_INFO VALUES (10, 8, 11, 2), (10, 9, 5, 2);
             INSERT INTO COMMUNICATION_OP VALUES (10, 2000, 2400, 46, 2);",
        ]
        .concat(),
    );
    // The first collective has a task that lasts as long as all of it: its launch.
    assert_eq!(waits(&run), ["210 200", "400 250"]);
}

/// Lengths of collectives, and how long they waited.
fn waits(run: &Imported) -> Vec<String> {
    let kernels = run.rows("kernels", "id dur_ns");
    let attributes = run.rows("attributes", "span name integer");
    let wait = |row: &String| {
        let (id, dur_ns) = row.split_once(' ')?;
        let mut of_kernel = attributes.iter().filter_map(|row| row.strip_prefix(id));
        let wait_ns = of_kernel.find_map(|row| row.strip_prefix(" collective_wait_ns "))?;
        Some(format!("{dur_ns} {wait_ns}"))
    };
    kernels.iter().filter_map(wait).collect()
}

/// Tasks on streams 5 and 6, without connections, during the collective of [`COLLECTIVES`]; those of stream 7 go on.
const OF_LIBRARY: &str = "
INSERT INTO STRING_IDS VALUES (20, 'Other'), (21, 'REDUCE_ASYNC_V2'), (22, 'N/A'), (23, 'NOTIFY_WAIT');
INSERT INTO TASK VALUES (1298, 1400, 1, 4294967295, 20, 7, 20, 0, 5, 1, 0), (1400, 1500, 1, 4294967295, 21, 7, 20, 0, 5, 2, 0),
  (1310, 1480, 1, 4294967295, 22, 7, 23, 0, 6, 1, 0), (1480, 1490, 1, 4294967295, 23, 7, 5, 0, 6, 2, 0), (1490, 1510, 1, 4294967295, 24, 7, 21, 0, 6, 3, 0),
  (1400, 1450, 1, 4294967295, 25, 7, 20, 0, 7, 1, 0), (1700, 1750, 1, 4294967295, 26, 7, 20, 0, 7, 2, 0),
  (1320, 1330, 1, 4294967295, 27, 7, 5, 0, 8, 1, 0), (1340, 1350, 1, 50, 28, 7, 20, 0, 9, 1, 0);";

#[test]
fn streams_of_the_library_of_collectives_have_no_work_of_their_own() {
    let run = read(&[COLLECTIVES, OF_LIBRARY].concat());
    // Streams 5 and 6 have tasks of the collective. That of stream 9 has a call of its own.
    assert_eq!(
        run.rows("kernels", "name stream dur_ns"),
        [
            "MatMulV2 2 100",
            "hcom_allReduce__1_0_1 4 210",
            "Other 9 10",
            "Other 7 50",
            "AI_CORE 2 10",
            "Other 7 50"
        ]
    );
    // A copy alone on its stream may be anybody's.
    assert_eq!(run.rows("transfers", "stream dur_ns"), ["2 60", "8 10"]);
    // Tasks of unknown kind last most of the collective: its wait is not known.
    assert_eq!(waits(&run), [""; 0]);
}

#[test]
fn tasks_of_unknown_kind_in_a_file_without_whole_collectives_are_kernels() {
    let run = read(OF_LIBRARY);
    let kernels = run.rows("kernels", "name");
    assert_eq!(kernels.iter().filter(|name| *name == "Other").count(), 5);
}

#[test]
fn tasks_whose_kind_the_profiler_left_out_are_of_the_kind_of_their_row() {
    let run = read(
        &[
            COLLECTIVES,
            "INSERT INTO STRING_IDS VALUES (22, 'N/A');
             UPDATE COMMUNICATION_TASK_INFO SET taskType = 22;",
        ]
        .concat(),
    );
    assert_eq!(waits(&run), ["210 200"]);
}

#[test]
fn operators_functions_and_steps_of_pytorch_are_read() {
    // Times are texts there.
    let run = read(
        "CREATE TABLE PYTORCH_API (startNs TEXT, endNs TEXT, globalTid INTEGER, connectionId INTEGER, name INTEGER, type INTEGER);
         INSERT INTO PYTORCH_API VALUES ('800', '2000', 30064771080, 0, 13, 50001), ('850', '950', 30064771080, 0, 12, 50001), ('790', '2100', 30064771080, 0, 14, 50003);
         CREATE TABLE MSTX_EVENTS (startNs INTEGER, endNs INTEGER, eventType INTEGER, globalTid INTEGER, message INTEGER);
         INSERT INTO MSTX_EVENTS VALUES (870, 880, 1, 30064771080, 18), (890, 890, 0, 30064771080, 18);",
    );
    let mut bricks = run.rows("bricks", "name kind dur_ns");
    bricks.sort_unstable();
    assert_eq!(
        bricks,
        [
            "ProfilerStep#50 iteration 1200",
            "aten::mm brick 100",
            "epoch function 10",
            "train.py(1): step function 1310",
        ]
    );
    assert_eq!(run.rows("annotations", "name"), ["epoch"]);
}

#[test]
fn figures_of_units_that_ran_are_counters_of_their_kernel() {
    let run = read(
        "CREATE TABLE TASK_PMU_INFO (globalTaskId INTEGER, name INTEGER, value NUMERIC);
         INSERT INTO TASK_PMU_INFO VALUES (1, 15, 310.5), (1, 16, 0), (1, 17, 0);",
    );
    let kernel = run.rows("kernels", "id").swap_remove(0);
    assert_eq!(
        run.rows("counters", "name value span"),
        [format!("aic_total_time 310.5 {kernel}")]
    );
}

#[test]
fn copies_have_their_bytes_and_direction_and_operators_their_memory() {
    let run = read(
        "CREATE TABLE MEMCPY_INFO (globalTaskId INTEGER, size INTEGER, memcpyOperation INTEGER);
         CREATE TABLE ENUM_MEMCPY_OPERATION (id INTEGER, name TEXT);
         INSERT INTO ENUM_MEMCPY_OPERATION VALUES (1, 'host to device');
         INSERT INTO MEMCPY_INFO VALUES (4, 4096, 1);
         CREATE TABLE OP_MEMORY (name INTEGER, size INTEGER, allocationTime INTEGER, releaseTime INTEGER, allocationTotalAllocated INTEGER, allocationTotalReserved INTEGER, releaseTotalAllocated INTEGER, releaseTotalReserved INTEGER, deviceId INTEGER);
         INSERT INTO OP_MEMORY VALUES (12, 512, 900, 1700, 1512, 4096, 1256, 4096, 1), (12, 256, 950, NULL, 1768, 4096, NULL, NULL, 1);
         CREATE TABLE HBM (deviceId INTEGER, timestampNs INTEGER);
         INSERT INTO HBM VALUES (1, 900), (1, 901);",
    );
    assert_eq!(run.rows("transfers", "direction bytes"), ["h2d 4096"]);
    assert_eq!(run.rows("allocations", "bytes"), ["512", "256", "-512"]);
    assert_eq!(run.notes.left_out["table HBM"], 2);
    let peak = run.rows("counters", "name value");
    assert!(peak.contains(&"gpu1 allocated 1768".to_owned()), "{peak:?}");
}

/// PyTorch's allocator and CANN's state totals of their own. CANN's are those before a release.
#[test]
fn totals_of_a_device_are_those_of_all_its_allocators_and_account_for_every_byte() {
    let run = read(
        "CREATE TABLE OP_MEMORY (name INTEGER, size INTEGER, allocationTime INTEGER, releaseTime INTEGER, allocationTotalAllocated INTEGER, allocationTotalReserved INTEGER, releaseTotalAllocated INTEGER, releaseTotalReserved INTEGER, streamPtr INTEGER, deviceId INTEGER);
         INSERT INTO OP_MEMORY VALUES (12, 512, 900, NULL, 1512, 4096, NULL, NULL, 99, 1), (12, 700, 910, 930, 764, 1024, 764, 1024, NULL, 1),
           (12, 256, 920, 950, 1368, 4096, 1112, 4096, 99, 1), (12, 100, 940, NULL, 164, 1024, NULL, NULL, NULL, 1);",
    );
    // Between the first and the third, 400 bytes from before the recording were released.
    assert_eq!(
        run.rows("allocations", "bytes"),
        ["512", "700", "-400", "256", "-700", "100", "-256"]
    );
    let counters = run.rows("counters", "name value");
    let of = |field: &str| -> Vec<String> {
        let name = format!("gpu1 {field} ");
        let values = counters.iter().filter_map(|row| row.strip_prefix(&name));
        values.map(str::to_owned).collect()
    };
    assert_eq!(
        of("allocated"),
        ["1576", "2276", "2132", "1432", "1532", "1276"]
    );
    assert_eq!(of("reserved"), ["5120"; 6]);
}

#[test]
fn a_packed_database_is_known_by_tables_far_from_its_beginning() {
    let others: String = (0..400)
        .map(|n| {
            format!(
                "CREATE TABLE other_{n} (x TEXT DEFAULT '{}');",
                "x".repeat(400)
            )
        })
        .collect();
    let run = of_packed_sql(&format!("BEGIN; {others} COMMIT; {TABLES}"));
    assert_eq!(run.rows("kernels", "name").len(), 3);
}
