use super::IMPORTER;
use crate::read_back::{Imported, of_bytes, partial, recognises};
use crate::{Error, Options};

/// Version 41: each thread has its own tables.
const OWN: &str = r#"{"meta": {"interval": 1, "startTime": 1000.5, "preprocessedProfileVersion": 41, "symbolicated": true},
  "libs": [{"name": "app", "path": "/bin/app"}],
  "threads": [{"name": "main", "pid": 7, "tid": 8,
    "samples": {"length": 3, "stack": [1, 0, null], "time": [10.0, 11.5, 12.0], "weight": null, "weightType": "samples"},
    "stackTable": {"length": 2, "prefix": [null, 0], "frame": [0, 1]},
    "frameTable": {"length": 2, "address": [16, 32], "func": [0, 1], "line": [null, 5], "inlineDepth": [0, 1]},
    "funcTable": {"length": 2, "name": [0, 1], "resource": [0, -1], "fileName": [null, 2], "lineNumber": [null, null]},
    "resourceTable": {"length": 1, "lib": [0]}, "markers": {"length": 2}, "stringArray": ["main", "inner", "a.c"]}]}"#;

/// Version 66: threads share their tables.
const SHARED: &str = r#"{"meta": {"interval": 1, "preprocessedProfileVersion": 66, "symbolicated": false},
  "libs": [{"name": "app", "path": "/bin/app"}],
  "shared": {
    "stackTable": {"length": 2, "prefix": [null, 0], "frame": [0, 1]},
    "frameTable": {"length": 2, "address": [16, 32], "func": [0, 1], "line": [null, null], "inlineDepth": [0, 0]},
    "funcTable": {"length": 2, "name": [0, 1], "resource": [0, 0], "source": [null, 0]},
    "resourceTable": {"length": 1, "lib": [0]}, "sources": {"filename": [2]}, "stringArray": ["0x10", "0x20", "a.c"]},
  "threads": [
    {"name": "a", "pid": "7", "tid": "7", "samples": {"stack": [1], "timeDeltas": [5], "weight": [2], "weightType": "samples"}},
    {"name": "b", "pid": "7", "tid": "7.1", "samples": {"stack": [0, 1], "timeDeltas": [4, 3], "weight": [1, 1], "weightType": "samples"}}]}"#;

fn read(text: &str, options: &Options) -> Result<Imported, Error> {
    of_bytes(&IMPORTER, text, options)
}

#[test]
fn samples_and_stacks_of_a_thread_with_its_own_tables_become_rows() {
    assert!(recognises(&IMPORTER, OWN.as_bytes()));
    let run = read(OWN, &Options::default()).unwrap();
    assert_eq!(
        run.rows("samples", "time_ns thread stack event period"),
        [
            "0 0 2 samples -",
            "1500000 0 1 samples -",
            "2000000 0 - samples -"
        ]
    );
    let columns = "id caller function module file line inlined";
    assert_eq!(
        run.rows("stacks", columns),
        ["1 - main /bin/app - - false", "2 1 inner - a.c 5 true"]
    );
    assert_eq!(run.rows("threads", "name process os_id"), ["main 7 8"]);
    assert_eq!(run.wall_ns, Some(2_000_000));
    assert_eq!(run.run.clock.origin_realtime_ns, 1_010_500_000);
    assert_eq!(run.notes.left_out["marker: has no place in a run"], 2);
}

#[test]
fn functions_of_one_name_in_several_files_are_told_apart() {
    let named = OWN
        .replace("\"name\": [0, 1]", "\"name\": [0, 0]")
        .replace("\"fileName\": [null, 2]", "\"fileName\": [1, 2]");
    let run = read(
        &named.replace("\"inner\"", "\"src/b.c\""),
        &Options::default(),
    )
    .unwrap();
    assert_eq!(
        run.rows("stacks", "function file"),
        ["main (b.c) src/b.c", "main (a.c) a.c"]
    );
}

