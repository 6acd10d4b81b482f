//! Processes that run already: whether they can be recorded, and why not.

use std::ffi::OsString;
use std::fs;
use std::io;

use trueno_processes::{Status, age, arguments};

use crate::Failure;

#[derive(Debug)]
pub struct Process {
    pub id: i32,
    pub name: String,
    pub command: Vec<OsString>,
    /// As by Ctrl-Z.
    pub is_stopped: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Means {
    Tracing,
    Sampling,
}

impl Process {
    /// Finds a process, if it can be recorded and the caller has permission.
    pub fn find(id: i32, means: Means) -> Result<Self, Failure> {
        let refused = |text: String| Failure::NotStarted(format!("{text}; nothing was recorded"));
        let Ok(status) = Status::of(id) else {
            return Err(refused(format!(
                "no process {id} is running (hint: `pgrep -a NAME` lists processes of a name)"
            )));
        };
        let name = &status.name;
        if status.process != id {
            let process = status.process;
            return Err(refused(format!(
                "{id} ({name}) is a thread of process {process} (hint: --pid={process} records it with all its threads)"
            )));
        }
        if status.has_ended() {
            return Err(refused(format!(
                "process {id} ({name}) has ended, and stays listed only until its parent, process {}, waits for it",
                status.parent
            )));
        }
        if status.is_of_kernel() {
            return Err(refused(format!(
                "process {id} ({name}) is a thread of the kernel, and runs no program (hint: `perf record -a` sees these)"
            )));
        }
        if id == std::process::id().cast_signed() {
            return Err(refused(format!("process {id} is this recorder itself")));
        }
        if means == Means::Tracing && status.tracer != 0 {
            let reason = traced_already(id, &status);
            return Err(Failure::NotMeasurable(format!(
                "{reason}; nothing was recorded"
            )));
        }
        let found = Self {
            id,
            command: command_of(id, &status.name),
            is_stopped: status.state == 'T',
            name: status.name,
        };
        // The same question as both kinds of recording ask the system.
        let seen = fs::read_link(format!("/proc/{id}/exe"));
        match seen.err().and_then(|error| found.refused_user(&error)) {
            Some(refused) => Err(refused),
            None => Ok(found),
        }
    }

    /// How much of the process's life is not recorded, as text. The system counts it in hundredths of a second.
    pub fn recorded_from(&self) -> String {
        match age(self.id) {
            Some(age) => format!("{:.2} s after the process began", age.as_secs_f64()),
            None => "some time after the process began".to_owned(),
        }
    }

    pub fn refused(&self, means: Means, error: &io::Error) -> Failure {
        let (id, name) = (self.id, &self.name);
        let status = match Status::of(id) {
            Ok(status) if !status.has_ended() && error.raw_os_error() != Some(libc::ESRCH) => {
                status
            }
            _ => {
                return Failure::NotStarted(format!(
                    "process {id} ({name}) ended before anything was recorded"
                ));
            }
        };
        if let Some(reason) = self.refused_user(error) {
            return reason;
        }
        let may_not = may_not(error);
        // SAFETY: takes nothing.
        let own = unsafe { libc::geteuid() };
        let reason = match means {
            Means::Tracing if status.tracer != 0 => traced_already(id, &status),
            Means::Tracing if may_not => match fs::read_to_string(YAMA).as_deref().map(str::trim) {
                Ok("1") if own != 0 => format!(
                    "process {id} ({name}) was not begun by this recorder, and {YAMA} is 1: only its parents may trace it \
                     (hint: as root; or `echo 0 | sudo tee {YAMA}`; or begin it with `trueno-record run --calls -- PROGRAM`)"
                ),
                Ok("2") => format!(
                    "process {id} ({name}) cannot be traced, because {YAMA} is 2: only root, with the capability SYS_PTRACE, \
                     may trace"
                ),
                Ok("3") => format!(
                    "process {id} ({name}) cannot be traced, because {YAMA} is 3: tracing stays off until the next boot (hint: --sample)"
                ),
                _ => format!(
                    "process {id} ({name}) cannot be traced: {error} (hint: it may have more privileges than you, or have \
                     switched off tracing by prctl(PR_SET_DUMPABLE): as root; a container needs `--cap-add SYS_PTRACE`)"
                ),
            },
            _ => format!("process {id} ({name}) cannot be recorded: {error}"),
        };
        Failure::NotMeasurable(format!("{reason}; nothing was recorded"))
    }

    /// Like [`Process::refused`], but `None` if the reason is not that the process is another user's.
    pub fn refused_user(&self, error: &io::Error) -> Option<Failure> {
        let (id, name) = (self.id, &self.name);
        let theirs = Status::of(id).ok()?.user;
        // SAFETY: takes nothing.
        let own = unsafe { libc::geteuid() };
        if !may_not(error) || own == 0 || theirs == own {
            return None;
        }
        let who = if theirs == 0 {
            "as root".to_owned()
        } else {
            format!("as {}, or as root", user(theirs))
        };
        let (theirs, own) = (user(theirs), user(own));
        Some(Failure::NotMeasurable(format!(
            "process {id} ({name}) belongs to user {theirs}, and you are {own}; nothing was recorded (hint: {who})"
        )))
    }
}

fn command_of(id: i32, name: &str) -> Vec<OsString> {
    let command = arguments(id);
    if command.first().is_none_or(|program| program.is_empty()) {
        return vec![OsString::from(name)];
    }
    command
}

fn may_not(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EPERM | libc::EACCES))
}

const YAMA: &str = "/proc/sys/kernel/yama/ptrace_scope";

fn traced_already(id: i32, status: &Status) -> String {
    let tracer = status.tracer;
    let by = Status::of(tracer).map_or_else(|_| String::new(), |by| format!(" ({})", by.name));
    format!(
        "process {id} ({}) is traced already, by process {tracer}{by}, and a process has at most one tracer (hint: end that \
         one; or --sample, which does not trace)",
        status.name
    )
}

fn user(number: u32) -> String {
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let name = users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)?.parse() == Ok(number)).then(|| name.to_owned())
    });
    name.unwrap_or_else(|| number.to_string())
}
