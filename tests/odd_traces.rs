//! Traces that are packed, encoded or written in ways that are no good JSON: read, with a warning that counts what was
//! odd, or refused with the next step. A warning is there also when the run comes from the cache.

use std::fs;
use std::io::Write;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::json;

use crate::harness::{Dir, Done};

/// An operator with this name, and one kernel. The trace is long enough for the header of a zstd frame.
fn trace(name: &str) -> String {
    let event = |cat: &str, name: &str, ts: f64, dur: f64, args: serde_json::Value| json!({"ph": "X", "cat": cat, "name": name, "pid": 50, "tid": 1, "ts": ts, "dur": dur, "args": args});
    json!({
        "schemaVersion": 1,
        "traceEvents": [
            event("cpu_op", name, 200.0, 300.5, json!({"External id": 5})),
            event("cuda_runtime", "cudaLaunchKernel", 250.0, 10.0, json!({"correlation": 7})),
            event("kernel", "sgemm", 400.25, 80.125, json!({"correlation": 7, "device": 0, "stream": 7})),
        ],
    })
    .to_string()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut to = GzEncoder::new(Vec::new(), Compression::fast());
    to.write_all(bytes).unwrap();
    to.finish().unwrap()
}

/// A zstd frame that stores the bytes uncompressed.
fn zstd_frame(bytes: &[u8]) -> Vec<u8> {
    let length = u16::try_from(bytes.len() - 256).unwrap().to_le_bytes();
    let block = (bytes.len() as u32) << 3 | 1;
    let mut frame = b"\x28\xb5\x2f\xfd\x60".to_vec();
    frame.extend_from_slice(&length);
    frame.extend_from_slice(&block.to_le_bytes()[..3]);
    frame.extend_from_slice(bytes);
    frame
}

fn utf16(text: &str, bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
    let text = format!("\u{feff}{text}");
    text.encode_utf16().flat_map(bytes).collect()
}

fn names(dir: &Dir, file: &str) -> Done {
    let sql = "SELECT name, dur_ns FROM bricks UNION ALL SELECT name, dur_ns FROM kernels";
    dir.command(&["query", file, sql, "--format", "csv"])
        .exits(0)
}

const ROWS: &str = "name,dur_ns\r\naten::mm,300500\r\nsgemm,80125\r\n";

#[test]
fn packed_and_encoded_traces_give_the_rows_of_the_plain_one() {
    let dir = Dir::new();
    let plain = trace("aten::mm");
    let bytes = plain.as_bytes();
    let (first, second) = bytes.split_at(bytes.len() / 2);
    let skippable = b"\x5a\x2a\x4d\x18\x03\0\0\0abc".to_vec();
    let zeros = vec![0; 1536];
    let files: [(&str, Vec<u8>, Option<&str>); 9] = [
        ("plain.json", bytes.to_vec(), None),
        ("mark.json", format!("\u{feff}{plain}").into_bytes(), None),
        (
            "members.json.gz",
            [gzip(first), gzip(second)].concat(),
            None,
        ),
        (
            "frame.json.zst",
            [skippable, zstd_frame(bytes)].concat(),
            None,
        ),
        (
            "zeros.json.gz",
            [gzip(bytes), zeros.clone()].concat(),
            Some("1536 zero bytes after the gzip data"),
        ),
        (
            "garbage.json.gz",
            [gzip(bytes), b"PK and so on".to_vec()].concat(),
            Some("12 bytes after the gzip data are not gzip"),
        ),
        (
            "zeros.json",
            [bytes.to_vec(), zeros].concat(),
            Some("1536 zero bytes after the trace"),
        ),
        (
            "little.json",
            utf16(&plain, u16::to_le_bytes),
            Some("UTF-16 (little endian)"),
        ),
        (
            "big.json.gz",
            gzip(&utf16(&plain, u16::to_be_bytes)),
            Some("UTF-16 (big endian)"),
        ),
    ];
    for (file, content, warning) in files {
        fs::write(dir.join(file), content).unwrap();
        let done = names(&dir, file);
        assert_eq!(done.stdout, ROWS, "{file}");
        let Some(warning) = warning else {
            assert!(!done.stderr.contains("warning:"), "{}", done.stderr);
            continue;
        };
        done.stderr_has(warning);
        let info = dir.command(&["info", file]).exits(0);
        info.stdout_has(warning).stderr_has("taken from ");
    }
}

