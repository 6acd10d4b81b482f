//! Jobs of several ranks as a user opens them: a folder of runs whose clocks differ, one path over all.

mod program;

use serde_json::Value;

use crate::harness::{Dir, section};
use program::{GEMM, Job, LATE_GEMM, LOADER, Step};

const STEPS: usize = 6;

/// Four ranks in pairs. Rank 2 is late because of what `what` changes.
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
        let late = found.iter().find(|row| get(row, "scope") == "rank 2");
        let late = late.expect("a rank that others wait for is a bottleneck");
        let sentence = get(late, "sentence").as_str().unwrap();
        let words = if cause == "compute" {
            "computes".to_owned()
        } else {
            format!("longer on {cause}")
        };
        assert!(sentence.contains(&words), "{sentence}");
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

/// With a window, plugins that need the rows of all ranks at once only need those in the window.
#[test]
fn a_part_of_a_large_job_has_its_path_and_its_bottlenecks() {
    let dir = Dir::new();
    job(|step| step.compute += 2_000_000).run(Some(&dir.join("job")));
    let of_all = ["critical_path", "causality", "bottleneck"];
    let limit = ["--most-rows", "180"];
    // No iterations were recorded, of which one could stand for all.
    let whole = report(&dir, &limit);
    for plugin in of_all {
        let section = section(&whole, plugin);
        assert_eq!(section["status"], "skipped", "{plugin}");
        let why = section["message"].as_str().unwrap();
        assert!(why.contains("hint: --from and --to"), "{plugin}: {why}");
    }
    let window = ["--from", "14ms", "--to", "22ms"];
    let rows_of_all = report(&dir, &window);
    let few_rows = report(&dir, &[&window[..], &limit].concat());
    for plugin in of_all {
        assert_eq!(section(&few_rows, plugin)["status"], "ok", "{plugin}");
        let [few, all] = [&few_rows, &rows_of_all].map(|report| section(report, plugin));
        assert_eq!(few["tables"], all["tables"], "{plugin}");
        // Those count rows around the window, of which there are fewer.
        let findings = |of: &Value| -> Vec<Value> {
            let counts = ["outside_window", "edge_out_of_window"];
            let all = of["findings"].as_array().unwrap().iter();
            let rest = all.filter(|finding| counts.iter().all(|code| finding["code"] != *code));
            rest.cloned().collect()
        };
        assert_eq!(findings(few), findings(all), "{plugin}");
    }
    // Too many even so.
    let none = report(&dir, &[&window[..], &["--most-rows", "20"]].concat());
    let why = section(&none, "critical_path")["message"].as_str().unwrap();
    assert!(why.contains("the window already has"), "{why}");
}

/// Compares two recordings of a job. The second has a late rank and slower transfers.
#[test]
fn a_comparison_of_jobs_names_the_rank_that_holds_others_up() {
    let dir = Dir::new();
    job(|_| {}).run(Some(&dir.join("before")));
    let mut late = job(|step| step.compute += 2_000_000);
    late.transfer *= 2;
    late.run(Some(&dir.join("after")));
    let sides = [dir.join("before"), dir.join("after")];
    let [before, after] = sides.each_ref().map(|path| path.to_str().unwrap());
    let args = [
        "compare",
        before,
        after,
        "--format",
        "json",
        "--operators",
        "never",
    ];
    let compared = dir.command_with_plugins(&args).exits(0).json();
    let jobs = &compared["jobs"];
    let ranks = jobs["ranks"].as_array().unwrap();
    assert_eq!(ranks.len(), 4);
    for (rank, row) in ranks.iter().enumerate() {
        let caused_ns = row["run"]["caused_ns"].as_f64().unwrap();
        // Three others waited some 2 ms for it in each step.
        match rank {
            2 => assert!((30e6..37e6).contains(&caused_ns), "{row:#}"),
            _ => assert_eq!(caused_ns, 0.0, "{row:#}"),
        }
        // Before, its lateness was less than what clocks can tell: that is not nothing.
        let before_ns = row["base"]["caused_ns"].as_f64();
        assert_eq!(
            before_ns.is_none(),
            row["base"]["with_last"] == 0.0,
            "{row:#}"
        );
        assert!(before_ns.unwrap_or(0.0) < 1e6, "{row:#}");
    }
    let collectives = jobs["collectives"].as_array().unwrap();
    for row in collectives {
        assert_eq!(row["operation"], "all_reduce");
        let transfer = |side: &str| row[side]["transfer_ns"].as_f64().unwrap();
        assert!((transfer("base") - 60_000.0).abs() < 10.0, "{row:#}");
        assert!((transfer("run") - 120_000.0).abs() < 10.0, "{row:#}");
        let bus = |side: &str| row[side]["bus_bytes_per_s"].as_f64().unwrap();
        assert!((bus("base") / bus("run") - 2.0).abs() < 1e-3, "{row:#}");
    }
    assert!(!collectives.is_empty());
    let page = dir
        .command_with_plugins(&["compare", before, after])
        .exits(0);
    assert!(
        page.stdout.contains("Ranks that others waited for"),
        "{}",
        page.stdout
    );
    // One rank is no job.
    let rank = dir.join("before/rank=0");
    let args = ["compare", rank.to_str().unwrap(), after, "--format", "json"];
    let compared = dir.command_with_plugins(&args).exits(0).json();
    assert!(compared["jobs"].is_null());
}

/// Nothing states which calls belong together, and one rank's recording begins later than the others.
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
    let late = found.iter().find(|row| get(row, "scope") == "rank 2");
    late.unwrap_or_else(|| panic!("ranks wait: {found:?}"));
}

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

/// Predictions hold across ranks: running the job again with the change takes as long as predicted.
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
