//! One process, and what it says.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// How much of the end of standard error is kept.
const MAX_SAID_BYTES: usize = 16 << 10;
const MAX_LINE_BYTES: u64 = 8 << 10;
const POLL: Duration = Duration::from_millis(2);

type Shared = Arc<Mutex<Child>>;

fn locked<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Running processes, which are killed with the server.
#[derive(Clone, Default)]
pub(super) struct Live(Arc<Mutex<Vec<Shared>>>);

impl Live {
    pub(super) fn kill_all(&self) {
        for child in locked(&self.0).iter() {
            kill(child);
        }
    }

    fn add(&self, child: &Shared) {
        locked(&self.0).push(child.clone());
    }

    fn remove(&self, child: &Shared) {
        locked(&self.0).retain(|one| !Arc::ptr_eq(one, child));
    }
}

fn kill(child: &Shared) {
    // One that has ended already is not killed.
    let _ = locked(child).kill();
}

pub(super) struct Process {
    child: Shared,
    live: Live,
    said: Option<JoinHandle<String>>,
    pub(super) stdout: ChildStdout,
}

pub(super) struct Ended {
    pub(super) code: Option<i32>,
    /// Standard error without progress messages.
    pub(super) said: String,
}

impl Ended {
    pub(super) fn why(&self) -> String {
        let said = self.said.trim();
        let said = said.strip_prefix("error: ").unwrap_or(said);
        match (said, self.code) {
            ("", Some(code)) => format!("it ended with code {code} and without output"),
            ("", None) => "it was killed without output (perhaps out of memory)".to_owned(),
            (said, _) => said.to_owned(),
        }
    }
}

impl Process {
    /// Starts it. `step` receives its progress messages.
    pub(super) fn start(
        command: &mut Command,
        live: &Live,
        step: impl Fn(&str) + Send + 'static,
    ) -> Result<Self, String> {
        let command = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command
            .spawn()
            .map_err(|error| format!("no process can be started: {error}"))?;
        let (Some(stdout), Some(stderr)) = (child.stdout.take(), child.stderr.take()) else {
            return Err("a process has no pipes".to_owned());
        };
        let child = Arc::new(Mutex::new(child));
        live.add(&child);
        let listen = move || {
            let mut said = String::new();
            let mut from = BufReader::new(stderr);
            let mut line = Vec::new();
            while matches!(
                from.by_ref()
                    .take(MAX_LINE_BYTES)
                    .read_until(b'\n', &mut line),
                Ok(1..)
            ) {
                let text = String::from_utf8_lossy(&line);
                match text.strip_prefix("… ") {
                    Some(told) => step(told.trim_end()),
                    None => said.push_str(&text),
                }
                line.clear();
                while said.len() > MAX_SAID_BYTES {
                    let end = said.find('\n').map_or(said.len(), |at| at + 1);
                    said.drain(..end);
                }
            }
            said
        };
        let said = std::thread::Builder::new().name("said".to_owned());
        Ok(Self {
            child,
            live: live.clone(),
            // Without the thread its words are lost, and nothing else.
            said: said.spawn(listen).ok(),
            stdout,
        })
    }

    pub(super) fn killer(&self) -> impl FnOnce() + Send + 'static {
        let child = self.child.clone();
        move || kill(&child)
    }

    pub(super) fn end(mut self) -> Ended {
        // The lock is not held meanwhile: others may kill it.
        let code = loop {
            match locked(&self.child).try_wait() {
                Ok(None) => {}
                Ok(Some(status)) => break status.code(),
                Err(_) => break None,
            }
            std::thread::sleep(POLL);
        };
        let said = self.said.take().and_then(|said| said.join().ok());
        Ended {
            code,
            said: said.unwrap_or_default(),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        kill(&self.child);
        // Reaped here, so that no zombie is left.
        let _ = locked(&self.child).wait();
        self.live.remove(&self.child);
    }
}
