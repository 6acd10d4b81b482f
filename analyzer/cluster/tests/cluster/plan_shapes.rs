//! The one plan that is submitted: each task runs once, whatever the folders are called.

use std::collections::BTreeMap;
use std::fs;

use serde_json::Value;

use crate::engine_processes::Processes;
use crate::workplace::{Workplace, ends, same};

const TASKS: u32 = 300;

/// How often each rank was requested from a script in place of the analyzer.
fn asked(log: &str) -> BTreeMap<u64, usize> {
    let mut asked = BTreeMap::new();
    for line in log.lines() {
        let task: Value = serde_json::from_str(line).expect("a task a line");
        for rank in task["ranks"].as_array().expect("ranks") {
            *asked.entry(rank.as_u64().expect("a number")).or_default() += 1;
        }
    }
    asked
}

#[test]
fn each_task_runs_exactly_once() {
    let workplace = Workplace::new();
    // Those of a pattern, of an address, and of SQL.
    for (number, name) in ["plain", "par[1]ts*?", "a b%20#ü", "quo'te\"s"]
        .into_iter()
        .enumerate()
    {
        let log = workplace.join(&format!("log{number}"));
        let answer = r#"{"kept":0,"made":1,"missing":[],"not_kept":[],"rounds":1}"#;
        let script = format!(
            "task=$(cat); echo \"$task\" >>{}; echo '{answer}'",
            log.display()
        );
        let program = workplace.script("program", &script);
        let cluster = Processes::start(&program, 3);
        let job = workplace.join("job");
        fs::create_dir_all(&job).expect("a folder");
        let ranks = format!("0-{}", TASKS - 1);
        let args = [
            "--ranks",
            &ranks,
            "--ranks-per-task",
            "1",
            "--deadline",
            "200s",
        ];
        let done = ends(&mut workplace.run(&job, &cluster.url, name, &args), 0);
        let summary: Value = serde_json::from_str(&done.stdout).expect("a summary");
        assert_eq!(summary["made"], TASKS, "{name}");
        let asked = asked(&fs::read_to_string(&log).expect("a log"));
        assert_eq!(asked.len(), TASKS as usize, "{name}: all");
        assert!(asked.values().all(|times| *times == 1), "{name}: {asked:?}");
        println!("{name}: {TASKS} tasks in {:.2?}", done.took);
    }
}

#[test]
fn drivers_do_not_disturb_each_other() {
    let workplace = Workplace::new();
    let job = workplace.job(8);
    let local = ends(&mut workplace.report(&job, &[]), 0).stdout;
    let cluster = Processes::of_three(&workplace);
    std::thread::scope(|scope| {
        for parts in ["a", "b", "a"] {
            let (workplace, job, cluster, local) = (&workplace, &job, &cluster, &local);
            scope.spawn(move || {
                let made = ends(&mut workplace.report_by(job, &cluster.url, parts, &[]), 0);
                same(&made.stdout, local, parts);
            });
        }
    });
}
