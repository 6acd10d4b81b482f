//! Numbers that should not be: no panic, and no figure that is wrong.

use crate::fixture::{Call, Fixture, call, lines};

#[test]
fn sums_beyond_what_can_be_counted_are_none() {
    let huge = |start_ns| Call {
        target: Some("/x"),
        bytes: Some(u64::MAX),
        waits: true,
        ..call("read", start_ns, i64::MAX)
    };
    let fixture = Fixture {
        calls: vec![
            huge(0),
            huge(i64::MIN),
            // Neither has an end.
            huge(1),
            call("read", 5, -1),
            Call {
                status: Some(i64::MIN),
                ..call("lseek", i64::MAX, 0)
            },
        ],
        wall_ns: Some(i64::MIN),
        window: None,
    };
    let output = fixture.analyse();
    assert_eq!(
        lines(
            output.table("calls"),
            &["name", "calls", "time_ns", "wait_ns", "max_ns", "errors"]
        ),
        [
            "lseek | 1 | 0 | - | 0 | 0".to_owned(),
            format!("read | 2 | - | - | {} | 0", i64::MAX),
        ]
    );
    assert_eq!(
        lines(output.table("files"), &["calls", "time_ns", "bytes"]),
        [format!("2 | - | {}", u64::MAX)]
    );
}
