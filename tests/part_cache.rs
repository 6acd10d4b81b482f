//! Parts of ranks that several processes make and keep in a folder: the report is that of one process.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::SystemTime;

use serde_json::{Value, json};

use crate::harness::{Dir, Done, Run, ends, section, standard_plugins};
use crate::rank_jobs::job;

/// A job of four ranks. One of them is late.
pub fn four_ranks(dir: &Dir) -> PathBuf {
    let made = dir.join("job");
    job(|step| step.compute += 2_000_000).run(Some(&made));
    made
}

pub fn report(dir: &Dir, job: &Path, args: &[&str]) -> Done {
    dir.report(job, &[args, &["--json", "-"]].concat()).exits(0)
}

/// `rank-task` for these ranks, with the standard plugins.
fn task(dir: &Dir, job: &Path, ranks: &[u32], flags: &[&str]) -> Run {
    let task = json!({"job": job, "ranks": ranks, "parts": dir.join("parts")});
    run_task(dir, task, flags, &[])
}

/// `rank-task` with these switches, for a task with the standard plugins and these flags of the report.
pub fn run_task(dir: &Dir, mut task: Value, flags: &[&str], switches: &[&str]) -> Run {
    let plugins = standard_plugins(dir);
    let own = [
        "--no-default-plugins",
        "--no-isolate",
        "--plugin-dir",
        plugins.to_str().unwrap(),
    ];
    task["report"] = json!([&own[..], flags].concat());
    // One of each: another task may still read its own.
    static TASKS: AtomicU32 = AtomicU32::new(0);
    let number = TASKS.fetch_add(1, Ordering::Relaxed);
    let file = dir.join(&format!("task-{number}.json"));
    fs::write(&file, task.to_string()).unwrap();
    dir.command(&[&["rank-task", file.to_str().unwrap()], switches].concat())
}

/// All part files, with their modification times.
fn files(dir: &Dir) -> BTreeMap<PathBuf, SystemTime> {
    let keys = fs::read_dir(dir.join("parts")).unwrap();
    let keys = keys.map(|entry| entry.unwrap().path());
    let files = keys.flat_map(|key| fs::read_dir(key).unwrap());
    files
        .map(|entry| {
            let entry = entry.unwrap();
            (entry.path(), entry.metadata().unwrap().modified().unwrap())
        })
        .collect()
}

#[test]
fn parts_of_other_processes_make_the_same_report() {
    let dir = Dir::new();
    let job = four_ranks(&dir);
    let local = report(&dir, &job, &[]).stdout;
    let made = |ranks: &[u32]| task(&dir, &job, ranks, &[]).exits(0).json();
    // Nobody has made those of ranks 2 and 3 yet, which the second round needs.
    let first = json!({"rounds": 1, "made": 2, "kept": 0, "not_kept": [], "missing": [2, 3]});
    assert_eq!(made(&[0, 1]), first);
    assert_eq!(
        made(&[0, 1])["kept"],
        2,
        "a finished part is not made again"
    );
    // The second round of its own ranks follows at once; it is the last, and needs nobody else's.
    let second = json!({"rounds": 2, "made": 4, "kept": 2, "not_kept": [], "missing": []});
    assert_eq!(made(&[2, 3]), second);
    let last = json!({"rounds": 2, "made": 2, "kept": 4, "not_kept": [], "missing": []});
    assert_eq!(made(&[0, 1]), last);
    let before = files(&dir);
    assert_eq!(before.len(), 2 * 4 * 2, "two files a rank and round");
    let merged = report(&dir, &job, &["--parts", "parts"]);
    assert_eq!(merged.stdout, local);
    assert_eq!(merged.stderr, "");
    assert_eq!(files(&dir), before, "nothing was made again");
    let causes = section(&serde_json::from_str(&local).unwrap(), "lateness")["tables"].clone();
    assert!(causes.as_array().is_some_and(|tables| !tables.is_empty()));
}

