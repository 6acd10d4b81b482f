//! Copies, and what runs beside them on the device.

use crate::inputs::{
    US, Work, blocking, blocking_each, blocking_of, facts, gains, in_bricks, kernels, migrations,
    path, texts, transfers,
};
use trueno_plugin::testing::{Output, run};
use trueno_plugin::{Table, TableBuilder};
use trueno_plugin_bottleneck::Bottleneck;

/// Ten rounds of 100 µs: a kernel of `kernel_us`, then a copy of 50 µs that the host starts right after the launch.
fn rounds(kernel_us: i64, copies: impl Fn(&[Work]) -> TableBuilder, first_us: i64) -> Output {
    let kernel = |n: i64| Work::at("step", n * 100, kernel_us);
    let copy = |n: i64| Work {
        called_us: Some(n * 100 + 1),
        ..Work::at("d2h", n * 100 + first_us, 50)
    };
    let steps: Vec<Work> = (0..10).map(kernel).collect();
    let moved: Vec<Work> = (0..10).map(copy).collect();
    let path = path(&[("work", 500), ("transfer", 500)]);
    let inputs = [facts(1_000), kernels(&steps), copies(&moved), path];
    run::<Bottleneck>(inputs, "{}").expect("it ends well")
}

fn considered(output: &Output) -> String {
    texts(output, "bottlenecks", "considered")[0].clone()
}

/// The call waits for the kernel and then copies, so the device does one after the other.
#[test]
fn a_call_that_waits_for_a_kernel_is_no_copy_beside_it() {
    let output = rounds(20, blocking, 20);
    assert_eq!(texts(&output, "bottlenecks", "code"), ["transfer_bound"]);
    let said = considered(&output);
    assert!(
        said.starts_with(
            "0 ns of copies are hidden behind kernels; 200 µs of kernels have no copy beside them"
        ),
        "{said}"
    );
    // Too little computing to hide them behind: half the bytes.
    assert_eq!(gains(&output), [Some(250 * US)]);
    let assumes = &texts(&output, "bottlenecks", "assumption")[0];
    assert!(
        assumes.ends_with("hiding copies behind kernels could save no more than 200 µs"),
        "{assumes}"
    );
    let fix = "moving half the bytes, or all of them twice as fast from pinned memory, saves up to";
    let sentence = &texts(&output, "top", "sentence")[0];
    assert!(sentence.contains(fix), "{sentence}");
    // From pinned memory they move already.
    let sentence = &texts(&rounds(20, transfers, 20), "top", "sentence")[0];
    assert!(
        sentence.contains("; moving half the bytes saves up to"),
        "{sentence}"
    );
    // With enough of it they hide.
    let output = rounds(45, blocking, 45);
    assert_eq!(gains(&output), [Some(450 * US)]);
}

/// The first kernel needs what comes up, and what goes down is the result of the last one.
#[test]
fn copies_before_the_first_kernel_and_after_the_last_one_hide_behind_none() {
    let copy = |direction, start_us: i64| Work {
        called_us: Some(start_us),
        ..Work::at(direction, start_us, 10_000)
    };
    let steps: Vec<Work> = (0..10)
        .map(|n| Work::at("step", 30_000 + n * 6_000, 6_000))
        .collect();
    let moved = [
        copy("h2d", 10_000),
        copy("h2d", 20_000),
        copy("d2h", 90_000),
    ];
    let inputs = [
        facts(100_000),
        kernels(&steps),
        blocking(&moved),
        path(&[("work", 70_000), ("transfer", 30_000)]),
    ];
    let output = run::<Bottleneck>(inputs, "{}").expect("it ends well");
    assert_eq!(
        texts(&output, "bottlenecks", "sentence"),
        [
            "copies occupy gpu0 for 30 % of the wall (3.0 MB in 3 copies); moving half the bytes, or all of them twice as \
             fast from pinned memory, saves up to 15.0 ms (15 %)"
        ]
    );
}

