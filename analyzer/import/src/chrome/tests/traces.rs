//! Small traces of every form, good and bad, through the importer.

use super::import;
use crate::read_back::gzip;

pub fn event(fields: &str) -> String {
    format!("{{\"pid\": 1, \"tid\": 2, {fields}}}")
}

pub fn slice(name: &str, category: &str, ts: &str, dur: &str, more: &str) -> String {
    event(&format!(
        "\"ph\": \"X\", \"name\": \"{name}\", \"cat\": \"{category}\", \"ts\": {ts}, \"dur\": {dur}{more}"
    ))
}

pub fn trace(events: &[String]) -> String {
    format!(
        "{{\"schemaVersion\": 1, \"traceEvents\": [{}]}}",
        events.join(",\n")
    )
}

/// One step with an operator that launches a kernel, a copy, and their surroundings.
pub fn kineto() -> Vec<String> {
    let on_device = |name: &str, category: &str, ts: &str, args: &str| {
        format!(
            "{{\"ph\": \"X\", \"cat\": \"{category}\", \"name\": \"{name}\", \"pid\": 0, \"tid\": 7, \"ts\": {ts}, \"dur\": 3.5, \"args\": {{\"device\": 0, \"stream\": 7, {args}}}}}"
        )
    };
    vec![
        on_device(
            "gemm",
            "kernel",
            "1030.25",
            "\"correlation\": 5, \"grid\": [8, 4, 1], \"block\": [128, 1, 1], \"registers per thread\": 64",
        ),
        slice(
            "cudaLaunchKernel",
            "cuda_runtime",
            "1010",
            "5",
            ", \"args\": {\"correlation\": 5}",
        ),
        slice(
            "aten::mm",
            "cpu_op",
            "1005.001",
            "20",
            ", \"args\": {\"flops\": 4096, \"External id\": 3}",
        ),
        slice("ProfilerStep#12", "user_annotation", "1000", "100", ""),
        slice(
            "cudaMemcpyAsync",
            "cuda_runtime",
            "1040",
            "2",
            ", \"args\": {\"correlation\": \"6\"}",
        ),
        on_device(
            "Memcpy HtoD (Pinned -> Device)",
            "gpu_memcpy",
            "1050",
            "\"correlation\": 6, \"bytes\": 4096",
        ),
        on_device("lost", "kernel", "1060", "\"correlation\": 99"),
        event(
            "\"ph\": \"i\", \"name\": \"[memory]\", \"ts\": 1006, \"args\": {\"Bytes\": -64, \"Addr\": 77, \"Device Id\": 0, \"Device Type\": 1}",
        ),
        event("\"ph\": \"M\", \"name\": \"thread_name\", \"args\": {\"name\": \"main\"}"),
    ]
}

#[test]
fn kineto_becomes_linked_rows() {
    let run = import(trace(&kineto())).unwrap();
    let bricks = run.rows("bricks", "kind name start_ns dur_ns iteration flops");
    assert_eq!(
        bricks,
        [
            "iteration ProfilerStep#12 0 100000 12 -",
            "brick aten::mm 5001 20000 12 4096",
        ]
    );
    assert_eq!(
        run.rows("calls", "name correlation"),
        ["cudaLaunchKernel 5", "cudaMemcpyAsync 6"]
    );
    let mm = &run.rows("bricks", "id")[1];
    let launch = &run.rows("calls", "id")[0];
    assert_eq!(run.rows("bricks", "parent")[1], run.rows("bricks", "id")[0]);
    assert_eq!(
        run.rows("kernels", "name brick thread stream start_ns dur_ns grid_x grid_y block_x registers valid work_source"),
        [
            format!("gemm {mm} 0 7 30250 3500 8 4 128 64 true -"),
            "lost - - 7 60000 3500 - - - - true -".to_owned(),
        ]
    );
    assert_eq!(
        run.rows(
            "transfers",
            "direction bytes src_kind dst_kind is_async timing"
        ),
        ["h2d 4096 pinned device true device"]
    );
    let gemm = &run.rows("kernels", "id")[0];
    assert_eq!(
        run.rows("edges", "from to kind")[0],
        format!("{launch} {gemm} launches")
    );
    assert_eq!(
        run.rows("allocations", "bytes device address span"),
        [format!("-64 0 77 {mm}")]
    );
    assert_eq!(run.rows("threads", "thread name os_id"), ["0 main 2"]);
    assert!(
        run.notes
            .warnings
            .iter()
            .any(|text| text.starts_with("1 kernel, copy or wait: no row")),
        "{:?}",
        run.notes
    );
    assert_eq!(run.run.wall_ns, Some(100_000));
    assert_eq!(run.run.clock.source, "imported: kineto");
    assert_eq!(run.run.values["trace.schemaVersion"], "1");
}

