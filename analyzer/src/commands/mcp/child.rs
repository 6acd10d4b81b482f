//! Requests answered by children: this program, as a person would call it.
//!
//! So what is asked ends when it should: a query's memory, a plugin that hangs or a file that is cut cost one answer,
//! and not the server; and figures and errors are those of the command line.

use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;
use tempfile::TempDir;
use trueno_mcp::{Answering, Failure, Output, Program, Request, Steps};
use trueno_model::exit;

use super::command_line;
use crate::cli::PluginArgs;
use crate::commands::child_process::end_with_this_thread;

/// Limit on bytes read of an answer: far more than are shown, so that rows can be counted.
const MAX_BYTES: u64 = 64 << 20;
const MAX_LINES: usize = 200;
/// Time that a child has after a request to stop to remove its partial output.
const GRACE: Duration = Duration::from_secs(2);
const OFTEN: Duration = Duration::from_millis(2);

pub(super) struct Children {
    program: PathBuf,
    flags: Vec<OsString>,
    plugins: Vec<OsString>,
}

impl Children {
    pub(super) fn new(plugins: &PluginArgs, no_cache: bool) -> anyhow::Result<Self> {
        let program = std::env::current_exe().context("this program's own file")?;
        let mut flags = vec!["--no-project".into(), "--color=never".into(), "-v".into()];
        if no_cache {
            flags.push("--no-cache".into());
        }
        Ok(Self {
            program,
            flags,
            plugins: command_line::plugin_flags(plugins),
        })
    }

    fn command(&self, request: &Request, limit: Duration, folder: Option<&Path>) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(&self.flags)
            .args(command_line::arguments(
                request,
                &self.plugins,
                limit,
                folder,
            ))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // Its own children end with it.
            .process_group(0);
        end_with_this_thread(&mut command);
        command
    }
}

impl Program for Children {
    fn ask(&self, request: Request, limit: Duration, steps: Steps) -> Answering {
        let charts = match &request {
            Request::Picture {
                chart: Some((analysis, number)),
                ..
            } => match Charts::new(analysis, *number) {
                Ok(charts) => Some(charts),
                Err(why) => return Box::pin(async move { Err(why) }),
            },
            _ => None,
        };
        let folder = charts.as_ref().map(|charts| charts.folder.path());
        let command = self.command(&request, limit, folder);
        let (send, receive) = mpsc::channel();
        let stop = StopOnDrop(send.clone());
        let work = tokio::task::spawn_blocking(move || {
            let output = run(command, limit, steps, send, &receive)?;
            match charts {
                Some(charts) => charts.picked(output),
                None => Ok(output),
            }
        });
        Box::pin(async move {
            let _stop = stop;
            let done = work.await;
            done.unwrap_or_else(|why| Err(Failure::Defect(why.to_string())))
        })
    }
}

/// Where a report writes its charts, and the one to return.
struct Charts {
    folder: TempDir,
    begin: String,
}

impl Charts {
    fn new(analysis: &str, number: usize) -> Result<Self, Failure> {
        let folder = tempfile::Builder::new()
            .prefix("trueno-analyze-charts-")
            .tempdir();
        let folder = folder.map_err(|why| {
            Failure::Refused(format!("no temporary folder for the picture: {why}"))
        })?;
        Ok(Self {
            folder,
            begin: format!("{analysis}.{number}-"),
        })
    }

    /// The output with the picture in place of the report.
    fn picked(&self, output: Output) -> Result<Output, Failure> {
        let refused =
            |why: io::Error| Failure::Refused(format!("the charts cannot be read: {why}"));
        let mut names: Vec<String> = Vec::new();
        for entry in std::fs::read_dir(self.folder.path()).map_err(refused)? {
            let name = entry
                .map_err(refused)?
                .file_name()
                .into_string()
                .unwrap_or_default();
            names.extend(name.strip_suffix(".png").map(str::to_owned));
        }
        names.sort();
        let Some(name) = names.iter().find(|name| name.starts_with(&self.begin)) else {
            let of_analysis = |name: &&String| name.split_once('.').is_some();
            let charts: Vec<&str> = names
                .iter()
                .filter(of_analysis)
                .map(String::as_str)
                .collect();
            return Err(Failure::Refused(match charts.as_slice() {
                [] => "the analysis has no chart of this run".to_owned(),
                charts => format!("no such chart; there are {}", charts.join(", ")),
            }));
        };
        let path = self.folder.path().join(format!("{name}.png"));
        Ok(Output {
            json: std::fs::read(path).map_err(refused)?,
            is_cut: false,
            ..output
        })
    }
}

enum Event {
    /// Its output, cut at [`MAX_BYTES`]; true if it was cut.
    Written(io::Result<(Vec<u8>, bool)>),
    Stop,
}

