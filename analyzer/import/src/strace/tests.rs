use super::*;
use crate::read_back::{self, Imported, of_bytes};
use crate::{Error, Options};

fn read(text: &str) -> Result<Imported, Error> {
    of_bytes(&IMPORTER, text, &Options::default())
}

fn recognises(text: &str) -> bool {
    read_back::recognises(&IMPORTER, text)
}

const FILE: &str = r#"41 1700000000.000001 mmap(NULL, 8, 0x1) = 0x7f00 <0.000002>
41 1700000000.000010 read(3, " = 9 <1.0>(", 5 <unfinished ...>
42 1700000000.000011 close(9) = -1 EBADF (Bad file descriptor) <0.000001>
41 1700000000.000020 <... read resumed>"x", 5) = 5 <0.000009>
41 1700000000.000030 --- SIGCHLD {si_signo=SIGCHLD} ---
42 1700000000.000031 write(1, "y", 1) = 1
42 1700000000.000032 futex(0x1, FUTEX_WAIT <unfinished ...>
"#;

#[test]
fn calls_keep_their_exact_times_also_in_two_lines() {
    let run = read(FILE).unwrap();
    assert_eq!(
        run.rows(
            "calls",
            "name thread start_ns dur_ns status kind errno bytes"
        ),
        [
            "mmap 0 0 2000 32512 syscall - 8",
            "close 1 10000 1000 -1 syscall EBADF -",
            "read 0 9000 9000 5 syscall - 5"
        ]
    );
    assert_eq!(run.wall_ns, Some(30_000));
    assert_eq!(run.run.clock.origin_realtime_ns, 1_700_000_000_000_001_000);
    assert_eq!(run.rows("threads", "os_id process"), ["41 41", "42 42"]);
    assert_eq!(
        run.rows("annotations", "kind name thread time_ns dur_ns arguments"),
        [
            r#"instant SIGCHLD 0 29000 - {"kind":"signal","args":"{si_signo=SIGCHLD}"}"#,
            r#"instant write 1 30000 - {"kind":"syscall","status":1,"bytes":1,"args":"1, \"y\", 1"}"#,
        ]
    );
    assert!(run.warns("1 calls have no duration"));
    assert_eq!(run.notes.left_out["unfinished call"], 1);
    assert_eq!(run.notes.arguments_left_out["args"], 3);
    assert!(recognises(FILE) && !recognises("{}"));
}

/// Output of `strace -f -ttt -T -yy sh -c 'sleep 0.1 | cat'`, strace 6.1.
const PROCESSES: &str = r#"15133 1700000000.000000 clone(child_stack=NULL, flags=CLONE_CHILD_CLEARTID|SIGCHLD, child_tidptr=0x7f) = 15134 <0.000058>
15133 1700000000.000100 wait4(-1,  <unfinished ...>
15134 1700000000.000110 openat(AT_FDCWD</tmp>, "/no/\"such\"", O_RDONLY) = -1 ENOENT (No such file or directory) <0.000005>
15134 1700000000.000200 read(0</dev/null<char 1:3>>, "", 131072) = 0 <0.000001>
15134 1700000000.000210 read(7<pipe:[78365]>, "a\"b", 3) = 3 <0.000030>
15134 1700000000.000250 close(3</tmp/a(b>(deleted)) = 0 <0.000001>
15134 1700000000.000300 exit_group(0)   = ?
15134 1700000000.000310 +++ exited with 0 +++
15133 1700000000.000320 <... wait4 resumed>[{WIFEXITED(s) && WEXITSTATUS(s) == 0}], 0, NULL) = 15134 <0.000220>
15133 1700000000.000400 rt_sigsuspend([], 8) = ? ERESTARTNOHAND (To be restarted if no handler) <0.000020>
"#;

#[test]
fn waits_files_and_processes_are_told_as_by_the_tracer() {
    let run = read(PROCESSES).unwrap();
    let calls = run.rows("calls", "id name thread target status errno");
    assert_eq!(
        calls,
        [
            "1 clone 0 - 15134 -",
            "2 openat 1 /no/\"such\" -1 ENOENT",
            "3 read 1 /dev/null 0 -",
            "4 read 1 pipe 3 -",
            "6 close 1 /tmp/a(b 0 -",
            "7 wait4 0 - 15134 -",
            "9 rt_sigsuspend 0 - -1 ERESTARTNOHAND",
        ]
    );
    let syncs = run.rows("syncs", "id kind name thread start_ns dur_ns");
    assert_eq!(
        syncs,
        [
            "5 call read 1 210000 30000",
            "8 join wait4 0 100000 220000",
            "10 call rt_sigsuspend 0 400000 20000",
        ]
    );
    let edges = run.rows("edges", "from to kind");
    assert_eq!(edges, ["1 2 spawns", "6 8 joins"]);
    assert_eq!(run.rows("threads", "process"), ["15133", "15134"]);
    let instants = run.rows("annotations", "name arguments");
    assert_eq!(
        instants,
        [
            r#"exit_group {"kind":"syscall","args":"0"}"#,
            r#"exited {"kind":"exit","code":0}"#,
        ]
    );
    // A call that ends its thread has no duration to measure.
    assert!(!run.warns("duration"));
}

#[test]
fn a_thread_is_of_the_process_that_began_it() {
    let text = "7 1700000000.000001 clone3({flags=CLONE_VM|CLONE_THREAD, stack=0x7f}, 88 <unfinished ...>\n\
                8 1700000000.000002 set_robust_list(0x7f, 24) = 0 <0.000001>\n\
                7 1700000000.000003 <... clone3 resumed> => {parent_tid=[8]}, 88) = 8 <0.000002>\n";
    let run = read(text).unwrap();
    assert_eq!(run.rows("threads", "os_id process"), ["7 7", "8 7"]);
    assert_eq!(run.rows("edges", "from to kind"), ["2 1 spawns"]);
}

/// Output of `strace -k`, strace 6.1.
const STACKS: &str = " > /lost(f+0x1) [0x1]
1700000000.000001 brk(NULL) = 0x55e5 <0.000003>
 > /usr/lib/ld.so(_dl_sysdep_start+0x77c7) [0x1fc47]
 > /usr/bin/ls() [0x61f1]
1700000000.000010 close(3) = 0 <0.000003>
 > /usr/lib/libc.so.6(close+0x1) [0x9]
 > /usr/bin/ls() [0x61f1]
1700000000.000020 exit_group(0) = ?
1700000000.000030 +++ exited with 0 +++
 > /usr/lib/libc.so.6(_exit+0x29) [0xd4409]
";

#[test]
fn stacks_belong_to_the_call_before_them() {
    let run = read(STACKS).unwrap();
    let columns = "id caller function module address";
    assert_eq!(
        run.rows("stacks", columns),
        [
            "1 - - /usr/bin/ls 25073",
            "2 1 _dl_sysdep_start /usr/lib/ld.so 130119",
            "3 1 close /usr/lib/libc.so.6 9",
            "4 - _exit /usr/lib/libc.so.6 869385",
        ]
    );
    assert_eq!(run.rows("calls", "name stack"), ["brk 2", "close 3"]);
    let instants = run.rows("annotations", "arguments");
    assert_eq!(instants[1], r#"{"kind":"exit","code":0,"stack":4}"#);
    assert_eq!(run.notes.left_out["stack frame without a call"], 1);
}

#[test]
fn each_form_of_time_and_thread_is_read() {
    let call = "close(3) = 0 <0.000002>\n";
    let instant = "close(3) = 0\n";
    for (first, second, start_ns) in [
        ("1700000000.000001 ", "1700000000.000005 ", 4_000),
        ("7 1700000000 ", "7 1700000001 ", 1_000_000_000),
        ("12:00:00 ", "12:00:01 ", 1_000_000_000),
        ("7 12:00:00.000001 ", "7 12:00:00.000005 ", 4_000),
        ("     0.000000 ", "     0.000004 ", 4_000),
        (
            "7 12:00:01 (+     0.000000) ",
            "7 12:00:01 (+     0.000028) ",
            28_000,
        ),
        (
            "[pid  7] 12:00:00.5 [  3] [00007f31] ",
            "[pid 7] 12:00:01 ",
            500_000_000,
        ),
        ("7<sh> 12:00:00 ", "7<a b> 12:00:01 ", 1_000_000_000),
        // No times: what has a duration stands end to end.
        ("", "", 2_000),
        ("7 ", "7 ", 2_000),
    ] {
        let text = format!("{first}{call}{second}{call}{second}{instant}");
        assert!(recognises(&text), "{text}");
        let run = read(&text).unwrap();
        let rows = run.rows("calls", "start_ns dur_ns");
        assert_eq!(
            rows,
            ["0 2000".to_owned(), format!("{start_ns} 2000")],
            "{text}"
        );
        assert_eq!(run.rows("annotations", "name"), ["close"], "{text}");
        let is_whole = start_ns % 1_000_000_000 == 0;
        assert_eq!(run.warns("whole seconds"), is_whole, "{text}");
        let is_timed = !first.trim_start_matches("7 ").is_empty();
        assert_eq!(run.wall_ns.is_some(), is_timed, "{text}");
        assert_eq!(run.warns("no times"), !is_timed, "{text}");
    }
    let run = read("7<sh> close(3) = 0\n7<a b> close(4) = 0\n").unwrap();
    assert_eq!(run.rows("threads", "name"), ["a b"]);
}

#[test]
fn a_call_in_which_its_thread_was_killed_keeps_its_arguments() {
    let text = "41 1700000000.000001 read(3,  <unfinished ...>\n\
                42 1700000000.000002 exit_group(5) = ?\n\
                41 1700000000.000003 <... read resumed> <unfinished ...>) = ?\n\
                41 1700000000.000004 +++ exited with 5 +++\n";
    let run = read(text).unwrap();
    let read = &run.rows("annotations", "name thread time_ns arguments")[1];
    assert_eq!(read, r#"read 0 0 {"kind":"syscall","args":"3,"}"#);
}

#[test]
fn without_times_and_durations_there_is_an_order() {
    let run = read("close(3) = 0\ndup(1) = 3\n+++ killed by SIGSEGV (core dumped) +++\n").unwrap();
    let instants = run.rows("annotations", "name time_ns");
    assert_eq!(instants, ["close 0", "dup 0", "killed 0"]);
    assert_eq!(
        run.rows("annotations", "arguments")[2],
        r#"{"kind":"exit","signal":"SIGSEGV","args":"(core dumped)"}"#
    );
    assert_eq!((run.wall_ns, run.run.clock.source.as_str()), (None, "none"));
    assert!(run.warns("no times"));
}

#[test]
fn on_a_terminal_threads_have_numbers_only_while_there_are_several() {
    let text = "1.0 clone(flags=SIGCHLD) = 8 <0.1>\n\
                strace: Process 8 attached\n\
                [pid     8] 1.0 close(1) = 0 <0.1>\n\
                [pid     7] 1.0 vfork(strace: Process 9 attached\n \x20<unfinished ...>\n\
                [pid     9] 1.0 +++ exited with 0 +++\n\
                [pid     7] 1.0 <... vfork resumed>) = 9 <0.1>\n\
                [pid     7] 1.0 +++ exited with 0 +++\n\
                1.0 close(3) = 0 <0.1>\n";
    let run = read(text).unwrap();
    assert_eq!(run.rows("threads", "os_id"), ["7", "8", "9"]);
    let calls = run.rows("calls", "name thread");
    assert_eq!(calls, ["clone 0", "close 1", "vfork 0", "close 1"]);
    let messages = [("message of strace itself".to_owned(), 2)];
    assert_eq!(run.notes.left_out, messages.into());
}

/// Output of renacer 0.6.2 with `-s -T`: numeric arguments and errors, interleaved with the program's output.
const RENACER: &str =
    "src/main.rs:9 main openat(0xffffff9c, \"/etc/passwd\", 0x80000) = 3 <0.000021>
arch_prctl(0x3001, 0x7ffd, 0x7652) = -22 <0.000002>
write(0x1, 0x6266, 0x6) = hello
6 <0.000003>
src/main.rs:12 read(0x3, 0x6266, 0x10) = 16
";

#[test]
fn the_text_of_renacer_is_alike() {
    assert!(recognises(RENACER));
    let run = read(RENACER).unwrap();
    assert_eq!(
        run.rows("calls", "name start_ns dur_ns target status errno stack"),
        [
            "openat 0 21000 /etc/passwd 3 - 1",
            "arch_prctl 21000 2000 - -1 EINVAL -",
        ]
    );
    let stacks = run.rows("stacks", "function file line");
    assert_eq!(stacks, ["main src/main.rs 9", "- src/main.rs 12"]);
    let instants = run.rows("annotations", "name time_ns");
    assert_eq!(instants, ["write 23000", "read 23000"]);
    assert_eq!(run.notes.left_out["line that is not a call"], 1);
}

#[test]
fn the_end_of_another_call_costs_both_and_both_are_counted() {
    let text = "41 1700000000.000001 read(3 <unfinished ...>\n\
                41 1700000000.000002 <... write resumed>) = 1 <0.000001>\n";
    let run = read(text).unwrap();
    assert!(run.rows("calls", "name").is_empty());
    assert_eq!(run.notes.left_out.values().sum::<u64>(), 2);
}

#[test]
fn a_file_out_of_order_has_no_negative_length() {
    let text = "41 1700000000.000009 +++ exited with 0 +++\n\
                41 1700000000.000002 close(1) = 0 <0.000001>\n";
    let run = read(text).unwrap();
    assert_eq!(run.rows("calls", "start_ns"), ["-7000"]);
    assert_eq!(run.wall_ns, Some(0));
    assert!(run.warns("negative times"));
}

#[test]
fn a_cut_file_keeps_the_lines_before_the_cut() {
    let cut = PROCESSES.find("O_RDONLY").unwrap();
    let run = read(&PROCESSES[..cut]).unwrap();
    assert_eq!(run.rows("calls", "name"), ["clone"]);
    assert_eq!(run.notes.left_out["line that is not a call"], 1);
    assert_eq!(run.notes.left_out["unfinished call"], 1);
}

#[test]
fn other_files_are_refused_with_the_next_step() {
    for text in [
        "",
        "hello\n",
        "hello (world) = 3\n",
        "int x = f(3) = 5\n",
        "41 99999999999999999999.0 read() = 0 <0.1>\n",
    ] {
        assert!(!recognises(text), "{text}");
        let error = read(text).err().map(|e| e.to_string()).unwrap_or_default();
        assert!(error.contains("-ttt"), "{text}: {error}");
    }
}

proptest::proptest! {
    #[test]
    fn no_line_makes_it_panic(line in "[0-9a-z \\[\\]().<>=_+-]{0,80}", at in 0..FILE.len()) {
        let _ = line::parse(&line);
        let _ = line::parse(&FILE[at..]);
    }

    #[test]
    fn each_line_is_a_row_or_counted(file in 0..4_usize, at: usize, byte: u8, cut: usize) {
        let original = [FILE, PROCESSES, STACKS, RENACER][file];
        let mut bytes = original.as_bytes().to_vec();
        bytes.truncate(cut % (bytes.len() + 1));
        if !bytes.is_empty() {
            let at = at % bytes.len();
            bytes[at] = byte;
        }
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Ok(run) = read(&text) {
            let count = |counts: &std::collections::BTreeMap<String, u64>, kinds: &[&str]| {
                kinds.iter().filter_map(|kind| counts.get(*kind)).sum::<u64>()
            };
            let notes = &run.notes;
            let lines = text.split('\n').filter(|line| !line.trim().is_empty()).count() as u64;
            let left_out = count(&notes.left_out, &["line that is not a call", "message of strace itself"]);
            assert_eq!(notes.read.values().sum::<u64>() + left_out, lines);
            let rows = run.rows("calls", "id").len() + run.rows("annotations", "name").len();
            let lost = count(&notes.left_out, &["unfinished call"]);
            let records = count(&notes.read, &["call", "begun call", "signal or exit"]);
            assert_eq!(rows as u64 + lost, records);
        }
    }
}