#[test]
fn the_same_file_makes_the_same_bytes() {
    let (one, two) = (
        import(trace(&kineto())).unwrap(),
        import(trace(&kineto())).unwrap(),
    );
    assert_eq!(one.files(), two.files());
    assert_eq!(one.run.run_id.len(), 16);
    assert_ne!(
        one.run.run_id,
        import(trace(&kineto()[1..])).unwrap().run.run_id
    );
}

#[test]
fn packed_and_plain_files_make_the_same_rows() {
    let (plain, packed) = (
        import(trace(&kineto())).unwrap(),
        import(gzip(trace(&kineto()).as_bytes())).unwrap(),
    );
    for table in ["bricks", "kernels", "calls", "transfers", "edges"] {
        assert_eq!(plain.rows(table, "*"), packed.rows(table, "*"), "{table}");
    }
}

#[test]
fn waits_are_of_the_call_or_of_their_own_record() {
    let sync = |name: &str, ts: u32, args: &str| {
        format!(
            "{{\"ph\": \"X\", \"cat\": \"cuda_sync\", \"name\": \"{name}\", \"pid\": 0, \"tid\": -1, \"ts\": {ts}, \"dur\": 4, \"args\": {{\"stream\": -1, \"device\": 0, {args}}}}}"
        )
    };
    let run = import(trace(&[
        slice("cudaDeviceSynchronize", "cuda_runtime", "10", "6", ", \"args\": {\"correlation\": 1}"),
        slice("cudaStreamSynchronize", "cuda_runtime", "20", "6", ", \"args\": {\"correlation\": 2}"),
        sync("Stream Sync", 21, "\"correlation\": 2"),
        sync("Event Sync", 31, "\"correlation\": 3, \"wait_on_cuda_event_id\": 9, \"wait_on_cuda_event_record_corr_id\": 8, \"wait_on_stream\": 7"),
        sync("Stream Wait Event", 41, "\"correlation\": 4, \"wait_on_cuda_event_id\": 9, \"wait_on_cuda_event_record_corr_id\": 8, \"wait_on_stream\": 7"),
        sync("Odd Sync", 51, "\"correlation\": 5"),
    ]))
    .unwrap();
    assert_eq!(
        run.rows("syncs", "kind thread stream event start_ns dur_ns"),
        [
            "device 0 - - 0 6000",
            "stream 0 - - 11000 4000",
            "event - - 9 21000 4000",
            "stream_wait - - 9 31000 4000",
        ]
    );
    assert_eq!(
        run.rows("device_events", "event stream correlation time_ns"),
        ["9 7 8 -"]
    );
    assert_eq!(run.left_out("cuda_sync"), 1);
}

#[test]
fn waits_that_share_a_correlation_are_all_waits() {
    let wait = |ts: &str, dur: &str, name: &str| {
        slice(
            name,
            "cuda_runtime",
            ts,
            dur,
            ", \"args\": {\"correlation\": 4}",
        )
    };
    let run = import(trace(&[
        wait("10", "6", "cudaDeviceSynchronize"),
        // One inside the other is one wait.
        wait("11", "4", "cuCtxSynchronize"),
        wait("20", "6", "cudaDeviceSynchronize"),
        wait("30", "6", "cudaStreamSynchronize"),
    ]))
    .unwrap();
    assert_eq!(
        run.rows("syncs", "kind start_ns dur_ns"),
        ["device 0 6000", "device 10000 6000", "stream 20000 6000"]
    );
}

