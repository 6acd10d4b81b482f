use std::io::Write;

use super::*;
use crate::read_back::{Imported, of_bytes, recognises};
use crate::{Error, Options};

mod printed;

fn read(text: impl AsRef<[u8]>) -> Result<Imported, Error> {
    of_bytes(&IMPORTER, text, &Options::default())
}

/// `perf record -F 997 -e cpu-clock --call-graph dwarf`, `perf script -F +pid,+cpu,+srcline`.
const DWARF: &str = "a 14151/14151 [000] 11196.386905:    1003009 cpu-clock: \n\
    \t          16db75 __memcpy_avx512_unaligned_erms+0x375\n  memmove-vec-unaligned-erms.S:664 (inlined)\n\
    \t            1192 copy+0x32 (/tmp/a)\n  a.c:4\n\
    \t           27304 __libc_start_main_impl+0x84\n  libc-start.c:360 (inlined)\n\
    \t            1090 _start+0x20 (/tmp/a)\n  ??:0\n\
    \n\
    b 12 34 14151/14152 [001] 11196.387905:    1003009 cpu-clock: \n\
    \t            1155 inner+0x1c\n  b.c:3 (inlined)\n\
    \t            1155 outer+0x1c (/tmp/a)\n  b.c:4 (discriminator 3)\n\
    \tffffffff821facd8 __schedule+0x618 ([kernel.kallsyms])\n  __schedule+1560\n\
    \t               0 [unknown] ([unknown])\n\
    \n";

/// `perf script` for a recording without call chains.
const FLAT: &str = "               a 10901 11102.744803:    1003009 cpu-clock:      \
    7fa15237ab75 __memmove_avx512_unaligned_erms+0x375 (/usr/lib/libc.so.6)\n               \
    a 10901 11102.745800:    1003009 cpu-clock:      7fa15237ab75 __memmove_avx512_unaligned_erms+0x375 (/usr/lib/libc.so.6)\n               \
    a 10901 11102.746815:       1 page-faults:u:      561f01c621cd [unknown] (/tmp/a)\n";

/// `perf record -e sched:sched_switch -g -a`.
const SWITCHES: &str = "perf 11824 [000] 11151.259558: sched:sched_switch: prev_comm=\"perf\" prev_pid=11824 ==> next_prio=0\n\
    \tffffffff821facd8 __schedule+0x618 ([kernel.kallsyms])\n\
    \t           2724a __libc_start_call_main+0x7a (/usr/lib/libc.so.6)\n\
    \n\
    migration/0    18/18    [000] 11151.259697: sched:sched_switch: \n";

const FRAME: &str = "function module address file line inlined";
const SAMPLE: &str = "time_ns thread stack event period cpu";

#[test]
fn stacks_keep_their_source_and_what_is_inlined_lies_in_its_caller() {
    let run = read(DWARF).unwrap();
    assert_eq!(
        run.rows("samples", SAMPLE),
        [
            "0 0 4 cpu-clock 1003009 0",
            "1000000 1 8 cpu-clock 1003009 1"
        ]
    );
    assert_eq!(
        run.rows("stacks", FRAME),
        [
            "_start /tmp/a - - - -",
            // Its symbol has another name: it was called.
            "__libc_start_main_impl - - libc-start.c 360 -",
            "copy /tmp/a - a.c 4 -",
            "__memcpy_avx512_unaligned_erms - - memmove-vec-unaligned-erms.S 664 -",
            "- - 0 - - -",
            "__schedule [kernel] - - - -",
            "outer /tmp/a - b.c 4 -",
            "inner /tmp/a - b.c 3 true",
        ]
    );
    assert_eq!(
        run.rows("stacks", "id caller"),
        ["1 -", "2 1", "3 2", "4 3", "5 -", "6 5", "7 6", "8 7"]
    );
    assert_eq!(
        run.rows("threads", "thread name os_id process start_ns"),
        ["0 a 14151 14151 0", "1 b 12 34 14152 14151 1000000"]
    );
    assert_eq!(
        (run.wall_ns, run.run.clock.source.as_str()),
        (Some(1_000_000), "perf")
    );
    assert_eq!((run.notes.kept["stacks"], run.notes.left_out.len()), (8, 0));
    assert_eq!(run.run.clock.origin_realtime_ns, 0);
}

#[test]
fn samples_without_call_chains_have_one_function() {
    let run = read(FLAT).unwrap();
    assert_eq!(
        run.rows("samples", SAMPLE),
        [
            "0 0 1 cpu-clock 1003009 -",
            "997000 0 1 cpu-clock 1003009 -",
            "2012000 0 2 page-faults 1 -"
        ]
    );
    assert_eq!(
        run.rows("stacks", "function module address"),
        [
            "__memmove_avx512_unaligned_erms /usr/lib/libc.so.6 -".to_owned(),
            format!("- /tmp/a {}", 0x561f_01c6_21cd_u64)
        ]
    );
    assert_eq!(run.rows("threads", "name os_id process"), ["a 10901 -"]);
}