#[test]
fn a_report_keeps_what_it_made_and_goes_on_from_there() {
    let dir = Dir::new();
    let job = four_ranks(&dir);
    let local = report(&dir, &job, &[]).stdout;
    assert_eq!(report(&dir, &job, &["--parts", "parts"]).stdout, local);
    let before = files(&dir);
    for (file, _) in before
        .iter()
        .filter(|(file, _)| file.ends_with("rank=2.json"))
    {
        fs::remove_file(file).unwrap();
    }
    assert_eq!(report(&dir, &job, &["--parts", "parts"]).stdout, local);
    let after = files(&dir);
    let is_of = |file: &Path| file.to_string_lossy().contains("rank=2.");
    for (file, written) in &before {
        assert_eq!(after[file] != *written, is_of(file), "{file:?}");
    }
    // Other options are other parts.
    report(
        &dir,
        &job,
        &["--parts", "parts", "--set", "memory.growth_share=0.5"],
    );
    assert!(files(&dir).len() > after.len());
}

#[test]
fn parts_that_were_changed_are_made_again() {
    let dir = Dir::new();
    let job = four_ranks(&dir);
    let local = report(&dir, &job, &["--parts", "parts"]).stdout;
    for (place, damage) in [
        (
            "rank=1.arrow",
            (|bytes: &mut Vec<u8>| bytes[200] ^= 1) as fn(&mut Vec<u8>),
        ),
        ("rank=1.arrow", |bytes| bytes.truncate(bytes.len() / 2)),
        ("rank=2.json", |bytes| bytes.truncate(bytes.len() / 2)),
        ("rank=0.arrow", Vec::clear),
    ] {
        let all = files(&dir);
        let file = all.keys().find(|file| file.ends_with(place)).unwrap();
        let mut bytes = fs::read(file).unwrap();
        damage(&mut bytes);
        fs::write(file, bytes).unwrap();
        let merged = report(&dir, &job, &["--parts", "parts"]);
        assert_eq!(merged.stdout, local, "{place}");
        let merged = merged.stderr_has(place);
        merged.stderr_has("it is computed again");
        assert_eq!(report(&dir, &job, &["--parts", "parts"]).stderr, "");
    }
    // A part of another rank in its place.
    let all = files(&dir);
    let from = all
        .keys()
        .find(|file| file.ends_with("rank=1.json"))
        .unwrap();
    fs::copy(from, from.with_file_name("rank=3.json")).unwrap();
    let merged = report(&dir, &job, &["--parts", "parts"]);
    assert_eq!(merged.stdout, local);
    merged.stderr_has("it belongs to another rank");
}

/// Merging what `lateness` reads of `collectives` reads nothing of other plugins.
#[test]
fn a_task_reads_what_its_next_round_needs() {
    let dir = Dir::new();
    let job = four_ranks(&dir);
    task(&dir, &job, &[0, 1, 2, 3], &[]).exits(0);
    let all = files(&dir);
    let of_rank_1 = all.keys().filter(|file| file.ends_with("rank=1.arrow"));
    for file in of_rank_1 {
        let mut bytes = fs::read(file).unwrap();
        bytes[200] ^= 1;
        fs::write(file, bytes).unwrap();
    }
    let before = files(&dir);
    let done = task(&dir, &job, &[0], &[]).exits(0);
    assert_eq!(
        (done.json()["kept"].clone(), done.stderr.as_str()),
        (json!(5), "")
    );
    assert_eq!(files(&dir), before);
}

