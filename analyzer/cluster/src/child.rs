//! A task as a process: `trueno-analyze rank-task`, which does not outlive the executor.

use std::io::{self, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use trueno_store::SECRETS;

use crate::programs::Programs;
use crate::remote_job;
use crate::task::{Answer, End, Envelope, Progress};

const MAX_ANSWER_BYTES: u64 = 64 << 20;
/// How much of the end of standard error is reported.
const TOLD_BYTES: usize = 4 << 10;
/// Polling interval for a child.
const PAUSE: Duration = Duration::from_millis(5);

pub fn run(programs: &Programs, envelope: &Envelope) -> Answer {
    Answer {
        id: envelope.id.clone(),
        end: ended(programs, envelope).unwrap_or_else(End::Failed),
    }
}

fn ended(programs: &Programs, envelope: &Envelope) -> Result<End, String> {
    let end = Instant::now() + Duration::from_millis(envelope.limit_ms);
    let mut task = envelope.task.clone();
    let mut held = None;
    if let Some(remote) = &envelope.remote {
        let mirror = remote_job::mirrored(programs, remote, end)?;
        task.job = mirror.folder;
        held = Some(mirror.held);
    }
    let task = serde_json::to_vec(&task).map_err(|error| error.to_string())?;
    let mut command = Command::new(&programs.analyze);
    command.arg("rank-task");
    // Plugins of others need not see them.
    for name in SECRETS {
        command.env_remove(name);
    }
    // Elsewhere only absolute paths mean something.
    let is_here = envelope.folder.is_dir();
    command.current_dir(if is_here {
        &envelope.folder
    } else {
        Path::new("/")
    });
    let (status, stdout, stderr) = output(&mut command, task, end)?;
    drop(held);
    match status {
        None => Err(format!("it did not finish before the deadline{stderr}")),
        Some(status) => progress(status, &stdout).map_err(|why| format!("{why}{stderr}")),
    }
}

/// Runs a command with this input until the deadline. Returns its status unless it was killed, its output, and the
/// end of its standard error.
pub fn output(
    command: &mut Command,
    stdin: Vec<u8>,
    end: Instant,
) -> Result<(Option<ExitStatus>, Vec<u8>, String), String> {
    let program = Path::new(command.get_program()).display().to_string();
    let told = |error: io::Error| format!("{program}: {error}");
    command.stdin(Stdio::piped());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    die_with_parent(command);
    let mut child = command.spawn().map_err(told)?;
    let (pipe, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let (status, stdout, stderr) = thread::scope(|scope| {
        let stdout = scope.spawn(|| read(stdout));
        let stderr = scope.spawn(|| read(stderr));
        // One that ended before it read its task says why itself.
        scope.spawn(move || pipe.map(|mut pipe| pipe.write_all(&stdin)));
        let status = wait(&mut child, end.saturating_duration_since(Instant::now()));
        (
            status,
            stdout.join().unwrap_or_default(),
            stderr.join().unwrap_or_default(),
        )
    });
    Ok((status.map_err(told)?, stdout, last(&stderr)))
}

/// The answer of a task that exited with 0, or with 2 and ranks whose parts could not be saved.
fn progress(status: ExitStatus, stdout: &[u8]) -> Result<End, String> {
    let answer = serde_json::from_slice::<Progress>(stdout);
    match (status.code(), answer) {
        (Some(0), Ok(answer)) => Ok(End::Done(answer)),
        (Some(2), Ok(answer)) if !answer.not_kept.is_empty() => Ok(End::Done(answer)),
        (Some(0), Err(error)) => Err(format!("its answer is not valid: {error}")),
        (Some(code), _) => Err(format!("it ended with exit code {code}")),
        (None, _) => Err(match status.signal() {
            Some(signal) => format!("it was killed by signal {signal}"),
            None => "it was killed".to_owned(),
        }),
    }
}

/// Waits for the exit; `None` if the child was killed because it took too long.
fn wait(child: &mut Child, limit: Duration) -> io::Result<Option<ExitStatus>> {
    let began = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if began.elapsed() >= limit {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        thread::sleep(PAUSE);
    }
}

fn read(pipe: Option<impl Read>) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(mut pipe) = pipe {
        // What was read before an error is all there is.
        let _ = pipe.by_ref().take(MAX_ANSWER_BYTES).read_to_end(&mut bytes);
        let _ = io::copy(&mut pipe, &mut io::sink());
    }
    bytes
}

fn last(stderr: &[u8]) -> String {
    let from = stderr.len().saturating_sub(TOLD_BYTES);
    let text = String::from_utf8_lossy(&stderr[from..]);
    match text.trim() {
        "" => String::new(),
        text => format!(": {text}"),
    }
}

/// Has the kernel kill the child when the thread that started it ends. That only happens before the child ends if
/// the executor is killed.
fn die_with_parent(command: &mut Command) {
    let parent = std::process::id();
    // SAFETY: between fork and exec only system calls are made, which take numbers, and no lock and no memory.
    unsafe {
        command.pre_exec(move || {
            if libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) != 0 {
                return Err(io::Error::last_os_error());
            }
            // It was killed before the call.
            if u32::try_from(libc::getppid()) != Ok(parent) {
                return Err(io::Error::from_raw_os_error(libc::ESRCH));
            }
            Ok(())
        });
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::task::RankTask;

    fn run_script(script: &str, limit_ms: u64) -> End {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("analyze");
        fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let envelope = Envelope {
            id: "x".to_owned(),
            limit_ms,
            folder: "/".into(),
            remote: None,
            task: RankTask {
                job: "/job".into(),
                ranks: (0..100_000).collect(),
                parts: "/parts".into(),
                catalog: None,
                report: Vec::new(),
            },
        };
        let programs = Programs {
            analyze: program,
            mirrors: None,
        };
        run(&programs, &envelope).end
    }

    const ANSWER: &str = r#"{"kept":1,"made":2,"missing":[],"not_kept":[3],"rounds":1}"#;

    #[test]
    fn answers_are_those_of_the_process() {
        let long = 60_000;
        let End::Done(done) = run_script(&format!("cat >/dev/null; echo '{ANSWER}'"), long) else {
            panic!("it answers");
        };
        assert_eq!((done.kept, done.made, done.not_kept), (1, 2, vec![3]));
        let not_kept = format!("echo '{ANSWER}'; exit 2");
        assert!(matches!(run_script(&not_kept, long), End::Done(_)));
        for (script, why) in [
            ("echo why >&2; exit 2", "it ended with exit code 2: why"),
            ("kill -9 $$", "it was killed by signal 9"),
            ("echo nothing", "its answer is not valid"),
            ("exit 7", "it ended with exit code 7"),
        ] {
            match run_script(script, long) {
                End::Failed(told) => assert!(told.contains(why), "{told}"),
                End::Done(done) => panic!("{script}: {done:?}"),
            }
        }
    }

    #[test]
    fn a_process_that_takes_too_long_is_killed() {
        let began = Instant::now();
        let end = run_script("exec sleep 60", 200);
        assert!(matches!(end, End::Failed(why) if why.contains("deadline")));
        assert!(began.elapsed() < Duration::from_secs(30));
    }
}
