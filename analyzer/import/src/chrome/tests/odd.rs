//! Damaged, impossible and endless traces cost themselves, and are told.

use super::traces::{event, kineto, slice, trace};
use super::{import, partial};
use crate::read_back::gzip;

#[test]
fn impossible_events_cost_themselves_only() {
    for (bad, reason) in [
        (slice("bad", "cpu_op", "5", "-1", ""), "negative"),
        (
            slice("Activity Buffer Request", "overhead", "5", "-1", ""),
            "negative",
        ),
        (
            event("\"ph\": \"X\", \"name\": \"bad\", \"ts\": 1"),
            "without dur",
        ),
        (
            event("\"ph\": \"X\", \"name\": \"bad\", \"dur\": 1"),
            "without ts",
        ),
        (
            event("\"ph\": \"X\", \"name\": \"bad\", \"ts\": \"x\", \"dur\": 1"),
            "not a number",
        ),
        (slice("bad", "cpu_op", "1e300", "1", ""), "out of range"),
        (event("\"ph\": \"E\", \"ts\": 1"), "E without"),
        (
            event("\"ph\": \"B\", \"name\": \"bad\", \"ts\": 1"),
            "B without",
        ),
        (event("\"ph\": \"f\", \"id\": 1, \"ts\": 5"), "flow"),
        (
            event("\"ph\": \"e\", \"id\": 1, \"ts\": 1"),
            "asynchronous end",
        ),
        (event("\"ph\": \"P\", \"ts\": 1"), "phase P"),
        (event("\"name\": \"bad\""), "without ph"),
        ("17".to_owned(), "not an object"),
        ("[[]]".to_owned(), "not an object"),
    ] {
        let run = import(trace(&[bad.clone(), slice("good", "cpu_op", "0", "2", "")])).unwrap();
        assert_eq!(run.rows("bricks", "name"), ["good"], "{bad}");
        assert_eq!(run.left_out(reason), 1, "{bad}: {:?}", run.notes);
    }
    // A clock that ran backwards between B and E.
    let run = import(trace(&[
        event("\"ph\": \"B\", \"name\": \"bad\", \"ts\": 9"),
        event("\"ph\": \"E\", \"ts\": 8"),
    ]))
    .unwrap();
    assert_eq!(run.left_out("negative"), 1);
    // Of device work the row stays, and says that it cannot be trusted.
    let run = import(trace(&[event("\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\", \"ts\": 5, \"dur\": -2, \"args\": {\"device\": 0, \"stream\": 7}")])).unwrap();
    assert_eq!(run.rows("kernels", "dur_ns valid"), ["-2000 false"]);
}

#[test]
fn ids_of_64_bits_and_doubled_ids_are_told_apart() {
    let kernel = |corr: &str, ts: u32| {
        format!(
            "{{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\", \"pid\": 0, \"tid\": 7, \"ts\": {ts}, \"dur\": 1, \"args\": {{\"correlation\": {corr}}}}}"
        )
    };
    let call = |pid: u32, corr: &str| {
        format!(
            "{{\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernel\", \"pid\": \"{pid}\", \"tid\": 18446744073709551615, \"ts\": 1, \"dur\": 1, \"args\": {{\"correlation\": {corr}}}}}"
        )
    };
    let run = import(trace(&[
        call(1, "\"18446744073709551614\""),
        kernel("18446744073709551614", 5),
        kernel("\"18446744073709551614\"", 7),
        call(1, "4"),
        call(2, "4"),
        kernel("4", 9),
    ]))
    .unwrap();
    // Both kernels of a graph launch; none where two processes use the number.
    assert_eq!(run.rows("edges", "kind").len(), 2);
    assert!(
        run.notes
            .warnings
            .iter()
            .any(|text| text.contains("several processes"))
    );
    assert_eq!(run.rows("threads", "os_id")[0], "18446744073709551615");
}

