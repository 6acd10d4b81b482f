//! Times on and off the processor, and the places of waits.

use crate::fixture::{Fixture, Frame, Wait, frame, lines, sample};

const SCHEDULING: [&str; 7] = [
    "thread",
    "name",
    "on_cpu_ns",
    "runnable_ns",
    "off_cpu_ns",
    "life_ns",
    "switches",
];
const WAITS: [&str; 6] = [
    "thread",
    "call",
    "function",
    "waits",
    "waited_ns",
    "longest_ns",
];

fn wait(start_ns: i64, dur_ns: i64, call: &'static str, stack: u64) -> Wait {
    Wait {
        thread: 0,
        call: Some(call),
        start_ns,
        dur_ns,
        stack: Some(stack),
        is_runnable: false,
        waker: None,
    }
}

fn runnable(thread: i64, start_ns: i64, dur_ns: i64) -> Wait {
    Wait {
        thread,
        call: None,
        start_ns,
        dur_ns,
        stack: None,
        is_runnable: true,
        waker: None,
    }
}

/// `app` calls `std::thread::sleep`, which calls the C library, which calls the kernel.
fn stacks() -> Vec<Frame> {
    let of = |id, caller, function, module| Frame {
        module: Some(module),
        ..frame(id, caller, function)
    };
    vec![
        frame(1, None, "app"),
        frame(2, Some(1), "std::thread::sleep"),
        of(3, Some(2), "clock_nanosleep", "/lib/libc.so.6"),
        of(4, Some(3), "__x64_sys_clock_nanosleep", "[kernel]"),
        of(5, None, "ret_from_fork", "[kernel]"),
    ]
}

fn fixture() -> Fixture {
    Fixture {
        stacks: stacks(),
        waits: vec![
            wait(10, 30, "clock_nanosleep", 4),
            wait(50, 20, "clock_nanosleep", 3),
            wait(80, 5, "read", 5),
            runnable(0, 85, 5),
            runnable(1, 0, 40),
        ],
        thread_names: vec![(0, "main"), (1, "worker"), (2, "idle")],
        ended: vec![(0, 100), (1, 60)],
        ..Fixture::default()
    }
}

#[test]
fn a_life_is_time_on_the_processor_runnable_and_off_it() {
    let output = fixture().analyse();
    assert_eq!(
        lines(output.table("scheduling"), &SCHEDULING),
        [
            "0 | main | 40 | 5 | 55 | 100 | 4",
            "1 | worker | 20 | 40 | 0 | 60 | 1"
        ]
    );
}

#[test]
fn a_wait_belongs_to_the_innermost_function_of_the_program() {
    let output = fixture().analyse();
    assert_eq!(
        lines(output.table("waits"), &WAITS),
        [
            "0 | clock_nanosleep | app | 2 | 50 | 30",
            "0 | read | ret_from_fork | 1 | 5 | 5",
        ]
    );
}

#[test]
fn a_function_that_was_put_into_the_standard_library_is_still_the_programs() {
    let inlined = |id, caller, function| Frame {
        inlined: Some(true),
        ..frame(id, Some(caller), function)
    };
    let mut fixture = fixture();
    // A thread is a closure of the program, which the compiler put into the function that calls it.
    fixture.stacks.extend([
        frame(6, None, "std::sys::backtrace::begin"),
        inlined(7, 6, "app::main::{{closure}}"),
        inlined(8, 7, "std::thread::sleep"),
        // And as usual: the function that it was compiled into.
        inlined(9, 1, "app::inner"),
    ]);
    fixture.waits = vec![wait(10, 30, "nanosleep", 8), wait(50, 20, "read", 9)];
    assert_eq!(
        lines(fixture.analyse().table("waits"), &["call", "function"]),
        ["nanosleep | app::main::{{closure}}", "read | app"]
    );
}

#[test]
fn a_part_of_a_run_has_what_lies_in_it() {
    let mut fixture = fixture();
    fixture.window = Some((20, 60));
    let output = fixture.analyse();
    assert_eq!(
        lines(output.table("scheduling"), &SCHEDULING),
        [
            "1 | worker | 20 | 20 | 0 | 40 | 1",
            "0 | main | 10 | 0 | 30 | 40 | 2"
        ]
    );
}

#[test]
fn a_thread_whose_switches_were_lost_has_no_time_on_the_processor() {
    let mut fixture = fixture();
    fixture.ended.clear();
    let output = fixture.analyse();
    assert_eq!(
        lines(output.table("scheduling"), &SCHEDULING),
        [
            "0 | main | - | 5 | 55 | - | 4",
            "1 | worker | - | 40 | 0 | - | 1"
        ]
    );
    assert!(
        output
            .findings
            .iter()
            .all(|of| of.code != "waits" && of.code != "runnable")
    );
}

