//! Stretches in which threads did not run, and the time that they ran, from what the kernel tells of its switches.

use std::collections::BTreeMap;

use crate::event::{Raw, ThreadOf};
use crate::place::Stack;

/// A stretch in which a thread did not run.
#[derive(Debug)]
pub(crate) struct Wait {
    pub of: ThreadOf,
    pub start_ns: u64,
    pub end_ns: u64,
    /// True: it could have run, and no processor was free for it.
    pub is_runnable: bool,
    /// Not known of what could have run, and where the kernel does not tell.
    pub stack: Option<Stack>,
}

/// Time that a thread ran, when it has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CpuTime {
    pub of: ThreadOf,
    pub until_ns: u64,
    pub cpu_ns: u64,
}

enum State {
    Running {
        since_ns: u64,
    },
    Off {
        since_ns: u64,
        is_runnable: bool,
        stack: Option<Stack>,
    },
    /// A switch was lost.
    Unknown,
}

struct Thread {
    of: ThreadOf,
    state: State,
    /// Not known once a switch was lost.
    cpu_ns: Option<u64>,
    /// Place where it gives its processor up.
    leaving: Option<Box<Raw>>,
}

/// Threads by their number.
#[derive(Default)]
pub(crate) struct Waits(BTreeMap<u32, Thread>);

impl Waits {
    /// A thread is there from now on: it runs, or could.
    pub fn begins(&mut self, of: ThreadOf, at_ns: u64, runs: bool) {
        let state = match runs {
            true => State::Running { since_ns: at_ns },
            false => State::Off {
                since_ns: at_ns,
                is_runnable: true,
                stack: None,
            },
        };
        let thread = Thread {
            of,
            state,
            cpu_ns: Some(0),
            leaving: None,
        };
        self.0.insert(of.thread, thread);
    }

    /// Takes the place of a thread that gives its processor up next.
    pub fn leaves(&mut self, raw: Box<Raw>) {
        if let Some(thread) = self.0.get_mut(&raw.of.thread) {
            thread.leaving = Some(raw);
        }
    }

    /// Takes where it was, of a thread that has given its processor up.
    pub fn left(&mut self, of: ThreadOf) -> Option<Box<Raw>> {
        self.0.get_mut(&of.thread)?.leaving.take()
    }

    /// A thread runs no more.
    pub fn off(&mut self, of: ThreadOf, at_ns: u64, is_runnable: bool, stack: Option<Stack>) {
        let Some(thread) = self.0.get_mut(&of.thread) else {
            return;
        };
        thread.ran_until(at_ns);
        thread.state = State::Off {
            since_ns: at_ns,
            is_runnable,
            stack,
        };
    }

    /// A thread runs again.
    pub fn on(&mut self, of: ThreadOf, at_ns: u64) -> Option<Wait> {
        let thread = self.0.get_mut(&of.thread)?;
        thread.leaving = None;
        let wait = thread.waited_until(at_ns);
        if wait.is_none() {
            // Two beginnings in a row.
            thread.cpu_ns = None;
        }
        thread.state = State::Running { since_ns: at_ns };
        wait
    }

    /// A thread was seen running.
    pub fn seen_running(&mut self, of: ThreadOf) {
        if let Some(thread) = self.0.get_mut(&of.thread)
            && matches!(thread.state, State::Off { .. })
        {
            thread.forget();
        }
    }

    /// Some switches were lost, and nobody knows whose.
    pub fn lost(&mut self) {
        self.0.values_mut().for_each(Thread::forget);
    }

    /// A thread has ended. `None`: the time that it ran is not known.
    pub fn ends(&mut self, of: ThreadOf, at_ns: u64) -> Option<CpuTime> {
        self.0.remove(&of.thread)?.cpu_time(at_ns)
    }

