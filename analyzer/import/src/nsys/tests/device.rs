//! Events, memory, counters and streams of devices.

use super::fixture::Export;

/// Event 3 is recorded on stream 13 at 20 and 40; a stream and the host wait for it.
fn events(sync_ids: bool) -> Export {
    let (column, ids) = if sync_ids {
        (", eventSyncId", [", 51", ", 52", ", 52", ", 51"])
    } else {
        ("", [""; 4])
    };
    Export::new(&format!(
        "CREATE TABLE StringIds (id, value);
         INSERT INTO StringIds VALUES (1, 'cudaEventRecord'), (2, 'cudaStreamWaitEvent'), (3, 'cudaEventSynchronize');
         CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start, \"end\", globalTid, nameId, correlationId);
         INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES
             (1, 2, 83886085, 1, 10), (3, 4, 83886085, 2, 11), (5, 6, 83886085, 1, 12), (7, 60, 83886085, 3, 13);
         CREATE TABLE CUPTI_ACTIVITY_KIND_CUDA_EVENT
             (timestamp, deviceId, contextId, streamId, correlationId, globalPid, eventId{column});
         INSERT INTO CUPTI_ACTIVITY_KIND_CUDA_EVENT VALUES
             (20, 0, 1, 13, 10, 83886080, 3{}), (40, 0, 1, 13, 12, 83886080, 3{});
         CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION
             (start, \"end\", deviceId, contextId, streamId, correlationId, globalPid, syncType, eventId{column});
         INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES
             (3, 4, 0, 1, 14, 11, 83886080, 2, 3{}), (8, 59, 0, 1, 4294967295, 13, 83886080, 1, 3{})",
        ids[0], ids[1], ids[2], ids[3]
    ))
}

#[test]
fn waits_for_events_are_joined_to_their_records() {
    for (sync_ids, pairs) in [(false, [(10, 11), (12, 13)]), (true, [(10, 13), (12, 11)])] {
        let run = events(sync_ids).import().unwrap();
        let number = |table: &str, correlation: i32| {
            let ids = run.rows(table, "correlation id");
            let found = ids
                .iter()
                .find_map(|row| row.strip_prefix(&format!("{correlation} ")));
            found.unwrap().to_owned()
        };
        let mut expected = pairs.map(|(record, wait)| {
            let (from, to) = (number("device_events", record), number("syncs", wait));
            format!("{from} {to} joins")
        });
        let mut found = run.rows("edges", "from to kind");
        expected.sort();
        found.sort();
        assert_eq!(found, expected, "with sync ids: {sync_ids}");
        assert_eq!(
            run.rows("syncs", "kind thread stream event"),
            ["stream_wait - 14 3", "event 0 - 3"]
        );
        assert!(!run.warns("eventSyncId"), "{:?}", run.notes.warnings);
    }
}

#[test]
fn memory_is_taken_and_given_back_where_it_lies() {
    let run = Export::new(
        "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start, \"end\", globalTid, nameId, correlationId);
         INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (100, 120, 83886085, 1, 7);
         CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS (start, globalPid, deviceId, contextId, address, pc, bytes,
             memKind, memoryOperationType, name, correlationId);
         INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS VALUES
             (110, 83886080, 1, 1, 4096, 0, 512, 2, 0, NULL, 7), (130, 83886080, 1, 1, 4096, 0, 512, 2, 1, NULL, 0),
             (140, 83886080, 1, 1, 8192, 0, 64, 1, 0, 'table', 0), (150, 83886080, 1, 1, 1, 0, 5, 2, 9, NULL, 0),
             (160, 83886080, 1, 1, 1, 0, -5, 2, 0, NULL, 0),
             (170, 83886080, 1, 1, 1, 0, 9223372036854775807, 2, 0, NULL, 0)",
    )
    .import()
    .unwrap();
    assert_eq!(
        run.rows("allocations", "time_ns thread device bytes tag address"),
        [
            "10 0 1 512 device 4096",
            "30 - 1 -512 device 4096",
            "40 - - 64 table 8192"
        ]
    );
    assert_eq!(run.left_out("64 PiB"), 1);
    let table = "CUDA_GPU_MEMORY_USAGE_EVENTS";
    assert_eq!(
        run.notes.left_out[&format!("{table}: neither an allocation nor a release")],
        1
    );
    assert_eq!(run.notes.left_out[&format!("{table}: no byte count")], 1);
}

#[test]
fn samples_of_counters_have_names_units_and_no_say_in_when_the_run_began() {
    let run = Export::new(
        "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, \"end\", deviceId, shortName);
         INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1000, 2000, 0, 1);
         CREATE TABLE TARGET_INFO_GPU_METRICS (typeId, sourceId, typeName, metricId, metricName);
         INSERT INTO TARGET_INFO_GPU_METRICS VALUES (65792, 0, 'x', 1, 'SMs Active [Throughput %]'),
             (65793, 0, 'x', 1, 'SMs Active [Throughput %]'), (65792, 0, 'x', 2, 'Clock');
         CREATE TABLE GPU_METRICS (timestamp, typeId, metricId, value);
         INSERT INTO GPU_METRICS VALUES (900, 65792, 1, 70), (1500, 65793, 1, 5), (1600, 65792, 2, 1.5),
             (1700, 65792, 3, 1), (9000, 65792, 1, 0)",
    )
    .import()
    .unwrap();
    assert_eq!(
        run.rows("counters", "time_ns name value unit source"),
        [
            "-100 gpu0 SMs Active 70 Throughput % measured",
            "500 gpu1 SMs Active 5 Throughput % measured",
            "600 gpu0 Clock 1.5 - measured",
            "8000 gpu0 SMs Active 0 Throughput % measured",
        ]
    );
    assert_eq!(run.wall_ns, Some(1_000));
    assert_eq!(run.notes.left_out["GPU_METRICS: its metric has no name"], 1);
}