#[test]
fn copies_beside_kernels_occupy_the_device_and_cost_nothing() {
    let output = rounds(40, transfers, 20);
    // 500 µs of copies, 300 of them exposed; 200 µs of kernels have none beside them.
    let sentence = &texts(&output, "bottlenecks", "sentence")[0];
    assert_eq!(
        sentence,
        "copies occupy gpu0 for 50 % of the wall (10.0 MB in 10 copies); overlapping copies with kernels saves up to 200 µs (20 %)"
    );
}

#[test]
fn pages_that_the_driver_moves_are_no_copies_of_the_program() {
    let page = |n: i64| Work {
        called_us: None,
        ..Work::at(if n % 2 == 0 { "h2d" } else { "d2h" }, n * 50, 20)
    };
    let pages: Vec<Work> = (0..20).map(page).collect();
    let judge = |kernel_us: i64| {
        let inputs = [
            facts(1_000),
            kernels(&[Work::at("add", 0, kernel_us)]),
            migrations(&pages, 0),
            path(&[("work", 1_000)]),
        ];
        run::<Bottleneck>(inputs, "{}").expect("it ends well")
    };
    let output = judge(100);
    assert_eq!(texts(&output, "bottlenecks", "code"), ["page_migrations"]);
    assert_eq!(gains(&output), [None]);
    let said = &texts(&output, "bottlenecks", "sentence")[0];
    assert!(
        said.starts_with(
            "moving pages of unified memory is 87 % of what gpu0 does, 40 % of the wall (20.0 MB in 20 migrations)"
        ),
        "{said}"
    );
}

#[test]
fn pages_that_the_program_prefetches_need_no_advice_and_others_say_where_they_go() {
    let page = |direction, n: i64| Work {
        called_us: None,
        ..Work::at(direction, n * 40, 20)
    };
    let judge = |prefetched| {
        let mut pages: Vec<Work> = (0..10).map(|n| page("h2d", n)).collect();
        pages.extend((10..20).map(|n| page("d2h", n)));
        let pages = migrations(&pages, prefetched);
        let inputs = [facts(1_000), pages, path(&[("work", 1_000)])];
        let output = run::<Bottleneck>(inputs, "{}").expect("it ends well");
        texts(&output, "bottlenecks", "sentence").concat()
    };
    let sentence = judge(10);
    assert!(
        sentence.starts_with(
            "moving pages of unified memory back to the host is 50 % of what gpu0 does, 20 % of the wall (10.0 MB in 10 \
             migrations); prefetch to the host what it reads next"
        ),
        "{sentence}"
    );
    let sentence = judge(0);
    assert!(
        sentence.starts_with("moving pages of unified memory is 100 % of what gpu0 does"),
        "{sentence}"
    );
}

#[test]
fn copies_beside_kernels_are_counted_by_the_devices_times() {
    // 20 of 50 µs beside a kernel of 40.
    let said = considered(&rounds(40, transfers, 20));
    assert!(
        said.starts_with(
            "200 µs of copies are hidden behind kernels; 200 µs of kernels have no copy beside them"
        ),
        "{said}"
    );
}

/// Rounds of 100 µs: a kernel of 60 µs, a copy of 2 µs, and the next launch after the copy has ended. Either the
/// copy call lasts until then, or a wait does that begins `wait_after_us` after the call returned.
fn read_back(rounds: i64, wait_after_us: Option<i64>) -> Output {
    let kernel = |n: i64| Work {
        called_us: Some(n * 100 - 20),
        ..Work::at("step", n * 100, 60)
    };
    let copy = |n: i64| Work {
        called_us: Some(n * 100 + 1),
        ..Work::at("d2h", n * 100 + 60, 2)
    };
    let steps: Vec<Work> = (0..rounds).map(kernel).collect();
    let copies: Vec<Work> = (0..rounds).map(copy).collect();
    let copies = match wait_after_us {
        None => blocking(&copies),
        Some(_) => transfers(&copies),
    };
    let waits = (0..rounds).filter_map(|n| Some((n, n * 100 + 6 + wait_after_us?)));
    let waits: Vec<(i64, i64)> = waits.collect();
    let waits = Table::build("waits")
        .u64("id", waits.iter().map(|wait| 1_000 + wait.0 as u64))
        .text("kind", waits.iter().map(|_| "stream"))
        .i64("thread", waits.iter().map(|_| 0_i64))
        .i64("start_ns", waits.iter().map(|wait| wait.1 * US))
        .i64(
            "dur_ns",
            waits.iter().map(|wait| (wait.0 * 100 + 65 - wait.1) * US),
        );
    let path = path(&[("work", 100 * rounds)]);
    let inputs = [facts(100 * rounds), kernels(&steps), copies, waits, path];
    run::<Bottleneck>(inputs, "{}").expect("it ends well")
}

