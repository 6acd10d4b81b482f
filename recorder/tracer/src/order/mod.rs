//! The causal order of calls: from what a thread did to the wait of another thread that it ended.
//!
//! Nothing is guessed. A cause is told only where it is the only possible one among what was seen: one that began before
//! the end of the wait was seen, and is not used up by other waits. Waits that several calls could have ended, or none
//! that was seen, have none.
//!
//! A call may return later than the wait that it ended, or be seen to. It ended the wait while it was open: that is what
//! `wakes` says. A thread that ends has made its last call before: its end is waited for by `joins`.

mod channels;
mod futexes;
mod ready;
mod signals;
mod sockets;

use std::collections::{HashMap, HashSet};

use libc::pid_t;
use syscalls::Sysno;

use crate::descriptors::{Descriptors, Object};
use channels::{Channel, Channels};
use futexes::{Futexes, WaitTarget};
pub(crate) use signals::SignalInfo;
use signals::Signals;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cause {
    pub from: u64,
    pub to: u64,
    pub kind: CauseKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CauseKind {
    /// The call ended the wait while it was open.
    Wakes,
    /// The wait could not end before this call, the last one of its thread.
    Joins,
}

/// Counter of observed events: a lower number was observed first.
pub(crate) type Moment = u64;

/// The properties of a thread that matter to others.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Caller {
    pub thread: pid_t,
    pub process: pid_t,
    /// Processes with shared memory have the same number.
    pub memory: pid_t,
}

#[derive(Debug, Default)]
pub(crate) struct Part {
    since: Moment,
    role: Role,
}

#[derive(Debug, Default)]
pub(crate) enum Role {
    #[default]
    None,
    WaitsForFutex(WaitTarget),
    WakesFutex(WaitTarget),
    Moves {
        gives: Option<Channel>,
        takes: Option<Channel>,
        /// Address of a number that stands for the bytes, for an event counter.
        units_at: Option<u64>,
        peeks: bool,
    },
    SendsSignal,
    TakesSignal {
        /// Address of the signal's description, and whether that has the form of `signalfd`.
        told_at: u64,
        is_file: bool,
    },
    Polls(ready::Poll),
    MakesPair(u64),
    /// After it, calls may be made through shared memory, which are not traced.
    Hides,
}

impl Role {
    fn ends_waits(&self) -> bool {
        match self {
            Self::WakesFutex(_) | Self::SendsSignal => true,
            Self::Moves { gives, .. } => gives.is_some(),
            _ => false,
        }
    }
}

/// True if a signal has ended a call: it returns this value, or is restarted later.
fn is_interrupted(result: i64) -> bool {
    // What the kernel keeps for itself: `ERESTARTSYS` and those that follow it.
    result == -i64::from(libc::EINTR) || [-512, -513, -514, -516].contains(&result)
}

/// A wait that ended because of a signal that has not been reported yet.
struct Interrupted {
    wait: u64,
    ended: Moment,
    /// Row of the call that caused the signal.
    cause: Option<(u64, CauseKind)>,
    signals: u32,
}

pub(crate) struct Order {
    now: Moment,
    futexes: Futexes,
    channels: Channels,
    signals: Signals,
    /// Open calls that may end waits, each with those it has ended.
    open: HashMap<u64, Vec<Cause>>,
    /// Words that ending threads will clear and wake.
    ending: HashMap<pid_t, futexes::Word>,
    /// The latest wait of each thread that ended because of a signal.
    interrupted: HashMap<pid_t, Interrupted>,
    found: Vec<Cause>,
}

impl Order {
    pub fn new(sees_all_calls: bool, sees_all_processes: bool) -> Self {
        let mut channels = Channels::default();
        if !sees_all_processes {
            channels.are_hidden();
        }
        Self {
            now: 0,
            futexes: Futexes::new(sees_all_calls),
            channels,
            signals: Signals::default(),
            open: HashMap::new(),
            ending: HashMap::new(),
            interrupted: HashMap::new(),
            found: Vec::new(),
        }
    }

    /// Untraced processes may write to and read from what the first program has open.
    pub fn begin(&mut self, inherited: HashSet<Object>) {
        self.channels.leave_out(inherited);
    }

