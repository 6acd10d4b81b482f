//! Dependencies of device work that nothing records as such.

use trueno_analysis::testing::{RunFixture, interval, lines};

use crate::linked::{Linked, Waiting, codes, path, path_with_rules, slack};

/// ```text
/// thread 0  ├ launch ┤       ├──── cudaStreamSynchronize ────┤├ after ┤
///                            ├──────────── wait ─────────────┤
/// stream 7             ├────────────── k ──────────────────┤
/// stream 8             ├── other ──┤
/// ```
fn stream_sync(kind: &'static str, stream: Option<i64>) -> Linked {
    Linked {
        fixture: RunFixture {
            wall_ns: Some(100),
            calls: vec![
                interval(1, "", "launch", 0, 5),
                interval(2, "", "launch", 5, 10),
                interval(3, "", "sync", 20, 85),
            ],
            // The wait has the times of its call, and a lower id than it might.
            syncs: vec![interval(30, "", kind, 20, 85)],
            kernels: vec![
                interval(4, "", "k", 10, 80).stream(0, 7),
                interval(5, "", "other", 12, 40).stream(0, 8),
            ],
            bricks: vec![interval(6, "brick", "after", 85, 100)],
            ..RunFixture::default()
        },
        launches: vec![(1, 4), (2, 5)],
        waits: vec![Waiting {
            id: 30,
            kind,
            device: Some(0),
            stream,
            start_ns: 20,
            ..Waiting::default()
        }],
        ..Linked::default()
    }
}

#[test]
fn a_wait_for_a_stream_lasts_as_long_as_its_last_work() {
    let out = stream_sync("stream", Some(7)).analyse();
    assert_eq!(
        path(&out),
        [
            "work launch 0-5",
            "launch_delay k 5-10",
            "work k 10-80",
            "sync_wait stream 80-85",
            "work after 85-100"
        ]
    );
    // Stream 8 is waited for by nobody.
    assert!(
        slack(&out).contains(&"5 | 60".to_owned()),
        "{:?}",
        slack(&out)
    );
    assert_eq!(codes(&out), [""; 0]);
}

#[test]
fn a_wait_for_the_device_waits_for_all_streams() {
    let out = stream_sync("device", None).analyse();
    assert!(path(&out).contains(&"work k 10-80".to_owned()));
    // 5 may end as late as 4 does before the wait goes on.
    assert!(
        slack(&out).contains(&"5 | 40".to_owned()),
        "{:?}",
        slack(&out)
    );
}

#[test]
fn a_wait_that_names_no_stream_waited_for_what_ended_last_before_it_did() {
    let out = stream_sync("stream", None).analyse();
    assert_eq!(codes(&out), ["dependencies_inferred"]);
    assert_eq!(
        path_with_rules(&out),
        [
            "work launch 0-5 | -",
            "launch_delay k 5-10 | -",
            "work k 10-80 | wait",
            "sync_wait stream 80-85 | -",
            "work after 85-100 | -"
        ]
    );
}

