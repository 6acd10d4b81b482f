//! Work in the background: runs are read, pages are made.

use std::io::Read;
use std::sync::Arc;
use std::time::Duration;

use super::process::Process;
use super::runs::{Making, Runs};
use super::stamp::Stamp;
use crate::answers::{Page, RunStatus};
use crate::timeline::{Reading, Timeline};

const MAX_PAGE_BYTES: u64 = 256 << 20;
const WAIT: Duration = Duration::from_secs(60);

pub(super) fn read(runs: &Runs) {
    loop {
        let mut inner = runs.locked();
        let next = loop {
            let waits = |status: &RunStatus| *status == RunStatus::Waiting;
            match inner.runs.iter().position(|run| waits(&run.status)) {
                Some(next) => break next,
                None => inner = runs.wait(inner, WAIT),
            }
        };
        inner.runs[next].status = RunStatus::Reading { rows: 0 };
        let folder = inner.runs[next].place.folder.clone();
        drop(inner);
        let stamp = Stamp::of(&folder);
        let timeline = read_one(runs, next, &folder);
        runs.change(|inner| {
            let run = &mut inner.runs[next];
            run.stamp = Some(stamp);
            match timeline {
                Ok(timeline) => {
                    run.timeline = Some(Arc::new(timeline));
                    run.status = RunStatus::Ready;
                }
                Err(why) => run.status = RunStatus::Failed { why },
            }
        });
    }
}

fn read_one(runs: &Runs, number: usize, folder: &std::path::Path) -> Result<Timeline, String> {
    let mut command = runs.command(runs.program.lanes_command);
    command.arg("--").arg(folder);
    let mut process = Process::start(&mut command, &runs.live, |_| {})?;
    let tell = |told: Reading| {
        runs.change(|inner| match told {
            Reading::Head(head) => inner.runs[number].head = Some(head),
            Reading::Rows(rows) => inner.runs[number].status = RunStatus::Reading { rows },
        });
    };
    let made = Timeline::read(&mut process.stdout, tell);
    if made.is_err() {
        process.killer()();
    }
    let ended = process.end();
    match made {
        Ok(timeline) if ended.code == Some(0) => Ok(timeline),
        Err(why) if ended.said.trim().is_empty() => Err(why.to_string()),
        _ => Err(ended.why()),
    }
}

/// Makes requested pages, the latest request first. Then makes the report of each run that was read.
pub(super) fn make(runs: &Runs) {
    loop {
        let mut inner = runs.locked();
        let page = loop {
            if !inner.asked.is_empty() {
                break inner.asked.remove(0);
            }
            let is_read = !inner
                .runs
                .iter()
                .any(|run| matches!(run.status, RunStatus::Waiting | RunStatus::Reading { .. }));
            let reports = (0..inner.runs.len()).filter(|run| inner.runs[*run].timeline.is_some());
            let mut reports = reports.map(Page::Report);
            let next = reports.find(|page| !inner.pages.contains_key(page));
            match next.filter(|_| is_read) {
                Some(page) => break page,
                None => inner = runs.wait(inner, WAIT),
            }
        };
        inner.pages.insert(page, Making::Begun("begins".to_owned()));
        let folder = |run: usize| inner.runs[run].place.folder.clone();
        let mut command = match page {
            Page::Report(_) => runs.command("report"),
            Page::Compare { .. } => runs.command("compare"),
        };
        command.args(&runs.program.plugin_flags);
        command.args(["-v", "--html", "-", "--"]);
        match page {
            Page::Report(run) => command.arg(folder(run)),
            Page::Compare { base, run } => command.args([folder(base), folder(run)]),
        };
        drop(inner);
        let made = make_one(runs, page, &mut command);
        runs.change(|inner| {
            let made = match made {
                Ok(bytes) => Making::Made(Arc::new(bytes)),
                Err(why) => Making::Failed(why),
            };
            inner.pages.insert(page, made);
        });
    }
}

fn make_one(
    runs: &Runs,
    page: Page,
    command: &mut std::process::Command,
) -> Result<Vec<u8>, String> {
    let (send, steps) = std::sync::mpsc::channel::<String>();
    let step = move |text: &str| {
        // The page is made whether or not its steps are told.
        let _ = send.send(text.to_owned());
    };
    let mut process = Process::start(command, &runs.live, step)?;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for step in steps {
                runs.change(|inner| {
                    if let Some(making @ Making::Begun(_)) = inner.pages.get_mut(&page) {
                        *making = Making::Begun(step);
                    }
                });
            }
        });
        let mut bytes = Vec::new();
        let read = process
            .stdout
            .by_ref()
            .take(MAX_PAGE_BYTES + 1)
            .read_to_end(&mut bytes);
        if read.is_err() || bytes.len() as u64 > MAX_PAGE_BYTES {
            process.killer()();
        }
        let ended = process.end();
        match ended.code {
            // Findings, and what could not be measured, are no reason not to show the page.
            Some(0 | 1 | 3) if bytes.starts_with(b"<!doctype html>") => Ok(bytes),
            _ => Err(ended.why()),
        }
    })
}
