//! Executors and schedulers that are killed.

use std::time::{Duration, Instant};

use crate::engine_processes::Processes;
use crate::workplace::{Workplace, begin, ends, ends_of, same, until};

const RANKS: u32 = 16;

struct Seeded(u64);

impl Seeded {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

/// Kills one of three executors at this many different moments of a report.
fn killed(times: usize) {
    let workplace = Workplace::new();
    let job = workplace.job(RANKS);
    let local = ends(&mut workplace.report(&job, &[]), 0).stdout;
    let mut cluster = Processes::of_three(&workplace);
    let args = ["--ranks-per-task", "1"];
    let whole = ends(
        &mut workplace.report_by(&job, &cluster.url, "whole", &args),
        0,
    );
    let mut seeded = Seeded(55);
    for number in 0..times {
        let parts = format!("parts{number}");
        let began = Instant::now();
        let mut command = workplace.report_by(&job, &cluster.url, &parts, &args);
        let report = begin(&mut command);
        let moment = Duration::from_millis(seeded.below(whole.took.as_millis() as u64));
        std::thread::sleep(moment);
        let place = seeded.below(3) as usize;
        let before = workplace.parts(&parts);
        let processes = cluster.tasks().len();
        cluster.replace_executor(place, &workplace.analyze);
        let made = ends_of(report, began, 0, "the report");
        same(&made.stdout, &local, &format!("report {number}"));
        let after = workplace.parts(&parts);
        assert_eq!(after.len(), 2 * RANKS as usize);
        for (file, written) in &before {
            assert_eq!(
                after.get(file),
                Some(written),
                "{number}: a finished part is taken"
            );
        }
        cluster.until_idle();
        println!(
            "{number}: executor {place} killed at {moment:.2?} with {processes} processes of tasks and {} parts made; the report \
             took {:.2?} ({:.2?} undisturbed)",
            before.len(),
            made.took,
            whole.took
        );
    }
}

#[test]
fn a_killed_executor_changes_nothing() {
    killed(3);
}

#[test]
#[ignore = "minutes"]
fn a_killed_executor_changes_nothing_at_ten_moments() {
    killed(10);
}

#[test]
fn a_killed_executor_leaves_no_task() {
    let workplace = Workplace::new();
    let job = workplace.job(2);
    let endless = workplace.script("endless", "exec sleep 1000");
    let mut cluster = Processes::start(&endless, 1);
    let mut command = workplace.run(&job, &cluster.url, "parts", &["--deadline", "3s"]);
    let began = Instant::now();
    let run = begin(&mut command);
    cluster.until_busy();
    cluster.kill_executors();
    cluster.until_idle();
    let failed = ends_of(run, began, 2, "the run");
    assert!(failed.stderr.contains("deadline"), "{}", failed.stderr);
}

/// Without executors there is an error with its cause. A rerun reuses finished parts.
#[test]
fn the_loss_of_all_executors_is_an_error() {
    let workplace = Workplace::new();
    let job = workplace.job(RANKS);
    let local = ends(&mut workplace.report(&job, &[]), 0).stdout;
    let mut cluster = Processes::of_three(&workplace);
    let args = ["--ranks-per-task", "1", "--cluster-deadline", "90s"];
    let mut command = workplace.report_by(&job, &cluster.url, "parts", &args);
    let began = Instant::now();
    let report = begin(&mut command);
    until("some parts are made", || {
        (workplace.parts("parts").len() >= 4).then_some(())
    });
    cluster.kill_executors();
    let before = workplace.parts("parts");
    cluster.until_idle();
    let failed = ends_of(report, began, 2, "the report");
    assert!(
        failed.stderr.contains("has no executors"),
        "{}",
        failed.stderr
    );
    assert!(
        failed.stderr.contains("all executors were lost"),
        "{}",
        failed.stderr
    );
    println!(
        "{} parts made; after {:.2?}: {}",
        before.len(),
        failed.took,
        failed.stderr
    );
    assert!(failed.took < Duration::from_secs(90));
    cluster.add_executor(&workplace.analyze);
    let made = ends(
        &mut workplace.report_by(&job, &cluster.url, "parts", &args),
        0,
    );
    same(&made.stdout, &local, "the report");
    let after = workplace.parts("parts");
    for (file, written) in &before {
        assert_eq!(after.get(file), Some(written), "a finished part is taken");
    }
}

#[test]
fn the_loss_of_the_scheduler_is_an_error() {
    let workplace = Workplace::new();
    let job = workplace.job(RANKS);
    let local = ends(&mut workplace.report(&job, &[]), 0).stdout;
    let mut cluster = Processes::of_three(&workplace);
    let args = ["--ranks-per-task", "1", "--cluster-deadline", "90s"];
    let mut command = workplace.report_by(&job, &cluster.url, "parts", &args);
    let began = Instant::now();
    let report = begin(&mut command);
    until("some parts are made", || {
        (workplace.parts("parts").len() >= 4).then_some(())
    });
    let killed = Instant::now();
    cluster.kill_scheduler();
    let failed = ends_of(report, began, 2, "the report");
    println!("{:.2?} after the kill: {}", killed.elapsed(), failed.stderr);
    assert!(
        failed.stderr.contains("the scheduler at 127.0.0.1"),
        "{}",
        failed.stderr
    );
    assert!(killed.elapsed() < Duration::from_secs(60));
    let before = workplace.parts("parts");
    let cluster = Processes::of_three(&workplace);
    let made = ends(
        &mut workplace.report_by(&job, &cluster.url, "parts", &args),
        0,
    );
    same(&made.stdout, &local, "the report");
    let after = workplace.parts("parts");
    for (file, written) in &before {
        assert_eq!(after.get(file), Some(written), "a finished part is taken");
    }
}