#[test]
fn other_producers_begin_and_end_count_and_point() {
    let run = import(format!(
        "[{}\n",
        [
            event("\"ph\": \"B\", \"name\": \"outer\", \"ts\": \"1\""),
            event("\"ph\": \"B\", \"name\": \"inner\", \"ts\": 2.5"),
            event("\"ph\": \"E\", \"ts\": 3"),
            event("\"ph\": \"s\", \"id\": \"0xff\", \"name\": \"go\", \"cat\": \"f\", \"ts\": 3.5"),
            event("\"ph\": \"E\", \"name\": \"other\", \"ts\": 4"),
            event("\"ph\": \"X\", \"name\": \"after\", \"ts\": 5, \"dur\": 1"),
            event("\"ph\": \"f\", \"id\": \"0xff\", \"name\": \"go\", \"cat\": \"f\", \"ts\": 4.5"),
            event("\"ph\": \"C\", \"name\": \"load\", \"id\": 3, \"ts\": 4, \"args\": {\"cpu\": 1.5, \"gpu\": 2}"),
            "{\"args\": {\"value\": 7}, \"ph\": \"C\", \"name\": \"heap\", \"ts\": 4}".to_owned(),
            event("\"ph\": \"b\", \"cat\": \"net\", \"id\": 1, \"name\": \"get\", \"ts\": 2"),
            event("\"ph\": \"e\", \"cat\": \"net\", \"id\": 1, \"name\": \"get\", \"ts\": 6"),
        ]
        .join(",")
    ))
    .unwrap();
    assert_eq!(
        run.rows("bricks", "kind name start_ns dur_ns thread timing"),
        [
            "function outer 0 3000 0 host",
            "function inner 1500 500 0 host",
            "function after 4000 1000 0 host",
            "task get 1000 4000 1 bound"
        ]
    );
    assert_eq!(
        run.rows("counters", "name value source"),
        [
            "load[3].cpu 1.5 declared",
            "load[3].gpu 2 declared",
            "heap 7 declared"
        ]
    );
    assert_eq!(run.rows("edges", "kind"), ["depends_on"]);
    assert_eq!(run.run.clock.source, "imported: chrome");
    assert!(
        run.notes
            .warnings
            .iter()
            .any(|text| text.contains("array of events has no end")),
        "{:?}",
        run.notes
    );
    assert!(
        run.notes
            .warnings
            .iter()
            .any(|text| text.contains("another name"))
    );
}

#[test]
fn overlaps_are_kept_and_said() {
    let run = import(trace(&[
        slice("parent", "cpu_op", "0", "100", ""),
        slice("left", "cpu_op", "10", "20", ""),
        slice("right", "cpu_op", "20", "20", ""),
    ]))
    .unwrap();
    let (ids, parents) = (run.rows("bricks", "id"), run.rows("bricks", "parent"));
    assert_eq!(parents, ["-", &ids[0], &ids[0]]);
    assert!(
        run.notes
            .warnings
            .iter()
            .any(|text| text.starts_with("1 intervals overlap"))
    );
}

#[test]
fn work_without_its_call_is_found_by_its_operator() {
    let kernel = |name: &str, ts: u32, args: &str| {
        format!(
            "{{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"{name}\", \"pid\": 0, \"tid\": 7, \"ts\": {ts}, \"dur\": 2, \"args\": {{\"device\": 0, \"stream\": 7, {args}}}}}"
        )
    };
    let operator = |name: &str, ts: &str, id: u32| {
        slice(
            name,
            "cpu_op",
            ts,
            "20",
            &format!(", \"args\": {{\"External id\": {id}}}"),
        )
    };
    let run = import(trace(&[
        kernel("mm", 200, "\"correlation\": 900, \"External id\": 1"),
        kernel("two", 210, "\"correlation\": 901, \"External id\": 2"),
        kernel("own", 220, "\"correlation\": 3, \"External id\": 3"),
        kernel("early", 90, "\"correlation\": 902, \"External id\": 4"),
        kernel("none", 230, "\"correlation\": 903, \"External id\": 5"),
        kernel("again", 240, "\"correlation\": 904, \"external id\": 1"),
        // Its call is there: what the call lies in counts.
        slice(
            "cudaLaunchKernel",
            "cuda_runtime",
            "165",
            "2",
            ", \"args\": {\"correlation\": 6}",
        ),
        kernel("called", 250, "\"correlation\": 6, \"External id\": 1"),
        operator("aten::mm", "100", 1),
        operator("aten::a", "120", 2),
        operator("aten::b", "140", 2),
        operator("aten::c", "160", 3),
        operator("aten::d", "180", 4),
    ]))
    .unwrap();
    let ids = run.rows("bricks", "id");
    let (mm, c) = (&ids[0], &ids[3]);
    assert_eq!(
        run.rows("kernels", "name brick thread correlation"),
        [
            "own - - 3".to_owned(),
            format!("called {c} 0 6"),
            format!("mm {mm} 0 900"),
            format!("again {mm} 0 904"),
            "two - - 901".to_owned(),
            "early - - 902".to_owned(),
            "none - - 903".to_owned(),
        ]
    );
    let kernels = run.rows("kernels", "id");
    let edges = run.rows("edges", "from to kind");
    assert_eq!(edges.len(), 3);
    for at in [2, 3] {
        assert!(edges.contains(&format!("{mm} {} spawns", kernels[at])));
    }
    let said = |text: &str| run.notes.warnings.iter().any(|w| w.starts_with(text));
    assert!(said("2 kernels and copies without a launching call"));
    assert!(said("4 kernels, copies and waits"));
}

