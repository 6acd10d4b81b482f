use std::fs;

use super::*;
use crate::read_back::{Imported, imported};

fn read(text: &str) -> Result<Imported, Error> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("strace.txt");
    fs::write(&path, text).unwrap();
    imported(&Strace, &path)
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
        run.rows("calls", &["name", "thread", "start_ns", "dur_ns", "status"]),
        [
            "mmap 0 0 2000 32512",
            "close 1 10000 1000 -1",
            "read 0 9000 9000 5"
        ]
    );
    assert_eq!(run.wall_ns, Some(18_000));
    assert_eq!(run.run.clock.origin_realtime_ns, 1_700_000_000_000_001_000);
    assert_eq!(run.rows("threads", &["os_id"]), ["41", "42"]);
    assert_eq!(
        run.notes.left_out["call without a duration: record with -T"],
        1
    );
    assert_eq!(run.notes.left_out["call that had not ended"], 1);
    let recognises = |bytes| Strace.recognises(&Head::new(bytes));
    assert!(recognises(FILE.as_bytes()) && !recognises(b"{}"));
}

#[test]
fn the_end_of_another_call_costs_both_and_both_are_counted() {
    let text = "41 1700000000.000001 read(3 <unfinished ...>\n\
                41 1700000000.000002 <... write resumed>) = 1 <0.000001>\n";
    let run = read(text).unwrap();
    assert!(run.rows("calls", &["name"]).is_empty());
    assert_eq!(run.notes.left_out.values().sum::<u64>(), 2);
}

#[test]
fn a_file_out_of_order_has_no_negative_length() {
    let text = "41 1700000000.000009 +++ exited with 0 +++\n\
                41 1700000000.000002 close(1) = 0 <0.000001>\n";
    let run = read(text).unwrap();
    assert_eq!(run.rows("calls", &["start_ns"]), ["-7000"]);
    assert_eq!(run.wall_ns, Some(0));
    assert!(run.warns("negative times"));
}

#[test]
fn other_files_are_refused_with_the_next_step() {
    for text in [
        "",
        "hello\n",
        "read(3) = 5\n",
        "41 99999999999999999999.0 read() = 0 <0.1>\n",
    ] {
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
}