struct StopOnDrop(Sender<Event>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        // Where nobody receives it has ended.
        let _ = self.0.send(Event::Stop);
    }
}

#[derive(Default)]
struct Said {
    warnings: Vec<String>,
    error: String,
}

fn run(
    mut command: Command,
    limit: Duration,
    steps: Steps,
    send: Sender<Event>,
    events: &Receiver<Event>,
) -> Result<Output, Failure> {
    let until = Instant::now() + limit;
    let cannot =
        |why: io::Error| Failure::Refused(format!("the analysis cannot be started: {why}"));
    let mut child = Running(command.spawn().map_err(cannot)?);
    let (stdout, stderr) = (child.0.stdout.take(), child.0.stderr.take());
    // Either thread ends with the child and those that hold its pipes.
    thread::spawn(move || {
        // Nobody receives it where the child was stopped.
        let _ = send.send(Event::Written(read(stdout)));
    });
    let said = thread::spawn(move || listen(stderr, &steps));
    let left = until.saturating_duration_since(Instant::now());
    let (json, is_cut) = match events.recv_timeout(left) {
        Ok(Event::Written(written)) => written.map_err(cannot)?,
        Err(RecvTimeoutError::Timeout) => return Err(Failure::TimeLimit(limit)),
        Ok(Event::Stop) | Err(RecvTimeoutError::Disconnected) => return Err(Failure::Cancelled),
    };
    let status = if is_cut {
        None
    } else {
        Some(child.end_by(until).ok_or(Failure::TimeLimit(limit))?)
    };
    drop(child);
    let said = said.join().unwrap_or_default();
    let code = status.and_then(|status| status.code());
    let is_answer = is_cut
        || matches!(code, Some(code) if code != i32::from(exit::CANNOT_ANALYSE) && !json.is_empty());
    if !is_answer {
        return Err(Failure::Refused(why(said, status)));
    }
    Ok(Output {
        json,
        is_cut,
        is_not_measurable: code == Some(i32::from(exit::NOT_MEASURABLE)),
        warnings: said.warnings,
    })
}

struct Running(Child);

impl Running {
    fn end_by(&mut self, until: Instant) -> Option<ExitStatus> {
        loop {
            match self.0.try_wait() {
                Ok(Some(status)) => return Some(status),
                Ok(None) if Instant::now() < until => thread::sleep(OFTEN),
                _ => return None,
            }
        }
    }

    fn signal(&self, signal: libc::c_int) {
        if let Ok(group) = libc::pid_t::try_from(self.0.id()) {
            // SAFETY: takes numbers; the child was not waited for yet, so that its number is its own.
            unsafe { libc::kill(-group, signal) };
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if matches!(self.0.try_wait(), Ok(Some(_))) {
            return;
        }
        self.signal(libc::SIGTERM);
        if self.end_by(Instant::now() + GRACE).is_none() {
            self.signal(libc::SIGKILL);
            let _ = self.0.wait();
        }
    }
}

fn read(from: Option<impl Read>) -> io::Result<(Vec<u8>, bool)> {
    let mut bytes = Vec::new();
    if let Some(from) = from {
        from.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    }
    let is_cut = bytes.len() as u64 > MAX_BYTES;
    Ok((bytes, is_cut))
}

fn listen(from: Option<impl Read>, steps: &Steps) -> Said {
    let mut said = Said::default();
    let Some(from) = from else { return said };
    let mut lines = 0;
    for line in BufReader::new(from).split(b'\n') {
        let Ok(line) = line else { break };
        let line = String::from_utf8_lossy(&line);
        if let Some(step) = line.strip_prefix("… ") {
            steps(step);
            continue;
        }
        lines += 1;
        if lines > MAX_LINES || line.starts_with("note: ") {
            continue;
        }
        let is_doubt = ["warning: ", "failed: "]
            .iter()
            .find_map(|lead| line.strip_prefix(lead));
        match is_doubt {
            Some(text) => said.warnings.push(text.to_owned()),
            None => {
                said.error
                    .push_str(line.strip_prefix("error: ").unwrap_or(&line));
                said.error.push_str("; ");
            }
        }
    }
    said
}

fn why(said: Said, status: Option<ExitStatus>) -> String {
    let ended = match status.and_then(|status| status.signal()) {
        Some(signal) => format!("the analysis was ended by signal {signal}"),
        None => String::new(),
    };
    let words = [ended, said.error.trim_end_matches("; ").to_owned()];
    let words = words.into_iter().chain(said.warnings);
    let words: Vec<String> = words.filter(|text| !text.is_empty()).collect();
    match words.as_slice() {
        [] => "the analysis ended without output".to_owned(),
        words => words.join("; "),
    }
}
