//! Random samples, printed as perf prints them, and damaged files.

use std::collections::HashMap;
use std::fmt::Write;

use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;

use super::{DWARF, FLAT, SWITCHES, read};

const FUNCTIONS: [&str; 5] = [
    "main",
    "add",
    "f(int, char const*)",
    "<T as U>::call::{{closure}}",
    "operator() (.cold)",
];
const MODULES: [&str; 4] = [
    "/usr/lib/libc.so.6",
    "[vdso]",
    "/memfd:x (deleted)",
    "//anon",
];
const EVENTS: [(&str, &str); 4] = [
    ("cycles", "cycles:ppp"),
    ("cpu-clock", "cpu-clock"),
    ("cpu/cycles/", "cpu/cycles/u"),
    ("L1-dcache-misses", "L1-dcache-misses:uH"),
];

/// Address, function, module, and file and line.
type Frame = (u64, Option<usize>, Option<usize>, Option<u32>);

#[derive(Clone, Debug)]
struct Printed {
    comm: String,
    ids: (u32, u32),
    cpu: Option<u32>,
    passed_ns: u32,
    period: u32,
    event: usize,
    stack: Vec<Frame>,
}

fn samples() -> impl Strategy<Value = Vec<Printed>> {
    let frame = (
        any::<u64>(),
        of(0..FUNCTIONS.len()),
        of(0..MODULES.len()),
        of(1..9_u32),
    );
    let thread = (
        "[a-z(#:.0-9][a-z0-9 :./()-]{0,13}[a-z]",
        (1..3_u32, 1..4_u32),
        of(0..4_u32),
    );
    let event = (
        any::<u32>(),
        any::<u32>(),
        0..EVENTS.len(),
        vec(frame, 0..6),
    );
    let sample = (thread, event).prop_map(
        |((comm, ids, cpu), (passed_ns, period, event, stack))| Printed {
            comm,
            ids,
            cpu,
            passed_ns,
            period,
            event,
            stack,
        },
    );
    vec(sample, 1..12)
}

/// The text, and the expected rows of samples with their stacks.
fn print(samples: &[Printed]) -> (String, Vec<String>) {
    let (mut text, mut rows) = (String::new(), Vec::new());
    let (mut now_ns, mut threads) = (5_000_000_000_u64, HashMap::new());
    for (number, sample) in samples.iter().enumerate() {
        now_ns += u64::from(sample.passed_ns);
        let (pid, tid) = sample.ids;
        let cpu = sample
            .cpu
            .map(|cpu| format!("[{cpu:03}] "))
            .unwrap_or_default();
        let (seconds, nanoseconds) = (now_ns / 1_000_000_000, now_ns % 1_000_000_000);
        let (name, event) = EVENTS[sample.event];
        let (comm, period) = (&sample.comm, sample.period);
        writeln!(text, "{comm:>16} {pid:>5}/{tid:<5} {cpu}{seconds:>5}.{nanoseconds:09}: {period:>10} {event:>12}: ").unwrap();
        let mut stack = Vec::new();
        for (address, function, module, line) in &sample.stack {
            let (function, module) = (
                function.map(|at| FUNCTIONS[at]),
                module.map(|at| MODULES[at]),
            );
            let symbol = function.map_or("[unknown]".to_owned(), |name| {
                format!("{name}+0x{:x}", address & 0xff)
            });
            writeln!(
                text,
                "\t{address:16x} {symbol} ({})",
                module.unwrap_or("[unknown]")
            )
            .unwrap();
            if let Some(line) = line {
                writeln!(text, "  /src/a b.c:{line}").unwrap();
            }
            let address = function.is_none().then(|| address.to_string());
            let file = line.map(|_| "/src/a b.c");
            let line = line.map(|line| line.to_string());
            let cells = [function, module, address.as_deref(), file, line.as_deref()];
            stack.push(cells.map(|cell| cell.unwrap_or("-")).join(" "));
        }
        if !sample.stack.is_empty() || number % 2 == 0 {
            text.push('\n');
        }
        let next = threads.len();
        let thread = *threads.entry(sample.ids).or_insert(next);
        let time_ns = now_ns - 5_000_000_000 - u64::from(samples[0].passed_ns);
        let cpu = sample.cpu.map_or("-".to_owned(), |cpu| cpu.to_string());
        rows.push(format!(
            "{time_ns} {thread} {name} {period} {cpu} {}",
            stack.join("|")
        ));
    }
    (text, rows)
}

proptest! {
    #[test]
    fn samples_are_read_as_they_were_printed(samples in samples()) {
        let (text, expected) = print(&samples);
        let run = read(&text).unwrap();
        let stacks = run.rows("stacks", "function module address file line");
        let callers = run.rows("stacks", "caller");
        let heads = run.rows("samples", "time_ns thread event period cpu");
        let innermost = run.rows("samples", "stack");
        let rows = heads.iter().zip(&innermost).map(|(head, innermost)| {
            let mut stack = Vec::new();
            let mut next = innermost;
            while let Ok(id) = next.parse::<usize>() {
                stack.push(stacks[id - 1].as_str());
                next = &callers[id - 1];
            }
            format!("{head} {}", stack.join("|"))
        });
        prop_assert_eq!(rows.collect::<Vec<_>>(), expected);
        prop_assert!(run.notes.left_out.is_empty(), "{:?}", run.notes.left_out);
        for (row, thread) in run.rows("threads", "process os_id name").iter().zip(0_u32..) {
            let last = samples.iter().rfind(|sample| row.starts_with(&format!("{} {} ", sample.ids.0, sample.ids.1)));
            prop_assert!(row.ends_with(&last.unwrap().comm), "{}: {}", thread, row);
        }
    }

    #[test]
    fn no_change_makes_it_panic(
        which in 0..3_usize,
        changes in vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        cut: prop::sample::Index,
    ) {
        let mut bytes = [DWARF, FLAT, SWITCHES][which].as_bytes().to_vec();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let cut = cut.index(bytes.len());
        bytes.rotate_left(cut);
        let _ = read(&bytes);
    }

    #[test]
    fn no_line_makes_it_panic(line in "[0-9a-f \t\\[\\]().:/+x_é-]{0,60}") {
        let _ = super::Header::parse(&line).map(|header| (header.kind(), header.is_surely_of_perf()));
        let _ = super::frame::parse(&line);
        let _ = super::frame::parse_source(&line);
        let _ = super::event::name(&line);
    }
}
