//! The parent: starts the child, listens, and ends it when its time is over.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use trueno_engine::closed_types::ClosedRows;
use trueno_model::width::printable;

use super::captured_output::CapturedOutput;
use super::exit_reason::{Crash, End, ExitReason};
use super::message::{Inbox, Kind};
use super::python::interpreter::interpreter;
use super::request::{Request, Task, write_inputs};
use super::watch::{self, State};
use super::{Limits, columns, sandbox};
use crate::plugin::call::judge;
use crate::plugin::descriptor::Descriptor;
use crate::plugin::descriptor::Stage;
use crate::plugin::find::is_python;
use crate::plugin::host::{MAX_FINDINGS, PluginOutput};
use crate::plugin::linked::Code;
use crate::plugin::outcome::{FailureKind, Outcome};

pub const VERB: &str = "plugin-host";
/// Interval between checks of a child's processor time, threads and exit.
const LOOK_EVERY: Duration = Duration::from_millis(50);
const READS_A_TURN: usize = 16;

pub fn describe(code: &Code, limits: &Limits) -> Result<Descriptor, String> {
    let limits = limits.of_loading();
    let shown = code.file.display();
    let mut said = None;
    let start = |memory: &File| write_job(memory, Task::Describe, code, &limits);
    let heard = talk(&limits, start, &mut |kind, says| match kind {
        Kind::Descriptor | Kind::Refused => said = Some((kind, says)),
        _ => {}
    })
    .map_err(|why| format!("{shown}: {why}"))?;
    match said {
        Some((Kind::Descriptor, json)) => serde_json::from_slice(&json)
            .map_err(|error| format!("{shown}: its descriptor cannot be read: {error}")),
        Some((_, why)) => Err(printable(&String::from_utf8_lossy(&why)).into_owned()),
        None => Err(format!(
            "{shown}: while it was loaded, {}",
            heard.ending.message(heard.crash, &heard.wrote, &limits)
        )),
    }
}

pub fn run(
    code: &Code,
    stage: Stage,
    inputs: Vec<Option<ClosedRows>>,
    options: &str,
    limits: &Limits,
) -> Outcome {
    let mut taken = PluginOutput::default();
    let (mut end, mut odd) = (None, None);
    let start = |memory: &File| {
        let inputs = write_inputs(memory, inputs)
            .map_err(|why| format!("its inputs cannot be written to a memory file: {why}"))?;
        let task = Task::Run {
            stage,
            options: options.to_owned(),
            inputs,
        };
        write_job(memory, task, code, limits)
    };
    let heard = talk(limits, start, &mut |kind, says| {
        if let Err(why) = take(kind, says, &mut taken, &mut end) {
            odd.get_or_insert(why);
        }
    });
    let heard = match heard {
        Ok(heard) => heard,
        Err(message) => {
            return Outcome::Failed {
                kind: FailureKind::Ended,
                message,
                taken,
            };
        }
    };
    taken.wrote = heard.wrote.note();
    match (odd, end) {
        (Some(why), _) => Outcome::Failed {
            kind: FailureKind::Ended,
            message: format!("what its process sent back cannot be read: {why}"),
            taken,
        },
        (None, Some(end)) => {
            let status = end.status;
            taken.take_end(end.charts, end.error, end.rejected);
            judge(status, taken)
        }
        (None, None) => Outcome::Failed {
            kind: FailureKind::Ended,
            message: heard.ending.message(heard.crash, &heard.wrote, limits),
            taken,
        },
    }
}

/// Parses messages as a child sends them. False if malformed bytes follow.
pub fn output_from(bytes: &[u8]) -> (PluginOutput, bool) {
    let (mut inbox, mut taken, mut end) = (Inbox::default(), PluginOutput::default(), None);
    let mut is_whole = true;
    // In pieces, as they come out of a pipe.
    for piece in bytes.chunks(1 + bytes.len() / 3) {
        inbox.put(piece);
        loop {
            match inbox.take() {
                Ok(Some((Kind::Crash, says))) => is_whole &= Crash::from_bytes(&says).is_some(),
                Ok(Some((kind, says))) => {
                    is_whole &= take(kind, says, &mut taken, &mut end).is_ok();
                }
                Ok(None) => break,
                Err(_) => return (taken, false),
            }
        }
    }
    (taken, is_whole && !inbox.has_rest())
}