#[test]
fn waits_for_events_are_joined_to_their_records() {
    let wait = |name: &str, ts: u32, stream: i32, correlation: u32, record: u32| {
        format!(
            "{{\"ph\": \"X\", \"cat\": \"cuda_sync\", \"name\": \"{name}\", \"pid\": 0, \"tid\": 1, \"ts\": {ts}, \"dur\": 4, \"args\": {{\"stream\": {stream}, \"device\": 0, \"correlation\": {correlation}, \"wait_on_cuda_event_id\": 9, \"wait_on_stream\": 7, \"wait_on_cuda_event_record_corr_id\": {record}}}}}"
        )
    };
    let call = |name: &str, ts: &str, correlation: u32| {
        let args = format!(", \"args\": {{\"correlation\": {correlation}}}");
        slice(name, "cuda_runtime", ts, "5", &args)
    };
    let run = import(trace(&[
        call("cudaEventRecord", "0", 20),
        call("cudaStreamWaitEvent", "10", 21),
        wait("Stream Wait Event", 11, 8, 21, 20),
        // Recorded again; waited for by a call with a lower number than the record's.
        call("cudaEventRecord", "20", 40),
        call("cudaEventSynchronize", "30", 30),
        wait("Event Sync", 31, -1, 30, 40),
    ]))
    .unwrap();
    let (records, waits) = (
        run.rows("device_events", "id correlation"),
        run.rows("syncs", "id kind thread stream"),
    );
    let first = |text: &String| text.split(' ').next().unwrap().to_owned();
    assert!(waits[0].ends_with("stream_wait - 8"), "{waits:?}");
    assert!(waits[1].ends_with("event 0 -"), "{waits:?}");
    assert!(records[0].ends_with("20") && records[1].ends_with("40"));
    assert_eq!(
        run.rows("edges", "from to kind"),
        [
            format!("{} {} joins", first(&records[0]), first(&waits[0])),
            format!("{} {} joins", first(&records[1]), first(&waits[1])),
        ]
    );
}

#[test]
fn counters_of_several_processes_stay_apart() {
    let counter = |pid: &str, name: &str| {
        format!(
            "{{\"ph\": \"C\", \"name\": \"{name}\", \"pid\": {pid}, \"ts\": 1, \"args\": {{\"value\": {pid}}}}}"
        )
    };
    let name =
        "{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": 4, \"args\": {\"name\": \"python\"}}";
    let run = import(trace(&[
        counter("4", "memory"),
        counter("5", "memory"),
        counter("5", "load"),
        name.to_owned(),
    ]))
    .unwrap();
    assert_eq!(
        run.rows("counters", "name value"),
        ["python (4) / memory 4", "process 5 / memory 5", "load 5"]
    );
}

#[test]
fn times_at_the_ends_of_their_range_are_no_trouble() {
    let far = "4611686018427387.9";
    let run = import(trace(&[
        slice("past", "cpu_op", &format!("-{far}"), far, ""),
        slice("long", "cpu_op", &format!("-{far}"), "1", ""),
        slice("future", "cpu_op", far, far, ""),
        slice("last", "cpu_op", far, "0.003", ""),
        format!(
            "{{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\", \"ts\": {far}, \"dur\": -{far}, \"args\": {{\"device\": 0}}}}"
        ),
        format!(
            "{{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\", \"ts\": -{far}, \"dur\": -{far}, \"args\": {{\"device\": 0}}}}"
        ),
    ]))
    .unwrap();
    assert_eq!(
        run.rows("bricks", "name dur_ns"),
        ["past 4611686018427387900", "long 1000", "last 3"]
    );
    assert_eq!(run.left_out("end out of range"), 2);
    assert_eq!(run.rows("kernels", "valid"), ["false"]);
}

