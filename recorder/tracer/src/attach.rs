//! The beginning of a trace of processes that run.

use std::collections::HashSet;
use std::io;
use std::time::{Duration, Instant};

use libc::pid_t;
use trueno_processes::{Selection, Status, family, threads};

use crate::Error;
use crate::ptrace::{self, Event, Waited};
use crate::ticks::Ticks;

/// Limit on waiting for the other threads to stop. A thread that waits for a disk stops late.
const MAX_STANDING: Duration = Duration::from_millis(50);

/// A process that was attached to. All its threads are stopped, or will be soon.
pub(crate) struct Attached {
    pub stops: Vec<(pid_t, Event)>,
    pub threads: Vec<(pid_t, pid_t)>,
    pub left_out: u64,
}

/// Stops all threads of a process and, depending on the selection, of its children. None continues before all are
/// stopped, so that they cannot affect each other unseen.
pub(crate) fn attach_to(process: pid_t, processes: &Selection) -> Result<Attached, Error> {
    let _ticks = Ticks::start();
    let mut all = Attached {
        stops: Vec::new(),
        threads: Vec::new(),
        left_out: 0,
    };
    let mut met = HashSet::new();
    // Threads that have begun meanwhile are in the next look.
    while all.seize_new(process, processes, &mut met)? {}
    if all.threads.is_empty() {
        let error = io::Error::from_raw_os_error(libc::ESRCH);
        return Err(Error::NotAttached { process, error });
    }
    all.wait_until_they_stand();
    Ok(all)
}

impl Attached {
    fn seize_new(
        &mut self,
        process: pid_t,
        processes: &Selection,
        met: &mut HashSet<pid_t>,
    ) -> Result<bool, Error> {
        let of = match processes {
            Selection::First => vec![process],
            Selection::All | Selection::Named(_) => family(process),
        };
        let before = met.len();
        for one in of {
            let mut is_left_out = false;
            for thread in threads(one).unwrap_or_default() {
                if !met.insert(thread) {
                    continue;
                }
                match ptrace::seize(thread, false) {
                    Ok(()) => {
                        ptrace::interrupt(thread);
                        self.threads.push((thread, one));
                    }
                    Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {}
                    // Begun by a thread that was seized already, it is traced as that is.
                    Err(_) if is_ours(thread) => self.threads.push((thread, one)),
                    Err(error) if one == process => {
                        self.release();
                        return Err(Error::NotAttached { process, error });
                    }
                    Err(_) => is_left_out = true,
                }
            }
            self.left_out += u64::from(is_left_out);
        }
        Ok(met.len() > before)
    }

    fn wait_until_they_stand(&mut self) {
        let since = Instant::now();
        let mut left: HashSet<pid_t> = self.threads.iter().map(|(thread, _)| *thread).collect();
        while !left.is_empty() {
            match ptrace::wait(&|| since.elapsed() > MAX_STANDING) {
                Ok(Waited::Event(thread, event)) => {
                    left.remove(&thread);
                    self.stops.push((thread, event));
                }
                Ok(Waited::Over | Waited::NoneLeft) | Err(_) => break,
            }
        }
    }

    fn release(&mut self) {
        self.wait_until_they_stand();
        for (thread, event) in &self.stops {
            let signal = match event {
                Event::Signal(signal) => *signal,
                _ => 0,
            };
            ptrace::detach(*thread, signal);
        }
    }
}

/// True for a thread that this process traces and that has not ended.
pub(crate) fn is_ours(thread: pid_t) -> bool {
    let own = std::process::id().cast_signed();
    Status::of(thread).is_ok_and(|status| status.tracer == own && !status.has_ended())
}
