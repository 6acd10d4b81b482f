//! CUPTI drops, refuses, lies, or belongs to somebody else: said and counted, and never the program's problem.

use crate::fakes::{Cupti, record_with};

const WORDS: &str = "init launch:gemm:7:5:100 sync exit:4";

#[test]
fn another_profiler_that_takes_over_is_named() {
    // More calls than one buffer has room for: the first comes back, the second is out when the other one takes over.
    let words = "init launch:a:7:1:30000 takeover launch:b:7:1:60 sync";
    let Some(recording) = record_with(Cupti::New, "", "--flush-ms 60000", words) else {
        return;
    };
    let problems = recording.table("diagnostics");
    assert!(
        problems
            .texts("code")
            .contains(&Some("buffers_not_returned")),
        "{}",
        recording.said()
    );
    assert!(
        recording.said().contains("torch.profiler"),
        "{}",
        recording.said()
    );
    let strict = record_with(Cupti::New, "", "--flush-ms 60000 --strict", words).unwrap();
    assert_eq!(strict.output.status.code(), Some(1), "{}", strict.said());
}

/// CUPTI has none of our buffers when the other profiler takes over, so none is missing at the end.
#[test]
fn another_profiler_that_takes_over_between_buffers_is_seen() {
    let words = "init launch:a:7:1:60 sync written:60 takeover launch:b:7:1:60 sync";
    let Some(recording) = record_with(Cupti::New, "", "--flush-ms 5", words) else {
        return;
    };
    let (launched, recorded) = recording.launched_and_recorded();
    assert!(recorded.len() < launched.len());
    let problems = recording.table("diagnostics");
    let codes = problems.texts("code");
    let said = ["records_taken_over", "buffers_not_returned"];
    assert!(
        said.iter().any(|code| codes.contains(&Some(code))),
        "{}",
        recording.said()
    );
    // Calls of ours, by which that is seen, are no rows.
    let whole = record_with(Cupti::New, "", "", "init launch:a:7:1:60 sync").unwrap();
    let codes = whole.table("diagnostics");
    assert!(
        !codes.texts("code").contains(&Some("records_taken_over")),
        "{}",
        whole.said()
    );
    assert_eq!(whole.table("threads").rows, 1);
    let calls = whole.table("calls");
    let synchronized = calls
        .texts("name")
        .into_iter()
        .filter(|name| *name == Some("cuCtxSynchronize"));
    assert_eq!(synchronized.count(), 1, "the program's own");
}

/// CUPTI returns a buffer once all work in it is done. What was launched before a kill stays in it.
#[test]
fn work_behind_a_kernel_that_still_runs_comes_when_it_is_over() {
    let words = "init launch:short:7:1:20 launch:long:8:300000:1 sleep:50 launch:short:7:1:20 sync";
    let Some(recording) = record_with(Cupti::New, "", "--flush-ms 5", words) else {
        return;
    };
    let (launched, recorded) = recording.launched_and_recorded();
    assert_eq!(launched, recorded);
    assert_eq!(
        recording.capture().invalid.len(),
        0,
        "{:?}",
        recording.capture().invalid
    );
    let killed = record_with(
        Cupti::New,
        "",
        "--flush-ms 5",
        "init launch:long:8:60000000:1 launch:short:7:1:20 sleep:200 raise:9",
    )
    .unwrap();
    assert!(
        !killed.path().join("kernels").exists(),
        "they lay behind it"
    );
}

#[test]
fn dropped_records_are_counted_exactly() {
    let Some(recording) = record_with(Cupti::New, "drop", "", WORDS) else {
        return;
    };
    assert_eq!(recording.table("kernels").rows, 90);
    let run = recording.run();
    assert_eq!(run.dropped, 10);
    assert_eq!(
        run.capture.as_ref().map(|capture| capture.dropped),
        Some(10)
    );
    assert_eq!(run.problems, ["CUPTI dropped 10 records"]);
    assert!(recording.said().contains("CUPTI dropped 10 records"));
}

#[test]
fn strict_makes_a_failure_of_a_loss_and_only_where_there_was_none() {
    let strict = |misbehaves, words| record_with(Cupti::New, misbehaves, "--strict", words);
    let Some(lossy) = strict("drop", "init launch:gemm:7:5:100 sync") else {
        return;
    };
    assert_eq!(lossy.output.status.code(), Some(1));
    assert_eq!(
        strict("", "init launch:gemm:7:5:100 sync")
            .unwrap()
            .output
            .status
            .code(),
        Some(0)
    );
    assert_eq!(
        strict("drop", WORDS).unwrap().output.status.code(),
        Some(4),
        "the program's own"
    );
}