#[test]
fn tables_that_threads_share_are_read_once_and_addresses_are_no_names() {
    let run = read(SHARED, &Options::default()).unwrap();
    // A weight of 2 counts twice.
    assert_eq!(
        run.rows("samples", "time_ns thread stack period"),
        ["1000000 0 2 1", "1000000 0 2 1", "0 1 1 1", "3000000 1 2 1"]
    );
    assert_eq!(
        run.rows("stacks", "caller function address file"),
        ["- - 16 -", "1 - 32 a.c"]
    );
    assert!(run.warns("addresses instead of names"));
    assert_eq!(run.rows("threads", "os_id"), ["7", "-"]);
}

#[test]
fn raw_empty_and_cut_profiles_are_refused_with_the_next_step() {
    let raw = r#"{"meta": {"interval": 1, "processType": 0}, "threads": [{"name": "GeckoMain",
        "samples": {"schema": {"stack": 0, "time": 1}, "data": [[0, 1.0]]},
        "stackTable": {"schema": {"prefix": 0, "frame": 1}, "data": [[null, 0]]}}]}"#;
    assert!(recognises(&IMPORTER, raw.as_bytes()));
    let refused = read(raw, &Options::default()).err().unwrap().to_string();
    assert!(refused.contains("download it from there"), "{refused}");
    let none = OWN.replace("\"time\": [10.0, 11.5, 12.0],", "");
    let refused = read(&none, &Options::default()).err().unwrap().to_string();
    assert!(refused.contains("found none"), "{refused}");
    let partial = partial();
    let cut = &SHARED[..SHARED.find("{\"name\": \"b\"").unwrap()];
    assert!(read(cut, &Options::default()).is_err());
    assert_eq!(read(cut, &partial).unwrap().rows("samples", "stack"), ["2"]);
    for text in [OWN, SHARED] {
        for end in (0..text.len()).step_by(37) {
            let _ = read(&text[..end], &partial);
        }
    }
}

#[test]
fn numbers_that_point_nowhere_are_nothing() {
    let odd = OWN
        .replace("\"stack\": [1, 0, null]", "\"stack\": [9, 0, null]")
        .replace("\"prefix\": [null, 0]", "\"prefix\": [1, 7]")
        .replace("\"func\": [0, 1]", "\"func\": [8, -1]");
    let run = read(&odd, &Options::default()).unwrap();
    assert_eq!(run.rows("samples", "stack"), ["-", "1", "-"]);
    assert_eq!(
        run.notes.left_out["caller that the profile does not list: null"],
        2
    );
}

/// A program of two functions in step with the interval of the profile.
#[test]
fn functions_keep_their_shares_of_cpu_time() {
    let list = |of: &dyn Fn(usize) -> String| -> String {
        let all: Vec<String> = (0..1_000).map(of).collect();
        format!("[{}]", all.join(", "))
    };
    let samples = format!(
        r#""samples": {{"length": 1000, "stack": {}, "time": {}, "threadCPUDelta": {}}},"#,
        list(&|at| (at % 2).to_string()),
        list(&|at| at.to_string()),
        list(&|at| [400, 600][at % 2].to_string())
    );
    let from = OWN.find("\"samples\"").unwrap();
    let until = OWN.find("\"stackTable\"").unwrap();
    let profile = [&OWN[..from], &samples, &OWN[until..]].concat();
    let run = read(&profile, &Options::default()).unwrap();
    let stacks = run.rows("samples", "stack");
    assert!((499..=501).contains(&stacks.len()), "{}", stacks.len());
    let first = stacks.iter().filter(|stack| **stack == "1").count();
    // 40 % of them, within four standard deviations of independent samples.
    assert!((156..=244).contains(&first), "{first}");
}

