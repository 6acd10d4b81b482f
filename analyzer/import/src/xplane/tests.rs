//! A profile that JAX recorded, and others made by hand.

use std::collections::{BTreeMap, HashMap};
use std::io::Read;
use std::path::Path;

use prost::Message;

use super::IMPORTER;
use super::messages::{
    StatValue, XEvent, XEventMetadata, XLine, XPlane, XSpace, XStat, XStatMetadata,
};
use crate::read_back::{Imported, imported, of_bytes, partial, recognises};
use crate::{Error, Options};

/// Written by JAX 0.10.2 on a CPU: four steps of a jitted function, each in a `StepTraceAnnotation`, and one
/// evaluation in a `TraceAnnotation`.
const JAX: &str = "src/xplane/samples/jax_step.xplane.pb.gz";

/// Number and total time of the events of `python` in which the profiler starts or stops, including two functions
/// around that. From the same reader.
const PROFILER: (usize, i64) = (5, 5_234_952);

/// Results of another reader, `jax.profiler.ProfileData`: events, those without a length, those with `hlo_op`, and
/// the sum of all lengths, by line name; two names have two lines each.
const LINES: [(&str, usize, usize, usize, i64); 4] = [
    ("python", 3130 - PROFILER.0, 6, 0, 611_183_443 - PROFILER.1),
    ("tf_PjRtCompilerThreadPool", 169, 4, 0, 88_159_820),
    (
        "tf_XLAPjRtCpuClient",
        19 + 62,
        2 + 8,
        8 + 25,
        70_476 + 101_493,
    ),
    (
        "tf_xla-cpu-codegen",
        74 + 3,
        5 + 2,
        0,
        14_478_794 + 2_109_134,
    ),
];

fn jax() -> Imported {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(JAX);
    imported(&IMPORTER, &file).unwrap()
}

fn import_bytes(bytes: &[u8], options: &Options) -> Result<Imported, Error> {
    of_bytes(&IMPORTER, bytes, options)
}

fn import(planes: Vec<XPlane>) -> Imported {
    let space = XSpace {
        planes,
        ..XSpace::default()
    };
    import_bytes(&space.encode_to_vec(), &Options::default()).unwrap()
}

#[test]
fn events_and_their_lengths_are_those_of_another_reader() {
    let run = jax();
    let mut names = HashMap::new();
    for row in run.rows("threads", "thread name") {
        let (thread, name) = row.split_once(' ').unwrap();
        let name = name.split(['/', ',']).next().unwrap();
        names.insert(thread.to_owned(), name.to_owned());
    }
    let mut found: BTreeMap<&str, (usize, usize, usize, i64)> = BTreeMap::new();
    for (table, kernels) in [("bricks", 0), ("kernels", 1), ("annotations", 0)] {
        for row in run.rows(table, "thread dur_ns") {
            let (thread, dur_ns) = row.split_once(' ').unwrap();
            let sums = found.entry(&names[thread]).or_default();
            let points = usize::from(dur_ns == "-");
            let dur_ns = dur_ns.parse().unwrap_or(0);
            *sums = (
                sums.0 + 1,
                sums.1 + points,
                sums.2 + kernels,
                sums.3 + dur_ns,
            );
        }
    }
    let found: Vec<_> = found
        .into_iter()
        .map(|(name, (rows, points, kernels, dur_ns))| (name, rows, points, kernels, dur_ns))
        .collect();
    assert_eq!(found, LINES);
    // From the first beginning to the last end, as the other reader has them, but for the profiler's stop at the end.
    assert_eq!(run.wall_ns, Some(41_810_747 - 11_118 - 1_729_814));
    assert!(run.notes.warnings.is_empty(), "{:?}", run.notes.warnings);
    assert_eq!(run.notes.read["event of /host:CPU"], 3457);
}

