//! Dependencies that no record states, and the stretches that must not be taken for one.

use trueno_analysis::testing::{Row, RunFixture, interval};
use trueno_plugin::testing::Output;

use crate::linked::{Linked, codes, path, path_with_rules};

const fn us(us: i64) -> i64 {
    1_000 * us
}

fn row(id: u64, kind: &'static str, name: &'static str, from_us: i64, to_us: i64) -> Row {
    interval(id, kind, name, us(from_us), us(to_us))
}

fn predicted_us(out: &Output) -> i64 {
    let predicted = out.table("what_if").i64("predicted_ns").unwrap().value(0);
    predicted / 1_000
}

/// ```text
/// main      ├ forward ┤├──────────── backward ────────────┤├ step ┤
/// autograd              ├ mm backward ┤├ add backward ┤
/// ```
fn backward() -> Linked {
    Linked {
        fixture: RunFixture {
            wall_ns: Some(us(1_000)),
            bricks: vec![
                row(1, "function", "forward", 0, 100),
                row(2, "function", "backward", 100, 900),
                row(3, "function", "step", 900, 1_000),
                row(4, "brick", "mm backward", 110, 500).thread(1),
                row(5, "brick", "add backward", 510, 880).thread(1),
            ],
            ..RunFixture::default()
        },
        ..Linked::default()
    }
}

