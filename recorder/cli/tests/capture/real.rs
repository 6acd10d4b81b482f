//! What a GPU gave: the spool of `launches graph 20` on an H200, at `--level full` (`datasets/README.md`).

use std::path::Path;
use std::process::Command;

use trueno_format::run_json::State;
use trueno_testing::{run_json, table};

#[test]
fn records_of_an_h200_are_read_as_what_the_program_did() {
    let datasets = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../datasets");
    let folder = tempfile::tempdir().unwrap();
    let (left, run) = (folder.path().join("left"), folder.path().join("it.run"));
    std::fs::create_dir(&left).unwrap();
    std::fs::copy(
        datasets.join("gpu/h200_graph.spool"),
        left.join("1-1.spool"),
    )
    .unwrap();
    let mut collect = Command::new(env!("CARGO_BIN_EXE_trueno-record"));
    let done = collect
        .arg("collect")
        .arg(&left)
        .arg("-o")
        .arg(&run)
        .output()
        .unwrap();
    assert!(
        done.status.success(),
        "{}",
        String::from_utf8_lossy(&done.stderr)
    );

    let json = run_json(&run);
    let capture = json.capture.unwrap();
    assert_eq!((json.state, &json.problems[..]), (State::Finished, &[][..]));
    assert!(capture.clean_end && capture.synchronized);
    assert!(
        capture.invalid.is_empty() && capture.unreadable.is_empty() && capture.refused.is_empty()
    );
    assert_eq!(json.values["gpu:0.name"], "NVIDIA H200");

    // A graph of three kernels of 20 us in a row, replayed 20 times.
    let kernels = table(&run, "kernels");
    let (starts, durations) = (kernels.numbers("start_ns"), kernels.numbers("dur_ns"));
    let mut times: Vec<_> = starts
        .into_iter()
        .zip(durations)
        .map(|(start, dur)| (start.unwrap(), dur.unwrap()))
        .collect();
    times.sort_unstable();
    assert_eq!(times.len(), 60);
    assert!(
        times.iter().all(|(_, dur)| (20_000..22_000).contains(dur)),
        "{times:?}"
    );
    assert!(
        times
            .windows(2)
            .all(|pair| pair[0].0 + pair[0].1 <= pair[1].0)
    );
    let edges = table(&run, "edges");
    let of = |kind| {
        edges
            .texts("kind")
            .into_iter()
            .filter(|found| *found == Some(kind))
            .count()
    };
    assert_eq!((of("launches"), of("depends_on"), of("joins")), (60, 40, 1));

    let counters = table(&run, "counters");
    let clock = counters.named("gpu0 multiprocessor clock");
    assert_eq!(
        counters.cell("value", clock),
        &trueno_testing::Cell::F(1980.0)
    );
    assert_eq!(counters.texts("unit")[clock], Some("MHz"));
    let devices = table(&run, "devices");
    assert_eq!(devices.texts("name"), [Some("NVIDIA H200")]);
}