#[test]
fn several_frames_of_zstd_are_one_trace() {
    let dir = Dir::new();
    let long = trace(&"x".repeat(400));
    let (first, second) = long.as_bytes().split_at(300);
    fs::write(
        dir.join("t.json.zst"),
        [zstd_frame(first), zstd_frame(second)].concat(),
    )
    .unwrap();
    names(&dir, "t.json.zst").stdout_has("sgemm,80125");
    let cut = zstd_frame(long.as_bytes());
    fs::write(dir.join("cut.json.zst"), &cut[..cut.len() - 9]).unwrap();
    let refused = dir.command(&["info", "cut.json.zst"]).exits(2);
    refused
        .stderr_has("cut.json.zst")
        .stderr_has("cannot be decompressed further");
}

#[test]
fn texts_without_escapes_are_read_as_they_stand() {
    let dir = Dir::new();
    for (number, name) in [
        r"torch\cuda\__init__.py(219): _lazy_init",
        r"C:\users\new\table",
        r"C:\dir\",
        r#"say "hi""#,
        r#"operator()("a", "b")"#,
    ]
    .into_iter()
    .enumerate()
    {
        let file = format!("{number}.json");
        // The name twice, and an argument.
        let text = trace("NAME").replace("\"External id\":5", "\"path\":\"NAME\"");
        let text = text.replace("\"sgemm\"", "\"NAME\"").replace("NAME", name);
        assert!(
            serde_json::from_str::<serde_json::Value>(&text).is_err(),
            "{text}"
        );
        fs::write(dir.join(&file), text).unwrap();
        let args = [
            "query",
            &file,
            "SELECT name FROM kernels",
            "--format",
            "json",
        ];
        let done = dir.command(&args).exits(0);
        assert_eq!(done.json(), json!([{ "name": name }]));
        done.stderr_has("3 texts have unescaped backslashes, quotes or control characters");
        dir.command(&["info", &file])
            .exits(0)
            .stdout_has("3 texts have unescaped backslashes, quotes or control characters");
    }
    // A file that is damaged otherwise is refused at its place.
    let damaged = trace("aten::mm").replace("\"dur\":10.0", "\"dur\" 10.0");
    let place = damaged.find("\"dur\" ").unwrap() + 6;
    fs::write(dir.join("damaged.json"), &damaged).unwrap();
    let refused = dir.command(&["info", "damaged.json"]).exits(2);
    refused.stderr_has(&format!("at byte {place}"));
}

#[test]
fn archives_and_formats_of_others_are_named_with_the_next_step() {
    let dir = Dir::new();
    let mut tar = b"rank0.json".to_vec();
    tar.resize(257, 0);
    tar.extend_from_slice(b"ustar\x0000");
    tar.resize(512, 0);
    let files: [(&str, Vec<u8>, &str); 8] = [
        (
            "t.json.xz",
            b"\xfd7zXZ\0\0\x04\xe6".to_vec(),
            "`xz -dk t.json.xz`",
        ),
        (
            "t.json.bz2",
            b"BZh91AY&SY".to_vec(),
            "`bunzip2 -k t.json.bz2`",
        ),
        (
            "t.zip",
            b"PK\x03\x04\x14\0\0\0".to_vec(),
            "`unzip t.zip -d FOLDER`",
        ),
        ("t.tar", tar.clone(), "`tar -xf t.tar`"),
        ("t.tar.gz", gzip(&tar), "`tar -xzf t.tar.gz`"),
        (
            "r.h5",
            b"\x89HDF\r\n\x1a\n\0".to_vec(),
            "`nsys export --type sqlite REPORT.nsys-rep`",
        ),
        (
            "sums.json",
            b"[\n {\"children\": [], \"frame\": {}}]".to_vec(),
            "proton.start",
        ),
        (
            "lfs.json",
            b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n".to_vec(),
            "git lfs pull",
        ),
    ];
    for (file, content, words) in files {
        fs::write(dir.join(file), content).unwrap();
        let refused = dir.report(Path::new(file), &[]).exits(2);
        refused.stderr_has(file).stderr_has(words);
    }
}

