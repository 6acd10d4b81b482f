//! The child: sets its limits, loads the library, calls it, sends what it gives.

use std::convert::Infallible;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, FromRawFd};
use std::rc::Rc;
use std::sync::Arc;

use super::exit_reason::End;
use super::input_reader::InputReader;
use super::message::{Kind, send};
use super::request::{Request, Task};
use super::{columns, crash, python, sandbox, tables};
use crate::plugin::call;
use crate::plugin::find::is_python;
use crate::plugin::host::{Emitted, PluginOutput};
use crate::plugin::linked::Linked;
use crate::plugin::load::{load, load_linked};

const MAX_FILES: u64 = 256;

/// Runs the job on standard input, writes the answer to standard output, and ends the process without running any
/// more code of the plugin.
///
/// # Errors
/// Standard input holds no job, or there is nobody left to answer.
pub fn serve(linked: &[Linked]) -> Result<Infallible, String> {
    let (job, to) = take_over().map_err(|error| error.to_string())?;
    let described = Request::read(&job).map_err(|why| {
        format!(
            "this command is for internal use: the analyzer starts it to isolate a plugin ({why})"
        )
    })?;
    let fresh_bytes = crash::memory_bytes();
    confine(&described, fresh_bytes)?;
    sandbox::close_others([job.as_raw_fd(), to.as_raw_fd()])
        .map_err(|error| format!("files of others cannot be closed: {error}"))?;
    if is_python(&described.file) {
        return python::serve(&described, &job, &to);
    }
    // Before the library is loaded: its constructors are the plugin's, too.
    sandbox::enter(&described.file, None)
        .map_err(|why| format!("the sandbox cannot be set up ({why}; hint: --no-isolate)"))?;
    let to = Rc::new(to);
    crash::watch(to.as_raw_fd(), fresh_bytes);
    let answered = answer(described, linked, job, &to);
    if let Err(error) = &answered {
        // The parent shows the last line of this.
        let _ = writeln!(
            io::stderr(),
            "the analyzer's own part of this process failed: {error}"
        );
    }
    let code = i32::from(answered.is_err());
    // Neither destructors nor what the plugin registered with atexit: the answer has been given.
    // SAFETY: without preconditions.
    unsafe { libc::_exit(code) }
}

/// Duplicates standard input and output for the host. The plugin gets an empty input, and its output goes to
/// standard error.
fn take_over() -> io::Result<(File, File)> {
    let private = |of: i32| -> io::Result<File> {
        // SAFETY: a call with numbers; the new descriptor is nobody else's.
        unsafe {
            match libc::fcntl(of, libc::F_DUPFD_CLOEXEC, 16) {
                -1 => Err(io::Error::last_os_error()),
                new => Ok(File::from_raw_fd(new)),
            }
        }
    };
    let (job, to) = (private(0)?, private(1)?);
    let nothing = File::open("/dev/null")?;
    // SAFETY: calls with numbers of open files.
    let moved = unsafe { libc::dup2(nothing.as_raw_fd(), 0) >= 0 && libc::dup2(2, 1) >= 0 };
    if moved {
        Ok((job, to))
    } else {
        Err(io::Error::last_os_error())
    }
}

fn confine(job: &Request, fresh_bytes: u64) -> Result<(), String> {
    let limit = |what, bytes: u64| {
        let limit = libc::rlimit {
            rlim_cur: bytes,
            rlim_max: bytes,
        };
        // SAFETY: the struct lives for the call.
        match unsafe { libc::setrlimit(what, &limit) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    };
    // SAFETY: calls with numbers. Dies with its parent, also when that is killed; whether it died before is asked afterwards.
    let orphan = unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        u32::try_from(libc::getppid()) != Ok(job.parent)
    };
    if orphan {
        return Err("the analyzer that started this process is gone".into());
    }
    // Where memory runs out for all, the plugin is to go first. Not every system lets it say so.
    let _ = std::fs::write("/proc/self/oom_score_adj", "1000");
    let _ = limit(libc::RLIMIT_CORE, 0);
    // Files that are mapped nowhere would count as no memory: none may grow. Pipes and the like have room as well.
    for (what, most) in [(libc::RLIMIT_FSIZE, 0), (libc::RLIMIT_NOFILE, MAX_FILES)] {
        limit(what, most).map_err(|error| format!("the limit of files cannot be set: {error}"))?;
    }
    // The parent looks often; this holds while it cannot.
    limit(libc::RLIMIT_CPU, job.cpu_seconds)
        .map_err(|error| format!("the limit of processor time cannot be set: {error}"))?;
    limit(
        libc::RLIMIT_AS,
        fresh_bytes.saturating_add(job.memory_bytes),
    )
    .map_err(|error| format!("the memory limit cannot be set: {error}"))
}

fn answer(job: Request, linked: &[Linked], inputs: File, to: &Rc<File>) -> io::Result<()> {
    let loaded = match &job.linked {
        None => load(&job.file),
        Some(id) => {
            let mut known = linked.iter();
            let found = known.find(|known| known.id == id);
            let found =
                found.ok_or_else(|| io::Error::other(format!("no plugin {id} is linked")))?;
            load_linked(&job.file, found)
        }
    };
    let plugin = match loaded {
        Ok(plugin) => plugin,
        Err(error) => return send(to, Kind::Refused, error.to_string().as_bytes()),
    };
    match job.task {
        Task::Describe => {
            let json = serde_json::to_vec(&plugin.descriptor)?;
            send(to, Kind::Descriptor, &json)
        }
        Task::Run {
            stage,
            options,
            inputs: places,
        } => {
            let inputs = Arc::new(inputs);
            let streams = places.into_iter().map(|place| match place {
                None => Ok(call::empty()),
                Some(place) => {
                    let part = InputReader::new(inputs.clone(), place);
                    tables::stream(part).map_err(io::Error::other)
                }
            });
            let streams = streams.collect::<io::Result<Vec<_>>>()?;
            let sink = {
                let to = to.clone();
                // A parent that does not listen any more has said all about this run.
                move |emitted: Emitted<'_>| drop(send_emitted(&to, emitted))
            };
            let entry = call::entry(&plugin, stage).ok_or_else(|| io::Error::other("no entry"))?;
            let (status, taken) = call::call(entry, streams, &options, stage, Some(Box::new(sink)));
            let PluginOutput {
                charts,
                error,
                rejected,
                ..
            } = taken;
            let end = End {
                status,
                charts,
                error,
                rejected,
            };
            send(to, Kind::End, &serde_json::to_vec(&end)?)
        }
    }
}

fn send_emitted(to: &File, emitted: Emitted<'_>) -> io::Result<()> {
    match emitted {
        Emitted::Table(table) => {
            let name = table.name().as_bytes();
            let mut says = (name.len() as u32).to_le_bytes().to_vec();
            says.extend_from_slice(name);
            says.extend(columns::to_bytes(table));
            send(to, Kind::Table, &says)
        }
        Emitted::Finding(json) => send(to, Kind::Finding, json.as_bytes()),
    }
}