#[test]
fn steps_operations_and_annotations_are_found() {
    let run = jax();
    let columns = "kind name iteration start_ns dur_ns";
    let rows = run.rows("bricks", columns);
    let steps: Vec<_> = rows
        .iter()
        .filter(|row| row.starts_with("iteration"))
        .collect();
    assert_eq!(
        steps,
        [
            "iteration train 0 82122 428291",
            "iteration train 1 521702 214740",
            "iteration train 2 742289 74536",
            "iteration train 3 818640 4310630",
        ]
    );
    let evaluations = rows.iter().filter(|row| row.contains(" evaluate "));
    assert_eq!(
        evaluations.collect::<Vec<_>>(),
        ["function evaluate - 5145968 34923847"]
    );
    // What ran within a step is of its iteration.
    assert!(
        rows.iter()
            .any(|row| row.starts_with("function") && row.contains(" 3 "))
    );
    let operations = run.rows("kernels", "name backend device flops");
    assert_eq!(operations.len(), 33);
    assert!(
        operations.iter().all(|row| row.ends_with(" xla - -")),
        "{operations:?}"
    );
    // XLA hands its work to threads of its own: flows between them are edges.
    assert!(!run.rows("edges", "kind").is_empty());
    let python = run.rows("bricks", "name file line");
    let saw = |row: &str| python.iter().any(|other| other == row);
    assert!(saw("profiler.py:307 trace profiler.py 307"), "{python:?}");
    let attributes = run.rows("attributes", "name integer text");
    assert!(attributes.contains(&"batch 7 -".to_owned()));
    assert!(attributes.contains(&"hlo_module - jit_step".to_owned()));
    assert_eq!(
        run.run.values["xplane./host:metadata.jax_version"],
        "0.10.2"
    );
    // The first event began a moment after the profile did.
    assert_eq!(run.run.clock.origin_realtime_ns, BEGIN_NS + 11_118);
    assert!(run.notes.left_out["program of XLA (Hlo Proto)"] > 0);
}

const BEGIN_NS: i64 = 1_795_763_282_698_321_212;

fn text(text: &str) -> StatValue {
    StatValue::Text(text.into())
}

/// A plane under construction; names become metadata.
#[derive(Default)]
struct Plane(XPlane);

impl Plane {
    fn new(name: &str) -> Self {
        Self(XPlane {
            name: name.into(),
            ..XPlane::default()
        })
    }

    fn stats(&mut self, stats: &[(&str, StatValue)]) -> Vec<XStat> {
        let mut made = Vec::new();
        for (name, value) in stats {
            let metadata_id = self.0.stat_metadata.len() as i64 + 1;
            let name = name.as_bytes().to_vec();
            self.0
                .stat_metadata
                .insert(metadata_id, XStatMetadata { name });
            made.push(XStat {
                metadata_id,
                value: Some(value.clone()),
            });
        }
        made
    }

    fn event(
        &mut self,
        name: &str,
        offset_ps: i64,
        duration_ps: i64,
        stats: &[(&str, StatValue)],
    ) -> XEvent {
        let metadata_id = self.0.event_metadata.len() as i64 + 1;
        let metadata = XEventMetadata {
            name: name.into(),
            ..XEventMetadata::default()
        };
        self.0.event_metadata.insert(metadata_id, metadata);
        XEvent {
            metadata_id,
            offset_ps: Some(offset_ps),
            duration_ps,
            stats: self.stats(stats),
            num_occurrences: None,
        }
    }

    fn line(mut self, id: i64, name: &str, events: Vec<XEvent>) -> Self {
        self.0.lines.push(XLine {
            id,
            name: name.into(),
            timestamp_ns: 100,
            events,
            ..XLine::default()
        });
        self
    }
}

