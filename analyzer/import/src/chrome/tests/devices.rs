//! Devices of other makers than NVIDIA, told by evidence.

use super::{import, import_with};
use crate::read_back::Imported;
use crate::{Options, Part};

use super::traces::trace;

fn slice(category: &str, name: &str, place: (&str, &str), times: (u32, u32), more: &str) -> String {
    let ((pid, tid), (ts, dur)) = (place, times);
    format!(
        r#"{{"ph": "X", "cat": "{category}", "name": "{name}", "pid": {pid}, "tid": {tid}, "ts": {ts}, "dur": {dur}, "args": {{{more}}}}}"#
    )
}

fn process(pid: &str, name: &str) -> String {
    format!(r#"{{"ph": "M", "name": "process_name", "pid": {pid}, "args": {{"name": "{name}"}}}}"#)
}

fn thread(pid: &str, tid: &str, name: &str) -> String {
    format!(
        r#"{{"ph": "M", "name": "thread_name", "pid": {pid}, "tid": {tid}, "args": {{"name": "{name}"}}}}"#
    )
}

const KERNELS: &str = "name device stream start_ns";

fn launched(run: &Imported) -> usize {
    let edges = run.rows("edges", "kind");
    edges.iter().filter(|kind| *kind == "launches").count()
}

#[test]
fn categories_of_kineto_for_other_devices_are_work_and_calls() {
    for (call, work) in [
        ("mtia_runtime", "mtia_ccp_events"),
        ("xpu_runtime", "kernel"),
        ("xpu_driver", "kernel"),
        ("privateuse1_runtime", "kernel"),
        ("privateuse1_driver", "privateuse1_runtime"),
        ("hpu_op", "hpu_op"),
        ("glow_runtime", "some_new_device_events"),
    ] {
        let run = import(trace(&[
            slice("cpu_op", "aten::mm", ("50", "50"), (0, 60), ""),
            slice(call, "run", ("50", "50"), (5, 20), r#""correlation": 9"#),
            slice(
                work,
                "gemm",
                ("0", "3"),
                (30, 40),
                r#""correlation": 9, "device": 0, "stream": 3"#,
            ),
        ]))
        .unwrap();
        let what = format!("{call}, {work}");
        assert_eq!(run.rows("kernels", KERNELS), ["gemm 0 3 30000"], "{what}");
        assert_eq!(run.rows("calls", "name"), ["run"], "{what}");
        assert_eq!(run.rows("bricks", "name"), ["aten::mm"], "{what}");
        assert_eq!(launched(&run), 1, "{what}");
        assert_eq!(run.rows("threads", "thread").len(), 1, "{what}");
    }
}

#[test]
fn an_npu_has_work_on_streams_and_its_idle_rows_are_no_work() {
    let run = import(trace(&[
        process("800", "Ascend Hardware"),
        process("900", "Overlap Analysis"),
        process("700", "CANN"),
        thread("800", "3", "Stream 3"),
        thread("900", "3", "Free"),
        slice("cpu_op", "aten::mm", ("50", "50"), (0, 60), ""),
        slice(
            "",
            "AscendCL@aclnnMm",
            ("700", "50"),
            (5, 20),
            r#""connection_id": 31"#,
        ),
        slice(
            "",
            "aclnnMm_MatMul",
            ("800", "3"),
            (30, 10),
            r#""Task Type": "AI_CORE", "Stream Id": 3, "connection_id": 31"#,
        ),
        slice("", "EVENT_WAIT", ("800", "3"), (45, 5), r#""Stream Id": 3"#),
        slice(
            "",
            "MemcopyAsync",
            ("800", "3"),
            (50, 2),
            r#""Stream Id": 3"#,
        ),
        slice("", "Free", ("900", "3"), (40, 90), ""),
        slice("", "Computing", ("900", "0"), (30, 10), ""),
    ]))
    .unwrap();
    assert_eq!(run.rows("kernels", KERNELS), ["aclnnMm_MatMul 0 3 30000"]);
    assert_eq!(launched(&run), 1);
    assert_eq!(run.rows("transfers", "stream dur_ns"), ["3 2000"]);
    let columns = "kind name thread device stream";
    assert_eq!(run.rows("syncs", columns), ["stream_wait EVENT_WAIT - 0 3"]);
    assert_eq!(run.rows("bricks", "name"), ["aten::mm"]);
    assert_eq!(run.repeated("not work"), 2);
}

fn label(pid: &str, label: &str) -> String {
    format!(
        r#"{{"ph": "M", "name": "process_labels", "pid": {pid}, "args": {{"labels": "{label}"}}}}"#
    )
}

/// Ascend writes each collective whole, by planes, and as tasks of streams. It counts once, on the device that it is of.
#[test]
fn a_collective_of_an_npu_is_one_row_of_its_device() {
    let of_task = |name: &str, stream: &str, times: (u32, u32)| {
        let more = format!(r#""Task Type": "AI_CORE", "Stream Id": {stream}"#);
        slice("", name, ("800", stream), times, &more)
    };
    let tasks = [
        process("800", "Ascend Hardware"),
        label("800", "NPU"),
        thread("800", "2", "Stream 2"),
        thread("800", "4", "Stream 4"),
        of_task("MatMul", "2", (10, 20)),
        of_task("EVENT_WAIT", "2", (30, 50)),
        of_task("EVENT_RECORD", "4", (31, 0)),
        of_task("SDMA", "4", (40, 5)),
        of_task("Notify Wait", "4", (45, 35)),
    ];
    let whole = [
        process("900", "HCCL"),
        label("900", "NPU"),
        thread("900", "0", "Group 0 Communication"),
        thread("900", "1", "Plane 0"),
        slice("", "hcom_allReduce__1_0", ("900", "0"), (40, 40), ""),
        slice("", "Memcpy", ("900", "1"), (40, 5), ""),
        slice("", "Notify_Wait", ("900", "1"), (45, 35), ""),
        // Counters are sampled all along.
        r#"{"ph": "C", "name": "HBM", "pid": 700, "ts": 900, "args": {"Read": 3}}"#.to_owned(),
    ];
    let run = import(trace(&[&tasks[..], &whole[..]].concat())).unwrap();
    let columns = "name device start_ns dur_ns";
    // From the first event to the last that is an interval.
    assert_eq!(
        run.rows("kernels", columns),
        ["MatMul 0 0 20000", "hcom_allReduce__1_0 0 30000 40000"]
    );
    let id = run.rows("kernels", "id dur_ns");
    let id = id.iter().find_map(|row| row.strip_suffix(" 40000"));
    let attributes = run.rows("attributes", "span name integer");
    let wait = format!("{} collective_wait_ns 35000", id.unwrap());
    assert!(attributes.contains(&wait), "{attributes:?}");
    assert_eq!(run.repeated("task of a collective"), 5);
    assert_eq!(run.run.wall_ns, Some(70_000));

    // Without the whole, its tasks are what there is.
    let run = import(trace(&tasks)).unwrap();
    assert_eq!(
        run.rows("kernels", "name device stream"),
        ["MatMul 0 2", "SDMA 0 4"]
    );
    assert_eq!(
        run.rows("syncs", "kind name stream"),
        ["stream_wait EVENT_WAIT 2", "stream_wait Notify Wait 4"]
    );
}

/// At level 1, streams of the library of collectives have tasks that do not say what they do.
#[test]
fn tasks_of_unknown_kind_during_collectives_are_parts_of_them() {
    let events = |other: (u32, u32), more: &str, unknown: &str| {
        let of_stream = |name: &str, stream: &str, times, more: &str| {
            let more = format!(r#""Physic Stream Id": {stream}, "connection_id": {more}"#);
            slice("", name, ("800", stream), times, &more)
        };
        trace(&[
            process("800", "Ascend Hardware"),
            label("800", "NPU"),
            thread("800", "2", "Stream 2"),
            thread("800", "11", "Stream 11"),
            process("900", "HCCL"),
            label("900", "NPU"),
            thread("900", "0", "Group 0 Communication"),
            thread("900", "1", "Plane 0"),
            slice("", "hcom_allReduce__1_0", ("900", "0"), (40, 40), ""),
            slice("", "Notify_Wait", ("900", "1"), (45, 35), ""),
            of_stream("MatMul", "2", (10, 20), "31"),
            of_stream(unknown, "11", (40, 10), more),
            of_stream(unknown, "11", other, more),
        ])
    };
    let kernels = |other, more, unknown| {
        let run = import(events(other, more, unknown)).unwrap();
        let waits = run.rows("attributes", "name integer");
        let waits = waits.into_iter().filter(|row| row.contains("_wait_ns"));
        let waits: Vec<String> = waits.collect();
        (run.rows("kernels", "name stream"), waits)
    };
    let whole = ["MatMul 2", "hcom_allReduce__1_0 0"];
    let (rows, waits) = kernels((50, 30), "-1", "Other");
    assert_eq!(rows, whole);
    // What the other tasks did is not known, nor whether the collective waited.
    assert_eq!(waits, [""; 0]);
    // They last less than its waits, which count outside of them.
    let (rows, waits) = kernels((50, 5), "-1", "Other");
    assert_eq!(rows, whole);
    assert_eq!(waits, ["collective_wait_ns 25000"]);
    for (other, more, unknown) in [
        ((90, 30), "-1", "Other"),
        ((50, 30), "32", "Other"),
        ((50, 30), "-1", "Add"),
    ] {
        let (rows, waits) = kernels(other, more, unknown);
        assert_eq!(rows.len(), 4, "{rows:?}");
        assert_eq!(waits, ["collective_wait_ns 35000"]);
    }
}

#[test]
fn work_of_unitrace_has_its_device_shape_and_launch() {
    let arrow = |phase: &str, (pid, tid): (&str, &str), ts: u32| {
        format!(
            r#"{{"ph": "{phase}", "tid": {tid}, "pid": {pid}, "name": "dep", "cat": "Flow_H2D_12_0", "ts": {ts}, "id": 12}}"#
        )
    };
    let device = ("4294967295", "4294967294");
    let run = import(trace(&[
        process("50", "HOST<node>"),
        process(
            device.0,
            "DEVICE<node>[Intel(R) Data Center GPU Max 1550] 0:3a:0:0 #1",
        ),
        thread(device.0, device.1, "L0 Compute Engine<0,0>"),
        slice(
            "cpu_op",
            "zeCommandListAppendLaunchKernel",
            ("50", "50"),
            (5, 10),
            "",
        ),
        arrow("s", ("50", "50"), 5),
        slice(
            "gpu_op",
            "gemm[SIMD32 {16; 2; 1} {256; 1; 1}]",
            device,
            (30, 40),
            r#""id": "12""#,
        ),
        arrow("t", device, 30),
        slice(
            "gpu_op",
            "zeCommandListAppendMemoryCopy(M2D)[4096]",
            device,
            (80, 9),
            r#""id": "13""#,
        ),
    ]))
    .unwrap();
    let columns = "name device start_ns grid_x block_x";
    assert_eq!(run.rows("kernels", columns), ["gemm 1 25000 16 256"]);
    let columns = "direction bytes device";
    assert_eq!(run.rows("transfers", columns), ["h2d 4096 1"]);
    assert_eq!(
        run.rows("calls", "name"),
        ["zeCommandListAppendLaunchKernel"]
    );
    assert_eq!(launched(&run), 1);
    assert_eq!(run.rows("threads", "thread").len(), 1);
}

#[test]
fn arrows_lead_from_a_launch_to_its_kernel() {
    // rocprof of version 1: times are texts, arrows begin at the end of their call.
    let arrow = |phase: &str, id: u32, (pid, tid): (u32, u32), ts: u32| {
        format!(
            r#"{{"ts": {ts}, "ph": "{phase}", "cat": "DataFlow", "id": {id}, "pid": {pid}, "tid": {tid}, "name": "dep"}}"#
        )
    };
    let mut events = vec![
        process("2", "CPU HIP API"),
        process("6", "GPU1"),
        "{}".to_owned(),
    ];
    for n in 0..3_u32 {
        let at = n * 100;
        events.push(format!(
            r#"{{"ph": "X", "name": "hipLaunchKernel", "pid": 2, "tid": 42, "ts": "{at}", "dur": "7", "args": {{}}}}"#
        ));
        events.push(format!(
            r#"{{"ph": "X", "name": "k{n}(int*)", "pid": 6, "tid": 0, "ts": "{}", "dur": "50", "args": {{"dev-id": "1", "queue-id": "0", "stream-id": "4"}}}}"#,
            at + 20
        ));
        events.push(arrow("s", n, (2, 42), at + 7));
        events.push(arrow("t", n, (6, 0), at + 20));
    }
    let run = import(trace(&events)).unwrap();
    assert_eq!(
        run.rows("kernels", KERNELS),
        [
            "k0(int*) 1 4 20000",
            "k1(int*) 1 4 120000",
            "k2(int*) 1 4 220000"
        ]
    );
    assert_eq!(launched(&run), 3);
    assert_eq!(run.rows("kernels", "correlation"), ["-", "-", "-"]);
    assert_eq!(run.rows("calls", "name").len(), 3);
    assert!(run.rows("bricks", "name").is_empty());
}

#[test]
fn records_of_cupti_that_a_program_prints_are_calls_and_work() {
    let run = import(trace(&[
        r#"{"name": "Runtime: cudaLaunchKernel_v7000", "ph": "X", "ts": 10.0, "dur": 5.0, "tid": 7, "pid": 42, "cat": "CUDA_Runtime", "args": {"cbid": "211", "correlationId": 331}}"#.to_owned(),
        r#"{"name": "Kernel: daxpy", "ph": "X", "ts": 20.0, "dur": 50.0, "cat": "GPU_Kernel", "args": {"correlationId": 331}}"#.to_owned(),
    ]))
    .unwrap();
    assert_eq!(run.rows("kernels", "name device"), ["Kernel: daxpy 0"]);
    assert_eq!(launched(&run), 1);
}

#[test]
fn copies_of_rocprof_have_the_bytes_of_their_call() {
    let run = import(trace(&[
        process("2", "CPU HIP API"),
        process("1", "COPY"),
        process("6", "GPU1"),
        r#"{"ph": "X", "name": "hipMemcpy", "pid": 2, "tid": 42, "ts": "0", "dur": "50", "args": {"args": "( dst(0x7f28) src(0x7f6a) sizeBytes(4096) kind(1))"}}"#.to_owned(),
        r#"{"ph": "X", "name": "CopyHostToDevice", "pid": 1, "tid": 0, "ts": "20", "dur": "20", "args": {"dev-id": "1", "queue-id": "0", "stream-id": "4"}}"#.to_owned(),
        r#"{"ts": 10, "ph": "s", "cat": "DataFlow", "id": 0, "pid": 2, "tid": 42, "name": "dep"}"#.to_owned(),
        r#"{"ts": 20, "ph": "t", "cat": "DataFlow", "id": 0, "pid": 1, "tid": 0, "name": "dep"}"#.to_owned(),
    ]))
    .unwrap();
    let columns = "direction bytes device";
    assert_eq!(run.rows("transfers", columns), ["h2d 4096 1"]);
    assert_eq!(launched(&run), 1);
}

#[test]
fn device_work_is_dropped_as_a_repetition_only_where_all_of_its_arguments_are_equal() {
    // Written by rocprof for two dispatches that began and ended together.
    let dispatch = |index: u32| {
        slice(
            "",
            "mm.kd",
            ("6", "0"),
            (20, 70),
            &format!("\"gpu-id\": \"0\", \"queue-id\": \"0\", \"queue-index\": \"{index}\""),
        )
    };
    let first = slice("", "init.kd", ("6", "0"), (1, 10), "\"queue-id\": \"0\"");
    let of = |work: &[String]| {
        let events = [&[process("6", "GPU0"), first.clone()][..], work].concat();
        import(trace(&events)).unwrap()
    };
    let run = of(&[dispatch(1), dispatch(2)]);
    assert_eq!(run.rows("kernels", "name").len(), 3);
    assert!(run.rows("annotations", "name").is_empty());
    let run = of(&[dispatch(1), dispatch(2), dispatch(2)]);
    assert_eq!(run.rows("kernels", "name").len(), 3);
    let again: Vec<&String> = run.notes.repeated.keys().collect();
    assert_eq!(
        again,
        ["the same device work once more: name, times and arguments are equal"]
    );
}

#[test]
fn the_innermost_operations_of_xla_are_kernels_and_the_rest_is_drawn_over_them() {
    let run = import(trace(&[
        process("1", "/device:GPU:0"),
        process("2", "/host:CPU"),
        thread("1", "20", "Stream #20(Compute,MemcpyD2D)"),
        thread("1", "3", "XLA Modules"),
        slice("", "fusion", ("1", "20"), (10, 5), r#""hlo_op": "fusion""#),
        slice("", "MemcpyD2D", ("1", "20"), (20, 5), ""),
        slice("", "jit_step", ("1", "3"), (10, 20), ""),
        slice("", "PjitFunction", ("2", "9"), (0, 40), ""),
        process("5", "/device:TPU:0"),
        thread("5", "1", "XLA Ops"),
        slice("", "while", ("5", "1"), (10, 30), ""),
        slice("", "dot", ("5", "1"), (12, 10), ""),
        slice("", "add", ("5", "1"), (25, 10), ""),
        slice(
            "",
            "psum.3",
            ("5", "1"),
            (50, 10),
            r#""hlo_category": "all-reduce""#,
        ),
        thread("5", "0", "_counters_"),
        slice("", "P state", ("5", "0"), (900, 0), r#""P State": "3""#),
    ]))
    .unwrap();
    let mut kernels = run.rows("kernels", KERNELS);
    kernels.sort();
    assert_eq!(
        kernels,
        [
            "add 1 1 25000",
            "all-reduce psum.3 1 1 50000",
            "dot 1 1 12000",
            "fusion 0 20 10000"
        ]
    );
    assert_eq!(run.run.clock.source, "imported: xla");
    let columns = "direction device stream";
    assert_eq!(run.rows("transfers", columns), ["d2d 0 20"]);
    let mut drawn = run.rows("annotations", "name device");
    drawn.sort();
    assert_eq!(drawn, ["jit_step 0", "while 1"]);
    assert_eq!(run.rows("bricks", "name"), ["PjitFunction"]);
}

/// Both run programs of XLA, and advice is in the words of the framework.
#[test]
fn a_trace_of_xla_names_the_framework_whose_functions_it_holds() {
    let source = |names: &[&str]| {
        let mut events = vec![
            process("1", "/device:GPU:0"),
            process("2", "/host:CPU"),
            thread("1", "3", "XLA Ops"),
            slice("", "fusion", ("1", "3"), (10, 5), ""),
        ];
        let of_host = names.iter().zip((0..).step_by(100));
        events.extend(of_host.map(|(name, at)| slice("", name, ("2", "9"), (at, 40), "")));
        import(trace(&events)).unwrap().run.clock.source
    };
    let tensorflow = ["FunctionRun", "ExecutorState::Process"];
    assert_eq!(source(&tensorflow), "imported: tensorflow xla");
    // Programs of JAX read input with tf.data.
    let both = ["EagerExecute: RangeDataset", "PjitFunction(step)"];
    assert_eq!(source(&both), "imported: xla");
    assert_eq!(source(&["MyOwn"]), "imported: xla");
}

#[test]
fn numbers_of_the_task_queue_launch_nothing_and_arrows_do_where_no_call_has_the_connection() {
    let arrow = |phase: &str, category: &str, (pid, tid): (&str, &str), ts: u32| {
        format!(
            r#"{{"ph": "{phase}", "bp": "e", "cat": "{category}", "name": "a", "id": "7", "pid": {pid}, "tid": {tid}, "ts": {ts}}}"#
        )
    };
    let (python, queue) = (("50", "50"), ("50", "51"));
    let (cann, stream) = (("700", "51"), ("800", "3"));
    let work = r#""Stream Id": 3, "connection_id": 192"#;
    let mut events = vec![
        process("50", "Python"),
        process("800", "Ascend Hardware"),
        process("700", "CANN"),
        thread("800", "3", "Stream 3"),
        slice("cpu_op", "aten::add", python, (0, 60), ""),
        slice(
            "dequeue",
            "Dequeue@aclnnMuls",
            queue,
            (900, 30),
            r#""correlation_id": 192"#,
        ),
        slice(
            "",
            "AscendCL@aclnnAdd",
            cann,
            (70, 40),
            r#""connection_id": 193"#,
        ),
        slice("", "aclnnAdd_Add", stream, (95, 10), work),
    ];
    let launch = "name thread brick correlation";
    let run = import(trace(&events)).unwrap();
    assert_eq!(run.rows("kernels", launch), ["aclnnAdd_Add - - 192"]);
    assert_eq!(launched(&run), 0);
    // Written at the end of the call, when the kernel has begun.
    events.push(arrow("s", "HostToDevice", cann, 98));
    events.push(arrow("f", "HostToDevice", stream, 95));
    let run = import(trace(&events)).unwrap();
    let call = run.rows("calls", "id thread");
    let [call] = call.as_slice() else {
        panic!("{call:?}")
    };
    let (call, thread) = call.split_once(' ').unwrap();
    let kernel = format!("aclnnAdd_Add {thread} - 192");
    assert_eq!(run.rows("kernels", launch), [kernel]);
    let launches = run.rows("edges", "from kind");
    assert_eq!(launches, [format!("{call} launches")]);
    // The arrow of the operator says the brick, that of the call the thread.
    events.push(arrow("s", "async_npu", python, 10));
    events.push(arrow("f", "async_npu", stream, 95));
    let run = import(trace(&events)).unwrap();
    let operator = run.rows("bricks", "name id");
    let operator = operator.iter().find(|row| row.starts_with("aten::add"));
    let brick = operator.unwrap().rsplit_once(' ').unwrap().1;
    let kernel = format!("aclnnAdd_Add {thread} {brick} 192");
    assert_eq!(run.rows("kernels", launch), [kernel]);
    assert_eq!(launched(&run), 1);
}

#[test]
fn the_views_that_tensorflow_gives_of_a_gpu_are_one_gpu() {
    let op = |name: &str, pid: &str, times: (u32, u32)| {
        slice("Op", name, (pid, "0"), times, &format!(r#""op": "{name}""#))
    };
    let flow = |phase: &str, pid: &str, ts: u32| {
        format!(
            r#"{{"ph": "{phase}", "cat": "DataFlow", "name": "t", "id": {ts}, "pid": {pid}, "tid": 0, "ts": {ts}}}"#
        )
    };
    let task = "/job:localhost/replica:0/task:0";
    for (host, gpu) in [("/device:CPU:0", "/device:GPU:0"), ("/cpu:0", "/gpu:0")] {
        let run = import(trace(&[
            process("0", "Allocators"),
            process("1", &format!("{task}{host} Compute")),
            process("3", &format!("{task}{gpu} Compute")),
            process("5", &format!("{gpu}/stream:all Compute")),
            process("7", &format!("{gpu}/stream:12 Compute")),
            process("9", &format!("{gpu}/memcpy Compute")),
            process("14", &format!("{gpu}/stream:14 Compute")),
            op("NoOp", "1", (0, 20)),
            flow("s", "1", 20),
            op("Const", "3", (25, 5)),
            op("Mul", "3", (31, 8)),
            flow("t", "3", 31),
            op("Add", "1", (60, 8)),
            flow("t", "1", 60),
            op("Mul", "5", (50, 200)),
            op("Mul", "7", (50, 200)),
            op("MEMCPYDtoH", "9", (300, 10)),
            op("MEMCPYDtoH", "14", (300, 10)),
        ]))
        .unwrap();
        assert_eq!(run.rows("kernels", KERNELS), ["Mul 0 12 50000"]);
        let columns = "device stream start_ns";
        assert_eq!(run.rows("transfers", columns), ["0 14 300000"]);
        let mut bricks = run.rows("bricks", "name");
        bricks.sort();
        assert_eq!(bricks, ["Add", "Const", "Mul", "NoOp"]);
        assert_eq!(run.run.problems, Vec::<String>::new());
        let warns = |text: &str| run.notes.warnings.iter().any(|of| of.contains(text));
        assert!(!warns("looks like a device"), "{gpu}");
        assert_eq!(run.run.clock.source, "imported: tensorflow timeline");
        assert!(run.rows("diagnostics", "code").is_empty());
    }
}

#[test]
fn operators_that_several_processes_of_one_device_show_are_one() {
    let op = |name: &str, pid: &str, times: (u32, u32)| {
        slice("Op", name, (pid, "0"), times, &format!(r#""op": "{name}""#))
    };
    let of = |second: &str| {
        let cpu = "/job:localhost/replica:0/task:0/cpu:0 Compute";
        let run = import(trace(&[
            process("1", cpu),
            process("4", second),
            op("Mul", "1", (0, 20)),
            op("Add", "1", (20, 5)),
            op("Mul", "4", (0, 20)),
            op("Add", "4", (20, 6)),
        ]));
        run.unwrap()
    };
    let run = of("/job:localhost/replica:0/task:0/cpu:0 Compute");
    // What only one of them shows stays.
    assert_eq!(
        run.rows("bricks", "name dur_ns"),
        ["Mul 20000", "Add 5000", "Add 6000"]
    );
    assert_eq!(run.repeated("another process with the name"), 1);
    let other_task = of("/job:localhost/replica:0/task:1/cpu:0 Compute");
    assert_eq!(other_task.rows("bricks", "name").len(), 4);
    assert_eq!(of("python").rows("bricks", "name").len(), 4);
}

#[test]
fn operators_for_a_device_that_no_other_process_shows_are_counted() {
    let op = |pid: &str, start: u32| slice("Op", "MatMul", (pid, "0"), (start, 5), "");
    let of = |device: &str| {
        let run = import(trace(&[
            process(
                "1",
                &format!("/job:worker/replica:0/task:0{device} Compute"),
            ),
            process(
                "2",
                &format!("/job:worker/replica:0/task:0{device} Tensors"),
            ),
            op("1", 0),
            op("1", 10),
        ]));
        run.unwrap().rows("diagnostics", "code count")
    };
    assert_eq!(of("/gpu:7"), ["device_not_recorded 2"]);
    assert_eq!(of("/device:GPU:0"), ["device_not_recorded 2"]);
    assert!(of("/cpu:0").is_empty());
    assert!(of("/device:CPU:0").is_empty());
}

#[test]
fn the_maker_of_lanes_that_are_no_threads_is_known() {
    let phase = |phase: &str, name: &str, ts: u32| {
        format!(r#"{{"ph": "{phase}", "name": "{name}", "ts": {ts}, "pid": 1}}"#)
    };
    let run = import(trace(&[
        process("1", "DistributedAdam_Allreduce_0"),
        phase("B", "NEGOTIATE_ALLREDUCE", 0),
        phase("E", "", 10),
        phase("B", "ALLREDUCE", 11),
        phase("E", "", 20),
    ]))
    .unwrap();
    assert_eq!(run.run.clock.source, "imported: horovod timeline");
}

#[test]
fn kernels_without_a_place_are_work_where_they_follow_one_another() {
    // Proton: no process, no device; its older form is a document a line.
    let document = |tid: u32| {
        let kernels: Vec<String> = (0..3)
            .map(|n| {
                format!(
                    r#"{{"name": "k{n}", "cat": "kernel", "ph": "X", "ts": {}, "dur": 60, "tid": {tid}, "args": {{"call_stack": ["ROOT", "fwd"]}}}}"#,
                    n * 100
                )
            })
            .collect();
        format!(
            r#"{{"displayTimeUnit": "us", "traceEvents": [{}]}}"#,
            kernels.join(",")
        )
    };
    let run = import(document(7)).unwrap();
    assert_eq!(
        run.rows("kernels", KERNELS),
        ["k0 0 7 0", "k1 0 7 100000", "k2 0 7 200000"]
    );
    let run = import(format!("{}\n{}\n", document(7), document(20))).unwrap();
    assert_eq!(run.rows("kernels", "stream").len(), 6);
    assert!(
        run.notes
            .warnings
            .iter()
            .any(|text| text.contains("2 documents"))
    );
    assert!(import(format!("{} {}", document(7), document(20))).is_err());
}

#[test]
fn the_profiler_of_pytorch_before_kineto_is_read() {
    let run = import(
        r#"[
        {"name": "conv2d", "ph": "X", "ts": 0, "dur": 50, "tid": 1, "pid": "CPU functions", "args": {}},
        {"name": "conv2d", "ph": "s", "ts": 0, "tid": 1, "pid": "CPU functions", "id": 5, "cat": "cpu_to_cuda", "args": {}},
        {"name": "conv2d", "ph": "f", "ts": 60, "tid": 0, "pid": "CUDA functions", "id": 5, "cat": "cpu_to_cuda", "args": {}},
        {"name": "conv2d", "ph": "X", "ts": 60, "dur": 40, "tid": 0, "pid": "CUDA functions", "args": {}}
        ]"#,
    )
    .unwrap();
    assert_eq!(run.rows("kernels", KERNELS), ["conv2d 0 0 60000"]);
    assert_eq!(run.rows("edges", "kind"), ["spawns"]);
}

/// Its rows of a device are operators, each with the time of all within it.
#[test]
fn the_outermost_rows_of_the_profiler_before_kineto_are_work() {
    let row = |name: &str, ts: u32, dur: u32| {
        format!(
            r#"{{"name": "{name}", "ph": "X", "ts": {ts}, "dur": {dur}, "tid": 0, "pid": "CUDA functions", "args": {{}}}}"#
        )
    };
    let run = import(trace(&[
        row("conv2d", 0, 100),
        row("cudnn_convolution", 10, 80),
        row("contiguous", 12, 2),
        row("relu", 110, 5),
    ]))
    .unwrap();
    assert_eq!(
        run.rows("kernels", "name dur_ns"),
        ["conv2d 100000", "relu 5000"]
    );
    let run = import(trace(&[
        row("my loop", 0, 300),
        row("aten::conv2d", 10, 100),
        row("aten::cudnn_convolution", 20, 80),
        row("aten::conv2d", 120, 100),
        row("aten::cudnn_convolution", 130, 80),
    ]))
    .unwrap();
    assert_eq!(
        run.rows("kernels", "name dur_ns"),
        ["aten::conv2d 100000", "aten::conv2d 100000"]
    );
}

#[test]
fn a_record_of_a_wait_among_kernels_is_a_wait() {
    let run = import(trace(&[
        slice(
            "cuda_runtime",
            "cudaStreamSynchronize_v3020",
            ("50", "50"),
            (0, 60),
            r#""correlation": 5"#,
        ),
        slice(
            "synchronization",
            "synchronization(STREAM_SYNCHRONIZE)",
            ("50", "9"),
            (10, 50),
            r#""stream_id": 7, "correlation": 5"#,
        ),
        slice(
            "kernel",
            "gemm",
            ("0", "7"),
            (10, 45),
            r#""device": 0, "stream": 7, "correlation": 4"#,
        ),
    ]))
    .unwrap();
    assert_eq!(run.rows("kernels", "name"), ["gemm"]);
    assert_eq!(run.rows("syncs", "kind dur_ns"), ["stream 50000"]);
}

#[test]
fn copies_named_as_nsys_prints_them_are_copies() {
    let run = import(trace(&[
        process("1", "GPU 0"),
        slice("", "[CUDA memcpy HtoD]", ("1", "7"), (0, 10), ""),
        slice("", "[MEMCPY] DtoH", ("1", "7"), (20, 10), ""),
        slice("", "scale", ("1", "7"), (40, 10), ""),
    ]))
    .unwrap();
    assert_eq!(run.rows("kernels", "name"), ["scale"]);
    assert_eq!(run.rows("transfers", "direction"), ["h2d", "d2h"]);
}

#[test]
fn one_sign_alone_is_a_question_and_a_flag_answers_it() {
    let events = trace(&[
        process("9", "engine"),
        slice("", "a", ("9", "4"), (0, 10), r#""stream": 1"#),
        slice("", "b", ("9", "4"), (20, 10), r#""stream": 1"#),
        slice("", "work", ("1", "1"), (0, 30), ""),
    ]);
    let run = import(&events).unwrap();
    assert!(run.rows("kernels", "name").is_empty());
    let codes = run.rows("diagnostics", "severity code");
    assert_eq!(codes, ["warning device_unclear"]);
    let asks = |text: &String| text.contains("engine (9)") && text.contains("--device 9");
    assert!(
        run.notes.warnings.iter().any(asks),
        "{:?}",
        run.notes.warnings
    );
    for name in ["9", "engine"] {
        let options = Options {
            devices: vec![name.to_owned()],
            ..Options::default()
        };
        let run = import_with(&events, options).unwrap();
        assert_eq!(run.rows("kernels", KERNELS), ["a 0 1 0", "b 0 1 20000"]);
        assert!(run.rows("diagnostics", "code").is_empty());
    }
    let options = Options {
        devices: vec!["77".to_owned()],
        ..Options::default()
    };
    let run = import_with(&events, options).unwrap();
    let says = |text: &String| text.contains("--device 77");
    assert!(run.notes.warnings.iter().any(says));
}

#[test]
fn threads_are_no_devices_for_a_word_in_their_name() {
    let run = import(trace(&[
        process("1", "GPU worker"),
        thread("1", "1", "gpu stream feeder"),
        slice("", "prepare", ("1", "1"), (0, 10), r#""device": "cuda:0""#),
        slice("", "inner", ("1", "1"), (2, 3), ""),
        // A device has this number, and so Kineto labels the process of the host.
        r#"{"ph": "M", "name": "process_labels", "pid": 2, "args": {"labels": "GPU 2"}}"#
            .to_owned(),
        slice("cpu_op", "aten::add", ("2", "5"), (0, 10), ""),
        slice("user_annotation", "step", ("2", "5"), (20, 10), ""),
    ]))
    .unwrap();
    assert!(run.rows("kernels", "name").is_empty());
    assert_eq!(run.rows("bricks", "name").len(), 4);
    assert!(run.rows("diagnostics", "code").is_empty());
}

#[test]
fn ranks_that_a_tool_merged_are_read_one_by_one() {
    let rank = |label: &str, ts: u32| {
        vec![
            slice(
                "cuda_runtime",
                "cudaLaunchKernel",
                (&format!("\"[{label}] 50\""), "1"),
                (ts, 5),
                r#""correlation": 1"#,
            ),
            slice(
                "kernel",
                label,
                (&format!("\"[{label}] 0\""), "7"),
                (ts + 10, 30),
                r#""correlation": 1, "device": 0, "stream": 7"#,
            ),
        ]
    };
    let events = trace(&[rank("TP00", 0), rank("TP01", 100)].concat());
    let refused = import(&events).err().unwrap();
    assert!(refused.contains("2 ranks"), "{refused}");
    for label in ["TP00", "TP01"] {
        let options = Options {
            part: Some(Part::Rank(label.to_owned())),
            ..Options::default()
        };
        let run = import_with(&events, options).unwrap();
        let expected = format!("{label} 0 7 10000");
        assert_eq!(run.rows("kernels", KERNELS), [expected]);
        assert_eq!(launched(&run), 1);
    }
}

#[test]
fn ranks_that_a_tool_merged_may_be_labelled_by_the_names_of_processes() {
    let rank = |rank: u32, ts: u32| {
        let (host, device) = (format!("{}", 50 + rank), format!("{}", 100 + rank));
        let window = r#"{"ph": "i", "s": "g", "name": "Iteration Start", "pid": "Traces", "tid": "t", "ts": 0, "args": {"rank": RANK}}"#;
        vec![
            slice(
                "cuda_runtime",
                "cudaLaunchKernel",
                (&host, "1"),
                (ts, 5),
                r#""correlation": 1"#,
            ),
            slice(
                "kernel",
                &format!("kernel {rank}"),
                (&device, "7"),
                (ts + 10, 30),
                &format!(
                    "\"correlation\": 1, \"device\": {}, \"stream\": 7",
                    2 + rank
                ),
            ),
            window.replace("RANK", &rank.to_string()),
        ]
    };
    let name = |pid: u32, name: &str| {
        format!(
            r#"{{"name": "process_name", "ph": "M", "pid": {pid}, "tid": 0, "args": {{"name": "{name}"}}}}"#
        )
    };
    let names = |second: &str| {
        [
            name(50, "RANK 0 - CPU"),
            name(100, "RANK 0 - GPU"),
            name(51, &format!("{second} - CPU")),
            name(101, &format!("{second} - GPU")),
        ]
    };
    let events = [rank(0, 0), rank(1, 100)].concat();
    // The names come before the events, or after them.
    for events in [
        [&names("RANK 1")[..], &events].concat(),
        [&events[..], &names("RANK 1")].concat(),
    ] {
        let events = trace(&events);
        let refused = import(&events).err().unwrap();
        assert!(refused.contains("2 ranks"), "{refused}");
        for (rank, label) in [(0, "RANK 0"), (1, "RANK 1")] {
            let options = Options {
                part: Some(Part::Rank(label.to_owned())),
                ..Options::default()
            };
            let run = import_with(&events, options).unwrap();
            let expected = format!("kernel {rank} {} 7 10000", 2 + rank);
            assert_eq!(run.rows("kernels", KERNELS), [expected]);
            assert_eq!(run.rows("calls", "name").len(), 1);
            assert_eq!(run.rows("annotations", "name").len(), 1);
            assert_eq!(launched(&run), 1);
            // Both are on the one clock of the file.
            let began_ns = [1, 100_000][rank];
            assert_eq!(run.run.clock.origin_realtime_ns, began_ns);
        }
    }
    // One rank alone, or a process that has no label, is no merged file.
    for second in ["RANK 0", "other"] {
        let events = trace(&[&events[..], &names(second)].concat());
        assert_eq!(import(&events).unwrap().rows("kernels", "name").len(), 2);
    }
}

#[test]
fn ranks_of_a_merged_file_may_have_nothing_but_work_of_their_devices() {
    let name = |pid: u32, name: &str| {
        format!(
            r#"{{"name": "process_name", "ph": "M", "pid": {pid}, "tid": 0, "args": {{"name": "{name}"}}}}"#
        )
    };
    let work = |pid: &str, rank: u32, ts: u32| {
        slice(
            "kernel",
            &format!("kernel {rank}"),
            (pid, "7"),
            (ts, 10),
            &format!("\"device\": {rank}, \"stream\": 7, \"rank\": {rank}"),
        )
    };
    let work = [work("2", 0, 5), work("100000003", 1, 9)];
    for (first, second) in [
        ("RANK 0 - GPU", "RANK 1 - GPU"),
        ("rank 0, GPU 0", "rank 1, GPU 1"),
        ("Rank 0/GPU", "Rank 1/GPU"),
    ] {
        let names = [name(2, first), name(100_000_003, second)];
        let events = trace(&[&work[..], &names].concat());
        let refused = import(&events).err().unwrap();
        assert!(refused.contains("2 ranks"), "{refused}");
        let of_second = Options {
            part: Some(Part::Rank(second[..6].to_owned())),
            ..Options::default()
        };
        let run = import_with(&events, of_second).unwrap();
        assert_eq!(run.rows("kernels", KERNELS), ["kernel 1 1 7 0"]);
    }
    // Devices of one program are no ranks.
    let names = [name(2, "GPU 0"), name(100_000_003, "GPU 1")];
    let run = import(trace(&[&work[..], &names].concat())).unwrap();
    assert_eq!(run.rows("kernels", "name").len(), 2);
}

#[test]
fn a_process_is_read_with_the_work_that_it_launched() {
    let of = |pid: &str, id: u32, ts: u32| {
        vec![
            slice(
                "cuda_runtime",
                "cudaLaunchKernel",
                (pid, pid),
                (ts, 5),
                &format!("\"correlation\": {id}"),
            ),
            slice(
                "kernel",
                &format!("k{id}"),
                ("0", "7"),
                (ts + 10, 30),
                &format!("\"correlation\": {id}, \"device\": 0, \"stream\": 7"),
            ),
        ]
    };
    let events = trace(&[of("50", 1, 0), of("60", 2, 100)].concat());
    let run = import(&events).unwrap();
    let ids: Vec<u64> = run.notes.host_processes.iter().copied().collect();
    assert_eq!(ids, [50, 60]);
    let options = Options {
        part: Some(Part::ProcessId(60)),
        ..Options::default()
    };
    let run = import_with(&events, options).unwrap();
    assert_eq!(run.rows("kernels", "name"), ["k2"]);
    assert_eq!(run.rows("calls", "name").len(), 1);
}

#[test]
fn the_only_device_is_the_one_that_is_described() {
    let events = r#"{"deviceProperties": [{"id": 0, "name": "AMD Instinct MI300X"}], "traceEvents": [
        {"ph": "X", "cat": "kernel", "name": "k", "pid": 2, "tid": 0, "ts": 1, "dur": 2, "args": {"device": 2, "stream": 0, "correlation": 4}}]}"#;
    let run = import(events).unwrap();
    let name = run.run.values.get("trace.deviceProperties.2.name");
    assert_eq!(name.map(String::as_str), Some("AMD Instinct MI300X"));
    assert!(!run.run.values.contains_key("trace.deviceProperties.0.name"));
}

/// MindSpore's timelines number devices and streams, and name neither.
#[test]
fn operations_of_a_graph_ran_on_a_device() {
    let operation = |name: &str, ts: u32| {
        format!(
            "{{\"name\": \"{name}\", \"ph\": \"X\", \"pid\": 1, \"tid\": 519, \"ts\": {ts}, \"dur\": 4, \
             \"args\": {{\"type\": \"Mul\", \"fullname\": \"Default/{name}\"}}}}"
        )
    };
    let sum = |part: u32, ts: u32| {
        format!(
            "{{\"name\": \"stream_519_parallel_{part}\", \"ph\": \"X\", \"pid\": 10000, \"tid\": 520, \"ts\": {ts}, \"dur\": 9}}"
        )
    };
    let run = import(trace(&[
        operation("Mul-op1", 0),
        operation("Mul-op2", 5),
        sum(0, 0),
        sum(1, 20),
    ]))
    .unwrap();
    assert_eq!(
        run.rows("kernels", "name device stream dur_ns"),
        ["Mul-op1 1 519 4000", "Mul-op2 1 519 4000"]
    );
    assert!(run.rows("bricks", "name").is_empty());
}

#[test]
fn iterations_of_ascends_step_trace_are_steps() {
    let process = "{\"name\": \"process_name\", \"ph\": \"M\", \"pid\": 9, \"tid\": 0, \"args\": {\"name\": \"Step Trace\"}}";
    let row = |name: &str, category: &str, ts: u32| {
        format!(
            "{{\"name\": \"{name}\", \"cat\": \"{category}\", \"ph\": \"X\", \"pid\": 9, \"tid\": 9, \"ts\": {ts}, \"dur\": 40}}"
        )
    };
    let run = import(trace(&[
        process.to_owned(),
        row("Iteration 1", "Iteration Time", 0),
        row("FP_BP Time 1", "FP_BP Time", 0),
        row("Iteration 2", "Iteration Time", 50),
    ]))
    .unwrap();
    assert_eq!(
        run.rows("bricks", "kind name iteration dur_ns"),
        ["iteration Iteration 1 40000", "iteration Iteration 2 40000"]
    );
}

/// MTIA's queues: calls of the runtime are listed under the device that they are for.
#[test]
fn calls_listed_under_a_device_are_calls_and_the_device_has_its_makers_name() {
    let run = import(trace(&[
        process("17", "MTIA 17"),
        thread("17", "1", "Stream 101"),
        thread("17", "2", "Stream 101 Submission Queue"),
        slice(
            "mtia_ccp_events",
            "merge",
            ("17", "1"),
            (10, 30),
            r#""stream": 101"#,
        ),
        slice(
            "mtia_ccp_events",
            "merge",
            ("17", "1"),
            (50, 30),
            r#""stream": 101"#,
        ),
        slice("mtia_runtime", "synchronize", ("17", "2"), (0, 40), ""),
        slice("mtia_runtime", "synchronize", ("17", "2"), (45, 40), ""),
        slice("cpu_op", "aten::add", ("2", "5"), (0, 10), ""),
    ]))
    .unwrap();
    assert_eq!(run.rows("kernels", "name device"), ["merge 17", "merge 17"]);
    assert_eq!(run.rows("calls", "name"), ["synchronize", "synchronize"]);
    assert!(run.rows("diagnostics", "code").is_empty());
    assert_eq!(run.rows("devices", "device name"), ["gpu:17 MTIA"]);
}

/// AMD numbers the memory of its only device from 0, and its work from another number.
#[test]
fn memory_of_the_only_device_has_the_number_of_its_work() {
    let memory = r#"{"ph": "i", "s": "t", "cat": "cpu_instant_event", "name": "[memory]", "pid": 5, "tid": 5, "ts": 12,
        "args": {"Device Type": 1, "Device Id": 0, "Bytes": 512, "Addr": 4096, "Total Allocated": 512, "Total Reserved": 1024}}"#;
    let events = [
        slice("cpu_op", "aten::add", ("5", "5"), (10, 20), ""),
        slice(
            "kernel",
            "add",
            ("2", "0"),
            (20, 5),
            r#""device": 2, "stream": 0"#,
        ),
        memory.to_owned(),
    ];
    let run = import(format!(
        r#"{{"schemaVersion": 1, "deviceProperties": [{{"id": 0, "name": "AMD Instinct MI300X"}}], "traceEvents": [{}]}}"#,
        events.join(",")
    ))
    .unwrap();
    assert_eq!(run.rows("kernels", "device"), ["2"]);
    assert_eq!(run.rows("allocations", "device bytes"), ["2 512"]);
    assert_eq!(
        run.rows("counters", "name value"),
        ["gpu2 allocated 512", "gpu2 reserved 1024"]
    );
    assert_eq!(
        run.rows("devices", "device name"),
        ["gpu:2 AMD Instinct MI300X"]
    );
}

#[test]
fn a_device_that_is_not_described_is_like_the_others_if_these_are_alike() {
    let of = |second: &str| {
        import(format!(
            r#"{{"deviceProperties": [{{"id": 0, "name": "AMD Instinct MI300X", "numSms": 304}}, {second}], "traceEvents": [
            {{"ph": "X", "cat": "kernel", "name": "k", "pid": 6, "tid": 1, "ts": 10, "dur": 5, "args": {{"device": 6, "stream": 1}}}}]}}"#
        ))
        .unwrap()
    };
    let value = |run: &Imported, name: &str| {
        let values = &run.run.values;
        values
            .get(&format!("trace.deviceProperties.6.{name}"))
            .cloned()
    };
    let run = of(r#"{"id": 1, "name": "AMD Instinct MI300X", "numSms": 304}"#);
    let name = value(&run, "name");
    assert_eq!(name.as_deref(), Some("AMD Instinct MI300X"));
    assert_eq!(value(&run, "numSms").as_deref(), Some("304"));
    assert!(run.warns("does not describe device 6: assumed to be like the 2 that it describes"));
    // Others differ, or the device is described itself.
    let run = of(r#"{"id": 1, "name": "AMD Instinct MI210", "numSms": 104}"#);
    assert_eq!(value(&run, "name"), None);
    let run = of(r#"{"id": 6, "name": "AMD Instinct MI210", "numSms": 104}"#);
    assert_eq!(value(&run, "name").as_deref(), Some("AMD Instinct MI210"));
    assert!(!run.warns("does not describe"));
}
