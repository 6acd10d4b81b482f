//! Device streams: their order, and the calls that launched what ran there.

use trueno_analysis::testing::{RunFixture, interval};

use crate::linked::{Linked, path, slack};

/// ```text
/// thread 0    ├ launch 0..5 ┤├ launch 5..9 ┤├ launch 9..12 ┤
/// stream 7          ├ copy 8..20 ┤├ a 20..50 ┤ ├ b 53..80 ┤
/// ```
#[test]
fn a_stream_is_followed_back_to_its_launch() {
    let out = Linked {
        fixture: RunFixture {
            wall_ns: Some(80),
            calls: vec![
                interval(1, "", "launch", 0, 5),
                interval(2, "", "launch", 5, 9),
                interval(3, "", "launch", 9, 12),
            ],
            transfers: vec![interval(4, "", "h2d", 8, 20).stream(0, 7)],
            kernels: vec![
                interval(5, "", "a", 20, 50).stream(0, 7),
                interval(6, "", "b", 53, 80).stream(0, 7),
            ],
            ..RunFixture::default()
        },
        launches: vec![(2, 5), (3, 6)],
        copies: vec![(1, 4)],
        ..Linked::default()
    }
    .analyse();
    assert_eq!(
        path(&out),
        [
            "work launch 0-5",
            "launch_delay h2d 5-8",
            "transfer h2d 8-20",
            "work a 20-50",
            "queue b 50-53",
            "work b 53-80"
        ]
    );
    assert_eq!(
        slack(&out),
        ["1 | 0", "2 | 11", "3 | 41", "4 | 0", "5 | 0", "6 | 0"]
    );
}

#[test]
fn a_kernel_may_begin_inside_its_call() {
    let out = Linked {
        fixture: RunFixture {
            wall_ns: Some(40),
            calls: vec![interval(1, "", "launch", 0, 20)],
            kernels: vec![interval(2, "", "k", 12, 40).stream(0, 7)],
            ..RunFixture::default()
        },
        launches: vec![(1, 2)],
        ..Linked::default()
    }
    .analyse();
    assert_eq!(path(&out), ["work launch 0-12", "work k 12-40"]);
}

/// Kernels begin 50 after their call if the stream is idle, and 4 after one another. One begins 6 after another and
/// 50 after its call: it waited for its call, and would have even if the other had taken no time.
#[test]
fn least_latencies_tell_what_a_kernel_waited_for() {
    let mut run = Linked::default();
    let mut launch = |name: &'static str, call: (i64, i64), work: (i64, i64)| {
        let id = 1 + 2 * run.launches.len() as u64;
        let calls = &mut run.fixture.calls;
        calls.push(interval(id, "", "launch", call.0, call.1));
        let kernel = interval(id + 1, "", name, work.0, work.1);
        run.fixture.kernels.push(kernel.stream(0, 7));
        run.launches.push((id, id + 1));
    };
    for at in (0..5).map(|block| 1_000 * block) {
        launch("idle", (at, at + 20), (at + 50, at + 300));
        launch("queued", (at + 20, at + 30), (at + 304, at + 400));
    }
    launch("before", (5_000, 5_020), (5_050, 5_298));
    launch("near", (5_254, 5_262), (5_304, 5_400));
    run.fixture.wall_ns = Some(5_400);
    let out = run.analyse_with(r#"{"what_if": ["before=0"]}"#);
    assert_eq!(
        path(&out)[path(&out).len() - 3..],
        [
            "work launch 5254-5262",
            "launch_delay near 5262-5304",
            "work near 5304-5400"
        ]
    );
    let predicted = out.table("what_if").i64("predicted_ns").unwrap();
    assert_eq!(predicted.value(0), 5_400);
}
