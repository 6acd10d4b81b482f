use super::IMPORTER;
use crate::read_back::{KERNEL_COLUMNS, damage_pages, of_sql};

/// The tables of one process as rocprofv3 names them, without unused columns.
fn tables(suffix: &str) -> String {
    format!(
        "CREATE TABLE rocpd_string{suffix} (id INTEGER PRIMARY KEY, guid TEXT, string TEXT);
         CREATE TABLE rocpd_info_process{suffix} (id INTEGER PRIMARY KEY, pid INTEGER);
         CREATE TABLE rocpd_info_thread{suffix} (id INTEGER PRIMARY KEY, pid INTEGER, tid INTEGER, name TEXT);
         CREATE TABLE rocpd_info_agent{suffix} (id INTEGER PRIMARY KEY, type TEXT, absolute_index INTEGER, name TEXT, model_name TEXT, product_name TEXT);
         CREATE TABLE rocpd_info_kernel_symbol{suffix} (id INTEGER PRIMARY KEY, kernel_name TEXT, display_name TEXT, arch_vgpr_count INTEGER);
         CREATE TABLE rocpd_event{suffix} (id INTEGER PRIMARY KEY, category_id INTEGER, correlation_id INTEGER);
         CREATE TABLE rocpd_info_pmc{suffix} (id INTEGER PRIMARY KEY, name TEXT);
         CREATE TABLE rocpd_pmc_event{suffix} (id INTEGER PRIMARY KEY, event_id INTEGER, pmc_id INTEGER, value REAL);
         CREATE TABLE rocpd_region{suffix} (id INTEGER PRIMARY KEY, tid INTEGER, start BIGINT, \"end\" BIGINT, name_id INTEGER, event_id INTEGER);
         CREATE TABLE rocpd_kernel_dispatch{suffix} (id INTEGER PRIMARY KEY, tid INTEGER, agent_id INTEGER, kernel_id INTEGER, queue_id INTEGER, stream_id INTEGER, start BIGINT, \"end\" BIGINT, group_segment_size INTEGER, workgroup_size_x INTEGER, workgroup_size_y INTEGER, workgroup_size_z INTEGER, grid_size_x INTEGER, grid_size_y INTEGER, grid_size_z INTEGER, event_id INTEGER);
         CREATE TABLE rocpd_memory_copy{suffix} (id INTEGER PRIMARY KEY, tid INTEGER, start BIGINT, \"end\" BIGINT, name_id INTEGER, src_agent_id INTEGER, dst_agent_id INTEGER, size INTEGER, queue_id INTEGER, stream_id INTEGER, event_id INTEGER);
         CREATE TABLE rocpd_memory_allocate{suffix} (id INTEGER PRIMARY KEY, tid INTEGER, agent_id INTEGER, type TEXT, level TEXT, start BIGINT, \"end\" BIGINT, address INTEGER, size INTEGER);"
    )
}

fn rows(suffix: &str, pid: u32, at: u32) -> String {
    format!(
        "INSERT INTO rocpd_string{suffix} VALUES (1, '', 'HIP_RUNTIME_API'), (2, '', 'hipLaunchKernel'), (3, '', 'MARKER_CORE_API'), (4, '', 'forward'), (5, '', 'MEMORY_COPY_HOST_TO_DEVICE');
         INSERT INTO rocpd_info_process{suffix} VALUES (1, {pid});
         INSERT INTO rocpd_info_thread{suffix} VALUES (1, 1, {pid}, 'main');
         INSERT INTO rocpd_info_agent{suffix} VALUES (1, 'CPU', 0, 'cpu', 'EPYC', NULL), (2, 'GPU', 1, 'gfx942', 'MI300X', NULL);
         INSERT INTO rocpd_info_kernel_symbol{suffix} VALUES (1, 'gemm.kd', 'gemm', 32);
         INSERT INTO rocpd_event{suffix} VALUES (1, 1, 40), (2, 3, 41), (3, NULL, 40), (4, NULL, 0);
         INSERT INTO rocpd_info_pmc{suffix} VALUES (1, 'SQ_WAVES');
         INSERT INTO rocpd_pmc_event{suffix} VALUES (1, 3, 1, 16.0);
         INSERT INTO rocpd_region{suffix} VALUES (1, 1, {at} + 100, {at} + 150, 2, 1), (2, 1, {at} + 50, {at} + 900, 4, 2);
         INSERT INTO rocpd_kernel_dispatch{suffix} VALUES (1, 1, 2, 1, 1, 0, {at} + 200, {at} + 300, 512, 64, 1, 1, 1024, 1, 1, 3);
         INSERT INTO rocpd_memory_copy{suffix} VALUES (1, 1, {at} + 10, {at} + 40, 5, 1, 2, 4096, 1, 0, 4);
         INSERT INTO rocpd_memory_allocate{suffix} VALUES (1, 1, 2, 'ALLOC', 'REAL', {at} + 1, {at} + 2, 4096, 256), (2, 1, 2, 'FREE', 'REAL', {at} + 500, {at} + 501, 4096, 0);"
    )
}

fn database(processes: &[(&str, u32)]) -> String {
    let of = |(suffix, pid): &(&str, u32)| tables(suffix) + &rows(suffix, *pid, *pid * 1_000);
    processes.iter().map(of).collect()
}

#[test]
fn rows_of_all_tables_become_rows() {
    let run = of_sql(&database(&[("_0001", 7)]));
    assert_eq!(
        run.rows("kernels", KERNEL_COLUMNS),
        ["gemm 0 0 0 198 100 16 64 32 512"]
    );
    assert_eq!(
        run.rows("calls", "name correlation"),
        ["hipLaunchKernel 40"]
    );
    assert_eq!(run.rows("bricks", "name dur_ns"), ["forward 850"]);
    assert_eq!(
        run.rows("transfers", "direction bytes device"),
        ["h2d 4096 0"]
    );
    assert_eq!(run.rows("allocations", "bytes device"), ["256 0", "-256 0"]);
    let kernel = run.rows("kernels", "id").concat();
    assert_eq!(
        run.rows("counters", "name value span"),
        [format!("SQ_WAVES 16 {kernel}")]
    );
    assert_eq!(run.rows("devices", "device name"), ["gpu:0 MI300X"]);
    assert_eq!(run.rows("edges", "kind"), ["launches"]);
    assert_eq!(run.rows("threads", "name"), ["main"]);
}

#[test]
fn stack_ids_link_work_where_correlations_are_none() {
    let stack_ids = "ALTER TABLE rocpd_event_0001 ADD COLUMN stack_id INTEGER;
                     UPDATE rocpd_event_0001 SET stack_id = correlation_id, correlation_id = 0;";
    let run = of_sql(&(database(&[("_0001", 7)]) + stack_ids));
    assert_eq!(run.rows("edges", "kind"), ["launches"]);
}

#[test]
fn processes_of_one_file_keep_their_devices_and_correlations_apart() {
    let run = of_sql(&database(&[("_0001", 7), ("_0002", 8)]));
    assert_eq!(run.rows("kernels", "device"), ["0", "1"]);
    assert_eq!(run.rows("edges", "kind"), ["launches", "launches"]);
    assert_eq!(run.rows("kernels", "thread"), ["0", "1"]);
}

#[test]
fn damaged_databases_are_errors_or_read_in_part() {
    damage_pages(&IMPORTER, &database(&[("_0001", 7)]));
}