    /// All that is left ends: stretches that lasted until now, and times.
    pub fn end(&mut self, at_ns: u64) -> (Vec<Wait>, Vec<CpuTime>) {
        let (mut waits, mut times) = (Vec::new(), Vec::new());
        for mut thread in std::mem::take(&mut self.0).into_values() {
            waits.extend(thread.waited_until(at_ns));
            times.extend(thread.cpu_time(at_ns));
        }
        (waits, times)
    }
}

impl Thread {
    fn forget(&mut self) {
        self.state = State::Unknown;
        self.cpu_ns = None;
    }

    fn ran_until(&mut self, at_ns: u64) {
        match self.state {
            State::Running { since_ns } => {
                let ran_ns = at_ns.saturating_sub(since_ns);
                self.cpu_ns = self.cpu_ns.map(|cpu_ns| cpu_ns + ran_ns);
            }
            // Two ends in a row.
            State::Off { .. } | State::Unknown => self.cpu_ns = None,
        }
    }

    fn waited_until(&mut self, at_ns: u64) -> Option<Wait> {
        match std::mem::replace(&mut self.state, State::Unknown) {
            State::Off {
                since_ns,
                is_runnable,
                stack,
            } => Some(Wait {
                of: self.of,
                start_ns: since_ns,
                end_ns: at_ns,
                is_runnable,
                stack,
            }),
            State::Running { .. } | State::Unknown => None,
        }
    }

    /// Of one that ends: it runs, or its last wait has been taken.
    fn cpu_time(mut self, at_ns: u64) -> Option<CpuTime> {
        if matches!(self.state, State::Running { .. }) {
            self.ran_until(at_ns);
        }
        Some(CpuTime {
            of: self.of,
            until_ns: at_ns,
            cpu_ns: self.cpu_ns?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OF: ThreadOf = ThreadOf {
        process: 1,
        thread: 2,
    };

    fn times(wait: Option<Wait>) -> Option<(u64, u64, bool)> {
        wait.map(|wait| (wait.start_ns, wait.end_ns, wait.is_runnable))
    }

    #[test]
    fn a_threads_time_is_running_runnable_or_off_its_processor() {
        let mut waits = Waits::default();
        waits.begins(OF, 10, false);
        assert_eq!(times(waits.on(OF, 15)), Some((10, 15, true)));
        waits.off(OF, 18, false, None);
        assert_eq!(times(waits.on(OF, 30)), Some((18, 30, false)));
        waits.off(OF, 31, true, None);
        assert_eq!(times(waits.on(OF, 32)), Some((31, 32, true)));
        let time = waits.ends(OF, 40).unwrap();
        assert_eq!((time.until_ns, time.cpu_ns), (40, 3 + 1 + 8));
        // It is gone.
        waits.off(OF, 41, false, None);
        assert!(waits.end(50).0.is_empty());
    }

    #[test]
    fn a_wait_that_lasts_until_the_end_is_told() {
        let mut waits = Waits::default();
        waits.begins(OF, 0, true);
        waits.off(OF, 4, false, None);
        let (all, mut cpu) = waits.end(9);
        assert_eq!(all.len(), 1);
        assert_eq!((all[0].start_ns, all[0].end_ns), (4, 9));
        assert_eq!(cpu.remove(0).cpu_ns, 4);
    }

    #[test]
    fn nothing_is_told_over_a_lost_switch() {
        let mut waits = Waits::default();
        waits.begins(OF, 0, true);
        waits.off(OF, 4, false, None);
        waits.lost();
        assert!(waits.on(OF, 9).is_none());
        waits.off(OF, 12, false, None);
        // From here on all is known again, but not the sum.
        assert_eq!(times(waits.on(OF, 20)), Some((12, 20, false)));
        assert_eq!(waits.ends(OF, 21), None);
        // Seen running while it should not be.
        waits.begins(OF, 30, true);
        waits.off(OF, 31, false, None);
        waits.seen_running(OF);
        assert!(waits.on(OF, 35).is_none());
        assert_eq!(waits.ends(OF, 36), None);
    }
}