#[test]
fn waiting_and_missing_processors_are_said() {
    let output = fixture().analyse();
    let title = |code: &str| {
        let mut of_code = output.findings.iter().filter(|of| of.code == code);
        of_code
            .next()
            .map(|of| of.title.as_str())
            .unwrap_or_default()
    };
    assert_eq!(
        title("runnable"),
        "no processor was free for 43 % of the time threads were ready to run (45 ns of 105 ns)"
    );
    assert_eq!(
        title("waits"),
        "thread 0 (main) waited for 55 % of its lifetime, most of it in clock_nanosleep of app (50 ns)"
    );
}

#[test]
fn without_switches_there_is_nothing_of_them() {
    let output = Fixture {
        samples: vec![sample(5, 1)],
        stacks: stacks(),
        thread_names: vec![(0, "main")],
        ..Fixture::default()
    };
    let output = output.analyse();
    let names: Vec<&str> = output.tables.iter().map(|table| table.name()).collect();
    for table in ["scheduling", "waits", "wait_calls", "wakers", "states"] {
        assert!(!names.contains(&table), "{names:?}");
    }
    let codes: Vec<&str> = output.findings.iter().map(|of| of.code.as_str()).collect();
    assert!(codes.contains(&"no_switches"), "{codes:?}");
}

#[test]
fn a_life_is_cut_into_states_that_add_up_to_it_or_is_not_measured() {
    let mut fixture = fixture();
    fixture.ended = vec![(0, 100)];
    let output = fixture.analyse();
    let columns = ["label", "state", "state_ns", "life_share"];
    assert_eq!(
        lines(output.table("states"), &columns),
        [
            "main (0) | running | 40 | 0.4000",
            "main (0) | runnable | 5 | 0.0500",
            "main (0) | waiting | 55 | 0.5500",
            "worker (1) | not measured | - | -",
        ]
    );
    let shares = ["name", "on_cpu_share", "runnable_share", "off_cpu_share"];
    assert_eq!(
        lines(output.table("scheduling"), &shares),
        ["main | 0.4000 | 0.0500 | 0.5500", "worker | - | - | -"]
    );
}

#[test]
fn waits_are_summed_by_call_over_all_threads() {
    let mut fixture = fixture();
    fixture.waits.push(Wait {
        thread: 1,
        ..wait(41, 15, "read", 4)
    });
    fixture.waits.push(Wait {
        call: None,
        ..wait(91, 5, "", 4)
    });
    let output = fixture.analyse();
    let columns = [
        "call",
        "waits",
        "waited_ns",
        "wait_share",
        "longest_ns",
        "threads",
    ];
    assert_eq!(
        lines(output.table("wait_calls"), &columns),
        [
            "clock_nanosleep | 2 | 50 | 0.6667 | 30 | 1",
            "read | 2 | 20 | 0.2667 | 15 | 2",
            "- | 1 | 5 | 0.0667 | 5 | 1",
        ]
    );
}

/// Waits of the first thread. Other threads ended some of them.
fn woken() -> Fixture {
    let by = |start_ns, dur_ns, waker| Wait {
        waker,
        ..wait(start_ns, dur_ns, "futex", 4)
    };
    Fixture {
        waits: vec![
            by(10, 30, Some((1, false))),
            by(50, 5, Some((2, false))),
            by(60, 4, Some((2, false))),
            by(70, 9, None),
            by(80, 3, Some((1, true))),
        ],
        stretches: 3,
        ..fixture()
    }
}

#[test]
fn waits_are_told_with_the_threads_that_ended_them() {
    let output = woken().analyse();
    let columns = [
        "waiter",
        "call",
        "function",
        "waker",
        "by",
        "waits",
        "waited_ns",
    ];
    assert_eq!(
        lines(output.table("wakers"), &columns),
        [
            "main (0) | futex | app | worker (1) | wakes | 1 | 30",
            "main (0) | futex | app | idle (2) | wakes | 2 | 9",
            "main (0) | futex | app | worker (1) | ends | 1 | 3",
        ]
    );
    let columns = ["call", "waits", "waited_ns", "woken_by", "woken_waits"];
    assert_eq!(
        lines(output.table("waits"), &columns),
        ["futex | 5 | 51 | worker (1) | 4"]
    );
    let mut waits = output.findings.iter().filter(|of| of.code == "waits");
    assert_eq!(
        waits.next().and_then(|of| of.detail.as_deref()),
        Some(
            "of 5 waits there, 4 were ended by threads of the program, most of the time by thread 1 (worker)"
        )
    );
}

#[test]
fn where_nobody_told_of_wakings_it_is_not_said_that_there_were_none() {
    let columns = ["call", "woken_by", "woken_waits"];
    let mut fixture = fixture();
    let not_told = fixture.analyse();
    assert_eq!(
        lines(not_told.table("waits"), &columns),
        ["clock_nanosleep | - | -", "read | - | -"]
    );
    fixture.stretches = 1;
    let told = fixture.analyse();
    assert_eq!(
        lines(told.table("waits"), &columns),
        ["clock_nanosleep | - | 0", "read | - | 0"]
    );
}
