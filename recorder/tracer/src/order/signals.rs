//! Signals: who sent the one that ended a wait.
//!
//! The system says which process has sent a signal, not which call: that is told where only one call of that process
//! can have sent it.

use std::collections::VecDeque;

use libc::{c_int, pid_t};
use syscalls::Sysno;

use super::{Caller, Moment};
use crate::memory;

/// Limit on stored calls. A signal reaches its target soon or is blocked.
const MAX_SENT: usize = 256;

struct Sent {
    id: u64,
    begun: Moment,
    from: pid_t,
    to: Target,
    signal: c_int,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Target {
    Process(pid_t),
    Thread(pid_t),
    /// One of several, or unknown.
    Some,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SignalInfo {
    pub signal: c_int,
    /// `si_code`: kind of the cause.
    pub code: c_int,
    /// Process that sent it, or child that has ended.
    pub process: pid_t,
}

impl SignalInfo {
    pub fn ended_child(&self) -> Option<pid_t> {
        let codes = [libc::CLD_EXITED, libc::CLD_KILLED, libc::CLD_DUMPED];
        (self.signal == libc::SIGCHLD && codes.contains(&self.code)).then_some(self.process)
    }

    fn is_sent(&self) -> bool {
        [libc::SI_USER, libc::SI_TKILL, libc::SI_QUEUE].contains(&self.code)
    }
}

pub(crate) fn sends(call: Sysno) -> bool {
    matches!(
        call,
        Sysno::kill
            | Sysno::tkill
            | Sysno::tgkill
            | Sysno::rt_sigqueueinfo
            | Sysno::rt_tgsigqueueinfo
            | Sysno::pidfd_send_signal
    )
}

/// Reads the description of a signal that a call returned.
pub(crate) fn read_signal(process: pid_t, at: u64, is_file: bool) -> Option<SignalInfo> {
    // Both begin with the signal, an error and the code; the process stands behind them, at 12 or, aligned, at 16.
    let first = memory::number(process, at)?;
    let second = memory::number(process, at + 8)?;
    let code = second as c_int;
    let sender = if is_file {
        (second >> 32) as pid_t
    } else {
        memory::number(process, at + 16)? as pid_t
    };
    Some(SignalInfo {
        signal: first as c_int,
        code,
        process: sender,
    })
}

/// Signals that were sent and have not been seen to arrive.
#[derive(Default)]
pub(crate) struct Signals {
    sent: VecDeque<Sent>,
}

impl Signals {
    pub fn begins(
        &mut self,
        caller: Caller,
        (id, begun): (u64, Moment),
        call: Sysno,
        arguments: &[u64; 6],
    ) {
        let number = |at: usize| arguments[at] as c_int;
        let process = |at: usize| match number(at) {
            process if process > 0 => Target::Process(process),
            _ => Target::Some,
        };
        let (to, signal) = match call {
            Sysno::kill | Sysno::rt_sigqueueinfo => (process(0), number(1)),
            Sysno::tkill => (Target::Thread(number(0)), number(1)),
            Sysno::tgkill | Sysno::rt_tgsigqueueinfo => (Target::Thread(number(1)), number(2)),
            _ => (Target::Some, number(1)),
        };
        if signal == 0 {
            return;
        }
        if self.sent.len() >= MAX_SENT {
            self.sent.pop_front();
        }
        self.sent.push_back(Sent {
            id,
            begun,
            from: caller.process,
            to,
            signal,
        });
    }

    pub fn fails(&mut self, id: u64) {
        self.sent.retain(|sent| sent.id != id);
    }

    /// A signal has reached a thread. Returns the call that sent it, if that call began before the given
    /// moment.
    pub fn taken(&mut self, caller: Caller, told: &SignalInfo, before: Moment) -> Option<u64> {
        if !told.is_sent() {
            return None;
        }
        let is_it = |sent: &Sent| {
            let reaches = match sent.to {
                Target::Process(process) => process == caller.process,
                Target::Thread(thread) => thread == caller.thread,
                Target::Some => true,
            };
            reaches && sent.signal == told.signal && sent.from == told.process
        };
        let mut all = self.sent.iter().filter(|sent| is_it(sent));
        let found = all.next().map(|sent| (sent.id, sent.begun));
        let is_only = all.next().is_none();
        // Of several that had not arrived, one stands for all.
        let goes_on = |sent: &Sent| sent.to == Target::Some && !is_only;
        self.sent.retain(|sent| !is_it(sent) || goes_on(sent));
        let (id, begun) = found.filter(|_| is_only)?;
        (begun < before).then_some(id)
    }
}
