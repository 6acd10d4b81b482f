//! Rows of what the traced program did.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

use libc::pid_t;
use syscalls::{Errno, Sysno};
use trueno_format::run_json::Kept;
use trueno_format::run_writer::{RunWriter, Text};
use trueno_format::schema::{CallRow, EdgeRow, SyncRow, ThreadRow};
use trueno_processes::note_that_it_went_on;

use crate::Error;
use crate::argument::{self, Bytes, Target};
use crate::descriptors::{Descriptors, Object, is_given};
use crate::memory;
use crate::order::{Caller, CauseKind, Order, Part, SignalInfo};

/// Why the program may not have run as it would have.
pub const REFUSED_STRICT: &str = "the program asked for strict seccomp and did not get it, because a list of calls is recorded by \
     a filter of seccomp: it may have run otherwise than without the recorder (hint: --calls without a list)";

pub(crate) struct Begun {
    pub id: u64,
    name: Text,
    target: Option<Text>,
    bytes: Option<u64>,
    bytes_in_result: bool,
    waits: bool,
    joins: bool,
    pub begins: Option<Begins>,
    part: Part,
    pub start_ns: i64,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Begins {
    /// Address that the thread clears when it ends, for waiting threads.
    pub clears: Option<u64>,
    /// True if it shares memory with its creator although it is a separate process.
    pub shares_memory: bool,
}

impl Begins {
    fn new(process: pid_t, call: Sysno, arguments: &[u64; 6]) -> Option<Self> {
        let child_at = if cfg!(target_arch = "x86_64") { 3 } else { 4 };
        let (flags, clears) = match call {
            Sysno::clone => (arguments[0], Some(arguments[child_at])),
            // A struct: the flags, and the address behind another one.
            Sysno::clone3 => (
                memory::number(process, arguments[0])?,
                memory::number(process, arguments[0] + 16),
            ),
            #[cfg(target_arch = "x86_64")]
            Sysno::vfork => (libc::CLONE_VM as u64, None),
            _ => return None,
        };
        let has = |flag: i32| flags & flag as u64 != 0;
        Some(Self {
            clears: clears.filter(|_| has(libc::CLONE_CHILD_CLEARTID)),
            shares_memory: has(libc::CLONE_VM) && !has(libc::CLONE_THREAD),
        })
    }
}

pub(crate) struct Thread {
    pub number: u32,
    pub id: pid_t,
    pub process: pid_t,
    start_ns: i64,
    pub call: Option<Begun>,
    /// The call that started it, until that has a row.
    pub begun_by: Option<u64>,
    /// Processes with shared memory have the same number.
    pub memory: pid_t,
    /// Address that it clears when it ends.
    pub clears: Option<u64>,
    last: Option<u64>,
}

impl Thread {
    fn caller(&self) -> Caller {
        Caller {
            thread: self.id,
            process: self.process,
            memory: self.memory,
        }
    }
}

pub(crate) struct Rows {
    run: RunWriter,
    descriptors: Descriptors,
    names: BTreeMap<u64, Text>,
    syscall: Text,
    /// Kind of a wait inside a call.
    call: Text,
    spawns: Text,
    join: Text,
    joins: Text,
    wakes: Text,
    order: Order,
    /// Last rows of processes that have ended and not been waited for yet.
    ended: HashMap<pid_t, u64>,
    next_id: u64,
    next_thread: u32,
    origin_ns: Option<i64>,
    pub counts: Counts,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub calls: u64,
    pub threads: u64,
    pub processes: u64,
    /// Calls that never returned because their thread ended.
    pub not_ended: u64,
    /// Calls that had not returned when the recording ended.
    pub left_open: u64,
    /// Calls of 32-bit programs, which are not recorded.
    pub foreign: u64,
    pub signals: u64,
    /// Calls for strict seccomp, which the kernel refuses to a program with a filter.
    pub refused_strict: u64,
    /// The rolling window that the run is.
    pub kept: Option<Kept>,
}

impl Rows {
    pub fn new(mut run: RunWriter, sees_all_calls: bool, sees_all_processes: bool) -> Self {
        let texts = ["syscall", "call", "spawns", "join", "joins", "wakes"];
        let [syscall, call, spawns, join, joins, wakes] = texts.map(|text| run.text(text));
        Self {
            run,
            descriptors: Descriptors::new(sees_all_calls),
            names: BTreeMap::new(),
            syscall,
            call,
            spawns,
            join,
            joins,
            wakes,
            order: Order::new(sees_all_calls, sees_all_processes),
            ended: HashMap::new(),
            next_id: 1,
            next_thread: 0,
            origin_ns: None,
            counts: Counts::default(),
        }
    }

