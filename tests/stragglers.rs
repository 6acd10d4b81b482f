//! Jobs of a pipeline as a user opens them: one timeline of all ranks, and a page that leads with what slows it down.

use serde_json::Value;
use trueno_analysis::testing::simulated_pipeline::{Pipeline, Planted, Schedule};

use crate::harness::{Dir, section};

fn job(planted: Planted) -> Pipeline {
    Pipeline {
        data: 2,
        tensor: 1,
        stages: 3,
        micro_batches: 6,
        steps: 8,
        schedule: Schedule::OneForwardOneBackward,
        ranks_of_host: 8,
        planted,
        is_stated: true,
        noise: 0.01,
        seed: 7,
    }
}

fn report(dir: &Dir, job: &Pipeline) -> Value {
    let file = dir.join("timeline.json");
    std::fs::write(&file, job.timeline()).unwrap();
    let run = dir.join("job");
    let files = [&file, &run].map(|path| path.to_str().unwrap().to_owned());
    dir.command(&["import", &files[0], "--output", &files[1], "--overwrite"])
        .exits(0);
    dir.report(&run, &["--json", "-"]).exits(0).json()
}

fn rows<'a>(report: &'a Value, plugin: &str, name: &str) -> &'a Vec<Value> {
    let tables = section(report, plugin)["tables"].as_array().unwrap();
    let table = tables.iter().find(|table| table["name"] == name).unwrap();
    table["rows"].as_array().unwrap()
}

/// The first line of the page, and what it says holds the job back.
fn first(report: &Value) -> (String, String) {
    let headline = report["headline"].as_str().unwrap().to_owned();
    let top = rows(report, "bottleneck", "top").first();
    (headline, top.map_or(String::new(), Value::to_string))
}

#[test]
fn a_long_stage_is_named_and_no_rank() {
    let dir = Dir::new();
    let report = report(&dir, &job(Planted::Stage(2, 1.5)));
    let (headline, top) = first(&report);
    assert!(headline.contains("balancing the layers"), "{headline}");
    assert!(top.contains("stage 2 (the last) computes 1.5"), "{top}");
    let all = rows(&report, "bottleneck", "top");
    assert!(
        all.iter().all(|row| !row.to_string().contains("rank 5")),
        "{all:?}"
    );
}

#[test]
fn a_slow_rank_is_named_within_its_stage() {
    let dir = Dir::new();
    let report = report(&dir, &job(Planted::Rank(3, 1.3)));
    let (headline, top) = first(&report);
    assert!(headline.contains("a rank like its peers"), "{headline}");
    assert!(
        top.contains("rank 3 computes 1.30 × as long as the other ranks of its stage"),
        "{top}"
    );
}

#[test]
fn a_pipeline_of_equal_ranks_has_a_bubble_and_no_culprit() {
    let dir = Dir::new();
    let report = report(&dir, &job(Planted::Nothing));
    let (headline, _) = first(&report);
    assert!(!headline.contains("rank like"), "{headline}");
    let top = rows(&report, "bottleneck", "top");
    assert!(
        top.iter().all(|row| !row.to_string().contains("rank")),
        "{top:?}"
    );
    let findings = section(&report, "stragglers")["findings"]
        .as_array()
        .unwrap();
    assert!(
        findings.iter().any(|finding| finding["code"] == "bubble"),
        "{findings:#?}"
    );
}

#[test]
fn a_recording_that_ends_half_way_is_said_first() {
    let dir = Dir::new();
    let report = report(&dir, &job(Planted::Cut(1)));
    let causes = rows(&report, "stragglers", "causes");
    assert!(
        causes[0]
            .to_string()
            .contains("the recording of rank 1 ends"),
        "{causes:?}"
    );
}