#[test]
fn tracepoints_are_instants_and_keep_their_text() {
    let run = read(SWITCHES).unwrap();
    assert_eq!(
        run.rows("annotations", "kind name thread time_ns arguments"),
        [
            r#"instant sched:sched_switch 0 0 {"text":"prev_comm=\"perf\" prev_pid=11824 ==> next_prio=0"}"#,
            "instant sched:sched_switch 1 139000 -"
        ]
    );
    assert!(run.rows("samples", SAMPLE).is_empty() && run.rows("stacks", FRAME).is_empty());
    assert_eq!(run.notes.left_out["stack of a tracepoint"], 1);
    assert_eq!(run.wall_ns, Some(139_000));
}

#[test]
fn comments_tell_the_machine_and_records_of_perf_are_counted() {
    let text = "# ========\n# captured on    : Thu Nov 26 02:18:50 2026\n# hostname : vm\n# os release : 6.18\n\
                # arch : x86_64\n# nrcpus online : 2\n# cpudesc : Some CPU @ 2:1\n# total memory : 8 kB\n# ===\n#\n\
                swapper     0     0.000000: PERF_RECORD_MMAP -1/0: [0xff(0x12) @ 0xff]: x [kernel.kallsyms]_text\n\
                perf-exec     0     0.000000: PERF_RECORD_COMM: perf-exec:10/10\n\
                a 10 11101.670465: PERF_RECORD_COMM exec: a:10/10\n\
                :-1    -1/-1    [-01] U 11101.670470000: 7 cycles:ppp: \n\
                lost words\n\n\tff f+0x1 (/x)\n";
    let run = read(text).unwrap();
    assert_eq!(run.rows("samples", SAMPLE), ["0 0 - cycles 7 -"]);
    assert_eq!(run.rows("threads", "name os_id process"), [":-1 - -"]);
    let host = run.run.host;
    let words = [host.name, host.kernel, host.arch, host.cpu_model].map(Option::unwrap);
    assert_eq!(words, ["vm", "6.18", "x86_64", "Some CPU @ 2:1"]);
    assert_eq!(
        (host.logical_cpus, host.memory_bytes),
        (Some(2), Some(8192))
    );
    let left_out = &run.notes.left_out;
    assert_eq!(left_out["record of perf that is not a sample"], 3);
    assert_eq!(
        (
            left_out["line outside of a sample"],
            left_out["function outside of a sample"]
        ),
        (1, 1)
    );
}

/// `perf record -a -F 997 -g`: the idle task is sampled while no thread runs.
const SYSTEM_WIDE: &str = "swapper 0 [000] 5.000000: 1003009 cpu-clock: \n\
    \tffffffff81a0 default_idle+0x1e ([kernel.kallsyms])\n\
    \n\
    a 7/7 [001] 5.001000: 1003009 cpu-clock: \n\tff f+0x1 (/x)\n\n\
    swapper/3 0/0 [003] 5.002000: 1003009 cpu-clock: \n\
    \tffffffff81a0 default_idle+0x1e ([kernel.kallsyms])\n  process.c:731\n\n";

#[test]
fn samples_of_the_idle_task_are_no_work() {
    let run = read(SYSTEM_WIDE).unwrap();
    assert_eq!(
        run.rows("samples", SAMPLE),
        ["1000000 0 1 cpu-clock 1003009 1"]
    );
    assert_eq!(run.rows("threads", "name"), ["a"]);
    assert_eq!(run.rows("stacks", "function"), ["f"]);
    assert_eq!(run.wall_ns, Some(2_000_000));
    assert!(run.warns("2 samples of the idle task (swapper) are left out"));
    assert_eq!(run.notes.left_out.len(), 1);
    // A thread of another PID namespace has the number 0 as well.
    let other = read(SYSTEM_WIDE.replace("swapper 0", "redis 0")).unwrap();
    assert_eq!(other.rows("threads", "name"), ["redis", "a"]);
    let idle = read(SYSTEM_WIDE.replace("a 7/7", "swapper 0/0")).unwrap();
    assert!(idle.rows("samples", SAMPLE).is_empty());
    assert!(idle.run.problems[0].starts_with("no thread was seen running: 3 samples"));
}

#[test]
fn fields_that_are_not_printed_are_null() {
    for (text, row, function) in [
        ("a 7 1.000000: \n\tff f (/x)\n", "unknown -", "f /x"),
        (
            "7 1.000000: cpu-clock: \n\tff f(int, char*)\n",
            "cpu-clock -",
            "f(int, char*) -",
        ),
        (
            "a 7 1.000000:    12 \n\tff (inlined)\n",
            "unknown 12",
            "- -",
        ),
        (
            "a 7 1.000000: 401136 main+0x4 (/x)\n",
            "unknown -",
            "main /x",
        ),
        (
            "a 7 1.000000: 9 401136 main+0x4 (/x)\n",
            "unknown 9",
            "main /x",
        ),
        (
            "a 7 1.000000: 9 cpu/cycles/pp: ff00 1234 f+0x4 (/x (deleted))\n",
            "cpu/cycles/ 9",
            "f /x (deleted)",
        ),
        (
            "a 7 1.000000: 9 mem:0x12:x: ff00\n\t12 f::operator() (/y)\n",
            "mem:0x12:x 9",
            "f::operator() /y",
        ),
        (
            "a 7 1.000000: 9 e: 12 <void () (a)>::f()+0x9 (/y+0x3)\n",
            "e 9",
            "<void () (a)>::f() /y",
        ),
    ] {
        let run = read(text).unwrap();
        assert_eq!(run.rows("samples", "event period"), [row], "{text}");
        assert_eq!(run.rows("stacks", "function module"), [function], "{text}");
        assert_eq!(run.warns("-F +event"), row.starts_with("unknown"), "{text}");
        assert!(run.notes.left_out.is_empty(), "{text}");
    }
    let run = read("a 7 1.000000: e: 12 [unknown] (/y+0x3)\n").unwrap();
    assert_eq!(run.rows("stacks", "address"), ["3"]);
}