    /// Starts the recording at this time, some time before `now_ns`; rows are relative to it. Untraced
    /// processes may use the inherited objects.
    pub fn begin(&mut self, inherited: HashSet<Object>, at_ns: i64, now_ns: i64) {
        self.order.begin(inherited);
        let realtime = SystemTime::now().duration_since(UNIX_EPOCH);
        let realtime_ns = realtime.map_or(0, |since| since.as_nanos() as i64);
        self.origin_ns = Some(at_ns);
        self.run.run().clock.origin_realtime_ns = realtime_ns - (now_ns - at_ns);
    }

    pub fn program_goes_on(&mut self) {
        note_that_it_went_on(&mut self.run.run().values);
    }

    pub fn has_begun(&self) -> bool {
        self.origin_ns.is_some()
    }

    pub fn thread(&mut self, id: pid_t, now_ns: i64) -> Thread {
        let process = process_of(id).unwrap_or(id);
        self.descriptors.thread_begins(process);
        self.counts.threads += 1;
        self.counts.processes += u64::from(process == id);
        self.next_thread += 1;
        Thread {
            number: self.next_thread - 1,
            id,
            process,
            start_ns: now_ns,
            call: None,
            begun_by: None,
            memory: process,
            clears: None,
            last: None,
        }
    }

    /// A call begins. The caller sets its time as late as possible.
    pub fn call_begins(&mut self, thread: &mut Thread, number: u64, arguments: &[u64; 6]) {
        let call = usize::try_from(number).ok().and_then(Sysno::new);
        self.descriptors.call_begins();
        let (run, descriptors) = (&mut self.run, &mut self.descriptors);
        let name = *self.names.entry(number).or_insert_with(|| match call {
            Some(call) => run.text(call.name()),
            None => run.text(&format!("syscall_{number}")),
        });
        let target = match call.map_or(Target::None, argument::target) {
            Target::None => None,
            Target::Path(at) => match memory::text(thread.process, arguments[at]) {
                // Of the descriptor before it, where it is the second argument.
                Some(path) if path.is_empty() && at == 1 => {
                    descriptors.name(thread.process, arguments[0] as i32, |text| run.text(text))
                }
                path => path.map(|path| run.text(&path)),
            },
            Target::Descriptor(at) => {
                descriptors.name(thread.process, arguments[at] as i32, |text| run.text(text))
            }
        };
        let of_bytes = call.map_or(Bytes::None, argument::bytes);
        let bytes = match of_bytes {
            Bytes::Argument(at) => Some(arguments[at]),
            Bytes::Result | Bytes::None => None,
        };
        let takes = call.is_some_and(argument::takes);
        let mut is_pipe = || {
            let object = descriptors.object(thread.process, arguments[0] as i32);
            matches!(object, Some(Object::Fifo(..)))
        };
        let waits = call.is_some_and(|call| argument::waits(call, arguments))
            || takes && target.is_some_and(|target| is_given(run.str(target)) || is_pipe());
        let id = self.next_id;
        self.next_id += 1;
        let mut part = Part::default();
        if let Some(call) = call {
            let caller = thread.caller();
            part = self
                .order
                .call_begins(caller, id, (call, arguments), descriptors);
            descriptors.forget(thread.process, call, arguments);
            if call == Sysno::set_tid_address {
                thread.clears = Some(arguments[0]);
            }
        }
        thread.call = Some(Begun {
            id,
            name,
            target,
            bytes,
            bytes_in_result: of_bytes == Bytes::Result,
            waits,
            joins: call == Some(Sysno::wait4),
            begins: call.and_then(|call| Begins::new(thread.process, call, arguments)),
            part,
            start_ns: 0,
        });
    }