    pub fn call_begins(
        &mut self,
        caller: Caller,
        id: u64,
        (call, arguments): (Sysno, &[u64; 6]),
        descriptors: &mut Descriptors,
    ) -> Part {
        self.now += 1;
        self.is_interrupted_no_more(caller.thread);
        let now = self.now;
        let role = match call {
            Sysno::futex => self.futexes.begins(caller, (id, now), arguments),
            // Of messages a part may be lost when they are taken: only streams have all bytes in order.
            Sysno::socketpair if arguments[1] as i32 & 0xf == libc::SOCK_STREAM => {
                Role::MakesPair(arguments[3])
            }
            _ if signals::sends(call) => {
                self.signals.begins(caller, (id, now), call, arguments);
                Role::SendsSignal
            }
            Sysno::io_uring_setup => Role::Hides,
            _ if channels::hides(call) => {
                let object = descriptors.object(caller.process, arguments[0] as i32);
                let of_giver =
                    object.and_then(|object| self.channels.of_giver(caller.process, object));
                let of_taker =
                    object.and_then(|object| self.channels.of_taker(caller.process, object));
                let lost = [of_giver, of_taker].into_iter().flatten();
                lost.for_each(|channel| self.channels.lose(channel));
                Role::None
            }
            Sysno::rt_sigtimedwait => Role::TakesSignal {
                told_at: arguments[1],
                is_file: false,
            },
            _ => match ready::poll(call, arguments) {
                Some(poll) => Role::Polls(poll),
                None => self.moves(caller, id, (call, arguments), descriptors),
            },
        };
        if let Sysno::mmap | Sysno::munmap | Sysno::mremap | Sysno::shmat | Sysno::shmdt = call {
            self.futexes.forget_places(caller.memory);
        }
        // Others may be ended by these before they have returned, and have a row.
        if role.ends_waits() {
            self.open.insert(id, Vec::new());
        }
        Part { since: now, role }
    }

    fn moves(
        &mut self,
        caller: Caller,
        id: u64,
        (call, arguments): (Sysno, &[u64; 6]),
        descriptors: &mut Descriptors,
    ) -> Role {
        let flow = channels::flow(call, arguments);
        let mut object = |descriptor: Option<i32>| {
            descriptor.and_then(|number| descriptors.object(caller.process, number))
        };
        let (into, out_of) = (object(flow.gives), object(flow.takes));
        if out_of == Some(Object::Signals) {
            return Role::TakesSignal {
                told_at: arguments[1],
                is_file: true,
            };
        }
        let gives = into.and_then(|object| self.channels.of_giver(caller.process, object));
        let takes = out_of.and_then(|object| self.channels.of_taker(caller.process, object));
        if gives.is_none() && takes.is_none() {
            return Role::None;
        }
        let is_event = |object| matches!(object, Some(Object::Event(_)));
        if let Some(channel) = gives {
            self.channels.gives(channel, (id, caller.thread));
        }
        if let Some(channel) = takes {
            self.channels.takes(channel);
        }
        Role::Moves {
            gives,
            takes,
            units_at: (is_event(into) || is_event(out_of)).then_some(arguments[1]),
            peeks: flow.peeks,
        }
    }

    /// A call has returned. `wait` is its row of `syncs`, if it has one; [`Order::found`] then returns its
    /// causes.
    pub fn call_ends(
        &mut self,
        caller: Caller,
        (id, wait): (u64, Option<u64>),
        part: Part,
        result: i64,
        descriptors: &mut Descriptors,
    ) {
        self.now += 1;
        let (since, now) = (part.since, self.now);
        match part.role {
            Role::None => {}
            Role::WaitsForFutex(asked) => {
                let woken = wait.filter(|_| result == 0);
                self.futexes
                    .wait_ends(asked, (since, now), woken, &mut self.found);
            }
            Role::WakesFutex(asked) => {
                let woken = Some(u64::try_from(result).unwrap_or(0));
                self.futexes
                    .wake_ends(asked, (id, now), woken, &mut self.found);
            }
            Role::Moves {
                gives,
                takes,
                units_at,
                peeks,
            } => {
                let units = match units_at {
                    Some(at) if result > 0 => crate::memory::number(caller.process, at),
                    _ => u64::try_from(result).ok(),
                };
                let units = units.unwrap_or(0);
                if let Some(channel) = takes {
                    let from =
                        self.channels
                            .taken((channel, caller.thread), units, (since, now), peeks);
                    self.wakes(from, wait);
                }
                if let Some(channel) = gives {
                    self.channels.given(channel, (id, now), units);
                }
                if self.channels.are_many() {
                    self.channels.keep(&descriptors.objects());
                }
            }
            Role::SendsSignal if result < 0 => self.signals.fails(id),
            Role::SendsSignal => {}
            Role::TakesSignal { told_at, is_file } if result > 0 => {
                if let Some(told) = signals::read_signal(caller.process, told_at, is_file) {
                    let from = self.signals.taken(caller, &told, now);
                    self.wakes(from, wait);
                }
            }
            Role::TakesSignal { .. } => {}
            Role::Polls(poll) => {
                let ready = ready::only_ready(caller.process, &poll, result);
                let from = ready.and_then(|ready| {
                    let object = descriptors.object(caller.process, ready.descriptor)?;
                    let channel = self.channels.of_taker(caller.process, object)?;
                    let taker = (channel, caller.thread);
                    self.channels.made_ready(taker, since, ready.is_edge)
                });
                self.wakes(from, wait);
            }
            Role::MakesPair(at) if result == 0 => {
                let pair = crate::memory::number(caller.process, at);
                let pair = pair.map(|pair| [pair as i32, (pair >> 32) as i32]);
                let ends = pair.map(|pair| pair.map(|end| descriptors.object(caller.process, end)));
                if let Some([Some(Object::Socket(one)), Some(Object::Socket(other))]) = ends {
                    self.channels.are_a_pair(one, other);
                }
            }
            Role::Hides if result >= 0 => self.channels.are_hidden(),
            Role::MakesPair(_) | Role::Hides => {}
        }
        if let Some(wait) = wait.filter(|_| is_interrupted(result)) {
            let interrupted = Interrupted {
                wait,
                ended: now,
                cause: None,
                signals: 0,
            };
            self.interrupted.insert(caller.thread, interrupted);
        }
        // It has a row now.
        self.found
            .extend(self.open.remove(&id).into_iter().flatten());
    }