/// Advice is in the words of the framework.
#[test]
fn a_profile_of_tensorflow_is_not_one_of_jax() {
    let source = |names: &[&str]| {
        let mut host = Plane::new("/host:CPU");
        let events = names.iter().zip((0..).step_by(10_000));
        let events = events.map(|(name, at)| host.event(name, at, 5_000, &[]));
        let events = events.collect();
        let run = import(vec![host.line(20, "main", events).0]);
        run.run.clock.source
    };
    let tensorflow = "ExecutorState::Process";
    assert_eq!(source(&[tensorflow]), "imported: tensorflow xplane");
    // Programs of JAX read input with tf.data.
    let both = [tensorflow, "PjitFunction(step)"];
    assert_eq!(source(&both), "imported: xplane");
    assert_eq!(source(&["Execute"]), "imported: xplane");
}

#[test]
fn a_gpu_has_kernels_copies_and_the_calls_that_launched_them() {
    let mut gpu = Plane::new("/device:GPU:0");
    let kernel = [
        ("correlation_id", StatValue::Unsigned(7)),
        (
            "kernel_details",
            text("regs:32 static_shared:16 dynamic_shared:8 grid:4,2,1 block:256,1,1 occ_pct:62.5"),
        ),
        ("hlo_op", text("psum.3")),
        ("hlo_category", text("all-reduce")),
        ("flops", StatValue::Unsigned(4096)),
        ("bytes_accessed", StatValue::Integer(512)),
    ];
    let copy = [(
        "memcpy_details",
        text("kind_src:pinned kind_dst:device size:1024 dest:0 async:1"),
    )];
    let events = vec![
        gpu.event("psum.3", 5_999, 10_002, &kernel),
        gpu.event("MemcpyH2D", 1_000, 2_000, &copy),
    ];
    let module = vec![gpu.event("jit_step", 1_000, 20_000, &[])];
    let mut gpu =
        gpu.line(14, "Stream #14(Compute,MemcpyH2D)", events)
            .line(99, "XLA Modules", module);
    gpu.0.stats = gpu.stats(&[
        ("device_type_string", text("A GPU")),
        ("core_count", StatValue::Unsigned(8)),
    ]);
    let mut calls = Plane::new("/host:CUPTI");
    let launch = vec![calls.event(
        "cuLaunchKernel",
        2_000,
        500,
        &[("correlation_id", StatValue::Unsigned(7))],
    )];
    let calls = calls.line(20, "", launch);
    let mut host = Plane::new("/host:CPU");
    let execute = vec![host.event("Execute", 0, 5_000, &[])];
    let host = host.line(20, "main", execute);
    let run = import(vec![gpu.0, calls.0, host.0]);
    let columns = "name device stream correlation start_ns dur_ns timing grid_x block_x registers smem_static smem_dynamic occupancy_percent flops bytes work_source";
    // From 5.999 ns to 16.001 ns, both cut.
    assert_eq!(
        run.rows("kernels", columns),
        ["all-reduce psum.3 0 14 7 5 11 device 4 256 32 16 8 62.5 4096 512 declared"]
    );
    let columns = "direction bytes src_kind dst_kind is_async start_ns dur_ns";
    assert_eq!(
        run.rows("transfers", columns),
        ["h2d 1024 pinned device true 1 2"]
    );
    let columns = "name correlation thread start_ns dur_ns";
    assert_eq!(run.rows("calls", columns), ["cuLaunchKernel 7 0 2 0"]);
    assert_eq!(run.rows("bricks", "name thread"), ["Execute 0"]);
    assert_eq!(
        run.rows("annotations", "kind name dur_ns"),
        ["device jit_step 20"]
    );
    assert_eq!(
        run.rows("devices", "device name multiprocessors"),
        ["gpu:0 A GPU 8"]
    );
}

