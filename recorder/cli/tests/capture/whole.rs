//! A recording in which nothing goes wrong.

use std::collections::HashMap;
use trueno_format::run_json::State;

use crate::fakes::{self, Cupti, Recording, record, record_with};
use trueno_testing::Table;

const WORDS: &str = "init stream:8 push:step current launch:gemm:7:50:300 copy:100000 event:3:7 wait:8:3 \
                     launch:relu:8:20:5 copyasync:4096:8 fill:100:7 syncstream:8 sync pop exit:3";

fn sorted(table: &Table, column: &str) -> Vec<String> {
    let mut texts: Vec<String> = table
        .texts(column)
        .into_iter()
        .flatten()
        .map(str::to_owned)
        .collect();
    texts.sort();
    texts
}

fn edges(recording: &Recording, kind: &str) -> Vec<(i128, i128)> {
    let edges = recording.table("edges");
    let kinds = edges.texts("kind");
    let ends = edges.numbers("from").into_iter().zip(edges.numbers("to"));
    let of_kind = ends.zip(kinds).filter(|(_, found)| *found == Some(kind));
    of_kind
        .map(|((from, to), _)| (from.unwrap(), to.unwrap()))
        .collect()
}

#[test]
fn rows_are_exactly_what_the_program_launched() {
    let Some(recording) = record(WORDS) else {
        return;
    };
    assert_eq!(
        recording.output.status.code(),
        Some(3),
        "{}",
        recording.said()
    );
    recording.assert_clean();
    let (launched, recorded) = recording.launched_and_recorded();
    assert_eq!(launched.len(), 305);
    assert_eq!(launched, recorded);

    let run = recording.run();
    assert_eq!((run.state, run.dropped), (State::Finished, 0));
    assert!(run.problems.is_empty(), "{:?}", run.problems);
    let capture = recording.capture();
    assert!(capture.clean_end && capture.synchronized);
    assert_eq!(capture.cupti_version, Some(130_001));
    assert_eq!(capture.driver_version, Some(13_000));
    assert!(
        capture.invalid.is_empty() && capture.refused.is_empty(),
        "{capture:?}"
    );
    assert_eq!(capture.records["concurrent_kernel"], 305);
    assert!(capture.overhead_ns["resource"] >= 4_000);
    assert!(
        capture.devices[0].contains("Fake H100"),
        "{:?}",
        capture.devices
    );

    let kernels = recording.table("kernels");
    let names = kernels.texts("name");
    let durations: HashMap<Option<&str>, Option<i128>> =
        names.into_iter().zip(kernels.numbers("dur_ns")).collect();
    assert_eq!(
        durations[&Some("gemm")],
        Some(50_000),
        "the device's own times"
    );
    assert_eq!(durations[&Some("relu")], Some(20_000));
    assert!(kernels.texts("reason").iter().all(Option::is_none));
    assert_eq!(kernels.number("registers", 0), Some(32));
    assert_eq!(kernels.number("smem_dynamic", 0), Some(1024));
    assert_eq!(
        kernels.number("queued_ns", 0),
        None,
        "not collected is null"
    );

    let transfers = recording.table("transfers");
    assert_eq!(sorted(&transfers, "direction"), ["h2d", "h2d", "memset"]);
    let calls = recording.table("calls");
    // Launches, copies and a fill, an event, and three waits; the muted call is not there.
    assert_eq!(calls.rows, 305 + 3 + 1 + 3);
    let names = sorted(&calls, "name");
    assert!(names.contains(&"cuStreamWaitEvent".to_owned()));
    assert!(!names.contains(&"cuCtxGetCurrent".to_owned()));
    assert!(
        capture.muted.contains(&"cuCtxGetCurrent".to_owned()),
        "and that is said"
    );
    assert!(recording.table("clock_pairs").rows >= 2);
}

#[test]
fn streams_graphs_events_managed_memory_and_two_devices_are_counted_exactly() {
    let words = "init stream:8 stream:9 launch:a:7:5:10 event:3:7 wait:8:3 launch:b:8:5:20 launch:c:9:5:30 \
                 take:5:4096:1000 graph:7:5:9 device:1 launch:d:7:5:40 give:5:4096:1000 sync";
    let Some(recording) = record_with(Cupti::New, "", "--level full", words) else {
        return;
    };
    let recording = recording.succeeded();
    recording.assert_clean();
    let kernels = recording.table("kernels");
    let mut counts: HashMap<(&str, i128), usize> = HashMap::new();
    let devices = kernels.numbers("device").into_iter().flatten();
    for of in kernels.texts("name").into_iter().flatten().zip(devices) {
        *counts.entry(of).or_default() += 1;
    }
    let expected = [
        (("a", 0), 10),
        (("b", 0), 20),
        (("c", 0), 30),
        (("node", 0), 5),
        (("d", 1), 40),
    ];
    assert_eq!(counts, HashMap::from(expected));
    let capture = recording.capture();
    assert!(capture.invalid.is_empty() && capture.unreadable.is_empty());
    assert_eq!(capture.records["concurrent_kernel"], 105);
    assert_eq!(recording.table("device_events").rows, 1);
    let memory = recording.table("allocations");
    assert_eq!(memory.texts("tag"), ["managed"; 2].map(Some));
    assert_eq!(memory.numbers("bytes"), [1000, -1000].map(Some));
    assert_eq!(recording.table("devices").rows, 2);
}

