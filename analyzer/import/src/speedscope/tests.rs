use super::IMPORTER;
use crate::read_back::{Imported, of_bytes, partial, recognises};
use crate::{Error, Options};

const DOCUMENT: &str = r#"{
  "$schema": "https://www.speedscope.app/file-format-schema.json",
  "exporter": "py-spy@0.3.14",
  "profiles": [
    {"type": "sampled", "name": "Thread 7", "unit": "milliseconds", "startValue": 100, "endValue": 114,
     "samples": [[0, 1], [0, 1], [0, 2], []], "weights": [1, 1, 4, 8]},
    {"endValue": 114, "events": [
        {"at": 101, "frame": 0, "type": "O"}, {"at": 102, "frame": 1, "type": "O"},
        {"at": 104.5, "frame": 1, "type": "C"}, {"at": 110, "frame": 0, "type": "C"}],
     "name": "main", "startValue": 100, "type": "evented", "unit": "milliseconds"}
  ],
  "shared": {"frames": [{"name": "main", "file": "a.py", "line": 3, "col": 1}, {"name": "mm", "line": -1}, {"name": "add"}]}
}"#;

fn read(text: &str, options: &Options) -> Result<Imported, Error> {
    of_bytes(&IMPORTER, text, options)
}

#[test]
fn samples_and_functions_become_rows() {
    assert!(recognises(&IMPORTER, DOCUMENT.as_bytes()));
    let run = read(DOCUMENT, &Options::default()).unwrap();
    let columns = "time_ns thread stack event period";
    assert_eq!(
        run.rows("samples", columns),
        [
            "0 0 2 time 1000000",
            "1000000 0 2 time 1000000",
            "2000000 0 3 time 4000000",
            "6000000 0 - time 8000000"
        ]
    );
    let columns = "id caller function file line";
    assert_eq!(
        run.rows("stacks", columns),
        ["1 - main a.py 3", "2 1 mm - -", "3 1 add - -"]
    );
    let columns = "id parent kind name thread start_ns dur_ns";
    assert_eq!(
        run.rows("bricks", columns),
        [
            "2 1 function mm 1 2000000 2500000",
            "1 - function main 1 1000000 9000000"
        ]
    );
    assert_eq!(run.rows("threads", "name"), ["Thread 7", "main"]);
    assert_eq!(run.wall_ns, Some(14_000_000));
    assert!(run.warns("stand for different amounts"));
}

#[test]
fn functions_of_one_name_in_several_files_are_told_apart() {
    let named = DOCUMENT
        .replace(
            "{\"name\": \"mm\", \"line\": -1}",
            "{\"name\": \"main\", \"file\": \"lib/b.py\", \"line\": 7}",
        )
        .replace(
            "{\"name\": \"add\"}",
            "{\"name\": \"main\", \"file\": \"lib/b.py\", \"line\": 9}",
        );
    let run = read(&named, &Options::default()).unwrap();
    // The line of a sample is the one that ran: both are one function.
    assert_eq!(
        run.rows("stacks", "function file line"),
        [
            "main (a.py) a.py 3",
            "main (b.py) lib/b.py 7",
            "main (b.py) lib/b.py 9"
        ]
    );
    let evented = named.replace("\"sampled\"", "\"evented\"");
    let run = read(&evented, &Options::default()).unwrap();
    assert_eq!(
        run.rows("bricks", "name file line"),
        ["main (b.py:7) lib/b.py 7", "main (a.py:3) a.py 3"]
    );
}

#[test]
fn samples_that_count_bytes_have_no_times_and_the_run_says_so() {
    let run = read(
        &DOCUMENT.replace(
            "\"unit\": \"milliseconds\", \"startValue\": 100",
            "\"unit\": \"bytes\", \"startValue\": 0",
        ),
        &Options::default(),
    )
    .unwrap();
    assert_eq!(run.rows("samples", "time_ns event period")[2], "0 bytes 4");
    assert_eq!(run.run.problems.len(), 1);
}

#[test]
fn events_without_their_other_end_are_counted() {
    let odd = DOCUMENT.replace(
        "{\"at\": 104.5, \"frame\": 1, \"type\": \"C\"}",
        "{\"at\": 104.5, \"frame\": 2, \"type\": \"C\"}",
    );
    let run = read(&odd, &Options::default()).unwrap();
    assert_eq!(run.rows("bricks", "name dur_ns"), ["main 9000000"]);
    let counts = [
        "end of a function that was not entered",
        "function without an end",
    ]
    .map(|reason| run.notes.left_out[reason]);
    assert_eq!(counts, [1, 1]);
}

#[test]
fn cut_and_odd_documents_are_errors_or_read_in_part() {
    let cut = &DOCUMENT[..DOCUMENT.find("\"name\": \"main\", \"startValue\"").unwrap()];
    let refused = read(cut, &Options::default()).err().unwrap().to_string();
    assert!(refused.contains("line 10, column 5"), "{refused}");
    let partial = partial();
    let run = read(cut, &partial).unwrap();
    assert_eq!(run.rows("samples", "time_ns").len(), 4);
    assert!(run.warns("names are not known"));
    for end in (0..DOCUMENT.len()).step_by(31) {
        let _ = read(&DOCUMENT[..end], &partial);
    }
    let no_time = DOCUMENT
        .replace("milliseconds", "none")
        .replace("\"sampled\"", "\"evented\"");
    let refused = read(&no_time, &Options::default()).err().unwrap();
    assert!(refused.to_string().contains("unit of time"), "{refused}");
    let none = read("{\"exporter\": \"speedscope@1\"}", &Options::default());
    assert!(none.err().unwrap().to_string().contains("found none"));
}

#[test]
fn a_profile_with_stacks_that_are_none_is_left_out_by_its_name() {
    let nested = DOCUMENT.replace(
        "\"profiles\": [",
        r#""profiles": [
    {"type": "sampled", "name": "context switches", "unit": "none", "startValue": 0, "endValue": 2,
     "samples": [[0], [[1, 2]]], "weights": [1, 1]},"#,
    );
    let run = read(&nested, &Options::default()).unwrap();
    assert_eq!(run.rows("threads", "name"), ["Thread 7", "main"]);
    assert_eq!(run.rows("samples", "time_ns").len(), 4);
    assert!(run.warns(
        "1 of 3 profiles are not valid: a stack is a list of numbers of frames, and those of context switches hold a list"
    ));
    let alone = r#"{"exporter": "speedscope@1", "profiles": [
        {"type": "sampled", "name": "", "unit": "none", "samples": [["main"]], "weights": [1]}]}"#;
    let refused = read(alone, &Options::default()).err().unwrap().to_string();
    assert!(
        refused.contains("those of profile 1 hold text"),
        "{refused}"
    );
}