    pub fn call_ends(
        &mut self,
        thread: &mut Thread,
        (result, is_error): (i64, bool),
        now_ns: i64,
    ) -> Result<(), Error> {
        let Some(begun) = thread.call.take() else {
            return Ok(());
        };
        let errno = is_error.then(|| match Errno::new(-result as i32).name() {
            Some(name) => self.run.text(name),
            // Of those that the kernel answers itself: the call is begun again.
            None => self.run.text(&format!("ERESTART_{}", -result)),
        });
        let bytes = if begun.bytes_in_result {
            u64::try_from(result).ok()
        } else {
            begun.bytes
        };
        let start_ns = self.time(begun.start_ns);
        let row = CallRow {
            id: begun.id,
            name: begun.name,
            thread: thread.number,
            start_ns,
            dur_ns: self.time(now_ns).saturating_sub(start_ns),
            status: Some(if is_error { -1 } else { result }),
            kind: Some(self.syscall),
            target: begun.target,
            bytes,
            errno,
            ..CallRow::default()
        };
        self.run.advance(self.time(now_ns));
        self.run.add(&row)?;
        self.counts.calls += 1;
        thread.last = Some(begun.id);
        let wait = begun.waits.then(|| self.id());
        if let Some(id) = wait {
            let ended = (begun.joins && result > 0).then(|| self.ended.remove(&(result as pid_t)));
            let ended = ended.flatten();
            if let Some(from) = ended {
                self.run.add(&EdgeRow {
                    from,
                    to: id,
                    kind: self.joins,
                })?;
            }
            self.run.add(&SyncRow {
                id,
                kind: if ended.is_some() {
                    self.join
                } else {
                    self.call
                },
                name: Some(begun.name),
                thread: Some(thread.number),
                start_ns,
                dur_ns: row.dur_ns,
                ..SyncRow::default()
            })?;
        }
        let ids = (begun.id, wait);
        let (caller, descriptors) = (thread.caller(), &mut self.descriptors);
        self.order
            .call_ends(caller, ids, begun.part, result, descriptors);
        self.add_causes()?;
        if let Some(from) = thread.begun_by.take() {
            self.run.add(&EdgeRow {
                from,
                to: begun.id,
                kind: self.spawns,
            })?;
        }
        Ok(())
    }

    fn add_causes(&mut self) -> Result<(), Error> {
        for cause in self.order.found() {
            let kind = match cause.kind {
                CauseKind::Wakes => self.wakes,
                CauseKind::Joins => self.joins,
            };
            self.run.add(&EdgeRow {
                from: cause.from,
                to: cause.to,
                kind,
            })?;
        }
        Ok(())
    }

    pub fn signal(&mut self, thread: &Thread, told: &SignalInfo) {
        let ended = &self.ended;
        let last_of = |process: pid_t| ended.get(&process).copied();
        self.order.signal(thread.caller(), told, last_of);
    }

    pub fn thread_is_gone(&mut self, thread: pid_t) {
        self.order.thread_is_gone(thread);
    }

    pub fn forget(&mut self, thread: &Thread) {
        self.descriptors.thread_ends(thread.process);
        self.counts.threads -= 1;
        self.counts.processes -= u64::from(thread.id == thread.process);
    }

