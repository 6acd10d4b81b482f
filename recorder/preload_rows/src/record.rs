//! A program recorded from its start to its end.

use std::ffi::OsString;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus};
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use trueno_format::run_writer::RunWriter;

use crate::channel::{CHANNEL_VARIABLE, Channel};
use crate::others::Others;
use crate::rows::{Counts, Rows};
use crate::{Error, loadable};

/// Interval between reads of the lanes, unless there is much to read.
const NAP: Duration = Duration::from_millis(2);
/// Interval between checks for threads that were killed.
const CARE: Duration = Duration::from_millis(250);
/// Interval between checks for processes of other users.
const LOOK: Duration = Duration::from_millis(50);
/// Variable with libraries that the loader loads before others.
const PRELOAD: &str = "LD_PRELOAD";

#[derive(Clone, Debug)]
pub struct Options {
    pub library: PathBuf,
    pub calls: bool,
    /// Mean distance of sample points in bytes; 0 to record no allocations.
    pub mean_bytes: u64,
}

#[derive(Clone, Copy, Default)]
pub struct Part<'a> {
    pub delay: Option<Duration>,
    /// Returns true once the recording should end before the program.
    pub end: Option<&'a dyn Fn() -> bool>,
}

/// The program, after it or its recording has ended.
#[derive(Debug)]
#[non_exhaustive]
pub struct Recorded {
    /// Exit status of the program itself. `None` if it is still running.
    pub status: Option<ExitStatus>,
    /// Rows of the run. `None` if there is no run, because of a failure or because the program ended before the
    /// recording began.
    pub counts: Option<Counts>,
    /// Why recording stopped while the program went on.
    pub failure: Option<Error>,
}

impl Recorded {
    /// For a program that has ended without a run.
    fn nothing(status: ExitStatus, failure: Option<Error>, watch: &mut dyn FnMut(i32)) -> Self {
        watch(0);
        Self {
            status: Some(status),
            counts: None,
            failure,
        }
    }
}

/// Checks that memory can be shared with programs here.
///
/// # Errors
/// [`Error::NoMemory`]: it cannot.
pub fn check() -> Result<(), Error> {
    Channel::create().map(drop).map_err(Error::NoMemory)
}

/// Runs a program and writes rows to the run that `create` makes. `watch` gets its process id. Ends with the
/// program or the recording: what its children do after that is not recorded.
///
/// # Errors
/// The program did not start. Later failures are in [`Recorded::failure`], and the program goes on.
pub fn record(
    mut command: Command,
    options: &Options,
    part: Part<'_>,
    create: impl Fn() -> Result<RunWriter, Error>,
    watch: &mut dyn FnMut(i32),
) -> Result<Recorded, Error> {
    let program = command.get_program().to_owned();
    if let Some(problem) = loadable::problem(&program) {
        return Err(Error::NotLoadable { program, problem });
    }
    let (channel, file) = Channel::create().map_err(Error::NoMemory)?;
    load(&mut command, options, &file)?;
    let begin = || {
        start(channel, options);
        create().map(|run| Rows::new(run, options))
    };
    let at_once = part.delay.is_none().then(begin).transpose()?;
    let started = command.spawn();
    let mut child = started.map_err(|error| Error::NotStarted { program, error })?;
    watch(child.id().cast_signed());
    let begun = match (at_once, part.delay) {
        (Some(rows), _) => Ok(rows),
        (None, delay) => match wait(&mut child, delay.unwrap_or_default())? {
            Some(status) => return Ok(Recorded::nothing(status, None, watch)),
            None => begin(),
        },
    };
    let mut rows = match begun {
        Ok(rows) => rows,
        Err(error) => {
            stop(channel);
            let status = child.wait().map_err(Error::Wait)?;
            return Ok(Recorded::nothing(status, Some(error), watch));
        }
    };
    rows.begins(child.id());
    let mut failure = None;
    let mut others = Others::default();
    // Early too: what begins as another user may not last.
    let mut next_look = Instant::now() + NAP;
    let mut next_care = Instant::now() + CARE;
    let status = loop {
        let is_over = part.end.is_some_and(|end| end());
        let ended = child.try_wait().map_err(Error::Wait)?;
        if ended.is_some() || failure.is_some() || is_over {
            stop(channel);
        }
        if Instant::now() >= next_look {
            others.look(child.id());
            next_look = Instant::now() + LOOK;
        }
        let mut is_much = false;
        if failure.is_none() {
            let cares = Instant::now() >= next_care;
            if cares {
                next_care = Instant::now() + CARE;
            }
            match rows.read(channel, cares) {
                Ok(much) => is_much = much,
                Err(error) => failure = Some(error),
            }
        }
        if ended.is_some() || is_over {
            break ended;
        }
        if !is_much {
            thread::sleep(NAP);
        }
    };
    match status {
        Some(_) => watch(0),
        None => rows.program_goes_on(),
    }
    rows.tell_others(others.names());
    let (counts, finished) = rows.finish(channel, failure.is_none());
    failure = failure.or(finished.err());
    Ok(Recorded {
        status,
        counts: Some(counts),
        failure,
    })
}

/// Sets the variables with which the loader loads the library first, and the library finds the memory.
fn load(command: &mut Command, options: &Options, file: &OwnedFd) -> Result<(), Error> {
    let library = options.library.as_os_str();
    let separates = |byte: &u8| matches!(byte, b' ' | b':');
    if library.as_bytes().iter().any(separates) {
        return Err(Error::LibraryPath(options.library.clone()));
    }
    let mut libraries = OsString::from(library);
    if let Some(others) = std::env::var_os(PRELOAD).filter(|others| !others.is_empty()) {
        libraries.push(":");
        libraries.push(others);
    }
    let memory = format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd());
    command.env(PRELOAD, libraries);
    command.env(CHANNEL_VARIABLE.to_str().unwrap_or_default(), memory);
    Ok(())
}

fn start(channel: &Channel, options: &Options) {
    let header = &channel.header;
    header.calls.store(options.calls.into(), Ordering::Relaxed);
    header
        .mean_bytes
        .store(options.mean_bytes, Ordering::Relaxed);
}

fn wait(child: &mut Child, time: Duration) -> Result<Option<ExitStatus>, Error> {
    let since = Instant::now();
    while since.elapsed() < time {
        if let Some(status) = child.try_wait().map_err(Error::Wait)? {
            return Ok(Some(status));
        }
        thread::sleep(NAP.min(time.saturating_sub(since.elapsed())));
    }
    Ok(None)
}

fn stop(channel: &Channel) {
    channel.header.calls.store(0, Ordering::Relaxed);
    channel.header.mean_bytes.store(0, Ordering::Relaxed);
}
