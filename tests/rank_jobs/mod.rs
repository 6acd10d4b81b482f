//! Jobs of several ranks as a user opens them: a folder of runs whose clocks differ, one path over all.

mod program;

use serde_json::Value;

use crate::harness::{Dir, section};
use program::{GEMM, Job, LATE_GEMM, LOADER, Step};

const STEPS: usize = 6;

/// Four ranks in pairs; rank 2 is late by `late`, in what `what` changes.
pub fn job(what: impl Fn(&mut Step)) -> Job {
    // Some unevenness, the same each time.
    let step = |rank: usize, step: usize| Step {
        input: 400_000 + (rank * 37 + step * 101) as i64 % 90 * 1_000,
        launch: 30_000,
        compute: 3_000_000 + (rank * 53 + step * 29) as i64 % 70 * 1_000,
    };
    let mut steps: Vec<Vec<Step>> = (0..4)
        .map(|rank| (0..STEPS).map(|at| step(rank, at)).collect())
        .collect();
    steps[2].iter_mut().for_each(what);
    Job {
        steps,
        group: 2,
        transfer: 60_000,
        clocks: vec![(0, 0), (4_000_000, 12), (-3_000_000, -9), (1_500_000, 20)],
        is_old: false,
    }
}

fn rows<'a>(report: &'a Value, plugin: &str, name: &str) -> Vec<Vec<(&'a str, &'a Value)>> {
    let tables = section(report, plugin)["tables"].as_array().unwrap();
    let table = tables.iter().find(|table| table["name"] == name);
    let table = table.unwrap_or_else(|| panic!("{plugin} has no table {name}"));
    let columns: Vec<&str> = table["columns"]
        .as_array()
        .unwrap()
        .iter()
        .map(|column| column["name"].as_str().unwrap())
        .collect();
    let rows = table["rows"].as_array().unwrap().iter();
    rows.map(|row| {
        columns
            .iter()
            .copied()
            .zip(row.as_array().unwrap())
            .collect()
    })
    .collect()
}

fn get<'a>(row: &[(&str, &'a Value)], column: &str) -> &'a Value {
    row.iter().find(|(name, _)| *name == column).unwrap().1
}

fn report(dir: &Dir, args: &[&str]) -> Value {
    let args = [args, &["--json", "-"]].concat();
    dir.report(&dir.join("job"), &args).exits(0).json()
}

#[test]
fn the_late_rank_and_its_reason_are_named() {
    for (what, cause, name) in [
        (
            (|step: &mut Step| step.compute += 2_000_000) as fn(&mut Step),
            "compute",
            LATE_GEMM,
        ),
        (|step: &mut Step| step.input += 2_000_000, "input", LOADER),
        (
            |step: &mut Step| step.launch += 2_000_000,
            "launch",
            "cudaLaunchKernel",
        ),
    ] {
        let dir = Dir::new();
        job(what).run(Some(&dir.join("job")));
        let report = report(&dir, &[]);
        let causes = rows(&report, "lateness", "causes");
        assert_eq!(get(&causes[0], "rank"), 2, "{causes:?}");
        assert_eq!(get(&causes[0], "cause"), cause, "{causes:?}");
        assert_eq!(get(&causes[0], "name"), name, "{causes:?}");
        let found = rows(&report, "bottleneck", "bottlenecks");
        let late = found.iter().find(|row| get(row, "code") == "late_ranks");
        let late = late.expect("ranks that wait are a bottleneck");
        assert_eq!(get(late, "scope"), "rank 2");
        for row in rows(&report, "collectives", "by_rank") {
            let rank = get(&row, "rank").as_u64().unwrap() as usize;
            let offset_ns = get(&row, "clock_offset_ns").as_i64().unwrap();
            let true_ns = [0, 4_000_000, -3_000_000, 1_500_000][rank];
            let uncertainty_ns = get(&row, "clock_uncertainty_ns").as_i64().unwrap();
            // Drift adds a little until the middle of the job.
            assert!(
                (offset_ns - true_ns).abs() <= uncertainty_ns + 1_000,
                "{row:?}"
            );
        }
    }
}

