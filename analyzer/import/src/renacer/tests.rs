use std::fs;

use super::*;
use crate::read_back::{Imported, imported};

fn read(json: &str) -> Result<Imported, Error> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("calls.json");
    fs::write(&path, json).unwrap();
    imported(&Renacer, &path)
}

const FILE: &str = r#"hello
{"version":"0.6.2","format":"renacer-json-v1","syscalls":[
{"name":"brk","args":["0x0"],"result":108193364602880,"duration_us":3},
{"name":"close","args":[],"result":-9},
{"name":"write","args":["0x1"],"result":19,"duration_us":5}],
"summary":{"total_syscalls":3,"exit_code":0}}
bye
"#;

#[test]
fn calls_stand_end_to_end_and_the_run_says_so() {
    let run = read(FILE).unwrap();
    let rows = run.rows("calls", &["name", "start_ns", "dur_ns", "status"]);
    assert_eq!(rows, ["brk 0 3000 108193364602880", "write 3000 5000 19"]);
    assert_eq!(run.wall_ns, None);
    assert_eq!(
        run.notes.left_out["syscall without a duration: record with -T"],
        1
    );
    assert!(run.warns("1 lines before the JSON") && run.warns("no times"));
    assert!(
        run.run
            .problems
            .iter()
            .any(|problem| problem.contains("no times"))
    );
    // Behind lines of the program's own it is read, but not known by itself.
    let json = FILE.trim_start_matches("hello\n");
    assert!(Renacer.recognises(&Head::new(json.as_bytes())));
    assert!(!Renacer.recognises(&Head::new(FILE.as_bytes())));
}

#[test]
fn a_cut_file_keeps_the_calls_before_the_cut() {
    let run = read(&FILE[..FILE.find("\"write\"").unwrap()]).unwrap();
    assert_eq!(run.rows("calls", &["name"]), ["brk"]);
    assert!(
        run.run
            .problems
            .iter()
            .any(|problem| problem.contains("first 2 calls"))
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