    /// A thread is about to end: this is the last time that its name can be read.
    pub fn thread_ends(&mut self, mut thread: Thread) -> Result<(), Error> {
        let caller = thread.caller();
        let open = thread.call.take();
        self.counts.not_ended += u64::from(open.is_some());
        let open = open.map(|open| (open.id, open.part));
        self.order
            .thread_ends(caller, open, (thread.clears, thread.last));
        self.add_causes()?;
        self.descriptors.thread_ends(thread.process);
        if thread.id == thread.process {
            self.descriptors.forget_all(thread.process);
            if let Some(last) = thread.last {
                self.ended.insert(thread.process, last);
            }
        }
        self.thread_row(&thread)
    }

    /// The recording of a thread ends, and the thread continues. If it is in a wait, the wait is recorded until
    /// now; any other open call has no end yet, and no row.
    pub fn thread_is_left(&mut self, mut thread: Thread, now_ns: i64) -> Result<(), Error> {
        self.descriptors.thread_ends(thread.process);
        if let Some(open) = thread.call.take() {
            self.counts.left_open += 1;
            if open.waits {
                let (id, start_ns) = (self.id(), self.time(open.start_ns));
                self.run.add(&SyncRow {
                    id,
                    kind: self.call,
                    name: Some(open.name),
                    thread: Some(thread.number),
                    start_ns,
                    dur_ns: self.time(now_ns).saturating_sub(start_ns),
                    ..SyncRow::default()
                })?;
            }
        }
        self.thread_row(&thread)
    }

    /// Returns whether a rolling window may be written while the recording goes on.
    pub fn takes_cuts(&self) -> bool {
        self.run.cuts().is_some()
    }

    /// Returns whether the window is to be written now.
    pub fn is_cut_due(&self) -> bool {
        self.has_begun() && self.run.cuts() == Some(true)
    }

    /// Writes what a rolling window holds.
    pub fn cut<'a>(&mut self, alive: impl Iterator<Item = &'a Thread>, now_ns: i64) {
        let mut alive: Vec<&Thread> = alive.collect();
        alive.sort_by_key(|thread| thread.number);
        let alive: Vec<ThreadRow> = alive.iter().map(|thread| self.described(thread)).collect();
        self.run.cut(self.time(now_ns), &alive);
    }

    fn thread_row(&mut self, thread: &Thread) -> Result<(), Error> {
        let row = self.described(thread);
        self.run.add(&row)?;
        Ok(())
    }

    fn described(&mut self, thread: &Thread) -> ThreadRow {
        let name = fs::read_to_string(format!("/proc/{}/task/{}/comm", thread.process, thread.id));
        let name = name.ok().map(|name| self.run.text(name.trim_end()));
        ThreadRow {
            thread: thread.number,
            name,
            os_id: Some(thread.id as u64),
            // The first one is older than what it records.
            start_ns: Some(self.time(thread.start_ns).max(0)),
            process: Some(thread.process as u64),
            ..ThreadRow::default()
        }
    }

    pub fn finish(mut self, now_ns: i64) -> Result<Counts, Error> {
        let wall_ns = self.time(now_ns);
        if self.counts.foreign > 0 {
            let text = format!(
                "{} calls of 32-bit programs were not recorded",
                self.counts.foreign
            );
            self.run.run().problems.push(text);
        }
        if self.counts.refused_strict > 0 {
            self.run.run().problems.push(REFUSED_STRICT.to_owned());
        }
        self.counts.kept = self.run.finish(Some(wall_ns))?.kept;
        Ok(self.counts)
    }

    fn id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id - 1
    }

    fn time(&self, at_ns: i64) -> i64 {
        at_ns - self.origin_ns.unwrap_or(at_ns)
    }
}

fn process_of(thread: pid_t) -> Option<pid_t> {
    let status = fs::read_to_string(format!("/proc/{thread}/status")).ok()?;
    trueno_format::host::field(&status, "Tgid")?.parse().ok()
}
