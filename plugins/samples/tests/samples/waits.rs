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
    "time_ns",
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
    }
}

/// `app` calls `std::thread::sleep`, that the C library, that the kernel.
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
        "no processor was free for 43 % of the time that threads could have run (45 ns of 105 ns)"
    );
    assert_eq!(
        title("waits"),
        "thread 0 (main) did not run for 55 % of its life: it waited, most in clock_nanosleep of app (50 ns)"
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
    assert!(
        !names.contains(&"scheduling") && !names.contains(&"waits"),
        "{names:?}"
    );
}