#[test]
fn copies_that_the_host_waits_in_are_told_from_other_waits() {
    let said = |rounds, wait_after_us| {
        let output = read_back(rounds, wait_after_us);
        let classes = texts(&output, "bottlenecks", "class");
        let confidences = texts(&output, "bottlenecks", "confidence");
        classes.into_iter().zip(confidences).collect::<Vec<_>>()
    };
    let both = |class: &str, confidence: &str| vec![(class.to_owned(), confidence.to_owned())];
    assert_eq!(said(150, None), both("blocking_copies", "high"));
    assert_eq!(said(20, None), both("blocking_copies", "medium"));
    // `item()`: an asynchronous copy, and a wait at once.
    assert_eq!(said(150, Some(10)), both("blocking_copies", "high"));
    assert_eq!(said(150, Some(40)), both("sync_bound", "high"));
    // Few are no pattern.
    assert_eq!(said(10, None), []);
    let sentence = &texts(&read_back(20, None), "bottlenecks", "sentence")[0];
    assert_eq!(
        sentence,
        "gpu0 is idle for 36 % of the wall after 19 copies that block the host (19.0 MB in all); \
         copying asynchronously saves up to 722 µs (36 %)"
    );
}

/// A flag steers what the host launches next: a copy beside kernels would come too late.
#[test]
fn values_that_steer_the_host_are_read_less_often() {
    let kernel = |n: i64| Work {
        called_us: Some(n * 100 - 20),
        ..Work::at("step", n * 100, 60)
    };
    let copy = |n: i64| Work {
        called_us: Some(n * 100 + 1),
        ..Work::at("d2h", n * 100 + 60, 2)
    };
    let steps: Vec<Work> = (0..20).map(kernel).collect();
    let flags: Vec<Work> = (0..20).map(copy).collect();
    let fix = |bytes| {
        let path = path(&[("work", 2_000)]);
        let inputs = [
            facts(2_000),
            kernels(&steps),
            blocking_of(&flags, bytes),
            path,
        ];
        let output = run::<Bottleneck>(inputs, "{}").expect("it ends well");
        let codes = texts(&output, "bottlenecks", "code");
        let at = codes.iter().position(|code| code == "blocking_copies");
        let sentence = &texts(&output, "bottlenecks", "sentence")[at.expect("found")];
        sentence.split_once("; ").expect("a fix").1.to_owned()
    };
    assert!(
        fix(4).starts_with(
            "deciding on the device, or testing only every few iterations, saves up to"
        )
    );
    assert!(fix(100_000).starts_with("copying asynchronously saves up to"));
}

