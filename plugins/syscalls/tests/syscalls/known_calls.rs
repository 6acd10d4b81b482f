//! Known calls with known answers.

use trueno_plugin::testing::run;
use trueno_plugin_syscalls::Syscalls;

use crate::fixture::{Call, Fixture, call, lines};

const CALLS: [&str; 11] = [
    "name",
    "calls",
    "time_ns",
    "time_share",
    "wait_ns",
    "median_ns",
    "p99_ns",
    "max_ns",
    "errors",
    "bytes",
    "untimed_calls",
];

fn program() -> Fixture {
    let open = |start_ns, target, errno| Call {
        target: Some(target),
        errno,
        status: Some(if errno.is_some() { -1 } else { 3 }),
        ..call("openat", start_ns, 50)
    };
    let read = |start_ns, dur_ns, target, bytes| Call {
        target: Some(target),
        bytes: Some(bytes),
        status: Some(bytes as i64),
        ..call("read", start_ns, dur_ns)
    };
    Fixture {
        calls: vec![
            open(0, "/etc/b", Some("ENOENT")),
            open(100, "/etc/a", Some("ENOENT")),
            open(200, "/etc/a", Some("ENOENT")),
            open(300, "/data", None),
            read(400, 100, "/data", 4096),
            read(500, 300, "/data", 100),
            Call {
                waits: true,
                ..read(900, 400, "pipe", 1)
            },
            Call {
                waits: true,
                ..call("futex", 1_400, 200)
            },
            Call {
                status: Some(-11),
                ..call("sched_yield", 1_700, 0)
            },
        ],
        wall_ns: Some(10_000),
        window: None,
    }
}

#[test]
fn calls_by_name_with_times_errors_and_bytes() {
    let output = program().analyse();
    assert_eq!(
        lines(output.table("calls"), &CALLS),
        [
            "read | 3 | 800 | 0.6667 | 400 | 300 | 400 | 400 | 0 | 4197 | 0",
            "openat | 4 | 200 | 0.1667 | - | 50 | 50 | 50 | 3 | - | 0",
            "futex | 1 | 200 | 0.1667 | 200 | 200 | 200 | 200 | 0 | - | 0",
            "sched_yield | 1 | 0 | 0.0000 | - | 0 | 0 | 0 | 1 | - | 0",
        ]
    );
    assert_eq!(output.findings, []);
}

#[test]
fn errors_and_files() {
    let output = program().analyse();
    assert_eq!(
        lines(
            output.table("errors"),
            &["name", "errno", "calls", "target", "targets"]
        ),
        [
            "openat | ENOENT | 3 | /etc/a | 2",
            // Only the result tells that it failed.
            "sched_yield | - | 1 | - | -",
        ]
    );
    let columns = [
        "target",
        "calls",
        "time_ns",
        "wait_ns",
        "bytes",
        "errors",
        "untimed_calls",
    ];
    let files = [
        "/data | 3 | 450 | - | 4196 | 0 | 0",
        "pipe | 1 | 400 | 400 | 1 | 0 | 0",
        "/etc/a | 2 | 100 | - | - | 2 | 0",
        "/etc/b | 1 | 50 | - | - | 1 | 0",
    ];
    assert_eq!(lines(output.table("files"), &columns), files);
    let two = program().analyse_with(r#"{"file_rows": 2}"#);
    assert_eq!(lines(two.table("files"), &columns), files[..2]);
}

#[test]
fn calls_without_a_duration_are_counted_and_have_no_time() {
    let mut fixture = program();
    for call in &mut fixture.calls {
        call.dur_ns = None;
    }
    let output = fixture.analyse();
    assert_eq!(
        lines(output.table("calls"), &CALLS),
        [
            "openat | 4 | - | - | - | - | - | - | 3 | - | 4",
            "read | 3 | - | - | - | - | - | - | 0 | 4197 | 3",
            "futex | 1 | - | - | - | - | - | - | 0 | - | 1",
            "sched_yield | 1 | - | - | - | - | - | - | 1 | - | 1",
        ]
    );
    assert_eq!(
        lines(output.table("files"), &["target", "calls", "time_ns"])[0],
        "/data | 3 | -"
    );
    assert_eq!(
        lines(output.table("errors"), &["errno", "calls", "target"])[0],
        "ENOENT | 3 | /etc/a"
    );
    // Of both kinds: the time is that of those that have one.
    let mut both = program();
    both.calls[4].dur_ns = None;
    let output = both.analyse();
    assert_eq!(
        lines(output.table("calls"), &CALLS)[0],
        "read | 3 | 700 | 0.6364 | 400 | 300 | 400 | 400 | 0 | 4197 | 1"
    );
}

#[test]
fn a_part_of_a_run_has_the_calls_that_lie_in_it() {
    let mut fixture = program();
    fixture.window = Some((100, 700));
    fixture.calls.push(Call {
        dur_ns: None,
        ..call("getpid", 700, 0)
    });
    assert_eq!(
        lines(fixture.analyse().table("calls"), &["name", "calls"]),
        ["openat | 3", "read | 1"]
    );
}

#[test]
fn nothing_is_said_without_calls() {
    let none = Fixture::default().analyse();
    assert!(none.tables.is_empty() && none.findings.is_empty());
    assert_eq!(run::<Syscalls>([], "{}").unwrap(), none);
}
