//! First lines of reports: a few runs of the corpus of the plugin, whole.

use std::path::PathBuf;

use serde_json::Value;
use trueno_corpus::{CASES, Make};

use crate::harness::{Dir, section};

fn made(dir: &Dir, name: &str) -> PathBuf {
    let case = CASES
        .iter()
        .find(|case| case.name == name)
        .expect("the corpus has it");
    let run = dir.join(&format!("{name}.run"));
    match case.make {
        Make::Recorded(make) => make(&run),
        Make::Simulated(make) => {
            let trace = format!("{name}.json");
            std::fs::write(dir.join(&trace), make()).expect("the trace is written");
            dir.command(&["import", &trace, "-o", run.to_str().expect("UTF-8")])
                .exits(0);
        }
    }
    run
}

fn rows(report: &Value, table: &str) -> Vec<Value> {
    let tables = section(report, "bottleneck")["tables"]
        .as_array()
        .expect("a list");
    let found = tables
        .iter()
        .find(|one| one["name"] == table)
        .expect("the table is there");
    let names: Vec<&str> = found["columns"]
        .as_array()
        .expect("columns")
        .iter()
        .filter_map(|c| c["name"].as_str())
        .collect();
    let rows = found["rows"].as_array().expect("rows").iter();
    rows.map(|row| {
        names
            .iter()
            .zip(row.as_array().expect("cells"))
            .map(|(name, cell)| ((*name).to_owned(), cell.clone()))
            .collect::<serde_json::Map<_, _>>()
            .into()
    })
    .collect()
}

/// Only the cases with simulated devices. Their times do not depend on the machine's load.
#[test]
fn simulated_runs_are_called_what_they_are() {
    let dir = Dir::new();
    let mut wrong = Vec::new();
    let simulated = CASES
        .iter()
        .filter(|case| matches!(case.make, Make::Simulated(_)));
    let (mut right, mut all) = (0, 0);
    for case in simulated {
        let report = dir
            .report(
                &made(&dir, case.name),
                &["--plugin-id", "bottleneck", "--json", "-"],
            )
            .exits(0)
            .json();
        let said: Vec<String> = rows(&report, "bottlenecks")
            .iter()
            .filter_map(|row| row["class"].as_str().map(str::to_owned))
            .collect();
        let is_right = match (case.truth, case.not) {
            (Some(truth), _) => said.first().is_some_and(|first| first == truth),
            (None, not) => !said.iter().any(|class| Some(class.as_str()) == not),
        };
        all += 1;
        right += usize::from(is_right);
        if !is_right {
            wrong.push(format!(
                "{} ({:?}, not {:?}): {said:?}",
                case.name, case.truth, case.not
            ));
        }
    }
    eprintln!("{right} of {all} right");
    assert!(right * 100 >= all * 95, "{wrong:#?}");
}

#[test]
fn a_hundred_round_trips_are_said_once_and_the_evidence_can_be_asked_for() {
    let dir = Dir::new();
    let run = made(&dir, "hundred_round_trips");
    let report = dir.report(&run, &["--json", "-"]).exits(0).json();
    let found = rows(&report, "bottlenecks");
    let trips: Vec<&Value> = found
        .iter()
        .filter(|row| row["class"] == "redundant_transfers")
        .collect();
    assert_eq!(trips.len(), 1, "{found:#?}");
    let sentence = trips[0]["sentence"].as_str().expect("a sentence");
    assert!(
        sentence.starts_with("100 round trips of 4.0 MB"),
        "{sentence}"
    );
    let sql = trips[0]["evidence"].as_str().expect("a query");
    let shown = dir
        .command(&[
            "query",
            run.to_str().expect("UTF-8"),
            sql,
            "--format",
            "json",
        ])
        .exits(0)
        .json();
    assert_eq!(shown.as_array().map(Vec::len), Some(200));
    assert_eq!(report["top"]["status"], "found");
    assert_eq!(report["top"]["findings"][0]["sentence"], sentence);
    dir.report(&run, &[])
        .exits(0)
        .stdout_has("\nwhat holds it back")
        .stdout_has("1 critical 100 round trips of 4.0 MB");
}

#[test]
fn a_run_without_measurements_gets_no_verdict_but_what_to_record() {
    let dir = Dir::new();
    let run = dir.run();
    let report = dir
        .report(&run, &["--plugin-id", "bottleneck", "--json", "-"])
        .exits(0)
        .json();
    let cannot = rows(&report, "not_measurable");
    for class in ["memory_growth", "recomputation", "fragmented_memory"] {
        let row = cannot
            .iter()
            .find(|row| row["class"] == class)
            .unwrap_or_else(|| panic!("{class} is not in {cannot:#?}"));
        assert!(row["how"].as_str().is_some_and(|how| !how.is_empty()));
    }
    let skipped = dir
        .report(&run, &["--plugin-id", "sanity", "--json", "-"])
        .exits(0)
        .json();
    assert_eq!(skipped["top"]["status"], "not_judged");
}