/// Twenty copies up and down of equal size, one after the other, as those of a test of bandwidth.
fn trips(tensors: Option<fn(usize) -> u64>) -> Output {
    let copies = (0..20).map(|n| Work {
        called_us: Some(n * 100),
        ..Work::at(if n % 2 == 0 { "h2d" } else { "d2h" }, n * 100, 90)
    });
    let copies: Vec<Work> = copies.collect();
    let brick = |at: usize| tensors.map(|_| at as u64 + 1);
    let mut inputs = vec![
        facts(2_000),
        in_bricks(&copies, brick),
        path(&[("transfer", 1_800), ("work", 200)]),
    ];
    if let Some(hash) = tensors {
        let of = || 0..copies.len();
        let sums = Table::build("checksums")
            .text("tensor", of().map(|_| "x"))
            .u64("hash", of().map(hash))
            .u64("elements", of().map(|_| 250_000_u64))
            .u64("zeros", of().map(|_| 0_u64))
            .i64("time_ns", of().map(|at| at as i64 * 100 * US))
            .u64("span", of().map(|at| at as u64 + 1))
            .text("brick", of().map(|_| "copy"))
            .i64("dur_ns", of().map(|_| 95 * US))
            .i64("start_ns", of().map(|at| at as i64 * 100 * US));
        inputs.push(sums);
    }
    run::<Bottleneck>(inputs, r#"{"repeats": 1000}"#).expect("it ends well")
}

/// Without addresses or checksums, each copy may be of another buffer.
#[test]
fn round_trips_gain_only_what_checksums_show() {
    let found = |output: &Output| {
        let codes = texts(output, "bottlenecks", "code");
        let at = codes.iter().position(|code| code == "round_trips")?;
        let confidence = texts(output, "bottlenecks", "confidence").swap_remove(at);
        Some((confidence, gains(output)[at]))
    };
    let output = trips(None);
    assert_eq!(found(&output), Some(("low".to_owned(), None)));
    let leaders = texts(&output, "top", "code");
    assert!(
        leaders.contains(&"transfer_bound".to_owned()),
        "{leaders:?}"
    );
    let equal = found(&trips(Some(|at| at as u64 / 2)));
    assert_eq!(equal, Some(("high".to_owned(), Some(1_800 * US))));
    assert_eq!(found(&trips(Some(|at| at as u64))), None);
}

/// What goes up while as many bytes come down is something else.
#[test]
fn copies_in_both_directions_at_once_are_no_round_trips() {
    let found = |down_us: i64| {
        let copies = (0..20).flat_map(|n| {
            [
                Work::at("h2d", n * 100, 40),
                Work::at("d2h", n * 100 + down_us, 30),
            ]
        });
        let mut copies: Vec<Work> = copies.collect();
        copies.sort_by_key(|row| row.start_us);
        let inputs = [
            facts(2_000),
            transfers(&copies),
            path(&[("transfer", 2_000)]),
        ];
        let output = run::<Bottleneck>(inputs, "{}").expect("it ends well");
        texts(&output, "bottlenecks", "code")
    };
    assert!(found(50).contains(&"round_trips".to_owned()));
    let at_once = found(5);
    assert!(!at_once.contains(&"round_trips".to_owned()), "{at_once:?}");
}

/// A copy up of 10 ms and one down of `down_ms`, of 100 and `down_mb` megabytes.
#[test]
fn a_direction_far_slower_than_the_other_is_named() {
    let found = |down_ms: i64, down_mb: u64| {
        let copy = |direction, start_us: i64, dur_us: i64| Work {
            called_us: Some(start_us),
            ..Work::at(direction, start_us, dur_us)
        };
        let step = Work::at("step", 10_000, 5_000);
        let rows = [copy("h2d", 0, 10_000), copy("d2h", 15_000, down_ms * 1_000)];
        let moved = blocking_each(&rows, |row| Some([100, down_mb][row] * 1_000_000));
        let wall_us = 15_000 + down_ms * 1_000;
        let path = path(&[("work", 5_000), ("transfer", wall_us - 5_000)]);
        let inputs = [facts(wall_us), kernels(&[step]), moved, path];
        let output = run::<Bottleneck>(inputs, "{}").expect("it ends well");
        let sentence = texts(&output, "bottlenecks", "sentence")[0].clone();
        (sentence, gains(&output)[0])
    };
    let (sentence, gain) = found(100, 100);
    assert_eq!(
        sentence,
        "copies occupy gpu0 for 96 % of the wall (200.0 MB in 2 copies; d2h at 1.0 GB/s against 10.0 GB/s the other way); \
         pinning or touching the destination before saves up to 90.0 ms (78 %)"
    );
    assert_eq!(gain, Some(90_000 * US));
    // Not much slower, and of sizes that are not alike.
    assert!(!found(30, 100).0.contains("the other way"));
    assert!(!found(100, 10).0.contains("the other way"));
}