#[test]
fn a_frame_waits_for_the_thread_that_works_meanwhile() {
    let out = backward().analyse_with(r#"{"what_if": ["mm backward=0.5"]}"#);
    assert_eq!(
        path_with_rules(&out),
        [
            "work forward 0-100000 | -",
            "work backward 100000-110000 | threads",
            "work mm backward 110000-500000 | -",
            "gap - 500000-510000 | -",
            "work add backward 510000-880000 | threads",
            "work backward 880000-900000 | -",
            "work step 900000-1000000 | -",
        ]
    );
    assert_eq!(codes(&out), ["dependencies_inferred"]);
    assert_eq!(predicted_us(&out), 1_000 - 195);
}

#[test]
fn a_frame_that_does_a_little_itself_still_waits() {
    let mut run = backward();
    let hook = row(6, "function", "hook", 400, 405);
    run.fixture.bricks.push(hook);
    let out = run.analyse();
    assert!(path(&out).contains(&"work add backward 510000-880000".to_owned()));
}

/// ```text
/// main      ├───────────── backward ─────────────┤├ step ┤
///             ├ mm ┤ ├ add ┤
/// gloo               ├──── all_reduce ─────────┤
/// ```
#[test]
fn a_frame_waits_for_collectives_that_it_begins_on_its_way() {
    let run = |name: &'static str, to_us: i64| Linked {
        fixture: RunFixture {
            wall_ns: Some(us(1_000)),
            bricks: vec![
                row(2, "function", "backward", 0, 900),
                row(6, "brick", "mm", 10, 150),
                row(7, "brick", "add", 160, 200),
                row(3, "function", "step", 900, 1_000),
                row(4, "brick", name, 155, to_us).thread(1),
            ],
            ..RunFixture::default()
        },
        ..Linked::default()
    };
    let out = run("gloo:all_reduce", 895).analyse_with(r#"{"what_if": ["gloo:all_reduce=0.5"]}"#);
    let waits = "work gloo:all_reduce 155000-895000 | threads";
    assert!(
        path_with_rules(&out).contains(&waits.to_owned()),
        "{:?}",
        path_with_rules(&out)
    );
    assert!(predicted_us(&out) < 700, "{}", predicted_us(&out));
    // Hidden behind an operator that does nothing else, and ends a little later.
    let mut hidden = run("gloo:all_reduce", 895);
    hidden
        .fixture
        .bricks
        .push(row(8, "brick", "conv", 210, 900));
    assert!(!codes(&hidden.analyse()).contains(&"dependencies_inferred"));
    // Begun long before the frame in which it happens to end.
    let mut earlier = run("gloo:all_reduce", 895);
    earlier.fixture.bricks[0] = row(2, "function", "backward", 0, 800);
    earlier.fixture.bricks.extend([
        row(8, "brick", "conv", 201, 799),
        row(9, "function", "clip", 801, 900),
        row(10, "brick", "norm", 802, 805),
    ]);
    assert!(!codes(&earlier.analyse()).contains(&"dependencies_inferred"));
    // The frame goes on for long after it.
    assert!(!codes(&run("gloo:all_reduce", 600).analyse()).contains(&"dependencies_inferred"));
}

#[test]
fn a_thread_that_works_on_its_own_is_not_waited_for() {
    let mut run = backward();
    run.fixture.bricks[4] = row(5, "brick", "add backward", 510, 960).thread(1);
    let out = run.analyse();
    assert!(!codes(&out).contains(&"dependencies_inferred"));
    let mut run = backward();
    // Busy for too little of it.
    run.fixture.bricks[3] = row(4, "brick", "mm backward", 300, 420).thread(1);
    run.fixture.bricks[4] = row(5, "brick", "add backward", 430, 440).thread(1);
    assert!(!codes(&run.analyse()).contains(&"dependencies_inferred"));
}

#[test]
fn a_watchdog_that_sleeps_to_the_end_waits_for_nobody() {
    let mut run = backward();
    run.fixture.bricks = vec![
        row(1, "function", "step", 0, 1_000),
        row(2, "function", "monitor", 0, 1_000).thread(1),
    ];
    let out = run.analyse();
    assert_eq!(path(&out), ["work step 0-1000000"]);
}

#[test]
fn a_thread_that_does_next_to_nothing_is_not_waited_for() {
    let mut run = backward();
    run.fixture.calls = vec![row(50, "", "cudaEventQuery", 890, 895).thread(2)];
    let out = run.analyse();
    assert!(path(&out).contains(&"work backward 880000-900000".to_owned()));
}

#[test]
fn a_thread_that_polls_waits_for_nobody() {
    let mut run = backward();
    run.fixture.wall_ns = Some(us(300_000));
    run.fixture.calls = (0..3)
        .map(|n| {
            row(
                50 + n,
                "",
                "cudaEventQuery",
                100_000 * n as i64,
                100_000 * n as i64 + 5,
            )
        })
        .collect();
    run.fixture.bricks = vec![
        row(4, "brick", "mm backward", 106_000, 195_000).thread(1),
        row(5, "brick", "mm backward", 206_000, 295_000).thread(1),
    ];
    assert!(!codes(&run.analyse()).contains(&"dependencies_inferred"));
}

/// Each launch follows the end of the previous kernel by 10 µs; nothing else is recorded.
fn drained(after_us: impl Fn(i64) -> i64) -> Linked {
    let mut run = Linked::default();
    let mut now_us = 0;
    for n in 0..20 {
        let (call, kernel) = (1 + n as u64, 101 + n as u64);
        let dur_us = 500 + 100 * (n % 4);
        run.fixture
            .calls
            .push(row(call, "", "cudaLaunchKernel", now_us, now_us + 4));
        let kernel_row = row(kernel, "", "k", now_us + 5, now_us + 5 + dur_us);
        run.fixture.kernels.push(kernel_row.stream(0, 7));
        run.launches.push((call, kernel));
        now_us += 5 + dur_us + after_us(n);
    }
    run.fixture.wall_ns = Some(us(now_us));
    run
}

#[test]
fn launches_right_after_a_drained_device_wait_for_it() {
    let run = drained(|_| 10);
    let out = run.analyse_with(r#"{"what_if": ["k=0.5"]}"#);
    let on_device_ns: i64 = (path(&out).iter())
        .filter_map(|piece| piece.strip_prefix("work k ")?.split_once('-'))
        .map(|(from, to)| to.parse::<i64>().unwrap() - from.parse::<i64>().unwrap())
        .sum();
    assert_eq!(on_device_ns, us(20 * 650));
    assert!(codes(&out).contains(&"dependencies_inferred"));
    let wall_us = run.fixture.wall_ns.unwrap() / 1_000;
    assert_eq!(predicted_us(&out), wall_us - 20 * 650 / 2);
}

/// ```text
/// main                             ├ step ┤├ launch ┤
/// stream 7  ├ a ┤├────── b ──────┤                   ├ c ┤   a and b were launched before the recording
/// ```
#[test]
fn a_thread_whose_first_row_comes_when_its_stream_has_drained_waited_for_it() {
    let mut run = Linked {
        fixture: RunFixture {
            wall_ns: Some(us(6_000)),
            bricks: vec![row(1, "function", "step", 5_009, 5_500)],
            calls: vec![row(2, "", "cudaLaunchKernel", 5_500, 5_505)],
            kernels: vec![
                row(3, "", "a", 0, 1_000).stream(0, 7),
                row(4, "", "b", 1_002, 5_000).stream(0, 7),
                row(5, "", "c", 5_506, 6_000).stream(0, 7),
            ],
            ..RunFixture::default()
        },
        launches: vec![(2, 5)],
        ..Linked::default()
    };
    let out = run.analyse_with(r#"{"what_if": ["b=0.5"]}"#);
    assert_eq!(
        path_with_rules(&out)[..5],
        [
            "work a 0-1000000 | -",
            "gap - 1000000-1002000 | -",
            "work b 1002000-5000000 | cut_off_wait",
            "sync_wait step 5000000-5009000 | cut_off_wait",
            "work step 5009000-5500000 | -",
        ]
    );
    assert_eq!(predicted_us(&out), 6_000 - 3_998 / 2);
    let is_inferred = |run: &Linked| codes(&run.analyse()).contains(&"dependencies_inferred");
    assert!(is_inferred(&run));
    // It went on long after, or while the stream still worked.
    run.fixture.bricks[0] = row(1, "function", "step", 5_100, 5_500);
    assert!(!is_inferred(&run));
    run.fixture.bricks[0] = row(1, "function", "step", 4_990, 5_500);
    assert!(!is_inferred(&run));
}

#[test]
fn launches_at_any_time_after_the_device_had_drained_wait_for_nothing() {
    let out = drained(|n| 300 + 40 * (n % 7)).analyse();
    assert!(!codes(&out).contains(&"dependencies_inferred"));
}

/// ```text
/// stream 7  ├───── k ─────┤
/// stream 8                 ├ all-reduce ┤   launched long before
/// ```
#[test]
fn a_stream_that_goes_on_right_after_another_follows_it() {
    let mut run = Linked {
        fixture: RunFixture {
            wall_ns: Some(us(500)),
            calls: vec![
                row(1, "", "cudaLaunchKernel", 0, 5),
                row(2, "", "cudaLaunchKernel", 5, 10),
            ],
            kernels: vec![
                row(3, "", "k", 6, 300).stream(0, 7),
                row(4, "", "all-reduce", 302, 500).stream(0, 8),
            ],
            ..RunFixture::default()
        },
        launches: vec![(1, 3), (2, 4)],
        ..Linked::default()
    };
    let out = run.analyse_with(r#"{"what_if": ["k=0.5"]}"#);
    assert_eq!(
        path_with_rules(&out),
        [
            "work cudaLaunchKernel 0-5000 | -",
            "launch_delay k 5000-6000 | -",
            "work k 6000-300000 | streams",
            "queue all-reduce 300000-302000 | streams",
            "work all-reduce 302000-500000 | -",
        ]
    );
    assert_eq!(predicted_us(&out), 500 - 147);
    // Nothing had ended just before.
    run.fixture.kernels[0] = row(3, "", "k", 6, 200).stream(0, 7);
    assert!(!codes(&run.analyse()).contains(&"dependencies_inferred"));
}

/// Two programs in one recording, each with its own device.
#[test]
fn programs_that_share_no_stream_do_not_wait_for_each_other() {
    let mut run = backward();
    run.fixture.calls = vec![
        row(21, "", "cudaLaunchKernel", 10, 15),
        row(22, "", "cudaLaunchKernel", 120, 125).thread(1),
    ];
    run.fixture.kernels = vec![
        row(31, "", "k", 20, 25).stream(0, 7),
        row(32, "", "k", 130, 135).stream(1, 7),
    ];
    run.launches = vec![(21, 31), (22, 32)];
    assert!(!codes(&run.analyse()).contains(&"dependencies_inferred"));
}

/// ```text
/// main    ├ forward ┤    ·     ├ forward ┤    ·     ├ …
/// engine               ├ back ┤             ├ back ┤
/// ```
/// A stretch as wide as these is no evidence, but turns are.
#[test]
fn threads_that_take_turns_wait_for_each_other() {
    let turns = |count: i64| {
        let mut bricks = Vec::new();
        for turn in 0..count {
            let (id, at) = (2 * turn as u64, 1_000 * turn);
            bricks.push(row(id + 1, "brick", "forward", at, at + 300));
            bricks.push(row(id + 2, "brick", "back", at + 400, at + 880).thread(1));
        }
        bricks.push(row(99, "brick", "end", 1_000 * count, 1_000 * count + 10));
        Linked {
            fixture: RunFixture {
                wall_ns: Some(us(1_000 * count + 10)),
                bricks,
                ..RunFixture::default()
            },
            ..Linked::default()
        }
    };
    assert!(!codes(&turns(2).analyse()).contains(&"dependencies_inferred"));
    let out = turns(4).analyse_with(r#"{"what_if": ["back=0.5"]}"#);
    assert_eq!(predicted_us(&out), 4_010 - 4 * 240);
    // One that works on meanwhile has turns of nobody.
    let mut run = turns(4);
    let busy = row(50, "brick", "back", 890, 1_390).thread(1);
    run.fixture.bricks.push(busy);
    assert!(!codes(&run.analyse()).contains(&"dependencies_inferred"));
}

/// A watchdog's calls may happen to fill a stretch of another thread.
#[test]
fn a_thread_that_only_asks_devices_is_not_waited_for() {
    let mut run = backward();
    run.fixture.bricks.truncate(3);
    run.fixture.calls = vec![
        row(4, "", "cudaEventQuery", 110, 500).thread(1),
        row(5, "", "cudaEventQuery", 510, 880).thread(1),
    ];
    assert!(!codes(&run.analyse()).contains(&"dependencies_inferred"));
}

/// ```text
/// stream 0  ├ before ┤                                  ├ after ┤
/// stream 4              ├────────── collective ──────┤
/// ```
#[test]
fn work_launched_long_before_waited_for_the_other_stream() {
    let mut run = Linked {
        fixture: RunFixture {
            wall_ns: Some(us(1_000)),
            kernels: vec![
                row(1, "", "before", 0, 10).stream(0, 0),
                row(2, "", "collective", 100, 900).stream(0, 4),
                row(3, "", "after", 930, 1_000).stream(0, 0),
            ],
            ..RunFixture::default()
        },
        unlaunched: vec![(1, 1), (2, 2), (3, 3)],
        ..Linked::default()
    };
    // It may have been launched just then.
    assert_eq!(codes(&run.analyse()), ["launch_not_recorded"]);
    // The first recorded call has a higher correlation: by then it was launched.
    run.first_calls = vec![(9, us(20))];
    assert_eq!(
        path_with_rules(&run.analyse()),
        [
            "gap - 0-100000 | streams",
            "work collective 100000-900000 | streams",
            "queue after 900000-930000 | streams",
            "work after 930000-1000000 | -",
        ]
    );
}

/// 300 kernels of 100 µs each and a queue of depth `depth`. Once it is full, each launch call returns 2 µs after a
/// kernel has ended.
fn deep_queue(depth: usize) -> Linked {
    let mut run = Linked::default();
    let (mut now_us, mut ends_us) = (0, Vec::<i64>::new());
    for number in 0..300_usize {
        let start_us = now_us;
        now_us += 5;
        if let Some(before) = number.checked_sub(depth) {
            now_us = now_us.max(ends_us[before] + 2);
        }
        let from_us = ends_us.last().map_or(10, |end_us| end_us + 1);
        ends_us.push(from_us + 100);
        let id = 2 * number as u64 + 1;
        let calls = &mut run.fixture.calls;
        calls.push(row(id, "", "cudaLaunchKernel", start_us, now_us));
        let kernel = row(id + 1, "", "k", from_us, from_us + 100).stream(0, 7);
        run.fixture.kernels.push(kernel);
        run.launches.push((id, id + 1));
    }
    run.fixture.wall_ns = ends_us.last().map(|end_us| us(*end_us));
    run
}

#[test]
fn launches_into_a_full_queue_wait_for_the_device() {
    let rule = r#"{"what_if": ["k=0.5"]}"#;
    for depth in [128, 1_000] {
        let out = deep_queue(depth).analyse_with(rule);
        let wall_us = 10 + 300 * 101;
        assert!((predicted_us(&out) - (wall_us - 300 * 50)).abs() < 10);
        let is_inferred = codes(&out).contains(&"dependencies_inferred");
        assert_eq!(is_inferred, depth == 128);
    }
}

/// ```text
/// main    ├ create ┤ ├ ioctl ┤├ ioctl ┤ … ├ ioctl ┤ ├ launch ┤
/// helper             ├──────────── poll ─────────────┤├ read ┤
/// ```
#[test]
fn a_thread_that_polls_waits_for_no_thread_and_begins_nothing() {
    let call = |id, name, from_us, to_us| row(id, "", name, from_us, to_us);
    let helper = |poll: &'static str| Linked {
        fixture: RunFixture {
            wall_ns: Some(us(1_000)),
            bricks: vec![row(9, "brick", "start", 0, 50)],
            calls: vec![
                call(1, "pthread_create", 50, 100),
                call(2, "ioctl", 110, 400),
                call(3, "ioctl", 400, 700),
                call(4, "ioctl", 700, 795),
                call(5, "write", 800, 1_000),
                call(6, "read", 95, 100).thread(1),
                call(7, poll, 100, 797).thread(1),
                call(8, "read", 798, 799).thread(1),
            ],
            ..RunFixture::default()
        },
        ..Linked::default()
    };
    let lanes = |linked: &Linked| {
        trueno_analysis::testing::lines(linked.analyse().table("path"), &["lane"])
    };
    assert!(lanes(&helper("poll")).iter().all(|lane| lane == "thread 0"));
    // A join is for a thread.
    let joins = path_with_rules(&helper("pthread_join").analyse());
    assert!(
        joins.iter().any(|piece| piece.contains("threads")),
        "{joins:?}"
    );
}