#[test]
fn devices_of_older_exports_have_a_number_of_another_name() {
    let run = Export::new(
        "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, \"end\", deviceId, shortName);
         INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1000, 2000, 0, 1);
         CREATE TABLE TARGET_INFO_GPU (vmId, deviceId, name, busLocation, isDiscrete);
         INSERT INTO TARGET_INFO_GPU VALUES (1, 0, 'NVIDIA GeForce RTX 3080', '0000:01:00.0', 1);
         CREATE TABLE TARGET_INFO_CUDA_GPU (deviceId, name, numMultiprocessors, globalMemorySize);
         INSERT INTO TARGET_INFO_CUDA_GPU VALUES (0, 'another', 68, 10736893952)",
    )
    .import()
    .unwrap();
    let fact = |name: &str| run.run.values[&format!("gpu:0.{name}")].as_str();
    assert_eq!(fact("name"), "NVIDIA GeForce RTX 3080");
    assert_eq!(fact("multiprocessors"), "68");
    assert_eq!(fact("memory_bytes"), "10736893952");
}

#[test]
fn streams_say_what_they_wait_for() {
    let run = Export::new(
        "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, \"end\", deviceId, contextId, streamId, globalPid, shortName);
         INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1, 2, 0, 1, 7, 83886080, 1), (2, 3, 0, 1, 13, 83886080, 1),
             (3, 4, 0, 1, 14, 83886080, 1), (3, 4, 0, 1, 15, 83886080, 1);
         CREATE TABLE TARGET_INFO_CUDA_CONTEXT_INFO (nullStreamId, processId, deviceId, contextId);
         INSERT INTO TARGET_INFO_CUDA_CONTEXT_INFO VALUES (7, 5, 0, 1);
         CREATE TABLE TARGET_INFO_CUDA_STREAM (streamId, processId, contextId, priority, flag);
         INSERT INTO TARGET_INFO_CUDA_STREAM VALUES (7, 5, 1, 0, 3), (15, 5, 1, 0, 1), (13, 5, 1, 4294967291, 1),
             (14, 5, 1, 0, 2), (16, 5, 1, 0, 2)",
    )
    .import()
    .unwrap();
    assert_eq!(
        run.rows("streams", "device stream kind priority"),
        [
            "0 7 null 0",
            "0 13 blocking -5",
            "0 14 non_blocking 0",
            "0 15 blocking 0"
        ]
    );
}

/// The wait states device 0, but its context is on device 1.
#[test]
fn a_wait_is_on_the_device_of_its_context() {
    let run = Export::new(
        "CREATE TABLE StringIds (id, value);
         INSERT INTO StringIds VALUES (1, 'cudaLaunchKernel'), (2, 'cudaStreamSynchronize');
         CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start, \"end\", globalTid, nameId, correlationId);
         INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1, 2, 83886085, 1, 10), (3, 60, 83886085, 2, 11);
         CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL
             (start, \"end\", deviceId, contextId, streamId, correlationId, globalPid, shortName);
         INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (2, 50, 1, 2, 15, 10, 83886080, 1);
         CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION
             (start, \"end\", deviceId, contextId, streamId, correlationId, globalPid, syncType);
         INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES (4, 59, 0, 2, 15, 11, 83886080, 3)",
    )
    .import()
    .unwrap();
    let stream = &run.rows("kernels", "device stream")[0];
    assert_eq!(&run.rows("syncs", "device stream")[0], stream);
    assert!(run.warns("a different device than the work of their context"));
}