/// Weights are of one thread; another has none. A weight of 0 is no sample.
#[test]
fn weights_of_one_type_do_not_count_for_another() {
    let thread = |weights: &str| {
        let from = OWN.find("\"samples\"").unwrap();
        let until = OWN.find("\"stackTable\"").unwrap();
        let samples = format!(
            r#""samples": {{"length": 4, "stack": [0, 1, 0, 1], "time": [0, 1, 2, 3], {weights}}},"#
        );
        [&OWN[..from], &samples, &OWN[until..]].concat()
    };
    let count = |weights: &str| {
        let run = read(&thread(weights), &Options::default()).unwrap();
        let stacks = run.rows("samples", "stack");
        ["1", "2"].map(|of| stacks.iter().filter(|stack| **stack == of).count())
    };
    assert_eq!(count(r#""weight": null"#), [2, 2]);
    assert_eq!(count(r#""weight": [1, 0, 1, 0]"#), [2, 0]);
    assert_eq!(count(r#""weight": [2, 1, 2, null]"#), [4, 2]);
    // Durations are no numbers of samples: as many rows as samples.
    let [a, b] = count(r#""weight": [3, 1, 3, 1], "weightType": "tracing-ms""#);
    assert_eq!(a + b, 4);
}

/// The thread ran for 1 ms before the second sample and for 2 ms before the last two together, and slept for 7 ms.
#[test]
fn samples_count_by_the_cpu_time_of_their_thread_and_sleep_is_a_wait() {
    let samples = r#""samples": {"length": 5, "stack": [0, 1, 1, 0, 1], "time": [0, 1, 8, 9, 11],
        "weight": [1, 1, 7, 1, 2], "weightType": "samples", "threadCPUDelta": [null, 1000, 0, 400, 1600]},"#;
    let from = OWN.find("\"samples\"").unwrap();
    let until = OWN.find("\"stackTable\"").unwrap();
    let profile = [&OWN[..from], samples, &OWN[until..]].concat();
    let run = read(&profile, &Options::default()).unwrap();
    assert_eq!(
        run.rows("samples", "time_ns stack event period"),
        [
            "1000000 2 task-clock 1000000",
            "11000000 2 task-clock 1000000",
            "11000000 2 task-clock 1000000",
        ]
    );
    assert_eq!(
        run.rows("syncs", "id kind thread start_ns dur_ns stack"),
        ["1 off_cpu 0 1000000 7000000 2"]
    );
    // In nanoseconds.
    let units = r#""sampleUnits": {"threadCPUDelta": "ns"}, "interval": 0.0002,"#;
    let in_ns = profile.replace("\"interval\": 1,", units);
    let run = read(&in_ns, &Options::default()).unwrap();
    let rows = run.rows("samples", "time_ns stack period");
    let count = |of: &str| rows.iter().filter(|row| **row == of).count();
    let expected = [
        ("1000000 2 200", 5),
        ("9000000 1 200", 2),
        ("11000000 2 200", 8),
    ];
    assert_eq!(
        expected.map(|(row, _)| count(row)),
        expected.map(|(_, n)| n)
    );
    assert_eq!(rows.len(), 15);
    // Rows are few, however much time a sample states.
    let much = profile.replace("1600]", "1e17]");
    let rows = read(&much, &Options::default()).unwrap();
    assert!((1..=48).contains(&rows.rows("samples", "stack").len()));
    for absurd in ["1e30]", "1e306]", "1e309]"] {
        let absurd = profile.replace("1600]", absurd);
        let Ok(run) = read(&absurd, &Options::default()) else {
            continue;
        };
        assert!((1..=3).contains(&run.rows("samples", "stack").len()));
    }
    // A number of cycles is no time.
    let units = r#""sampleUnits": {"threadCPUDelta": "variable CPU cycles"}, "interval": 1,"#;
    let in_cycles = profile.replace("\"interval\": 1,", units);
    let run = read(&in_cycles, &Options::default()).unwrap();
    assert_eq!(
        run.rows("samples", "time_ns event period"),
        [
            "1000000 cycles 1000",
            "11000000 cycles 1000",
            "11000000 cycles 1000"
        ]
    );
    // A profile whose threads never ran says nothing of CPU time.
    let none = profile.replace("[null, 1000, 0, 400, 1600]", "[0, 0, 0, 0, 0]");
    let run = read(&none, &Options::default()).unwrap();
    assert_eq!(run.rows("samples", "event").len(), 12);
    assert!(run.rows("syncs", "id").is_empty());
}