#[test]
fn work_hangs_below_its_call_its_range_and_what_it_waited_for() {
    let Some(recording) = record(WORDS) else {
        return;
    };
    let (kernels, calls) = (recording.table("kernels"), recording.table("calls"));
    let starts: HashMap<Option<i128>, Option<i128>> = calls
        .numbers("id")
        .into_iter()
        .zip(calls.numbers("start_ns"))
        .collect();
    let began: HashMap<Option<i128>, Option<i128>> = kernels
        .numbers("id")
        .into_iter()
        .zip(kernels.numbers("start_ns"))
        .collect();
    let launches = edges(&recording, "launches");
    assert_eq!(
        launches.len(),
        305 + 3,
        "each kernel, copy and fill has its call"
    );
    for (call, work) in launches {
        let call = starts[&Some(call)].unwrap();
        if let Some(start) = began.get(&Some(work)) {
            assert!(
                start.unwrap() >= call,
                "kernel {work} began before its call"
            );
        }
    }
    let bricks = recording.table("bricks");
    let step = bricks.number("id", bricks.named("step"));
    assert!(kernels.numbers("brick").iter().all(|brick| *brick == step));
    assert!(calls.numbers("brick").iter().all(|brick| *brick == step));

    let (syncs, events) = (recording.table("syncs"), recording.table("device_events"));
    assert_eq!(sorted(&syncs, "kind"), ["device", "stream", "stream_wait"]);
    let id = |kind: &str| {
        let row = syncs
            .texts("kind")
            .iter()
            .position(|found| *found == Some(kind))
            .unwrap();
        (syncs.number("id", row).unwrap(), row)
    };
    let (wait, row) = id("stream_wait");
    assert_eq!(syncs.number("event", row), Some(3));
    assert_eq!(
        syncs.number("thread", row),
        None,
        "it does not hold up the host"
    );
    let record = events.number("id", 0).unwrap();
    let joins = edges(&recording, "joins");
    assert!(joins.contains(&(record, wait)), "{joins:?}");
    // The stream's wait is for the copy, its last work.
    let copy = {
        let transfers = recording.table("transfers");
        let row = transfers
            .numbers("stream")
            .iter()
            .position(|stream| *stream == Some(8))
            .unwrap();
        transfers.number("id", row).unwrap()
    };
    assert!(joins.contains(&(copy, id("stream").0)), "{joins:?}");
    let streams = recording.table("streams");
    assert_eq!(sorted(&streams, "kind"), ["non_blocking", "null"]);
}

#[test]
fn threads_are_told_apart_and_none_of_their_work_is_lost() {
    let Some(recording) = record("init namethread:main threads:8:work:400 sync") else {
        return;
    };
    let (launched, recorded) = recording.launched_and_recorded();
    assert_eq!(launched.len(), 3_200);
    assert_eq!(launched, recorded);
    let kernels = recording.table("kernels");
    // Each thread launched on a stream of its own.
    let mut by_stream: HashMap<Option<i128>, Vec<Option<i128>>> = HashMap::new();
    for (stream, thread) in kernels
        .numbers("stream")
        .into_iter()
        .zip(kernels.numbers("thread"))
    {
        by_stream.entry(stream).or_default().push(thread);
    }
    let mut threads: Vec<_> = by_stream
        .into_values()
        .map(|threads| {
            assert!(threads.iter().all(|thread| *thread == threads[0]));
            threads[0]
        })
        .collect();
    threads.sort();
    threads.dedup();
    assert_eq!(threads.len(), 8);
    assert_eq!(recording.table("bricks").rows, 8, "a range on each");
    assert!(sorted(&recording.table("threads"), "name").contains(&"main".to_owned()));
}

#[test]
fn work_that_nobody_waited_for_is_waited_for_at_the_end() {
    // 60 ms of work, and main returns at once.
    let Some(recording) = record("init launch:slow:7:3000:20") else {
        return;
    };
    let (launched, recorded) = recording.launched_and_recorded();
    assert_eq!(launched, recorded);
    assert!(
        recording.capture().invalid.is_empty(),
        "all of it ended: {:?}",
        recording.capture()
    );
    assert_eq!(
        recording.table("calls").rows,
        20,
        "our own wait is not recorded"
    );
}

