//! Calls that did not return before the device was done, and waits that held up nothing.

use trueno_analysis::testing::{RunFixture, interval};

use crate::linked::{Linked, Waiting, codes, path, path_with_rules};

/// ```text
/// thread 0  ├ launch ┤├──────── cudaMemcpyAsync ────────┤├ after ┤
/// stream 7       ├────────────── k ─────────────┤├ d2h ┤
/// ```
fn copy_behind_a_kernel() -> Linked {
    Linked {
        fixture: RunFixture {
            wall_ns: Some(100),
            calls: vec![
                interval(1, "", "cudaLaunchKernel", 0, 5),
                interval(2, "", "cudaMemcpyAsync", 5, 90),
            ],
            kernels: vec![interval(3, "", "k", 4, 80).stream(0, 7)],
            transfers: vec![interval(4, "", "d2h", 81, 88).stream(0, 7)],
            bricks: vec![interval(5, "brick", "after", 90, 100)],
            ..RunFixture::default()
        },
        launches: vec![(1, 3)],
        copies: vec![(2, 4)],
        ..Linked::default()
    }
}

const BEHIND_A_KERNEL: [&str; 6] = [
    "work cudaLaunchKernel 0-4",
    "work k 4-80",
    "queue d2h 80-81",
    "transfer d2h 81-88",
    "work cudaMemcpyAsync 88-90",
    "work after 90-100",
];