/// Nothing states which calls are one, and the recording of a rank begins later than the others.
#[test]
fn the_late_rank_of_old_traces_is_named() {
    let dir = Dir::new();
    let mut job = job(|step| step.input += 2_000_000);
    job.is_old = true;
    job.clocks = vec![(0, 0), (200_000, 12), (-150_000, -9), (90_000, 20)];
    job.run(Some(&dir.join("job")));
    let report = report(&dir, &[]);
    let causes = rows(&report, "lateness", "causes");
    assert_eq!(get(&causes[0], "rank"), 2, "{causes:?}");
    assert_eq!(get(&causes[0], "cause"), "input", "{causes:?}");
    // Those of all ranks: the first two steps are not on all of them, but pairs of others have theirs.
    let instances = rows(&report, "collectives", "instances");
    let of = |ranks: u64| {
        instances
            .iter()
            .filter(move |row| *get(row, "ranks") == ranks)
    };
    assert_eq!(of(4).count(), STEPS - 2, "{instances:?}");
    assert!(of(2).count() >= STEPS, "{instances:?}");
    assert!(instances.iter().all(|row| *get(row, "inferred") == true));
    let found = rows(&report, "bottleneck", "bottlenecks");
    let late = found.iter().find(|row| get(row, "code") == "late_ranks");
    assert_eq!(get(late.expect("ranks wait"), "scope"), "rank 2");
}

/// The path goes where the time is: to the late rank.
#[test]
fn the_path_goes_over_the_late_rank_and_adds_up() {
    let dir = Dir::new();
    let job = job(|step| step.compute += 2_000_000);
    let true_ns = job.run(Some(&dir.join("job")));
    let report = report(&dir, &["--plugin-id", "critical_path"]);
    let path = rows(&report, "critical_path", "path");
    let sum = |of: &dyn Fn(&str) -> bool| -> i64 {
        let own = path
            .iter()
            .filter(|row| of(get(row, "lane").as_str().unwrap_or("")));
        own.map(|row| get(row, "dur_ns").as_i64().unwrap()).sum()
    };
    let all_ns = sum(&|_| true);
    // Pieces follow one another without a gap, and add up to the window of the one timeline.
    let mut at = None;
    for row in &path {
        let start_ns = get(row, "start_ns").as_i64().unwrap();
        assert!(at.is_none_or(|at| at == start_ns), "{row:?}");
        at = Some(start_ns + get(row, "dur_ns").as_i64().unwrap());
    }
    assert!(
        (all_ns - true_ns - 10_000_000).abs() < 6_000_000,
        "{all_ns} {true_ns}"
    );
    let late_ns = sum(&|lane| lane.starts_with("rank 2"));
    assert!(late_ns * 10 > true_ns * 9, "{late_ns} of {true_ns}");
}

/// Predictions hold across ranks: the job itself, run again with that change, takes as long as was predicted.
#[test]
fn a_change_of_one_rank_is_predicted_for_all() {
    let late = |step: &mut Step| step.compute += 2_000_000;
    let before = job(late);
    let dir = Dir::new();
    let before_ns = before.run(Some(&dir.join("job")));
    for (target, factor) in [
        (LATE_GEMM, 0.5),
        (LATE_GEMM, 0.8),
        (GEMM, 0.5),
        (LOADER, 0.2),
    ] {
        let mut after = before.clone();
        for rank in 0..4 {
            let is_late = before.is_late(rank);
            for step in &mut after.steps[rank] {
                let part = match target {
                    LOADER => &mut step.input,
                    _ if is_late == (target == LATE_GEMM) => &mut step.compute,
                    _ => continue,
                };
                *part = (*part as f64 * factor).round() as i64;
            }
        }
        let saved_ns = before_ns - after.run(None);
        let rule = format!("{target}={factor}");
        let report = report(&dir, &["--plugin-id", "critical_path", "--what-if", &rule]);
        let found = rows(&report, "critical_path", "what_if");
        let gain_ns = get(&found[0], "gain_ns").as_i64().unwrap();
        let error_ns = (gain_ns - saved_ns).abs();
        assert!(
            error_ns * 50 <= before_ns,
            "{rule}: {gain_ns} predicted, {saved_ns} true"
        );
    }
}