/// Work on two streams ends within a microsecond, by which clocks may differ: the wait may have been for either.
#[test]
fn a_wait_that_names_no_stream_waited_for_all_that_ended_at_that_time() {
    let predicted_ns = |first_end_ns: i64, second_end_ns: i64| {
        let run = Linked {
            fixture: RunFixture {
                wall_ns: Some(110_000),
                calls: vec![
                    interval(1, "", "launch", 0, 1_000),
                    interval(2, "", "launch", 1_000, 2_000),
                ],
                kernels: vec![
                    interval(3, "", "first", 5_000, first_end_ns).stream(0, 7),
                    interval(4, "", "second", 6_000, second_end_ns).stream(0, 8),
                ],
                syncs: vec![interval(30, "", "stream", 2_000, 101_000)],
                bricks: vec![interval(5, "brick", "after", 101_000, 110_000)],
                ..RunFixture::default()
            },
            launches: vec![(1, 3), (2, 4)],
            waits: vec![Waiting {
                id: 30,
                kind: "stream",
                device: Some(0),
                start_ns: 2_000,
                ..Waiting::default()
            }],
            ..Linked::default()
        };
        let out = run.analyse_with(r#"{"what_if": ["first=0"]}"#);
        let predicted = out.table("what_if").i64("predicted_ns").unwrap();
        predicted.value(0)
    };
    // From the end of the later to that of the run.
    assert_eq!(predicted_ns(100_000, 99_500), 109_500);
    // It ended too early, and nothing else is known to hold the host: not even the end of its own stream.
    assert_eq!(predicted_ns(100_000, 90_000), 90_000);
}

#[test]
fn a_wait_that_names_no_stream_and_outlasts_all_work_stays_unexplained() {
    let mut run = stream_sync("stream", None);
    run.fixture.kernels[0] = interval(4, "", "k", 100, 101).stream(0, 7);
    run.fixture.kernels[1] = interval(5, "", "other", 12, 19).stream(0, 8);
    run.fixture.wall_ns = Some(101);
    let out = run.analyse();
    assert_eq!(codes(&out), ["wait_unexplained"]);
}

#[test]
fn what_was_launched_after_the_wait_began_is_not_waited_for() {
    let mut run = stream_sync("stream", Some(7));
    run.fixture.calls[0] = interval(1, "", "launch", 30, 35).thread(1);
    run.fixture.kernels[0] = interval(4, "", "k", 40, 80).stream(0, 7);
    let out = run.analyse();
    assert!(
        path(&out).contains(&"sync_wait stream 20-85".to_owned()),
        "{:?}",
        path(&out)
    );
}

/// ```text
/// thread 0   ├ a ┤├ record 1 ┤├ wait 1 on stream 8 ┤├ b ┤├ c ┤ ├─ wait for event 1 ─┤
/// stream 7      ├──────── a ────────┤                          (c is after the record)
/// stream 8                            ├──── b ────┤
/// ```
fn events() -> Linked {
    Linked {
        fixture: RunFixture {
            wall_ns: Some(100),
            calls: vec![
                interval(1, "", "launch a", 0, 5),
                interval(2, "", "record", 5, 7),
                interval(3, "", "wait event", 7, 9),
                interval(4, "", "launch b", 9, 12),
                interval(5, "", "launch c", 12, 15),
            ],
            syncs: vec![
                interval(20, "", "stream_wait", 7, 9),
                interval(21, "", "event", 20, 62),
            ],
            kernels: vec![
                interval(10, "", "a", 6, 60).stream(0, 7),
                interval(11, "", "c", 60, 70).stream(0, 7),
                interval(12, "", "b", 61, 100).stream(0, 8),
            ],
            ..RunFixture::default()
        },
        launches: vec![(1, 10), (4, 12), (5, 11)],
        waits: vec![
            Waiting {
                id: 20,
                kind: "stream_wait",
                device: Some(0),
                stream: Some(8),
                event: Some(1),
                start_ns: 7,
                ..Waiting::default()
            },
            Waiting {
                id: 21,
                kind: "event",
                device: Some(0),
                event: Some(1),
                start_ns: 20,
                ..Waiting::default()
            },
        ],
        ..Linked::default()
    }
}

fn orders_streams_and_holds_up_the_host(run: &Linked) {
    let out = run.analyse();
    assert_eq!(codes(&out), [""; 0]);
    assert_eq!(
        path(&out),
        [
            "work launch a 0-5",
            "launch_delay a 5-6",
            "work a 6-60",
            "queue b 60-61",
            "work b 61-100"
        ]
    );
    // The wait of the host ends with a: it had nothing to do with c.
    assert!(
        slack(&out).contains(&"11 | 30".to_owned()),
        "{:?}",
        slack(&out)
    );
    // The stream's wait is no row of its own on the path or beside it.
    assert!(!slack(&out).iter().any(|row| row.starts_with("20 ")));
}

#[test]
fn an_event_orders_streams_and_holds_up_the_host() {
    let mut run = events();
    // The event is recorded again later: that record is none of theirs.
    run.recorded = vec![(1, 0, 7, 5), (1, 0, 8, 90)];
    orders_streams_and_holds_up_the_host(&run);
}

#[test]
fn an_edge_says_which_record_a_wait_is_for() {
    let mut run = events();
    // By its number it would be the record on stream 8.
    run.recorded = vec![(1, 0, 7, 5), (1, 0, 8, 6)];
    run.edges = vec![(900, 20, "joins"), (900, 21, "joins")];
    orders_streams_and_holds_up_the_host(&run);
}

/// ```text
/// thread 0   ├────────── cudaMemcpy ──────────┤├ after ┤
/// stream 7       ├──────── h2d ────────┤
/// ```
#[test]
fn a_blocking_copy_is_the_copy_on_the_path_and_not_its_call() {
    let run = Linked {
        fixture: RunFixture {
            wall_ns: Some(60),
            calls: vec![interval(1, "", "cudaMemcpy", 0, 50)],
            transfers: vec![interval(2, "", "h2d", 10, 45).stream(0, 7)],
            bricks: vec![interval(3, "brick", "after", 50, 60)],
            ..RunFixture::default()
        },
        copies: vec![(1, 2)],
        blocking: vec![(2, 1)],
        ..Linked::default()
    };
    assert_eq!(
        path(&run.analyse()),
        [
            "work cudaMemcpy 0-10",
            "transfer h2d 10-45",
            "work cudaMemcpy 45-50",
            "work after 50-60"
        ]
    );
    let out = run.analyse_with(r#"{"what_if": ["kind:transfer=0"]}"#);
    assert_eq!(lines(out.table("what_if"), &["predicted_ns"]), ["25"]);
    // Without the word that it blocks, the call is work as it stands.
    let out = Linked {
        blocking: vec![],
        ..run
    }
    .analyse();
    assert_eq!(path(&out), ["work cudaMemcpy 0-50", "work after 50-60"]);
}

/// ```text
/// stream 7 (blocking)       ├── a ──┤                        ├── c ──┤
/// stream 0 (legacy default)          ├────────── b ─────────┤
/// stream 9 (non-blocking)   ├───────────────── d ────────────────────────┤
/// ```
#[test]
fn the_legacy_default_stream_waits_for_all_and_all_for_it() {
    let out = Linked {
        fixture: RunFixture {
            wall_ns: Some(100),
            calls: (0..4)
                .map(|i| interval(i + 1, "", "launch", i as i64, i as i64 + 1))
                .collect(),
            kernels: vec![
                interval(11, "", "a", 5, 30).stream(0, 7),
                interval(12, "", "b", 31, 60).stream(0, 0),
                interval(13, "", "c", 62, 100).stream(0, 7),
                interval(14, "", "d", 5, 90).stream(0, 9),
            ],
            ..RunFixture::default()
        },
        launches: vec![(1, 11), (2, 12), (3, 13), (4, 14)],
        streams: vec![(0, 0, "null"), (0, 7, "blocking"), (0, 9, "non_blocking")],
        ..Linked::default()
    }
    .analyse();
    assert_eq!(
        path(&out),
        [
            "work launch 0-1",
            "launch_delay a 1-5",
            "work a 5-30",
            "queue b 30-31",
            "work b 31-60",
            "queue c 60-62",
            "work c 62-100"
        ]
    );
    assert!(
        slack(&out).contains(&"14 | 10".to_owned()),
        "{:?}",
        slack(&out)
    );
}

/// All nodes of a graph share the correlation of its launch.
#[test]
fn nodes_of_a_graph_hang_on_its_one_launch() {
    let out = Linked {
        fixture: RunFixture {
            wall_ns: Some(50),
            calls: vec![interval(1, "", "cudaGraphLaunch", 0, 8)],
            kernels: vec![
                interval(2, "", "a", 10, 20).stream(0, 7),
                interval(3, "", "b", 21, 50).stream(0, 7),
                interval(4, "", "c", 12, 30).stream(0, 8),
            ],
            ..RunFixture::default()
        },
        launches: vec![(1, 2), (1, 3), (1, 4)],
        ..Linked::default()
    }
    .analyse();
    assert_eq!(
        path(&out),
        [
            "work cudaGraphLaunch 0-8",
            "launch_delay a 8-10",
            "work a 10-20",
            "queue b 20-21",
            "work b 21-50"
        ]
    );
}

#[test]
fn work_without_a_launch_is_held_by_its_stream_alone_and_said_so() {
    let mut run = stream_sync("device", None);
    run.launches.clear();
    let out = run.analyse();
    assert_eq!(codes(&out), ["launch_not_recorded"]);
    assert_eq!(
        out.findings[0].title,
        "2 of 2 rows on streams have no recorded launch"
    );
    // It had begun when the wait did, so it was launched by then.
    assert!(
        path(&out).contains(&"work k 10-80".to_owned()),
        "{:?}",
        path(&out)
    );
}

/// The recording began after the work was launched and while the host waited for it.
#[test]
fn correlations_tell_what_was_launched_before_a_wait() {
    let mut run = stream_sync("stream", Some(7));
    run.launches.clear();
    run.waits[0].correlation = Some(90);
    run.fixture.kernels = vec![interval(4, "", "k", 30, 80).stream(0, 7)];
    run.unlaunched = vec![(4, 91)];
    let later = run.analyse();
    assert!(
        path(&later).contains(&"sync_wait stream 20-85".to_owned()),
        "{:?}",
        path(&later)
    );
    run.unlaunched = vec![(4, 89)];
    let before = run.analyse();
    assert!(
        path(&before).contains(&"work k 30-80".to_owned()),
        "{:?}",
        path(&before)
    );
}

/// The upper bits of ids, correlations and devices are the rank.
#[test]
fn a_rank_neither_waits_for_another_nor_counts_its_calls() {
    let mut run = stream_sync("device", None);
    run.waits[0].device = None;
    let alone = path(&run.analyse());
    assert!(alone.contains(&"work k 10-80".to_owned()), "{alone:?}");
    // A stream of rank 1 beside it: the wait is still for the one device of its own rank.
    let other = interval(1 << 48, "", "far", 12, 84).stream(1 << 16, 7);
    run.fixture.kernels.push(other);
    assert_eq!(path(&run.analyse()), alone);
    // A call of rank 1 says nothing about when work of rank 0 was launched.
    let mut run = stream_sync("stream", Some(7));
    run.launches.clear();
    run.fixture.kernels = vec![interval(4, "", "k", 30, 80).stream(0, 7)];
    run.waits[0].correlation = Some((1 << 48) | 90);
    run.unlaunched = vec![(4, 91)];
    let out = path(&run.analyse());
    assert!(
        out.contains(&"sync_wait stream 20-85".to_owned()),
        "{out:?}"
    );
}

/// An idle stream may have had nothing to do: without a recorded launch it is unknown whether the work was queued.
#[test]
fn before_work_without_a_launch_is_a_gap() {
    let run = |launches: &[(u64, u64)]| Linked {
        fixture: RunFixture {
            wall_ns: Some(100),
            calls: vec![
                interval(1, "", "launch", 0, 5),
                interval(2, "", "launch", 5, 10),
            ],
            kernels: vec![
                interval(3, "", "a", 10, 30).stream(0, 7),
                interval(4, "", "b", 70, 100).stream(0, 7),
            ],
            ..RunFixture::default()
        },
        launches: launches.to_vec(),
        ..Linked::default()
    };
    let known = path(&run(&[(1, 3), (2, 4)]).analyse());
    assert!(known.contains(&"queue b 30-70".to_owned()), "{known:?}");
    let unknown = path(&run(&[(1, 3)]).analyse());
    assert!(unknown.contains(&"gap - 30-70".to_owned()), "{unknown:?}");
}

/// Pages of unified memory move while a kernel needs them. No call launched them, and they hold no gain back.
#[test]
fn pages_that_the_driver_moves_pin_no_prediction() {
    let predicted_ns = |pages: bool| {
        let run = Linked {
            fixture: RunFixture {
                wall_ns: Some(100_000),
                calls: vec![interval(1, "", "launch", 0, 1_000)],
                kernels: vec![interval(2, "", "add", 5_000, 85_000).stream(0, 7)],
                transfers: if pages {
                    (0..8_i64)
                        .map(|page| {
                            let from_ns = 6_000 + page * 10_000;
                            let id = 10 + page as u64;
                            interval(id, "", "h2d", from_ns, from_ns + 500).stream(0, 0)
                        })
                        .collect()
                } else {
                    Vec::new()
                },
                syncs: vec![interval(30, "", "device", 2_000, 86_000)],
                bricks: vec![interval(5, "brick", "after", 86_000, 100_000)],
                ..RunFixture::default()
            },
            launches: vec![(1, 2)],
            waits: vec![Waiting {
                id: 30,
                kind: "device",
                device: Some(0),
                start_ns: 2_000,
                ..Waiting::default()
            }],
            ..Linked::default()
        };
        let out = run.analyse_with(r#"{"what_if": ["add=0.5"]}"#);
        out.table("what_if").i64("predicted_ns").unwrap().value(0)
    };
    assert_eq!(predicted_ns(false), 60_000);
    assert_eq!(predicted_ns(true), predicted_ns(false));
}