#[test]
fn a_file_out_of_order_counts_from_its_first_line() {
    let run = read("a 1 1700000000.000009: 1 e: \na 1 1700000000.000007000: 1 e: \n").unwrap();
    assert_eq!(run.rows("samples", "time_ns"), ["0", "-2000"]);
    assert_eq!(run.rows("threads", "start_ns"), ["-2000"]);
    assert_eq!(run.wall_ns, Some(2_000));
    assert_eq!(run.run.clock.origin_realtime_ns, 1_700_000_000_000_009_000);
    assert!(run.warns("negative times"));
}

#[test]
fn other_files_are_refused_with_the_next_step() {
    for text in [
        &b""[..],
        b"hello\n",
        b"PERFILE2h\0\0\0\n",
        b"a 1 12.5: e:\n",
        b"# a: b\n\xff",
    ] {
        let error = read(text).err().map(|e| e.to_string()).unwrap_or_default();
        assert!(error.contains("perf script -i"), "{error}");
    }
}

#[test]
fn packed_and_broken_files_are_read() {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(FLAT.as_bytes()).unwrap();
    let packed = packed.finish().unwrap();
    assert_eq!(read(&packed).unwrap().notes.kept["samples"], 3);
    assert!(
        read(&packed[..packed.len() - 12])
            .err()
            .unwrap()
            .to_string()
            .contains("gzip")
    );
    let mut broken = b"a\xff 1 1.000000: 1 e: 12 \xfe\xff+0x1 (/x)\n".to_vec();
    broken.extend(vec![b'x'; 3 << 20]);
    broken.extend(b"\na 1 2.000000: 1 e: \n");
    let run = read(broken).unwrap();
    assert_eq!(run.rows("stacks", "function"), ["\u{fffd}\u{fffd}"]);
    assert_eq!(run.notes.left_out["line of more than 1 MiB"], 1);
    assert_eq!(run.wall_ns, Some(1_000_000_000));
}

#[test]
fn only_lines_of_perf_are_recognised() {
    let recognises = |text: &str| recognises(&IMPORTER, text.as_bytes());
    for text in [
        DWARF,
        FLAT,
        SWITCHES,
        "# x\n a 1 1.000000: \n\tff f (/x)\n",
        "a 1 1.000000: e: \n\tff f\n",
    ] {
        assert!(recognises(text), "{text}");
    }
    for text in [
        "41 1700000000.000001 write(1, \"a 1 1.000000: 7 cpu-clock: \", 9) = 9 <0.000002>\n",
        "write(1, \"a 1 1.000000: 7 e: \", 9) = 9\n",
        "worker 12 1700000000.123456: error: no such file\n",
        "worker 12 1700000000.123456: ready\n",
        "bash-1234  [000] d..1.  1234.567890: sched_switch: prev_comm=bash\n",
        "[   12.345678] usb 1-1: new device\n",
        "",
    ] {
        assert!(!recognises(text), "{text}");
    }
}

/// `report_sample.py` of simpleperf before 2019: microseconds without leading zeros.
const SIMPLEPERF: &str = "surfaceflinger\t550 [001] 684943.45:\t\t12345 cpu-cycles:\n     \
    7fb2a0c0d4\tart::Foo(int, char: x) (/system/lib64/libart.so)\n\n\
    surfaceflinger\t550 [001] 684943.500045:\t\t12346 cpu-cycles:\n     \
    7fb2a0c0d4\tart::Foo(int, char: x) (/system/lib64/libart.so)\n\n\
    app\t551 [002] 684944.7:\t\t12347 cpu-cycles:\n     \
    7fb2a0c0d8\tmain (/data/app)\n\n";

#[test]
fn samples_of_simpleperf_are_all_read() {
    let run = read(SIMPLEPERF).unwrap();
    assert_eq!(
        run.rows("samples", "time_ns thread period cpu"),
        ["0 0 12345 1", "500000000 0 12346 1", "999962000 1 12347 2"]
    );
    assert!(run.notes.left_out.is_empty(), "{:?}", run.notes.left_out);
    // Elsewhere such a number is no time.
    assert!(read("a 7 [000] 1.45: 9 cycles: \n\tff f+0x1 (/a)\n").is_err());
}
