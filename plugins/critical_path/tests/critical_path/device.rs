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