#[test]
fn damage_is_placed_and_what_stands_before_can_be_kept() {
    let good = trace(&kineto());
    let cut = &good[..good.rfind("lost").unwrap()];
    let broken = good.replace("\"name\": \"lost\"", "\"name\" \"lost\"");
    for (content, word) in [(cut, "truncated"), (broken.as_str(), "expected ':'")] {
        let error = import(content).err().unwrap();
        assert!(
            error.contains(word) && error.contains("at byte") && error.contains("--partial"),
            "{error}"
        );
        let run = partial(content).unwrap();
        assert_eq!(run.rows("kernels", "name"), ["gemm"]);
        assert_eq!(run.run.problems.len(), 1);
        assert!(
            run.run.problems[0].contains("up to byte"),
            "{:?}",
            run.run.problems
        );
    }
    // The same inside gzip, and a damaged stream.
    let packed = gzip(good.as_bytes());
    assert!(
        import(&packed[..packed.len() - 12])
            .err()
            .unwrap()
            .contains("unpacked")
    );
    let mut damaged = packed.clone();
    let middle = damaged.len() / 2;
    damaged[middle] ^= 0x55;
    assert!(import(&damaged).is_err());
    // Behind the end.
    assert!(import(format!("{good} x")).is_err());
    assert!(
        import(good.replace("]}", ",]}")).is_ok(),
        "a comma before the bracket"
    );
}

#[test]
fn what_is_no_trace_is_refused_with_what_was_found() {
    for (content, word) in [
        ("", "found the end"),
        ("   ", "found the end"),
        ("nonsense", "expected an object"),
        ("{}", "empty object"),
        ("{\"spans\": [], \"projectId\": 3}", "spans, projectId"),
        ("[{\"a\": 1}]", "no ph"),
        (
            "{\"cpu\": 1}\n{\"cpu\": 2}\n",
            "JSON lines, as in a log, the first with cpu",
        ),
    ] {
        for run in [import(content), partial(content)] {
            let error = run.err().unwrap();
            assert!(error.contains(word), "{content}: {error}");
        }
    }
    assert!(import("[]").unwrap().rows("bricks", "id").is_empty());
}

#[test]
fn nesting_and_length_have_limits() {
    let deep = format!("[{}", "[".repeat(100_000));
    assert!(import(deep).err().unwrap().contains("nest deeper"));
    let long = "n".repeat(1 << 20);
    let run = import(trace(&[
        slice(&long, "cpu_op", "0", "1", ""),
        slice(
            "x",
            "cpu_op",
            "0",
            "1",
            &format!(", \"args\": {{\"s\": \"{long}\"}}"),
        ),
    ]))
    .unwrap();
    assert_eq!(run.rows("bricks", "name")[0].len(), 1 << 14);
    assert!(
        run.notes
            .warnings
            .iter()
            .any(|text| text.contains("very long"))
    );
    assert!(import(trace(&[event(&format!("\"ts\": {}", "9".repeat(1 << 16)))])).is_err());
}

#[test]
fn a_file_that_grows_too_much_is_refused_and_may_be_allowed() {
    let bomb = gzip(format!("[{}]", " ".repeat(80 << 20)).as_bytes());
    let error = import(&bomb).err().unwrap();
    assert!(error.contains("--max-ratio"), "{error}");
    assert!(
        super::import_with(
            &bomb,
            crate::Options {
                max_ratio: 5_000,
                ..Default::default()
            }
        )
        .is_ok()
    );
}