#[test]
fn a_blocking_copy_leads_to_the_kernel_it_was_queued_behind() {
    let mut run = copy_behind_a_kernel();
    run.blocking = vec![(4, 2)];
    let out = run.analyse_with(r#"{"what_if": ["k=0.5"]}"#);
    assert_eq!(path(&out), BEHIND_A_KERNEL);
    assert_eq!(codes(&out), [""; 0]);
    let what_if = out.table("what_if");
    assert_eq!(what_if.i64("predicted_ns").unwrap().value(0), 62);
}

#[test]
fn a_copy_that_may_block_did_if_its_call_returned_with_it() {
    let mut run = copy_behind_a_kernel();
    run.maybe_blocking = vec![(4, 2)];
    let out = run.analyse();
    assert_eq!(path(&out), BEHIND_A_KERNEL);
    assert_eq!(codes(&out), ["dependencies_inferred"]);
    assert!(path_with_rules(&out).contains(&"transfer d2h 81-88 | blocking_call".to_owned()));
}

#[test]
fn a_call_that_had_returned_blocked_nothing() {
    let mut run = copy_behind_a_kernel();
    run.maybe_blocking = vec![(4, 2)];
    run.fixture.calls[1] = interval(2, "", "cudaMemcpyAsync", 5, 8);
    let out = run.analyse();
    assert_eq!(codes(&out), [""; 0]);
}

/// ```text
/// thread 0  ├ launch ┤├────── cudaFree ──────┤├ after ┤
/// stream 7       ├────────── k ─────────┤
/// ```
#[test]
fn memory_is_freed_when_the_device_is_done() {
    let us = |ns: i64| 1_000 * ns;
    let run = Linked {
        fixture: RunFixture {
            wall_ns: Some(us(100)),
            calls: vec![
                interval(1, "", "cudaLaunchKernel", 0, us(5)),
                interval(2, "", "cudaFree", us(5), us(90)),
            ],
            kernels: vec![interval(3, "", "k", us(4), us(80)).stream(0, 7)],
            bricks: vec![interval(5, "brick", "after", us(90), us(100))],
            ..RunFixture::default()
        },
        launches: vec![(1, 3)],
        ..Linked::default()
    };
    let out = run.analyse();
    assert_eq!(
        path_with_rules(&out),
        [
            "work cudaLaunchKernel 0-4000 | -",
            "work k 4000-80000 | blocking_call",
            "work cudaFree 80000-90000 | -",
            "work after 90000-100000 | -",
        ]
    );
}

/// Without a record of the wait, the operator that reads a value is all that shows the wait.
///
/// ```text
/// thread 0  ├ call ┤├─ _local_scalar_dense ──┤├ after ┤
/// stream 7       ├────────── k ─────────┤
/// ```
#[test]
fn an_operator_that_reads_a_value_waits_for_the_device() {
    let us = |ns: i64| 1_000 * ns;
    let run = |inner| Linked {
        fixture: RunFixture {
            wall_ns: Some(us(100)),
            calls: vec![interval(1, "", "aclnnMm", 0, us(5))],
            bricks: vec![
                interval(2, "brick", "aten::_local_scalar_dense", us(5), us(90)),
                interval(5, "brick", "after", us(90), us(100)),
            ]
            .into_iter()
            .chain(inner)
            .collect(),
            kernels: vec![interval(3, "", "k", us(4), us(86)).stream(0, 7)],
            ..RunFixture::default()
        },
        launches: vec![(1, 3)],
        ..Linked::default()
    };
    assert_eq!(
        path_with_rules(&run(None).analyse()),
        [
            "work aclnnMm 0-4000 | -",
            "work k 4000-86000 | blocking_call",
            "work aten::_local_scalar_dense 86000-90000 | -",
            "work after 90000-100000 | -",
        ]
    );
    // An arrow from the operator says as much as a call.
    let mut linked = run(None);
    linked.launches.clear();
    linked.fixture.calls.clear();
    linked
        .fixture
        .bricks
        .push(interval(1, "brick", "aten::mm", 0, us(5)));
    linked.edges = vec![(1, 3, "spawns")];
    let path = path_with_rules(&linked.analyse());
    assert!(
        path.contains(&"work k 4000-86000 | blocking_call".to_owned()),
        "{path:?}"
    );
    // What it does inside is on record.
    let inner = interval(6, "brick", "aten::to", us(6), us(80));
    let path = path_with_rules(&run(Some(inner)).analyse());
    assert!(
        path.iter().any(|piece| piece.contains("aten::to")),
        "{path:?}"
    );
}

/// ```text
/// thread 0  ├ launch ┤                    ├ wait ┤├ after ┤
/// stream 7       ├──── k ────┤
/// ```
#[test]
fn a_wait_for_work_that_had_ended_lasts_no_longer_than_its_call() {
    let out = Linked {
        fixture: RunFixture {
            wall_ns: Some(100),
            calls: vec![
                interval(1, "", "cudaLaunchKernel", 0, 5),
                interval(2, "", "cudaDeviceSynchronize", 80, 83),
            ],
            syncs: vec![interval(30, "", "device", 80, 83)],
            kernels: vec![interval(3, "", "k", 4, 20).stream(0, 7)],
            bricks: vec![interval(5, "brick", "after", 83, 100)],
            ..RunFixture::default()
        },
        launches: vec![(1, 3)],
        waits: vec![Waiting {
            id: 30,
            kind: "device",
            device: Some(0),
            start_ns: 80,
            ..Waiting::default()
        }],
        ..Linked::default()
    }
    .analyse();
    assert_eq!(
        path(&out),
        [
            "work cudaLaunchKernel 0-5",
            "gap - 5-80",
            "sync_wait device 80-83",
            "work after 83-100"
        ]
    );
}

/// The device's clock is 7 ns behind: kernels begin before their launches.
#[test]
fn the_skew_of_a_clock_is_corrected_and_said() {
    let kernels = (0..10)
        .map(|n| interval(100 + n, "", "k", 100 * n as i64 - 5, 100 * n as i64 + 80).stream(0, 7));
    let launches = (0..10).map(|n| {
        interval(
            n + 1,
            "",
            "cudaLaunchKernel",
            100 * n as i64,
            100 * n as i64 + 4,
        )
    });
    let mut kernels: Vec<_> = kernels.collect();
    kernels[0] = interval(100, "", "k", 2, 80).stream(0, 7);
    kernels[3] = interval(103, "", "k", 293, 380).stream(0, 7);
    let out = Linked {
        fixture: RunFixture {
            wall_ns: Some(1_000),
            calls: launches.collect(),
            kernels,
            ..RunFixture::default()
        },
        launches: (0..10).map(|n| (n + 1, 100 + n)).collect(),
        ..Linked::default()
    }
    .analyse();
    // The device is busy for 85 of 100 ns, and waits each time for a host that does nothing but launch.
    assert_eq!(
        codes(&out),
        ["clock_skew", "repeated_sequence", "host_over_device"]
    );
    let title = &out
        .findings
        .iter()
        .find(|f| f.code == "clock_skew")
        .unwrap()
        .title;
    assert!(title.contains("device 0 is 0.0 µs behind"), "{title}");
    assert!(
        path(&out).contains(&"work k 902-987".to_owned()),
        "{:?}",
        path(&out)
    );
}

/// ```text
/// thread 0  ├─ submit ──────┤├─ submit ──────┤├─ submit ──────┤
/// stream 7      ├── k ──┤        ├── k ──┤        ├── k ──┤
/// ```
#[test]
fn launches_that_last_until_their_work_has_ended_leave_the_path_to_it() {
    let run = |kernel_ns: i64| {
        let starts = [0_i64, 100, 200];
        let call = |(id, from): (u64, i64)| interval(id, "", "submit", from, from + 100);
        let kernel = |(id, from): (u64, i64)| {
            interval(id, "", "k", from + 20, from + 20 + kernel_ns).stream(0, 7)
        };
        Linked {
            fixture: RunFixture {
                wall_ns: Some(300),
                calls: (1..).zip(starts).map(call).collect(),
                kernels: (11..).zip(starts).map(kernel).collect(),
                ..RunFixture::default()
            },
            launches: vec![(1, 11), (2, 12), (3, 13)],
            ..Linked::default()
        }
        .analyse()
    };
    assert_eq!(
        path(&run(70))[..4],
        [
            "work submit 0-20",
            "work k 20-90",
            "work submit 90-100",
            "work submit 100-120",
        ]
    );
    // Short work in a long call is by chance within it.
    assert_eq!(path(&run(5))[0], "work submit 0-100");
}