/// Whenever a task is killed, each of its parts is complete or missing.
#[test]
fn a_killed_task_costs_its_own_parts_at_most() {
    let dir = Dir::new();
    let job = four_ranks(&dir);
    let local = report(&dir, &job, &[]).stdout;
    for millis in [5, 20, 45, 80, 120, 170, 230, 300] {
        let mut killed = task(&dir, &job, &[0, 1, 2, 3], &[])
            .command
            .spawn()
            .unwrap();
        std::thread::sleep(std::time::Duration::from_millis(millis));
        killed.kill().unwrap();
        ends(&mut killed, "a killed task");
        let merged = report(&dir, &job, &["--parts", "parts"]);
        assert_eq!(
            (merged.stdout.as_str(), merged.stderr.as_str()),
            (local.as_str(), "")
        );
        fs::remove_dir_all(dir.join("parts")).unwrap();
    }
}

#[test]
fn tasks_of_the_same_ranks_at_once_do_not_disturb_each_other() {
    let dir = Dir::new();
    let job = four_ranks(&dir);
    let local = report(&dir, &job, &[]).stdout;
    let mut tasks: Vec<_> = (0..3)
        .map(|_| {
            task(&dir, &job, &[0, 1, 2, 3], &[])
                .command
                .spawn()
                .unwrap()
        })
        .collect();
    for task in &mut tasks {
        assert_eq!(ends(task, "a task").code(), Some(0));
    }
    let merged = report(&dir, &job, &["--parts", "parts"]);
    assert_eq!(
        (merged.stdout.as_str(), merged.stderr.as_str()),
        (local.as_str(), "")
    );
}

#[test]
fn a_run_that_changes_has_other_parts() {
    let dir = Dir::new();
    let job = four_ranks(&dir);
    report(&dir, &job, &["--parts", "parts"]);
    let kernels = fs::read_dir(job.join("rank=1/kernels")).unwrap();
    let kernels = kernels.map(|entry| entry.unwrap().path()).next().unwrap();
    let mut bytes = fs::read(&kernels).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0xff;
    fs::write(&kernels, bytes).unwrap();
    let local = report(&dir, &job, &[]).stdout;
    assert_eq!(report(&dir, &job, &["--parts", "parts"]).stdout, local);
}

#[test]
fn wrong_tasks_are_told() {
    let dir = Dir::new();
    let job = four_ranks(&dir);
    task(&dir, &job, &[0, 9], &[])
        .exits(2)
        .stderr_has("rank 9: the job has none (hint: it has ranks 0–3)");
    task(&dir, &job, &[], &[])
        .exits(2)
        .stderr_has("the task names no ranks");
    task(&dir, &job, &[0], &["--json=x.json"])
        .exits(2)
        .stderr_has("--json=x.json sets an output of the report");
    task(&dir, &job, &[0], &["--baseline", "b.run"])
        .exits(2)
        .stderr_has("--baseline");
    task(&dir, &job, &[0], &["--skip", "ghost"])
        .exits(2)
        .stderr_has("ghost");
    let run = dir.run();
    task(&dir, &run, &[0], &[])
        .exits(2)
        .stderr_has("parts are of ranks");
    dir.report(&run, &["--parts", "parts"])
        .exits(2)
        .stderr_has("parts are of ranks");
    for text in [
        "",
        "{",
        "[]",
        r#"{"job": 1}"#,
        r#"{"job": "j", "ranks": [0], "parts": "p", "x": 1}"#,
    ] {
        fs::write(dir.join("odd.json"), text).unwrap();
        dir.command(&["rank-task", "odd.json"])
            .exits(2)
            .stderr_has("odd.json: not a task");
    }
    dir.command(&["rank-task", "none.json"])
        .exits(2)
        .stderr_has("none.json");
}

/// A part that cannot be stored is an error for the task, but not for a report, which has the part in memory.
#[test]
fn a_folder_that_cannot_be_written_is_told() {
    let dir = Dir::new();
    let job = four_ranks(&dir);
    fs::write(dir.join("parts"), "a file").unwrap();
    task(&dir, &job, &[0], &[]).exits(2).stderr_has("--parts");
    let told: Value = report(&dir, &job, &[]).json();
    assert!(told["sections"].is_array());
}
