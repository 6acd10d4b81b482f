//! A scheduler and its executors, as processes that do not outlive the test.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::workplace::{Workplace, cluster, until};

/// Environment variable that marks executors and their children.
const MARK: &str = "TRUENO_CLUSTER_TEST";

pub struct Processes {
    pub url: String,
    mark: String,
    scheduler: Child,
    executors: Vec<Child>,
}

impl Processes {
    /// Starts a scheduler, and executors with one task each that run this analyzer.
    pub fn start(analyze: &Path, executors: usize) -> Self {
        static CLUSTERS: AtomicU32 = AtomicU32::new(0);
        let number = CLUSTERS.fetch_add(1, Ordering::Relaxed);
        let mut scheduler = cluster(&[
            "scheduler",
            "--bind",
            "127.0.0.1:0",
            "--executor-timeout",
            "8s",
        ])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a scheduler starts");
        let mut url = String::new();
        let stdout = scheduler.stdout.take().expect("its output");
        BufReader::new(stdout)
            .read_line(&mut url)
            .expect("its address");
        let mut all = Self {
            url: url.trim().to_owned(),
            mark: format!("{}-{number}", std::process::id()),
            scheduler,
            executors: Vec::new(),
        };
        assert!(all.url.starts_with("ballista://127.0.0.1:"), "{}", all.url);
        for _ in 0..executors {
            all.add_executor(analyze);
        }
        all
    }

    pub fn of_three(workplace: &Workplace) -> Self {
        Self::start(&workplace.analyze, 3)
    }

    pub fn add_executor(&mut self, analyze: &Path) {
        self.add_executor_with(analyze, &[], std::iter::empty());
    }

    pub fn add_executor_with<'a>(
        &mut self,
        analyze: &Path,
        args: &[&str],
        environment: impl Iterator<Item = (&'a str, &'a str)>,
    ) {
        let address = self.url.trim_start_matches("ballista://");
        let executor = cluster(&["executor", "--scheduler", address, "--analyze"])
            .arg(analyze)
            .args(args)
            .envs(environment)
            .env(MARK, &self.mark)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        self.executors.push(executor.expect("an executor starts"));
    }

    pub fn kill_executor(&mut self, place: usize) {
        let executor = &mut self.executors[place];
        executor.kill().expect("an executor is killed");
        executor.wait().expect("it has ended");
    }

    pub fn replace_executor(&mut self, place: usize, analyze: &Path) {
        let mut executor = self.executors.swap_remove(place);
        executor.kill().expect("an executor is killed");
        executor.wait().expect("it has ended");
        self.add_executor(analyze);
    }

    pub fn kill_executors(&mut self) {
        for place in 0..self.executors.len() {
            self.kill_executor(place);
        }
        self.executors.clear();
    }

    pub fn kill_scheduler(&mut self) {
        self.scheduler.kill().expect("the scheduler is killed");
        self.scheduler.wait().expect("it has ended");
    }

    pub fn tasks(&self) -> Vec<u32> {
        let own: Vec<u32> = self.executors.iter().map(Child::id).collect();
        let mark = format!("{MARK}={}", self.mark);
        let entries = fs::read_dir("/proc").expect("processes").flatten();
        let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        let is_marked = |id: &u32| {
            let environment = fs::read(format!("/proc/{id}/environ")).unwrap_or_default();
            environment
                .split(|byte| *byte == 0)
                .any(|one| one == mark.as_bytes())
        };
        ids.filter(|id| !own.contains(id))
            .filter(is_marked)
            .collect()
    }

    pub fn until_busy(&self) {
        until("a task runs", || (!self.tasks().is_empty()).then_some(()));
    }

    pub fn until_idle(&self) {
        until("all tasks end", || self.tasks().is_empty().then_some(()));
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        for child in self.executors.iter_mut().chain([&mut self.scheduler]) {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