fn take(
    kind: Kind,
    says: Vec<u8>,
    taken: &mut PluginOutput,
    end: &mut Option<End>,
) -> Result<(), String> {
    let json = |error: serde_json::Error| error.to_string();
    match kind {
        Kind::Table => {
            let short = || "a table without a name".to_owned();
            let (length, rest) = says.split_first_chunk::<4>().ok_or_else(short)?;
            let (name, table) = rest
                .split_at_checked(u32::from_le_bytes(*length) as usize)
                .ok_or_else(short)?;
            let name = std::str::from_utf8(name).map_err(|error| error.to_string())?;
            let table = columns::from_bytes(table, name)?;
            // Asked in the child already; but what comes from there is the plugin's, whatever it has done to its process.
            taken.check_table(&table)?;
            taken.tables.push(table);
        }
        Kind::Finding if taken.findings.len() == MAX_FINDINGS => {
            return Err(format!("more than {MAX_FINDINGS} findings"));
        }
        Kind::Finding => taken
            .findings
            .push(serde_json::from_slice(&says).map_err(json)?),
        Kind::End => *end = Some(serde_json::from_slice(&says).map_err(json)?),
        Kind::Refused => return Err(String::from_utf8_lossy(&says).into_owned()),
        Kind::Descriptor | Kind::Crash => {}
    }
    Ok(())
}

fn write_job(memory: &File, task: Task, code: &Code, limits: &Limits) -> Result<(), String> {
    let cpu_time = limits.cpu_time_for(length(memory));
    let interpreter = match task {
        Task::Run { .. } if is_python(&code.file) => Some(interpreter()?),
        Task::Run { .. } | Task::Describe => None,
    };
    let job = Request {
        task,
        file: code.file.clone(),
        linked: code.linked.clone(),
        interpreter,
        parent: std::process::id(),
        memory_bytes: limits.memory_bytes,
        // Rounded up, and one more: the parent, which tells the reason, is to come first.
        cpu_seconds: cpu_time.as_secs().saturating_add(2),
    };
    job.write(memory)
}

fn length(memory: &File) -> u64 {
    memory.metadata().map_or(0, |memory| memory.len())
}

struct Allowed {
    time: Duration,
    cpu_time: Duration,
    results_bytes: u64,
}

impl Allowed {
    fn new(limits: &Limits, inputs_bytes: u64) -> Allowed {
        Allowed {
            time: limits.time_for(inputs_bytes),
            cpu_time: limits.cpu_time_for(inputs_bytes),
            results_bytes: limits.results_bytes(),
        }
    }

    fn exceeded(&self, child: &Child, deadline: Option<Instant>) -> Option<ExitReason> {
        if is_over(deadline) {
            Some(ExitReason::TooLong(self.time))
        } else if watch::cpu_time(child) >= self.cpu_time {
            Some(ExitReason::TooMuchWork(self.cpu_time))
        } else if watch::threads(child) > sandbox::MAX_THREADS {
            Some(ExitReason::TooManyThreads)
        } else {
            None
        }
    }
}

struct Heard {
    ending: ExitReason,
    crash: Option<Crash>,
    is_cut: bool,
    wrote: CapturedOutput,
}

/// Runs a child to its end. `start` writes its job, `hear` receives its messages.
fn talk(
    limits: &Limits,
    start: impl FnOnce(&File) -> Result<(), String>,
    hear: &mut dyn FnMut(Kind, Vec<u8>),
) -> Result<Heard, String> {
    let memory = watch::memory_file()
        .map_err(|error| format!("a memory file for its inputs cannot be created: {error}"))?;
    start(&memory)?;
    let allowed = Allowed::new(limits, length(&memory));
    let mut child = Command::new(&limits.program)
        .arg0("trueno-analyze")
        .env_clear()
        .envs(std::env::var_os(sandbox::LIBRARY_PATH).map(|value| (sandbox::LIBRARY_PATH, value)))
        .arg(VERB)
        .current_dir("/")
        .stdin(Stdio::from(memory))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // A group of its own, so that whatever it starts can be ended with it.
        .process_group(0)
        .spawn()
        .map_err(|error| format!("a process for it cannot be started: {error}"))?;
    let listened = listen(&mut child, &allowed, hear);
    let group = libc::pid_t::try_from(child.id()).map(|id| -id);
    if let Ok(group) = group {
        // SAFETY: a call with numbers. The child has not been waited for, so its number is still its own.
        unsafe { libc::kill(group, libc::SIGKILL) };
    }
    let _ = child.kill();
    let status = child
        .wait()
        .map_err(|error| format!("its process cannot be waited for: {error}"))?;
    let mut heard = listened.map_err(|error| format!("its process cannot be read: {error}"))?;
    // What we ended ourselves has its reason already.
    if heard.ending == ExitReason::Exit(0) {
        heard.ending = match (status.signal(), status.code()) {
            (Some(signal), _) => ExitReason::Signal(signal),
            // Only a signal may end it within a message.
            (None, _) if heard.is_cut => ExitReason::Garbled,
            (None, code) => ExitReason::Exit(code.unwrap_or(0)),
        };
    }
    Ok(heard)
}

