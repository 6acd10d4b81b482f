//! What a GPU gave: spools of an H200 (`datasets/README.md`).

use std::path::{Path, PathBuf};
use std::process::Command;

use trueno_format::run_json::State;
use trueno_testing::{run_json, table};

/// The run that `trueno-record collect` makes of a spool.
fn collected(spool: &str) -> (tempfile::TempDir, PathBuf) {
    let datasets = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../datasets/gpu");
    let folder = tempfile::tempdir().unwrap();
    let (left, run) = (folder.path().join("left"), folder.path().join("it.run"));
    std::fs::create_dir(&left).unwrap();
    std::fs::copy(datasets.join(spool), left.join("1-1.spool")).unwrap();
    let done = Command::new(env!("CARGO_BIN_EXE_trueno-record"))
        .arg("collect")
        .arg(&left)
        .arg("-o")
        .arg(&run)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{said}");
    (folder, run)
}

/// `launches graph 20` at `--level full`.
#[test]
fn records_of_an_h200_are_read_as_what_the_program_did() {
    let (_folder, run) = collected("h200_graph.spool");
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

/// `train.py`: 40 steps of PyTorch in ranges called `step`.
#[test]
fn a_training_has_steps_and_their_backward_passes() {
    let (_folder, run) = collected("h200_train.spool");
    let json = run_json(&run);
    let capture = json.capture.unwrap();
    assert!(capture.clean_end && capture.invalid.is_empty() && capture.unreadable.is_empty());
    let bricks = table(&run, "bricks");
    let of = |column, wanted| {
        let texts = bricks.texts(column).into_iter();
        texts.filter(|found| *found == Some(wanted)).count()
    };
    assert_eq!(of("kind", "iteration"), 40);
    assert_eq!((of("name", "step"), of("name", "backward pass")), (40, 40));
    let mut numbers: Vec<_> = bricks.numbers("iteration").into_iter().flatten().collect();
    numbers.sort_unstable();
    let each_three_times: Vec<i128> = (0..40).flat_map(|number| [number; 3]).collect();
    assert_eq!(numbers, each_three_times);
    let syncs = table(&run, "syncs");
    let waits = syncs.texts("name").into_iter().flatten();
    assert_eq!(
        waits
            .filter(|name| *name == "wait for the backward pass")
            .count(),
        40
    );

    // 39 kernels a step, by torch.profiler; 17 before the first.
    let kernels = table(&run, "kernels");
    assert_eq!(kernels.rows, 17 + 40 * 39);
    let within = kernels.numbers("brick").into_iter().flatten().count();
    assert_eq!(within, 40 * 39);
}