#[test]
fn an_older_cupti_with_shorter_records_gives_the_same_rows() {
    let Some(recording) = record_with(Cupti::Middle, "", "", WORDS) else {
        return;
    };
    let (launched, recorded) = recording.launched_and_recorded();
    assert_eq!(launched, recorded);
    let capture = recording.capture();
    assert_eq!(capture.cupti_version, Some(22));
    assert_eq!(
        capture.refused.keys().collect::<Vec<_>>(),
        ["times of events"]
    );
    let events = recording.table("device_events");
    assert_eq!(events.number("time_ns", 0), None, "it does not say when");
    // Without numbers of pairs the wait finds the last record of its event.
    assert!(
        edges(&recording, "joins")
            .iter()
            .any(|(from, _)| Some(*from) == events.number("id", 0))
    );
}

/// CUPTI of CUDA 12.0 and 12.1, which PyTorch 2.1 to 2.4 ship.
#[test]
fn the_oldest_cupti_lacks_only_records_of_events() {
    let Some(recording) = record_with(Cupti::Old, "", "", WORDS) else {
        return;
    };
    let (launched, recorded) = recording.launched_and_recorded();
    assert_eq!(launched, recorded);
    let capture = recording.capture();
    assert_eq!(capture.cupti_version, Some(18));
    assert_eq!(capture.refused.keys().collect::<Vec<_>>(), ["cuda_event"]);
    assert_eq!(recording.table("device_events").rows, 0);
}

/// A toolkit of CUDA 13 with a driver of CUDA 12: its library loads, but refuses to work.
#[test]
fn a_cupti_that_refuses_is_passed_over() {
    let Some(mut command) = fakes::command(Cupti::New) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("it.run");
    let all = fakes::fakes().unwrap();
    let libraries = ["driver", "too_new", "middle"].map(|name| all.join(name));
    let done = command
        .env("LD_LIBRARY_PATH", std::env::join_paths(libraries).unwrap())
        .args(["run", "-o"])
        .arg(&run)
        .arg("--")
        .arg(all.join("program"))
        .args(["init", "launch:k:7:1:5", "sync"])
        .output()
        .unwrap();
    assert!(done.status.success(), "{done:?}");
    assert_eq!(trueno_testing::table(&run, "kernels").rows, 5, "{done:?}");
}

/// Triton, cuBLAS and cudarc launch through the driver API.
#[test]
fn launches_of_the_driver_have_their_calls_at_every_level() {
    for cupti in [Cupti::New, Cupti::Middle] {
        let Some(recording) = record_with(cupti, "", "--level kernels", "init launch:k:7:1:5 sync")
        else {
            return;
        };
        let kernels = recording.table("kernels");
        assert_eq!(kernels.rows, 5);
        let calls = sorted(&recording.table("calls"), "name");
        let launches = calls.iter().filter(|name| *name == "cuLaunchKernel");
        assert_eq!(launches.count(), 5, "{cupti:?}");
        assert!(recording.capture().invalid.is_empty(), "{cupti:?}");
    }
}

#[test]
fn a_cupti_that_lacks_functions_is_used_as_far_as_it_goes() {
    let Some(recording) = record_with(Cupti::Bare, "", "", WORDS) else {
        return;
    };
    let (launched, recorded) = recording.launched_and_recorded();
    assert_eq!(launched, recorded, "{}", recording.said());
    let refused = recording.capture().refused;
    assert!(
        refused["record sizes"].contains("cuptiActivityGetNextRecord"),
        "{refused:?}"
    );
    assert!(
        refused["edges of graphs"].contains("cuptiGetGraphNodeId"),
        "{refused:?}"
    );
    let names = sorted(&recording.table("calls"), "name");
    assert!(
        names.contains(&"driver call 307".to_owned()),
        "without names, numbers"
    );
}

#[test]
fn levels_record_as_much_as_they_say() {
    let Some(least) = record_with(Cupti::New, "", "--level kernels", WORDS) else {
        return;
    };
    let (launched, recorded) = least.launched_and_recorded();
    assert_eq!(launched, recorded);
    assert_eq!(
        (least.table("syncs").rows, least.table("device_events").rows),
        (0, 0)
    );
    let Some(full) = record_with(Cupti::New, "", "--level full", WORDS) else {
        return;
    };
    assert!(full.capture().enabled.contains(&"memory".to_owned()));
    assert_eq!(full.capture().level, "full");
}
