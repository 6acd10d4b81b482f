//! However a program ends: it ends so, and its recording says how whole it is.

use std::os::unix::process::ExitStatusExt;

use trueno_format::run_json::State;

use crate::fakes::{Cupti, Recording, command, fakes, record, record_with};

/// Ends when everything it launched has been delivered; delivery is tried every few milliseconds here.
const WORDS: &str = "init launch:gemm:7:5:100 sync written:100";

#[test]
fn an_end_without_notice_keeps_its_status_and_what_was_delivered() {
    for (ending, code, signal) in [
        ("_exit:4", Some(4), None),
        ("abort", None, Some(libc::SIGABRT)),
        ("raise:15", None, Some(libc::SIGTERM)),
        ("raise:9", None, Some(libc::SIGKILL)),
    ] {
        let words = format!("{WORDS} {ending}");
        let Some(recording) = record_with(Cupti::New, "", "--flush-ms 5", &words) else {
            return;
        };
        let status = recording.output.status;
        assert_eq!((status.code(), status.signal()), (code, signal), "{ending}");
        let (launched, recorded) = recording.launched_and_recorded();
        assert_eq!(launched, recorded, "{ending}");
        let run = recording.run();
        assert_eq!(run.state, State::Recovered, "{ending}");
        assert!(!recording.capture().clean_end);
        assert!(
            run.problems[0].contains("before its recording was closed"),
            "{:?}",
            run.problems
        );
        recording.assert_clean();
    }
}

#[test]
fn an_orderly_end_needs_no_delivery_before() {
    for ending in ["", "exit:9"] {
        let words = format!("init launch:gemm:7:5:100 {ending}");
        let Some(recording) = record_with(Cupti::New, "", "--flush-ms 60000", &words) else {
            return;
        };
        let (launched, recorded) = recording.launched_and_recorded();
        assert_eq!(launched, recorded);
        assert_eq!(recording.run().state, State::Finished);
    }
}

#[test]
fn a_forked_child_leaves_its_parents_recording_alone() {
    let Some(recording) =
        record("init push:a launch:k:7:1:50 fork fork:now launch:k:7:1:50 sync pop exit:6")
    else {
        return;
    };
    assert_eq!(
        recording.output.status.code(),
        Some(6),
        "{}",
        recording.said()
    );
    let (launched, recorded) = recording.launched_and_recorded();
    assert_eq!(launched, recorded);
    let run = recording.run();
    assert_eq!(run.state, State::Finished);
    assert_eq!(
        recording.table("bricks").rows,
        1,
        "the child's ranges are not its parent's"
    );
}

#[test]
fn processes_that_use_the_device_become_ranks() {
    let Some(recording) = record("push:parent forkinit:kid:10 pop init launch:own:7:1:3 sync")
    else {
        return;
    };
    assert_eq!(
        recording.output.status.code(),
        Some(0),
        "{}",
        recording.said()
    );
    let ranks = [0, 1].map(|rank| recording.path().join(format!("rank={rank}")));
    let kernels = ranks
        .each_ref()
        .map(|path| trueno_testing::table(path, "kernels").rows);
    assert_eq!(kernels, [3, 10]);
    let pids = ranks
        .each_ref()
        .map(|path| trueno_testing::run_json(path).program.pid);
    assert!(pids[0] != pids[1] && pids[0].is_some());
}

#[test]
fn a_program_that_uses_neither_leaves_nothing() {
    let Some(recording) = record("exit:2") else {
        return;
    };
    assert_eq!(recording.output.status.code(), Some(2));
    assert!(
        recording.said().contains("neither CUDA nor NVTX"),
        "{}",
        recording.said()
    );
    assert!(!recording.path().exists());
    recording.assert_clean();
}

/// A file size limit stands for a full disk: the write that hits it is cut short in the same way.
#[test]
fn a_file_that_cannot_be_written_costs_what_follows_and_is_said() {
    let Some(mut run) = command(Cupti::New) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("it.run");
    let program = fakes().unwrap().join("program");
    let limited = "trap '' XFSZ; ulimit -f 64; exec \"$0\" \"$@\"";
    let output = run
        .args(["run", "-o"])
        .arg(&path)
        .args(["--", "sh", "-c", limited])
        .arg(program)
        .args(["init", "launch:k:7:1:2000", "sync"])
        .output()
        .unwrap();
    let recording = Recording { output, folder }.succeeded();
    let said = recording.said();
    assert!(
        said.contains("its file cannot be written: File too large"),
        "{said}"
    );
    // What the process is may have been written before the limit was hit, or not.
    let expected = if path.exists() {
        "recording stopped before the program's end: its file cannot be written"
    } else {
        "nothing was recorded, for the reason above"
    };
    assert!(said.contains(expected), "{said}");
    recording.assert_clean();
}