#[test]
fn escapes_and_odd_texts_become_names() {
    let run = import(trace(&[
        slice(r"a\u00e9\ud83d\ude00\n\/", "cpu_op", "0", "1", ""),
        slice(r"half \ud83d half", "cpu_op", "2", "1", ""),
        slice(
            "tab\there",
            "cpu_op",
            "4",
            "1",
            ", \"args\": {\"bw\": inf, \"x\": NaN, \"y\": -Infinity}",
        ),
    ]))
    .unwrap();
    assert_eq!(
        run.rows("bricks", "name"),
        ["aé😀\n/", "half \u{fffd} half", "tab\there"]
    );
    // What JSON has no escape for is read as it stands.
    let run = import(trace(&[slice(r"\q\n", "cpu_op", "0", "1", "")])).unwrap();
    assert_eq!(run.rows("bricks", "name"), [r"\q\n"]);
    assert!(run.notes.warnings[0].contains("1 text has unescaped backslashes"));
}

/// As dftracer writes them: one event a line, numbers as texts.
#[test]
fn events_need_no_commas_between_them() {
    let event = |name: &str, ts: u32| {
        format!(
            "{{\"name\":\"{name}\",\"cat\":\"POSIX\",\"pid\":\"7\",\"tid\":\"8\",\"ts\":\"{ts}\",\"dur\":\"5\",\"ph\":\"X\"}}"
        )
    };
    for end in ["", "\n]", "\n]\n"] {
        let text = format!("[\n {}\n{}{end}", event("open", 10), event("read", 20));
        let run = import(text).unwrap();
        assert_eq!(
            run.rows("bricks", "name start_ns dur_ns"),
            ["open 0 5000", "read 10000 5000"]
        );
    }
    let refused = import("[[1, 2, 3], [[4, 5, 6]]]").err().unwrap();
    assert!(refused.to_string().contains("not objects"), "{refused}");
}

#[test]
fn requests_that_are_named_by_their_number_are_of_their_category() {
    let request = |cat: &str, name: &str, id: &str| {
        ["b", "e"].map(|ph| {
            format!(
                r#"{{"ph": "{ph}", "cat": "{cat}", "name": "{name}", "id": "{id}", "pid": 1, "ts": 1}}"#
            )
        })
    };
    let events = [
        request("resnet50", "1", "1"),
        request("resnet50", "2", "2"),
        request("resnet50", "17", "3"),
        request("", "4", "4"),
        request("x", "infer", "infer"),
    ];
    let run = import(trace(&events.concat())).unwrap();
    let mut names = run.rows("bricks", "name");
    names.sort();
    assert_eq!(names, ["17", "4", "infer", "resnet50", "resnet50"]);
}

#[test]
fn a_grid_of_zeros_is_not_known() {
    let kernel = |args: &str| {
        format!(
            r#"{{"ph": "X", "cat": "kernel", "name": "attn", "pid": 0, "tid": 7, "ts": 1, "dur": 1, "args": {{"device": 0, "stream": 7, {args}}}}}"#
        )
    };
    let run = import(trace(&[
        kernel(r#""grid": [0, 0, 0], "block": [0, 0, 0]"#),
        kernel(r#""grid": [2, 1, 1], "block": [64, 1, 1]"#),
    ]))
    .unwrap();
    let mut sizes = run.rows("kernels", "grid_x block_x");
    sizes.sort();
    assert_eq!(sizes, ["- -", "2 64"]);
}

#[test]
fn events_of_one_line_each_need_no_array() {
    let lines = [
        r#"{"ph": "M", "name": "process_name", "pid": 7, "args": {"name": "trainer"}}"#.to_owned(),
        slice("open", "posix", "5", "10", ""),
        slice("read", "posix", "20", "10", ""),
    ];
    for ending in ["\n", ""] {
        let run = import(lines.join("\n") + ending).unwrap();
        assert_eq!(run.rows("bricks", "name"), ["open", "read"]);
        assert!(!run.warns("no end"), "{:?}", run.notes.warnings);
    }
    // The last line may be cut.
    let whole = lines.join("\n") + "\n";
    let cut = import(format!("{whole}{{\"ph\": \"X\""));
    let place = format!("byte {}", whole.len() + 10);
    assert!(cut.is_err_and(|error| error.contains("truncated") && error.contains(&place)));
}
