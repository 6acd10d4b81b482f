use super::axes;
use crate::read_back::{KERNEL_COLUMNS, of_sql};

const TABLES: &str = "
CREATE TABLE COPY (BeginNs INTEGER, EndNs INTEGER, dev_id INTEGER, queue_id TEXT, Kind INTEGER, pid INTEGER, tid INTEGER, _Index INTEGER, DurationNs INTEGER);
CREATE TABLE HIP (BeginNs INTEGER, EndNs INTEGER, pid INTEGER, tid INTEGER, Name INTEGER, args TEXT, _Index INTEGER, State INTEGER, DurationNs INTEGER);
CREATE TABLE OPS (BeginNs INTEGER, EndNs INTEGER, dev_id INTEGER, queue_id TEXT, Name TEXT, pid INTEGER, tid INTEGER, _Index INTEGER, DurationNs INTEGER);
CREATE TABLE HIPTX (type INTEGER, cid INTEGER, time INTEGER, pid INTEGER, tid INTEGER, rid INTEGER, message TEXT);
CREATE TABLE MPI (rankid INTEGER, ID INTEGER);
CREATE TABLE CONFIG (PID INTEGER, KEY INTEGER, VALUE TEXT);
CREATE TABLE STR_TABLE (PID INTEGER, STR_ID INTEGER, STR_NAME TEXT);";

const ROWS: &str = "
INSERT INTO STR_TABLE VALUES (7, 1, 'dslash');
INSERT INTO HIP VALUES (1000, 1100, 7, 8, 33, 'hipMemcpy(dst=0x1, src=0x2, sizeBytes=4096, kind=1)', 1, 0, 100),
  (1200, 1210, 7, 8, 21, 'hipLaunchKernel(function_address=0x3, numBlocks={z=1, y=2, x=512}, dimBlocks={z=1, y=1, x=256}, sharedMemBytes=64, stream=0)', 2, 0, 10),
  (1300, 1310, 7, 8, 40, 'hipMemsetAsync(dst=0x1, value=0, sizeBytes=100, stream=0)', 3, 0, 10);
INSERT INTO OPS VALUES (1220, 1290, 2, '9', '1', 7, 0, 2, 70);
INSERT INTO COPY VALUES (1020, 1090, 2, '9', 4596, 7, 0, 1, 70), (1320, 1330, 2, '9', 4615, 7, 0, 3, 10);";

#[test]
fn work_has_its_call_shape_and_bytes() {
    let run = of_sql(&[TABLES, ROWS].concat());
    assert_eq!(
        run.rows("kernels", KERNEL_COLUMNS),
        ["dslash 2 9 0 220 70 512 256 - 64"]
    );
    assert_eq!(
        run.rows("transfers", "direction bytes"),
        ["h2d 4096", "memset 100"]
    );
    assert_eq!(
        run.rows("calls", "name"),
        ["hipMemcpy", "hipLaunchKernel", "hipMemsetAsync"]
    );
    assert_eq!(run.rows("edges", "kind"), ["launches"; 3]);
}

#[test]
fn an_empty_database_has_no_rows() {
    let run = of_sql(TABLES);
    assert!(run.notes.kept.is_empty(), "{:?}", run.notes.kept);
}

#[test]
fn launch_shapes_are_read_in_both_spellings() {
    let names = ["numBlocks", "gridDim"];
    assert_eq!(
        axes("f(numBlocks={z=1, y=2, x=3}, x=9)", names),
        Some([3, 2, 1])
    );
    assert_eq!(
        axes("f(gridDimX=4, gridDimY=5, gridDimZ=6)", names),
        Some([4, 5, 6])
    );
    assert_eq!(axes("f(numBlocks={z=1", names), None);
    assert_eq!(axes("", names), None);
}