/// A host thread has an event from 0 to 100 ns with another inside from 10 to 60, and a line has calls from 20 to
/// 30 and from 70 to 80. Returns names of calls with their threads and bricks.
fn calls_beside(others: Vec<(i64, &str, i64, i64)>) -> Vec<String> {
    let mut host = Plane::new("/host:CPU");
    let number = |number| [("correlation_id", StatValue::Unsigned(number))];
    let calls = vec![
        host.event("hipModuleLaunchKernel", 20_000, 10_000, &number(1)),
        host.event("hipMemcpyDtoDAsync", 70_000, 10_000, &number(2)),
    ];
    let mut host = host.line(7, "Host Threads/7", calls);
    for (line, name, from_ns, until_ns) in others {
        let event = host.event(name, from_ns * 1_000, (until_ns - from_ns) * 1_000, &[]);
        let lines = &mut host.0.lines;
        match lines.iter_mut().find(|of| of.id == line) {
            Some(of) => of.events.push(event),
            None => host = host.line(line, "pool", vec![event]),
        }
    }
    let run = import(vec![host.0]);
    run.rows("calls", "name correlation thread brick")
}

#[test]
fn calls_of_the_driver_are_on_the_one_thread_that_they_nest_in() {
    let own = [(1, "Execute", 0, 100), (1, "Thunks", 10, 60)];
    let alone = |rest: &[(i64, &'static str, i64, i64)]| calls_beside([&own[..], rest].concat());
    let found = alone(&[]);
    assert_eq!(found.len(), 2);
    let is_on_thread = |row: &String| row.split(' ').nth(2) == Some("0") && !row.ends_with('-');
    assert!(found.iter().all(is_on_thread), "{found:?}");
    // A thread whose events cross theirs made none of them.
    assert_eq!(alone(&[(2, "Other", 0, 25)]), alone(&[]));
    assert_eq!(
        alone(&[(2, "Other", 0, 100), (2, "Late", 75, 90)]),
        alone(&[])
    );
    // Of two that fit it is not known which did.
    let found = alone(&[(2, "Other", 0, 100)]);
    assert!(found.iter().all(|row| row.ends_with('-')), "{found:?}");
    // No thread fits.
    let found = calls_beside(vec![(1, "Execute", 0, 75)]);
    assert!(found.iter().all(|row| row.ends_with('-')), "{found:?}");
}

#[test]
fn starting_and_stopping_the_profiler_is_no_time_of_the_program() {
    let mut host = Plane::new("/host:CPU");
    let events = vec![
        host.event("$profiler.py:101 start_trace", 0, 9_000_000, &[]),
        host.event("CollectGarbage", 2_000_000, 1_000, &[]),
        host.event("$train.py:3 step", 9_000_000, 500_000, &[]),
        host.event("$train.py:8 start_trace", 9_100_000, 100_000, &[]),
        host.event("$profiler.py:213 stop_trace", 9_500_000, 3_000_000, &[]),
    ];
    let run = import(vec![host.line(1, "python", events).0]);
    assert_eq!(
        run.rows("bricks", "name start_ns dur_ns"),
        ["train.py:3 step 0 500", "train.py:8 start_trace 100 100"]
    );
    assert_eq!(run.wall_ns, Some(500));
    let left_out = &run.notes.left_out["work of the profiler, which starts or stops"];
    assert_eq!(*left_out, 3);
}

#[test]
fn operations_that_hold_others_are_drawn_over_them() {
    let mut tpu = Plane::new("/device:TPU:0");
    let events = vec![
        tpu.event("while", 0, 10_000, &[]),
        tpu.event("fusion.1", 1_000, 3_000, &[]),
        tpu.event("fusion.2", 5_000, 5_000, &[]),
    ];
    let run = import(vec![tpu.line(2, "XLA Ops", events).0]);
    assert_eq!(
        run.rows("kernels", "name dur_ns"),
        ["fusion.1 3", "fusion.2 5"]
    );
    assert_eq!(run.rows("annotations", "name dur_ns"), ["while 10"]);
}

#[test]
fn what_has_no_time_or_no_sense_is_counted() {
    let mut host = Plane::new("/host:CPU");
    let mut sum = host.event("sum", 0, 5_000, &[]);
    sum.num_occurrences = Some(3);
    let events = vec![
        sum,
        host.event("negative", 0, -1, &[]),
        host.event("beyond", i64::MAX, i64::MAX, &[]),
        host.event("good", 0, 1_000, &[]),
        XEvent {
            metadata_id: 404,
            duration_ps: 1_000_000,
            ..XEvent::default()
        },
    ];
    let run = import(vec![host.line(1, "main", events).0]);
    assert_eq!(run.rows("bricks", "name dur_ns"), ["event 1000", "good 1"]);
    let reasons: Vec<_> = run.notes.left_out.values().copied().collect();
    assert_eq!(reasons, [1, 2], "{:?}", run.notes.left_out);
}

#[test]
fn events_of_a_thread_that_cross_stand_side_by_side() {
    let mut host = Plane::new("/host:CPU");
    let events = vec![
        host.event("a", 0, 10_000, &[]),
        host.event("b", 5_000, 10_000, &[]),
    ];
    let run = import(vec![host.line(1, "main", events).0]);
    assert_eq!(run.rows("bricks", "name thread parent"), ["a 0 -", "b 1 -"]);
    assert_eq!(run.rows("threads", "name"), ["main", "main, lane 2"]);
    assert!(run.warns("lanes, which are inferred"));
}

#[test]
fn cut_files_are_refused_with_the_place_or_read_as_far_as_they_go() {
    let plane = |name: &str| {
        let mut plane = Plane::new(name);
        let events = vec![plane.event("a", 0, 1_000, &[])];
        plane.line(1, "main", events).0
    };
    let space = |planes: Vec<XPlane>| {
        XSpace {
            planes,
            ..XSpace::default()
        }
        .encode_to_vec()
    };
    let first = space(vec![plane("/host:CPU")]).len();
    let whole = space(vec![plane("/host:CPU"), plane("/host:other")]);
    let partial = partial();
    for cut in first + 1..whole.len() {
        let error = import_bytes(&whole[..cut], &Options::default())
            .err()
            .unwrap()
            .to_string();
        assert!(
            error.contains(&format!("byte {first}")) && error.contains("--partial"),
            "{error}"
        );
        let run = import_bytes(&whole[..cut], &partial).unwrap();
        assert_eq!(run.rows("bricks", "name"), ["a"]);
        assert!(
            run.run.problems[0].contains("the 1 planes before"),
            "{:?}",
            run.run.problems
        );
    }
    assert!(import_bytes(&whole[..first - 1], &partial).is_err());
}

#[test]
fn no_byte_of_a_file_ends_the_program() {
    let mut host = Plane::new("/host:CPU");
    let flow = [
        ("_p", StatValue::Unsigned(1)),
        ("step_num", StatValue::Integer(1)),
    ];
    let events = vec![
        host.event("a", 5, 1_000_000, &flow),
        host.event("b", 10, 0, &[("_c", StatValue::Reference(1))]),
    ];
    let mut gpu = Plane::new("/device:GPU:0");
    let details = [
        ("kernel_details", text("regs:1 grid:1,1,1")),
        ("flops", StatValue::Double(1e300)),
    ];
    let work = vec![gpu.event("k", 0, 1_000_000, &details)];
    let planes = vec![
        host.line(1, "main", events).0,
        gpu.line(7, "Stream #7", work).0,
    ];
    let bytes = XSpace {
        planes,
        ..XSpace::default()
    }
    .encode_to_vec();
    let partial = partial();
    let mut read = 0;
    for at in 0..bytes.len() {
        let mut wrong = bytes.clone();
        wrong[at] ^= 0x81;
        read += usize::from(import_bytes(&wrong, &partial).is_ok());
    }
    assert!(read > bytes.len() / 2, "{read}");
}

#[test]
fn only_profiles_are_recognised() {
    let recognises = |bytes: &[u8]| recognises(&IMPORTER, bytes);
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(JAX);
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(std::fs::File::open(file).unwrap())
        .read_to_end(&mut bytes)
        .unwrap();
    assert!(recognises(&bytes[..200]));
    assert!(!recognises(b"\n\x04\x50\x01\x68\x01\n"));
    assert!(!recognises(b"\n\x40\x12\x09plain txt"));
    assert!(!recognises(b""));
}