    fn wakes(&mut self, from: Option<u64>, to: Option<u64>) {
        if let (Some(from), Some(to)) = (from, to) {
            self.ends((from, CauseKind::Wakes), to);
        }
    }

    fn ends(&mut self, (from, kind): (u64, CauseKind), to: u64) {
        let cause = Cause { from, to, kind };
        match self.open.get_mut(&from) {
            Some(causes) => causes.push(cause),
            None => self.found.push(cause),
        }
    }

    /// A signal is about to be delivered to a thread. `last_of` returns the last call of a process that has
    /// ended.
    pub fn signal(
        &mut self,
        caller: Caller,
        told: &SignalInfo,
        last_of: impl FnOnce(pid_t) -> Option<u64>,
    ) {
        self.now += 1;
        let interrupted = self.interrupted.get_mut(&caller.thread);
        let ended = interrupted.as_ref().map_or(0, |wait| wait.ended);
        let cause = match told.ended_child() {
            Some(child) => last_of(child).map(|last| (last, CauseKind::Joins)),
            None => {
                let sent = self.signals.taken(caller, told, ended);
                sent.map(|sent| (sent, CauseKind::Wakes))
            }
        };
        if let Some(interrupted) = interrupted {
            interrupted.signals += 1;
            interrupted.cause = cause;
        }
    }

    /// All signals that ended the last wait of a thread have been reported. If there are several, it is unknown
    /// which came first.
    fn is_interrupted_no_more(&mut self, thread: pid_t) {
        if self.interrupted.is_empty() {
            return;
        }
        let interrupted = self.interrupted.remove(&thread);
        let only = interrupted.filter(|interrupted| interrupted.signals == 1);
        if let Some((cause, to)) = only.and_then(|only| Some((only.cause?, only.wait))) {
            self.ends(cause, to);
        }
    }

    /// A thread is about to end, in this call. `clears` is the address that it clears for waiting threads.
    pub fn thread_ends(
        &mut self,
        caller: Caller,
        open: Option<(u64, Part)>,
        (clears, last): (Option<u64>, Option<u64>),
    ) {
        self.now += 1;
        self.is_interrupted_no_more(caller.thread);
        if let Some((id, part)) = open {
            self.open.remove(&id);
            match part.role {
                Role::WaitsForFutex(asked) => {
                    let moments = (part.since, self.now);
                    self.futexes
                        .wait_ends(asked, moments, None, &mut self.found);
                }
                // Whether it has woken anybody nobody tells.
                Role::WakesFutex(asked) => {
                    self.futexes
                        .wake_ends(asked, (id, self.now), None, &mut self.found);
                }
                Role::Moves { gives, takes, .. } => {
                    let lost = [gives, takes];
                    lost.into_iter()
                        .flatten()
                        .for_each(|of| self.channels.lose(of));
                }
                Role::SendsSignal => self.signals.fails(id),
                _ => {}
            }
        }
        let at = clears.filter(|at| *at != 0).zip(last);
        if let Some((at, last)) = at {
            let word = self.futexes.thread_ends(caller, at, (last, self.now));
            self.ending.extend(word.map(|word| (caller.thread, word)));
        }
    }

    pub fn thread_is_gone(&mut self, thread: pid_t) {
        self.now += 1;
        if let Some(word) = self.ending.remove(&thread) {
            self.futexes.thread_is_gone(word, self.now);
        }
    }

    pub fn found(&mut self) -> std::vec::Drain<'_, Cause> {
        self.found.drain(..)
    }
}