#[test]
fn a_packed_database_is_read_like_the_plain_one() {
    let dir = Dir::new();
    let database = rusqlite::Connection::open(dir.join("n.sqlite")).unwrap();
    database
        .execute_batch(
            "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
             INSERT INTO StringIds VALUES (1, 'step');
             CREATE TABLE NVTX_EVENTS (start INT, end INT, eventType INT, textId INT, globalTid INT);
             INSERT INTO NVTX_EVENTS VALUES (100, 900, 59, 1, 281474976710656);",
        )
        .unwrap();
    drop(database);
    let plain = fs::read(dir.join("n.sqlite")).unwrap();
    fs::write(dir.join("p.sqlite.gz"), gzip(&plain)).unwrap();
    let sql = "SELECT name, dur_ns FROM bricks";
    let rows = |file: &str| {
        let done = dir.command(&["query", file, sql, "--format", "csv"]);
        done.exits(0).stdout
    };
    assert_eq!(rows("n.sqlite"), "name,dur_ns\r\nstep,800\r\n");
    assert_eq!(rows("p.sqlite.gz"), "name,dur_ns\r\nstep,800\r\n");
    fs::write(dir.join("cut.sqlite.gz"), &gzip(&plain)[..200]).unwrap();
    let refused = dir.command(&["info", "cut.sqlite.gz"]).exits(2);
    refused.stderr_has("cut.sqlite.gz: the gzip file cannot be unpacked");
}

#[test]
fn a_trace_whose_times_are_all_out_of_range_is_refused_with_the_reason() {
    let dir = Dir::new();
    let far = |text: &str| {
        let text = text.replace("\"ts\":200.0", "\"ts\":1712195495519000064");
        let text = text.replace("\"ts\":250.0", "\"ts\":1712195495519050064");
        text.replace("\"ts\":400.25", "\"ts\":1712195495519200064")
    };
    fs::write(dir.join("ns.json"), far(&trace("aten::mm"))).unwrap();
    for _ in 0..2 {
        let refused = dir.report(Path::new("ns.json"), &[]).exits(2);
        refused
            .stderr_has("all 3 events with a time are out of range")
            .stderr_has("look like nanoseconds")
            .stderr_has("divide ts and dur by 1000");
    }
    // One of three: the others are analysed, and the report says what is missing.
    let one = trace("aten::mm").replace("\"ts\":250.0", "\"ts\":1712195495519050064");
    fs::write(dir.join("one.json"), one).unwrap();
    for _ in 0..2 {
        dir.report(Path::new("one.json"), &["--plugin-id", "sanity"])
            .exits(0)
            .stdout_has("left out 1 record");
    }
}

#[test]
fn a_trace_of_asynchronous_intervals_says_that_they_only_bound_their_work() {
    let dir = Dir::new();
    let point = |phase: &str, name: &str, ts: u32| json!({"ph": phase, "cat": "x", "id": 1, "name": name, "pid": 1, "ts": ts});
    let points = [
        point("b", "a", 0),
        point("b", "b", 2),
        point("e", "a", 5),
        point("e", "b", 9),
    ];
    fs::write(dir.join("open.json"), json!(points).to_string()).unwrap();
    dir.command(&["report", "open.json"])
        .exits(0)
        .stdout_starts("2 intervals only bound the work in them; the work itself was not recorded")
        .stderr_has(
            "a 1 (5.00 µs on average, 5.00 µs at most), b 1 (7.00 µs on average, 7.00 µs at most)",
        );
}