#[test]
fn python_functions_tell_where_they_are_defined() {
    let run = import(trace(&[
        slice("train.py(12): step", "python_function", "1000", "100", ""),
        slice("<built-in method mm>", "python_function", "1001", "90", ""),
        slice("aten::mm", "cpu_op", "1005", "20", ""),
        slice("note (3): mine", "user_annotation", "1030", "5", ""),
    ]));
    let bricks = run.unwrap().rows("bricks", "name file line");
    let expected = [
        "train.py(12): step train.py 12",
        "<built-in method mm> - -",
        "aten::mm - -",
        "note (3): mine - -",
    ];
    assert_eq!(bricks, expected);
    // A file without such functions has names that only look like theirs.
    let run = import(trace(&[slice("f.rs(3): f", "", "1000", "100", "")]));
    let bricks = run.unwrap().rows("bricks", "name line");
    assert_eq!(bricks, ["f.rs(3): f -"]);
}

/// TensorFlow draws an arrow from the end of an operator to the start of the next, with phases `s` and `t`.
#[test]
fn an_arrow_may_begin_where_its_slice_ends_and_makes_no_run_longer() {
    let flow = |phase: &str, thread: u32, ts: u32| {
        format!(
            r#"{{"ph": "{phase}", "cat": "DataFlow", "name": "a", "id": 1, "pid": 1, "tid": {thread}, "ts": {ts}}}"#
        )
    };
    let run = import(trace(&[
        event("\"ph\": \"X\", \"name\": \"read\", \"ts\": 10, \"dur\": 5"),
        r#"{"ph": "X", "name": "multiply", "pid": 1, "tid": 3, "ts": 17, "dur": 20}"#.to_owned(),
        flow("s", 2, 15),
        flow("t", 3, 17),
        flow("t", 3, 900),
    ]))
    .unwrap();
    assert_eq!(run.rows("edges", "kind"), ["depends_on"]);
    assert_eq!(run.run.wall_ns, Some(27_000));
}

#[test]
fn asynchronous_intervals_of_one_id_end_by_name_or_the_innermost_first() {
    let lengths = |ends: [&str; 2]| {
        let point = |phase: &str, name: &str, ts: u32| {
            format!(
                r#"{{"cat": "x", "name": "{name}", "id": "1", "ph": "{phase}", "ts": {ts}, "pid": 0}}"#
            )
        };
        let events = [
            point("b", "a", 0),
            point("b", "b", 2),
            point("e", ends[0], 5),
            point("e", ends[1], 9),
        ];
        let run = import(format!("[{}]", events.join(","))).unwrap();
        run.rows("bricks", "name start_ns dur_ns")
    };
    assert_eq!(lengths(["a", "b"]), ["a 0 5000", "b 2000 7000"]);
    assert_eq!(lengths(["b", "a"]), ["a 0 9000", "b 2000 3000"]);
    assert_eq!(lengths(["", ""]), ["a 0 9000", "b 2000 3000"]);
}

#[test]
fn requests_that_are_open_at_once_are_no_parts_of_each_other() {
    let point = |phase: &str, id: u32, name: &str, ts: u32| {
        format!(
            r#"{{"cat": "resnet50", "name": "{name}", "id": "{id}", "ph": "{phase}", "ts": {ts}, "pid": 0}}"#
        )
    };
    // Request 2 lies within request 1, and a part of request 1 has its id.
    let events = [
        point("b", 1, "1", 0),
        point("b", 2, "2", 10),
        point("b", 1, "decode", 15),
        point("e", 2, "2", 20),
        point("e", 1, "decode", 25),
        point("e", 1, "1", 50),
        point("b", 3, "3", 60),
        point("e", 3, "3", 90),
    ];
    let run = import(format!("[{}]", events.join(","))).unwrap();
    assert_eq!(
        run.rows("bricks", "name start_ns dur_ns parent timing"),
        [
            "resnet50 0 50000 - bound",
            "resnet50 10000 10000 - bound",
            "decode 15000 10000 4294967297 bound",
            "resnet50 60000 30000 - bound",
        ]
    );
    let warning = "asynchronous intervals and nothing else: resnet50 3 (30.0 µs on average, 50.0 µs at most), decode 1";
    assert!(run.warns(warning), "{:?}", run.notes.warnings);
    // Beside other work they are as ever.
    let work =
        r#"{"cat": "cpu_op", "name": "mm", "ph": "X", "ts": 5, "dur": 1, "pid": 0, "tid": 1}"#;
    let run = import(format!("[{},{work}]", events.join(","))).unwrap();
    assert!(!run.warns("nothing else"));
}
