use super::*;
use crate::read_back::{Imported, of_bytes, recognises};
use crate::{Error, Options};

fn read(json: &str) -> Result<Imported, Error> {
    of_bytes(&IMPORTER, json, &Options::default())
}

const FILE: &str = r#"hello
{"the program's": "own"}
{"version":"0.6.2","format":"renacer-json-v1","syscalls":[
{"name":"brk","args":["0x0","0x7ffd","0x0"],"result":108193364602880,"duration_us":3},
{"name":"close","args":["0x9"],"result":-9},
{"name":"openat","args":["0xffffff9c","\"/etc/ld.so.cache\"","0x80000"],"result":-2,"duration_us":7,
 "source":{"file":"src/main.rs","line":9,"function":"main"}},
{"name":"fsync","args":["0x3"],"result":0,"source":{"file":"src/main.rs","line":10}},
{"name":"wait4","args":["0x7","0x0","0x0"],"result":7,"duration_us":2},
{"name":"write","args":["0x1"],"result":19,"duration_us":5}],
"summary":{"total_syscalls":6,"total_time_us":17,"exit_code":3},
"ml_analysis":{"clusters":2,"silhouette_score":0.5,"anomalies":[]},
"other_analysis":{}}
bye
"#;

#[test]
fn calls_stand_end_to_end_and_the_run_says_so() {
    let run = read(FILE).unwrap();
    let rows = run.rows("calls", "name start_ns dur_ns status");
    let expected = [
        "brk 0 3000 108193364602880",
        "openat 3000 7000 -1",
        "wait4 10000 2000 7",
        "write 12000 5000 19",
    ];
    assert_eq!(rows, expected);
    assert_eq!(run.wall_ns, None);
    assert!(run.warns("2 calls have no duration"));
    assert!(run.warns("2 lines before the JSON") && run.warns("no times"));
}

#[test]
fn errors_files_bytes_and_places_have_their_columns() {
    let run = read(FILE).unwrap();
    let columns = "kind target bytes errno stack";
    let expected = [
        "syscall - - - -",
        "syscall /etc/ld.so.cache - ENOENT 1",
        "syscall - - - -",
        "syscall - 19 - -",
    ];
    assert_eq!(run.rows("calls", columns), expected);
    let stacks = run.rows("stacks", "id caller function file line");
    assert_eq!(stacks, ["1 - main src/main.rs 9", "2 - - src/main.rs 10"]);
    assert_eq!(
        run.rows("syncs", "kind name start_ns dur_ns"),
        ["call wait4 10000 2000"]
    );
    assert_eq!(run.notes.arguments_left_out["args"], 4);
}

#[test]
fn what_has_no_duration_is_an_instant() {
    let run = read(FILE).unwrap();
    let columns = "kind name thread time_ns dur_ns arguments";
    let expected = [
        r#"instant close 0 3000 - {"kind":"syscall","status":-1,"errno":"EBADF","args":"0x9"}"#,
        concat!(
            r#"instant fsync 0 10000 - {"kind":"syscall","status":0,"args":"0x3","#,
            r#""source":{"file":"src/main.rs","line":10},"stack":2}"#
        ),
        r#"instant exit code - 17000 - {"kind":"exit","code":3}"#,
        r#"instant total time - 17000 - {"total_time_us":17}"#,
        r#"instant ml_analysis - 17000 - {"anomalies":[],"clusters":2,"silhouette_score":0.5}"#,
    ];
    assert_eq!(run.rows("annotations", columns), expected);
}

#[test]
fn the_format_is_known_behind_the_output_of_the_program() {
    let recognises = |text: &str| recognises(&IMPORTER, text.as_bytes());
    assert!(recognises(FILE));
    assert!(recognises(
        "{\n  \"version\": \"0.6.2\",\n  \"format\": \"renacer-json-v1\""
    ));
    assert!(!recognises("say \"renacer-json-v1\"\n{}"));
    assert!(!recognises("{\"format\": \"v1\"}"));
}

#[test]
fn a_long_analysis_is_cut_and_stays_json() {
    let long = "é".repeat(MAX_TEXT_BYTES);
    let json = format!(r#"{{"format":"{FORMAT}","syscalls":[],"ml_analysis":["{long}"]}}"#);
    let run = read(&json).unwrap();
    let arguments = run.rows("annotations", "arguments").remove(0);
    let cut: serde_json::Value = serde_json::from_str(&arguments).unwrap();
    let kept = cut["cut"].as_str().unwrap().len();
    assert!((MAX_TEXT_BYTES - 4..=MAX_TEXT_BYTES).contains(&kept));
    assert!(run.warns("ml_analysis is longer"));
}

#[test]
fn a_cut_file_keeps_the_calls_before_the_cut() {
    let run = read(&FILE[..FILE.find("\"wait4\"").unwrap()]).unwrap();
    assert_eq!(run.rows("calls", "name"), ["brk", "openat"]);
    assert!(
        run.run
            .problems
            .iter()
            .any(|problem| problem.contains("first 4 calls"))
    );
}

#[test]
fn other_files_are_refused_with_the_reason() {
    for (json, word) in [
        ("", "renacer-json-v1"),
        ("{", "line 1"),
        ("{\"format\":\"v2\",\"syscalls\":[]}", "found v2"),
        ("{\"syscalls\":7}", "line 1"),
        ("[1]", "renacer-json-v1"),
    ] {
        let error = read(json).err().map(|e| e.to_string()).unwrap_or_default();
        assert!(error.contains(word), "{json}: {error}");
    }
}

proptest::proptest! {
    #[test]
    fn no_change_makes_it_panic(at in 0..FILE.len(), byte: u8, cut in 0..FILE.len()) {
        let mut bytes = FILE.as_bytes().to_vec();
        bytes[at] = byte;
        let _ = read(&String::from_utf8_lossy(&bytes));
        let _ = read(&String::from_utf8_lossy(&bytes[..cut]));
    }
}