#[test]
fn another_tool_that_holds_cupti_is_named_and_left_alone() {
    for (cupti, name) in [
        (Cupti::New, "CUPTI for Nsight"),
        (Cupti::Old, "another tool"),
    ] {
        let Some(recording) = record_with(cupti, "held", "", WORDS) else {
            return;
        };
        assert_eq!(recording.output.status.code(), Some(4), "the program ran");
        assert!(
            recording
                .said()
                .contains(&format!("{name} already uses CUPTI")),
            "{}",
            recording.said()
        );
        assert!(!recording.path().exists(), "no run of nothing");
        recording.assert_clean();
    }
    // Its ranges need no CUPTI.
    let Some(ranges) = record_with(Cupti::New, "held", "", "init push:a pop launch:k:7:1:1") else {
        return;
    };
    assert_eq!(ranges.table("bricks").rows, 1);
    assert_eq!(ranges.capture().cupti_version, None);
}

#[test]
fn what_is_refused_is_missing_by_name() {
    let Some(recording) = record_with(Cupti::New, "refuse", "", WORDS) else {
        return;
    };
    let refused = recording.capture().refused;
    assert!(refused["synchronization"].contains("27"), "{refused:?}");
    assert_eq!(recording.table("syncs").rows, 0);
    assert!(recording.said().contains("synchronization is not recorded"));
    let codes = recording.table("diagnostics");
    assert!(codes.texts("code").contains(&Some("refused")));
}

#[test]
fn kernels_with_times_that_cannot_be_are_kept_and_not_trusted() {
    for (misbehaves, reason) in [
        ("notimes", "CUPTI gave no times"),
        ("backwards", "end before start"),
    ] {
        let Some(recording) = record_with(Cupti::New, misbehaves, "", WORDS) else {
            return;
        };
        let (launched, recorded) = recording.launched_and_recorded();
        assert_eq!(launched, recorded);
        let kernels = recording.table("kernels");
        assert!(
            kernels
                .texts("reason")
                .iter()
                .all(|found| *found == Some(reason))
        );
        assert_eq!(
            recording.capture().invalid[&format!("kernel: {reason}")],
            100
        );
    }
}

#[test]
fn a_cupti_that_is_too_old_is_refused_before_anything_starts() {
    let Some(recording) = record_with(Cupti::Ancient, "", "", WORDS) else {
        return;
    };
    assert_eq!(recording.output.status.code(), Some(3));
    assert!(
        recording.said().contains("version 17, expected 18"),
        "{}",
        recording.said()
    );
    assert_eq!(recording.printed(), "", "nothing ran");
    recording.assert_clean();
}

#[test]
fn a_cupti_that_never_returns_does_not_hold_the_program_for_ever() {
    let Some(recording) = record_with(
        Cupti::New,
        "hang",
        "",
        "init launch:gemm:7:5:100 sync exit:5",
    ) else {
        return;
    };
    assert_eq!(recording.output.status.code(), Some(5));
    let (launched, recorded) = recording.launched_and_recorded();
    assert_eq!(launched, recorded, "what was over before is there");
    assert!(!recording.capture().clean_end);
    let codes = recording.table("diagnostics");
    assert!(codes.texts("code").contains(&Some("closing_took_too_long")));
}

#[test]
fn a_fault_of_the_device_is_said_and_the_device_not_waited_for() {
    let words = "init launch:gemm:7:5:20 sync fatal launch:gemm:7:5:20 sync exit:4";
    let Some(recording) = record_with(Cupti::New, "", "", words) else {
        return;
    };
    assert_eq!(recording.output.status.code(), Some(4));
    let (launched, recorded) = recording.launched_and_recorded();
    assert_eq!(launched, recorded);
    assert!(!recording.capture().synchronized);
    assert!(recording.said().contains("the device fell off the bus"));
    assert!(recording.run().problems[0].contains("the device fell off the bus"));
}

#[test]
fn records_behind_one_that_nobody_knows_are_missed() {
    let words = "init current launch:gemm:7:5:20 sync unknown launch:gemm:7:5:20 sync";
    let Some(recording) = record_with(Cupti::New, "", "--flush-ms 60000 --strict", words) else {
        return;
    };
    assert_eq!(
        recording.output.status.code(),
        Some(1),
        "{}",
        recording.said()
    );
    assert!(
        recording.table("calls").rows >= 21,
        "those before it are there"
    );
    let problems = recording.run().problems;
    assert!(
        problems[0].contains("the rest of a buffer of records cannot be read"),
        "{problems:?}"
    );
}

#[test]
fn a_device_that_has_lost_its_times_is_left_alone_and_it_is_said() {
    let words = "init launch:k:7:0:9000 stopped launch:k:7:0:9000 push:behind pop sync";
    let Some(recording) = record_with(Cupti::New, "notimes", "", words) else {
        return;
    };
    assert_eq!(recording.output.status.code(), Some(0));
    let kernels = recording.table("kernels").rows;
    assert!(
        // It may be seen before the first ones are all launched.
        (4096..=9000).contains(&kernels),
        "what came after is not recorded: {kernels}"
    );
    let run = recording.run();
    let said = "stopped before the program ended";
    assert!(
        run.problems.iter().any(|problem| problem.contains(said)),
        "{:?}",
        run.problems
    );
    let told = recording.table("diagnostics");
    assert!(told.texts("code").contains(&Some("times_lost")));
    assert_eq!(recording.table("bricks").rows, 1, "ranges go on");
}
