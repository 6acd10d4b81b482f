use super::IMPORTER;
use crate::read_back::{Imported, of_bytes, partial, recognises};
use crate::{Error, Options};

/// As written by `printPerformanceProfile` and `exportJSONTrace` of `sampleReporting.cpp`.
const TIMES: &str = "[
  { \"startEnqMs\" : 1, \"endEnqMs\" : 1.25, \"startH2dMs\" : 1.1, \"endH2dMs\" : 1.3, \"startComputeMs\" : 1.3, \"endComputeMs\" : 3.3, \"startD2hMs\" : 3.3, \"endD2hMs\" : 3.4, \"h2dMs\" : 0.2, \"computeMs\" : 2, \"d2hMs\" : 0.1, \"latencyMs\" : 2.3 }
, { \"startEnqMs\" : 1.25, \"endEnqMs\" : 1.5, \"startH2dMs\" : 0, \"endH2dMs\" : 0, \"startComputeMs\" : 2.3, \"endComputeMs\" : 4.3, \"startD2hMs\" : 0, \"endD2hMs\" : 0, \"h2dMs\" : 0, \"computeMs\" : 2, \"d2hMs\" : 0, \"latencyMs\" : 2 }
]
";

const SUMS: &str = "[
  { \"count\" : 100 }
, { \"name\" : \"conv1\", \"timeMs\" : 12.5, \"averageMs\" : 0.125, \"medianMs\" : 0.124, \"percentage\" : 62.5 }
, { \"name\" : \"fc\", \"timeMs\" : 7.5, \"averageMs\" : 0.075, \"medianMs\" : 0.07, \"percentage\" : 37.5 }
]
";

fn read(text: &str, options: &Options) -> Result<Imported, Error> {
    of_bytes(&IMPORTER, text, options)
}

#[test]
fn inferences_become_work_and_those_that_overlap_stand_on_other_streams() {
    assert!(recognises(&IMPORTER, TIMES.as_bytes()));
    let run = read(TIMES, &Options::default()).unwrap();
    assert_eq!(
        run.rows("kernels", "name device stream start_ns dur_ns"),
        [
            "inference 0 1 300000 2000000",
            "inference 0 4 1300000 2000000"
        ]
    );
    assert_eq!(
        run.rows("transfers", "direction stream bytes dur_ns"),
        ["h2d 0 - 200000", "d2h 2 - 100000"]
    );
    assert_eq!(
        run.rows("calls", "name dur_ns"),
        ["enqueue 250000", "enqueue 250000"]
    );
    assert!(run.warns("begin apart"));
}

#[test]
fn older_names_of_copies_are_read() {
    let old = TIMES.replace("H2d", "In").replace("D2h", "Out");
    let run = read(&old, &Options::default()).unwrap();
    assert_eq!(run.rows("transfers", "direction"), ["h2d", "d2h"]);
}

#[test]
fn sums_of_layers_become_counters_and_the_run_has_no_length() {
    assert!(recognises(&IMPORTER, SUMS.as_bytes()));
    let run = read(SUMS, &Options::default()).unwrap();
    assert_eq!(
        run.rows("counters", "value unit name"),
        [
            "12500000 ns sum: conv1 total",
            "124000 ns sum: conv1 median",
            "100 calls sum: conv1 calls",
            "7500000 ns sum: fc total",
            "70000 ns sum: fc median",
            "100 calls sum: fc calls"
        ]
    );
    assert_eq!((run.wall_ns, run.run.problems.len()), (None, 1));
}

#[test]
fn cut_and_empty_files_are_refused_or_read_in_part() {
    let partial = partial();
    for (text, table) in [(TIMES, "kernels"), (SUMS, "counters")] {
        let cut = &text[..text.rfind(", {").unwrap()];
        assert!(read(cut, &Options::default()).is_err());
        assert!(!read(cut, &partial).unwrap().rows(table, "name").is_empty());
        for end in (0..text.len()).step_by(29) {
            let _ = read(&text[..end], &partial);
        }
    }
    let none = read("[{\"count\": 1}]", &Options::default());
    let none = none.err().unwrap().to_string();
    assert!(none.contains("--exportTimes"), "{none}");
}

#[test]
fn two_exports_in_one_file_are_refused_with_the_way_out() {
    let error = read(&format!("{TIMES}{TIMES}"), &Options::default())
        .err()
        .unwrap();
    let text = error.to_string();
    assert!(text.contains("another document begins there"), "{text}");
    let run = read(&format!("{TIMES}{TIMES}"), &partial()).unwrap();
    assert_eq!(run.rows("kernels", "name").len(), 2);
}
