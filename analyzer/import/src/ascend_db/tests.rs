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
            "Notify Wait 1 4 400 200",
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
    let kernels = run.rows("kernels", "id dur_ns");
    let kernel = kernels.iter().find_map(|row| row.strip_suffix(" 400"));
    // The first collective has a computing task beside its wait.
    assert_eq!(
        run.rows("attributes", "span name integer"),
        [format!("{} collective_wait_ns 250", kernel.unwrap())]
    );
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
         INSERT INTO OP_MEMORY VALUES (12, 512, 900, 1700, 1512, 4096, 1000, 4096, 1), (12, 256, 950, NULL, 1768, 4096, NULL, NULL, 1);
         CREATE TABLE HBM (deviceId INTEGER, timestampNs INTEGER);
         INSERT INTO HBM VALUES (1, 900), (1, 901);",
    );
    assert_eq!(run.rows("transfers", "direction bytes"), ["h2d 4096"]);
    assert_eq!(run.rows("allocations", "bytes"), ["512", "256", "-512"]);
    assert_eq!(run.notes.left_out["table HBM"], 2);
    let peak = run.rows("counters", "name value");
    assert!(peak.contains(&"gpu1 allocated 1768".to_owned()), "{peak:?}");
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
    assert_eq!(run.rows("kernels", "name").len(), 4);
}
