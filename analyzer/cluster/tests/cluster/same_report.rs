//! The report of a cluster is that of one process, to the byte.

use std::fs;

use serde_json::Value;

use crate::engine_processes::Processes;
use crate::workplace::{Workplace, ends, same};

const RANKS: u32 = 16;

fn repeated(times: usize) {
    let workplace = Workplace::new();
    let job = workplace.job(RANKS);
    let local = ends(&mut workplace.report(&job, &[]), 0).stdout;
    let cluster = Processes::of_three(&workplace);
    let groups = ["1", "2", "4", "5"];
    for number in 0..times {
        let parts = format!("parts{number}");
        let per_task = groups[number % groups.len()];
        let args = ["--ranks-per-task", per_task];
        let made = ends(
            &mut workplace.report_by(&job, &cluster.url, &parts, &args),
            0,
        );
        same(&made.stdout, &local, &format!("report {number}"));
        assert_eq!(made.stderr, "", "{number}");
        println!("{number}: {per_task} ranks a task: {:.2?}", made.took);
        let files = workplace.parts(&parts);
        assert_eq!(
            files.len(),
            2 * RANKS as usize,
            "two rounds, one part a rank"
        );
        let left = fs::read_dir(workplace.join(&parts))
            .expect("the parts")
            .count();
        assert_eq!(left, 2, "nothing lies beside the parts of two rounds");
        // Made again from what is there.
        let run = ends(&mut workplace.run(&job, &cluster.url, &parts, &args), 0);
        let summary: Value = serde_json::from_str(&run.stdout).expect("a summary");
        let expected = serde_json::json!({"kept": 32, "made": 0, "not_kept": [], "rounds": 2});
        assert_eq!(summary, expected);
        assert_eq!(workplace.parts(&parts), files, "nothing is written again");
    }
}

#[test]
fn reports_of_clusters_are_those_of_one_process() {
    repeated(4);
}

#[test]
#[ignore = "minutes"]
fn reports_of_clusters_are_those_of_one_process_twenty_times() {
    repeated(20);
}

#[test]
fn flags_of_the_report_reach_the_tasks() {
    let workplace = Workplace::new();
    let job = workplace.job(4);
    let cluster = Processes::start(&workplace.analyze, 1);
    for flags in [
        &["--window", "iteration=7"][..],
        &[
            "--set",
            "memory.growth_share=0.5",
            "--skip",
            "category,sanity",
        ],
        &["--plugin-id", "lateness", "--top", "3"],
    ] {
        let local = ends(&mut workplace.report(&job, flags), 0);
        let made = ends(
            &mut workplace.report_by(&job, &cluster.url, "parts", flags),
            0,
        );
        same(&made.stdout, &local.stdout, &format!("{flags:?}"));
        assert_eq!(made.stderr, local.stderr, "{flags:?}: no part is made here");
    }
    // A project file, and a path that is relative to the working directory.
    fs::write(
        workplace.join("trueno.toml"),
        "[options.memory]\ngrowth_share = 0.25\n",
    )
    .expect("a file");
    let flags = ["--plugin-dir", "plugins"];
    let local = ends(&mut workplace.report(&job, &flags), 0);
    let made = ends(
        &mut workplace.report_by(&job, &cluster.url, "parts", &flags),
        0,
    );
    same(&made.stdout, &local.stdout, "the report");
    assert_eq!(made.stderr, local.stderr, "no part is made here");
}

/// A damaged or missing rank is reported as in a single process.
#[test]
fn damage_is_told_as_in_one_process() {
    let workplace = Workplace::new();
    let job = workplace.job(6);
    let cluster = Processes::of_three(&workplace);
    let kernels = fs::read_dir(job.join("rank=1/kernels")).expect("segments");
    let segment = kernels.flatten().next().expect("a segment").path();
    let mut bytes = fs::read(&segment).expect("a segment");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0xff;
    fs::write(&segment, bytes).expect("a segment");
    let told_alike = |name: &str, code: i32| {
        let local = ends(&mut workplace.report(&job, &["--fail-on", "error"]), code);
        let args = ["--fail-on", "error"];
        let made = ends(
            &mut workplace.report_by(&job, &cluster.url, name, &args),
            code,
        );
        same(&made.stdout, &local.stdout, name);
        assert_eq!(made.stderr, local.stderr, "{name}");
        local
    };
    let told = told_alike("damaged", 1);
    assert!(
        told.stdout.contains("rank=1") || told.stdout.contains("rank 1"),
        "{}",
        told.stdout
    );
    fs::remove_dir_all(job.join("rank=4")).expect("a rank");
    told_alike("missing", 1);
    fs::write(job.join("rank=3/run.json"), "{").expect("a file");
    told_alike("no run", 1);
}