/// Listens until the child has ended or must be killed. After [`ExitReason::Exit`] with 0, ask the system how it
/// ended.
fn listen(
    child: &mut Child,
    allowed: &Allowed,
    hear: &mut dyn FnMut(Kind, Vec<u8>),
) -> io::Result<Heard> {
    let deadline = Instant::now().checked_add(allowed.time);
    let end = watch::end(child);
    let mut answers = child.stdout.take().map(Pipe::new).transpose()?;
    let mut talk = child.stderr.take().map(Pipe::new).transpose()?;
    let mut heard = Heard {
        ending: ExitReason::Exit(0),
        crash: None,
        is_cut: false,
        wrote: CapturedOutput::default(),
    };
    let (mut inbox, mut total) = (Inbox::default(), 0_u64);
    let mut buffer = vec![0; 1 << 18];
    loop {
        // Asked before the pipes are emptied: what an ended child has sent is then all there.
        let state = watch::state(child)?;
        let most_reads = match state {
            State::Ended => usize::MAX,
            // One that writes without end is to be looked at all the same.
            State::Runs | State::Stopped => READS_A_TURN,
        };
        for _ in 0..most_reads {
            let Some(read) = read(&mut answers, &mut buffer)? else {
                break;
            };
            total += read.len() as u64;
            inbox.put(read);
            loop {
                match inbox.take() {
                    Ok(Some((Kind::Crash, says))) => heard.crash = Crash::from_bytes(&says),
                    Ok(Some((kind, says))) => hear(kind, says),
                    Ok(None) => break,
                    Err(_) => {
                        heard.ending = ExitReason::Garbled;
                        return Ok(heard);
                    }
                }
            }
            if total > allowed.results_bytes {
                heard.ending = ExitReason::TooMuch;
                return Ok(heard);
            }
            if is_over(deadline) {
                break;
            }
        }
        for _ in 0..most_reads {
            let Some(read) = read(&mut talk, &mut buffer)? else {
                break;
            };
            heard.wrote.put(read);
            if is_over(deadline) {
                break;
            }
        }
        let ending = match state {
            State::Ended => {
                heard.is_cut = inbox.has_rest();
                return Ok(heard);
            }
            State::Stopped => Some(ExitReason::Stopped),
            State::Runs => allowed.exceeded(child, deadline),
        };
        if let Some(ending) = ending {
            heard.ending = ending;
            return Ok(heard);
        }
        wait_for_more(&[&answers, &talk], end.as_ref(), deadline)?;
    }
}

fn is_over(deadline: Option<Instant>) -> bool {
    deadline.is_some_and(|deadline| Instant::now() >= deadline)
}

struct Pipe<R> {
    from: R,
}

impl<R: Read + AsRawFd> Pipe<R> {
    fn new(from: R) -> io::Result<Pipe<R>> {
        watch::without_waiting(&from)?;
        Ok(Pipe { from })
    }
}

/// Reads what is available. Closes a pipe that has ended.
fn read<'a, R: Read>(
    pipe: &mut Option<Pipe<R>>,
    buffer: &'a mut [u8],
) -> io::Result<Option<&'a [u8]>> {
    loop {
        let Some(open) = pipe else { return Ok(None) };
        match open.from.read(buffer) {
            Ok(0) => *pipe = None,
            Ok(read) => return Ok(Some(&buffer[..read])),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

trait Waited {
    fn number(&self) -> Option<i32>;
}

impl<R: AsRawFd> Waited for Option<Pipe<R>> {
    fn number(&self) -> Option<i32> {
        self.as_ref().map(|pipe| pipe.from.as_raw_fd())
    }
}

/// Waits until there is something to read, a pipe or the child ends, or the next check is due.
fn wait_for_more(
    pipes: &[&dyn Waited],
    end: Option<&OwnedFd>,
    deadline: Option<Instant>,
) -> io::Result<()> {
    let end = end.map(AsRawFd::as_raw_fd);
    let numbers = pipes.iter().filter_map(|pipe| pipe.number()).chain(end);
    let mut waited: Vec<libc::pollfd> = numbers
        .map(|fd| libc::pollfd {
            fd,
            events: libc::POLLIN,
            revents: 0,
        })
        .collect();
    // Nothing tells of its end: it is asked often.
    let every = if waited.is_empty() {
        Duration::from_millis(1)
    } else {
        LOOK_EVERY
    };
    let left = deadline.map_or(every, |deadline| {
        deadline
            .saturating_duration_since(Instant::now())
            .min(every)
    });
    let most = i32::try_from(left.as_millis()).unwrap_or(0).max(1);
    // SAFETY: the list lives for the call and is as long as is said.
    match unsafe { libc::poll(waited.as_mut_ptr(), waited.len() as libc::nfds_t, most) } {
        -1 => {
            let error = io::Error::last_os_error();
            match error.kind() {
                io::ErrorKind::Interrupted => Ok(()),
                _ => Err(error),
            }
        }
        _ => Ok(()),
    }
}
