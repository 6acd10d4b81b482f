use crate::read_back::of_sql;

#[test]
fn a_database_of_nvprof_has_kernels_copies_calls_and_ranges() {
    let run = of_sql(
            "CREATE TABLE StringTable (_id_ INTEGER PRIMARY KEY AUTOINCREMENT, value TEXT);
             CREATE TABLE CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL (_id_ INTEGER PRIMARY KEY AUTOINCREMENT, registersPerThread INT, start INT, end INT, deviceId INT, streamId INT, gridX INT, gridY INT, gridZ INT, blockX INT, blockY INT, blockZ INT, staticSharedMemory INT, dynamicSharedMemory INT, correlationId INT, name INT);
             CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (_id_ INTEGER PRIMARY KEY AUTOINCREMENT, copyKind INT, srcKind INT, dstKind INT, bytes INT, start INT, end INT, deviceId INT, streamId INT, correlationId INT);
             CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (_id_ INTEGER PRIMARY KEY AUTOINCREMENT, cbid INT, start INT, end INT, processId INT, threadId INT, correlationId INT);
             CREATE TABLE CUPTI_ACTIVITY_KIND_MARKER (_id_ INTEGER PRIMARY KEY AUTOINCREMENT, flags INT, timestamp INT, id INT, objectKind INT, objectId BLOB, name INT, domain INT);
             INSERT INTO StringTable VALUES (1, 'gemm'), (2, 'forward');
             INSERT INTO CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL VALUES (1, 32, 2000, 3000, 0, 7, 8, 1, 1, 128, 1, 1, 16, 32, 5, 1);
             INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (1, 1, 1, 3, 4096, 500, 800, 0, 7, 4);
             INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1, 31, 400, 900, 7, -559038737, 4), (2, 211, 1000, 1500, 7, -559038737, 5), (3, 999, 1600, 1700, 7, -559038737, 6);
             INSERT INTO CUPTI_ACTIVITY_KIND_MARKER VALUES (1, 2, 300, 1, 2, x'07000000efbeadde00000000', 2, 0), (2, 4, 3100, 1, 2, x'07000000efbeadde00000000', 0, 0);",
    );
    let columns = "name device stream start_ns dur_ns grid_x block_x smem";
    assert_eq!(
        run.rows("kernels", columns),
        ["gemm 0 7 1700 1000 8 128 48"]
    );
    let columns = "direction bytes src_kind is_async";
    assert_eq!(run.rows("transfers", columns), ["h2d 4096 pageable false"]);
    assert_eq!(
        run.rows("calls", "name"),
        ["cudaMemcpy", "cudaLaunchKernel", "cuda runtime call 999"]
    );
    assert_eq!(run.rows("bricks", "name dur_ns"), ["forward 2800"]);
    assert_eq!(run.rows("threads", "os_id"), ["3735928559"]);
    assert_eq!(run.rows("edges", "kind"), ["launches", "launches"]);
}
