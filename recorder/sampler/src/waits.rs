//! Stretches in which threads ran and in which they did not, from what the kernel tells of its switches and wakings.

use std::collections::{BTreeMap, HashMap};

use crate::event::{Raw, ThreadOf};
use crate::packets::{Packet, Packets};
use crate::place::Stack;
use crate::tracepoint::Context;
use crate::waking::Waking;

/// An interval in which a thread did not run.
#[derive(Debug)]
pub(crate) struct Wait {
    pub id: u64,
    pub of: ThreadOf,
    pub start_ns: u64,
    pub end_ns: u64,
    /// True if the thread was runnable but had no processor.
    pub is_runnable: bool,
    /// `None` if runnable, or if the kernel does not tell.
    pub stack: Option<Stack>,
}

/// An interval in which a thread ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stretch {
    pub id: u64,
    pub of: ThreadOf,
    pub start_ns: u64,
    pub end_ns: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cause {
    /// Id of the interval of the thread that woke it.
    pub from: u64,
    pub to: u64,
    /// True if the wait ended because that thread ended, after its last interval.
    pub by_end: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CpuTime {
    pub of: ThreadOf,
    pub until_ns: u64,
    pub cpu_ns: u64,
}

#[derive(Debug)]
pub(crate) enum Known {
    Wait(Wait),
    Ran(Stretch),
    Caused(Cause),
    Time(CpuTime),
}

enum State {
    Running {
        id: u64,
        since_ns: u64,
        ended: Vec<u64>,
    },
    Off {
        id: u64,
        since_ns: u64,
        is_runnable: bool,
        stack: Option<Stack>,
        woken: Option<Woken>,
    },
    Unknown,
}

#[derive(Clone, Copy)]
struct Woken {
    at_ns: u64,
    by: Option<By>,
}

#[derive(Clone, Copy)]
struct By {
    thread: u32,
    stretch: u64,
    by_end: bool,
}

struct Thread {
    of: ThreadOf,
    state: State,
    /// `None` once a switch was lost.
    cpu_ns: Option<u64>,
    leaving: Option<Box<Raw>>,
    /// True if the thread existed before the recording and no event of it has been seen. Its state is the one
    /// found then. If its first event is that it leaves its processor, it had been running until then.
    is_met: bool,
}

pub(crate) struct Waits {
    threads: BTreeMap<u32, Thread>,
    packets: Packets,
    /// Last intervals of processes that have ended: their end wakes waiting parents.
    ended: HashMap<u32, u64>,
    next_id: u64,
    /// Intervals from this id on are reported when they end; earlier ones may be wrong because switches were
    /// lost.
    first_told: u64,
}

impl Default for Waits {
    fn default() -> Self {
        Self {
            threads: BTreeMap::new(),
            packets: Packets::default(),
            ended: HashMap::new(),
            next_id: 1,
            first_told: 1,
        }
    }
}

impl Waits {
    fn id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id - 1
    }

    fn running(&mut self, at_ns: u64) -> State {
        State::Running {
            id: self.id(),
            since_ns: at_ns,
            ended: Vec::new(),
        }
    }

    fn off_since(&mut self, at_ns: u64, is_runnable: bool, stack: Option<Stack>) -> State {
        State::Off {
            id: self.id(),
            since_ns: at_ns,
            is_runnable,
            stack,
            woken: None,
        }
    }

    pub fn begins(&mut self, of: ThreadOf, at_ns: u64, runs: bool) {
        let state = if runs {
            self.running(at_ns)
        } else {
            self.off_since(at_ns, true, None)
        };
        let thread = Thread {
            of,
            state,
            cpu_ns: Some(0),
            leaving: None,
            is_met: false,
        };
        self.ended.remove(&of.thread);
        self.threads.insert(of.thread, thread);
    }

    /// Adds a thread that existed at this time, waiting or not.
    pub fn meets(&mut self, of: ThreadOf, at_ns: u64, waits: bool) {
        let state = self.off_since(at_ns, !waits, None);
        let thread = Thread {
            of,
            state,
            cpu_ns: Some(0),
            leaving: None,
            is_met: true,
        };
        self.threads.insert(of.thread, thread);
    }

    pub fn leaves(&mut self, raw: Box<Raw>) {
        if let Some(thread) = self.threads.get_mut(&raw.of.thread) {
            thread.leaving = Some(raw);
        }
    }

    pub fn left(&mut self, of: ThreadOf) -> Option<Box<Raw>> {
        self.threads.get_mut(&of.thread)?.leaving.take()
    }

    pub fn off(
        &mut self,
        of: ThreadOf,
        at_ns: u64,
        is_runnable: bool,
        stack: Option<Stack>,
    ) -> Vec<Known> {
        if !self.threads.contains_key(&of.thread) {
            return Vec::new();
        }
        self.packets.forget(of.thread);
        let state = self.off_since(at_ns, is_runnable, stack);
        self.threads
            .get_mut(&of.thread)
            .map_or_else(Vec::new, |thread| {
                thread.runs_since_met();
                let known = thread.ran_until(at_ns);
                thread.state = state;
                known
            })
    }

    pub fn packet(&mut self, packet: &Packet, at_ns: u64) {
        self.packets.take(packet, at_ns);
    }

    pub fn packets_end(&mut self) {
        self.packets.end();
    }

    /// A thread became runnable. The first such event ends its wait. In an interrupt, the waker is not the
    /// interrupted thread, unless the interrupt receives that thread's own packet.
    pub fn woken(&mut self, waking: &Waking, at_ns: u64) {
        let is_of_thread = match waking.context {
            Context::Call => true,
            Context::SoftInterrupt => self.packets.is_own_received(waking.by.thread, at_ns),
            Context::HardInterrupt => false,
        };
        let by = if is_of_thread && waking.by.thread != waking.woken {
            self.stretch_of(waking.by)
        } else {
            None
        };
        let woken = self.threads.get_mut(&waking.woken);
        if let Some(State::Off {
            since_ns,
            is_runnable: false,
            woken: woken @ None,
            ..
        }) = woken.map(|thread| &mut thread.state)
        {
            // It may be told twice, by both threads' events: the second is not the first any more.
            let at_ns = at_ns.max(*since_ns);
            *woken = Some(Woken { at_ns, by });
        }
    }

    fn stretch_of(&self, of: ThreadOf) -> Option<By> {
        let by = |stretch, by_end| By {
            thread: of.thread,
            stretch,
            by_end,
        };
        match self.threads.get(&of.thread).map(|thread| &thread.state) {
            Some(State::Running { id, .. }) => Some(by(*id, false)),
            Some(_) => None,
            None => self.ended.get(&of.thread).map(|id| by(*id, true)),
        }
    }

    pub fn on(&mut self, of: ThreadOf, at_ns: u64) -> Vec<Known> {
        let Some(thread) = self.threads.get_mut(&of.thread) else {
            return Vec::new();
        };
        thread.leaving = None;
        thread.is_met = false;
        if let State::Running { .. } = thread.state {
            // Two beginnings in a row: the first stretch is not told.
            self.first_told = self.next_id;
        }
        let known = self.waited_until(of, at_ns);
        let state = self.running(at_ns);
        if let Some(thread) = self.threads.get_mut(&of.thread) {
            if known.is_empty() {
                thread.cpu_ns = None;
            }
            thread.state = state;
        }
        known
    }

    pub fn seen_running(&mut self, of: ThreadOf) {
        if let Some(thread) = self.threads.get_mut(&of.thread)
            && matches!(thread.state, State::Off { .. })
            && !thread.runs_since_met()
        {
            thread.forget();
        }
    }

    /// Switches of unknown threads were lost.
    pub fn lost(&mut self) {
        self.first_told = self.next_id;
        self.threads.values_mut().for_each(Thread::forget);
    }

    pub fn ends(&mut self, of: ThreadOf, at_ns: u64) -> Vec<Known> {
        self.packets.forget(of.thread);
        let Some(thread) = self.threads.remove(&of.thread) else {
            return Vec::new();
        };
        if let State::Running { id, .. } = thread.state
            && of.process == of.thread
        {
            self.ended.insert(of.thread, id);
        }
        thread.finish(at_ns)
    }

    /// Ends everything: intervals that lasted until now, and CPU times.
    pub fn end(&mut self, at_ns: u64) -> Vec<Known> {
        let numbers: Vec<ThreadOf> = self.threads.values().map(|thread| thread.of).collect();
        let mut known = Vec::new();
        for of in numbers {
            if self
                .threads
                .get(&of.thread)
                .is_some_and(Thread::may_have_run)
            {
                continue;
            }
            known.extend(self.waited_until(of, at_ns));
        }
        let threads = std::mem::take(&mut self.threads);
        known.extend(
            threads
                .into_values()
                .flat_map(|thread| thread.finish(at_ns)),
        );
        known
    }

    /// Ends the open wait of a thread. If it is known when it became runnable, the wait becomes two intervals.
    fn waited_until(&mut self, of: ThreadOf, at_ns: u64) -> Vec<Known> {
        let Some(thread) = self.threads.get_mut(&of.thread) else {
            return Vec::new();
        };
        let State::Off { .. } = thread.state else {
            return Vec::new();
        };
        let State::Off {
            id,
            since_ns,
            is_runnable,
            stack,
            woken,
        } = std::mem::replace(&mut thread.state, State::Unknown)
        else {
            return Vec::new();
        };
        let until_ns = woken.map_or(at_ns, |woken| woken.at_ns.min(at_ns));
        let mut known = vec![Known::Wait(Wait {
            id,
            of,
            start_ns: since_ns,
            end_ns: until_ns,
            is_runnable,
            stack,
        })];
        if until_ns < at_ns {
            known.push(Known::Wait(Wait {
                id: self.id(),
                of,
                start_ns: until_ns,
                end_ns: at_ns,
                is_runnable: true,
                stack: None,
            }));
        }
        let by = woken.and_then(|woken| woken.by);
        known.extend(by.and_then(|by| self.cause(by, id)).map(Known::Caused));
        known
    }

    /// The cause of a reported wait, if the waker's interval is reported as well. While that interval is open,
    /// it keeps the wait.
    fn cause(&mut self, by: By, wait: u64) -> Option<Cause> {
        if by.stretch < self.first_told {
            return None;
        }
        let state = self
            .threads
            .get_mut(&by.thread)
            .map(|thread| &mut thread.state);
        match state {
            Some(State::Running { id, ended, .. }) if *id == by.stretch => {
                ended.push(wait);
                None
            }
            _ => Some(Cause {
                from: by.stretch,
                to: wait,
                by_end: by.by_end,
            }),
        }
    }
}

impl Thread {
    fn forget(&mut self) {
        self.state = State::Unknown;
        self.cpu_ns = None;
        self.is_met = false;
    }

    /// True if it was running or runnable when it was found, and no event has been seen since.
    fn may_have_run(&self) -> bool {
        self.is_met
            && matches!(
                self.state,
                State::Off {
                    is_runnable: true,
                    ..
                }
            )
    }

    /// True if it was running when it was found and no event has been seen since: then it has been running
    /// since that time.
    fn runs_since_met(&mut self) -> bool {
        let is_met = std::mem::take(&mut self.is_met);
        if let State::Off { id, since_ns, .. } = self.state
            && is_met
        {
            self.state = State::Running {
                id,
                since_ns,
                ended: Vec::new(),
            };
        }
        is_met
    }

    fn ran_until(&mut self, at_ns: u64) -> Vec<Known> {
        match std::mem::replace(&mut self.state, State::Unknown) {
            State::Running {
                id,
                since_ns,
                ended,
            } => {
                let ran_ns = at_ns.saturating_sub(since_ns);
                self.cpu_ns = self.cpu_ns.map(|cpu_ns| cpu_ns + ran_ns);
                let stretch = Known::Ran(Stretch {
                    id,
                    of: self.of,
                    start_ns: since_ns,
                    end_ns: since_ns + ran_ns,
                });
                let caused = |to| {
                    Known::Caused(Cause {
                        from: id,
                        to,
                        by_end: false,
                    })
                };
                std::iter::once(stretch)
                    .chain(ended.into_iter().map(caused))
                    .collect()
            }
            // Two ends in a row.
            State::Off { .. } | State::Unknown => {
                self.cpu_ns = None;
                Vec::new()
            }
        }
    }

    /// Ends a thread that is running or whose last wait has been taken.
    fn finish(mut self, at_ns: u64) -> Vec<Known> {
        let mut known = Vec::new();
        if self.may_have_run() {
            self.cpu_ns = None;
        }
        if matches!(self.state, State::Running { .. }) {
            known = self.ran_until(at_ns);
        }
        known.extend(self.cpu_ns.map(|cpu_ns| {
            Known::Time(CpuTime {
                of: self.of,
                until_ns: at_ns,
                cpu_ns,
            })
        }));
        known
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packets::tests::{queued, received};

    const OF: ThreadOf = ThreadOf {
        process: 1,
        thread: 2,
    };
    const OTHER: ThreadOf = ThreadOf {
        process: 1,
        thread: 3,
    };

    /// Start and end of waits; true if runnable.
    fn waits(known: &[Known]) -> Vec<(u64, u64, bool)> {
        let wait = |known: &Known| match known {
            Known::Wait(wait) => Some((wait.start_ns, wait.end_ns, wait.is_runnable)),
            _ => None,
        };
        known.iter().filter_map(wait).collect()
    }

    fn stretches(known: &[Known]) -> Vec<(u64, u64)> {
        let stretch = |known: &Known| match known {
            Known::Ran(stretch) => Some((stretch.start_ns, stretch.end_ns)),
            _ => None,
        };
        known.iter().filter_map(stretch).collect()
    }

    fn cpu_ns(known: &[Known]) -> Option<u64> {
        known.iter().find_map(|known| match known {
            Known::Time(time) => Some(time.cpu_ns),
            _ => None,
        })
    }

    /// Causes: start of the waker's interval, start of the wait, and true if the waker ended.
    fn causes(all: &[Known]) -> Vec<(u64, u64, bool)> {
        let (mut begins, mut found) = (HashMap::new(), Vec::new());
        for known in all {
            match known {
                Known::Wait(wait) => drop(begins.insert(wait.id, wait.start_ns)),
                Known::Ran(stretch) => drop(begins.insert(stretch.id, stretch.start_ns)),
                Known::Caused(cause) => found.push(*cause),
                Known::Time(_) => {}
            }
        }
        let told = |cause: &Cause| (begins[&cause.from], begins[&cause.to], cause.by_end);
        found.iter().map(told).collect()
    }

    fn waking(by: ThreadOf, woken: ThreadOf, context: Context) -> Waking {
        Waking {
            by,
            woken: woken.thread,
            context,
        }
    }

    #[test]
    fn a_threads_time_is_running_runnable_or_off_its_processor() {
        let mut all = Waits::default();
        all.begins(OF, 10, false);
        assert_eq!(waits(&all.on(OF, 15)), [(10, 15, true)]);
        assert_eq!(stretches(&all.off(OF, 18, false, None)), [(15, 18)]);
        assert_eq!(waits(&all.on(OF, 30)), [(18, 30, false)]);
        assert_eq!(stretches(&all.off(OF, 31, true, None)), [(30, 31)]);
        assert_eq!(waits(&all.on(OF, 32)), [(31, 32, true)]);
        let known = all.ends(OF, 40);
        assert_eq!(stretches(&known), [(32, 40)]);
        assert_eq!(cpu_ns(&known), Some(3 + 1 + 8));
        // It is gone.
        assert!(all.off(OF, 41, false, None).is_empty());
        assert!(all.end(50).is_empty());
    }

    #[test]
    fn a_wait_that_lasts_until_the_end_is_told() {
        let mut all = Waits::default();
        all.begins(OF, 0, true);
        all.off(OF, 4, false, None);
        let known = all.end(9);
        assert_eq!(
            (waits(&known), cpu_ns(&known)),
            (vec![(4, 9, false)], Some(4))
        );
    }

    #[test]
    fn nothing_is_told_over_a_lost_switch() {
        let mut all = Waits::default();
        all.begins(OF, 0, true);
        all.off(OF, 4, false, None);
        all.lost();
        assert!(waits(&all.on(OF, 9)).is_empty());
        all.off(OF, 12, false, None);
        // From here on all is known again, but not the sum.
        assert_eq!(waits(&all.on(OF, 20)), [(12, 20, false)]);
        assert_eq!(cpu_ns(&all.ends(OF, 21)), None);
        // Seen running while it should not be.
        all.begins(OF, 30, true);
        all.off(OF, 31, false, None);
        all.seen_running(OF);
        assert!(waits(&all.on(OF, 35)).is_empty());
        assert_eq!(cpu_ns(&all.ends(OF, 36)), None);
    }

    #[test]
    fn a_wait_lasts_until_the_first_waking_and_is_ended_by_the_stretch_that_woke() {
        let mut all = Waits::default();
        all.begins(OF, 0, true);
        all.begins(OTHER, 0, true);
        let mut known = all.off(OF, 4, false, None);
        all.woken(&waking(OTHER, OF, Context::Call), 7);
        // Told again, by the event of the one that is woken.
        all.woken(&waking(OF, OF, Context::Call), 8);
        let ended = all.on(OF, 10);
        assert_eq!(waits(&ended), [(4, 7, false), (7, 10, true)]);
        known.extend(ended);
        assert!(causes(&known).is_empty(), "the stretch is not told yet");
        known.extend(all.off(OTHER, 12, true, None));
        assert_eq!(causes(&known), [(0, 4, false)]);
        // A stretch that has ended before the wait is told.
        known.extend(all.off(OF, 13, false, None));
        known.extend(all.on(OTHER, 14));
        all.woken(&waking(OTHER, OF, Context::Call), 15);
        known.extend(all.off(OTHER, 16, true, None));
        known.extend(all.on(OF, 17));
        assert_eq!(causes(&known), [(0, 4, false), (14, 13, false)]);
    }

    #[test]
    fn nobody_is_the_cause_of_an_interrupts_waking() {
        for context in [Context::SoftInterrupt, Context::HardInterrupt] {
            let mut all = Waits::default();
            all.begins(OF, 0, true);
            all.begins(OTHER, 0, true);
            let mut known = all.off(OF, 4, false, None);
            all.woken(&waking(OTHER, OF, context), 7);
            // Later: not what ended the wait.
            all.woken(&waking(OTHER, OF, Context::Call), 8);
            known.extend(all.on(OF, 9));
            known.extend(all.end(20));
            assert_eq!(waits(&known), [(4, 7, false), (7, 9, true)]);
            assert!(causes(&known).is_empty());
        }
    }

    #[test]
    fn a_waking_at_the_receipt_of_a_threads_own_packet_is_its() {
        // What is received; true: by what an interrupt left for later.
        let causes_of = |received: u64, context: Context| {
            let mut all = Waits::default();
            all.begins(OF, 0, true);
            all.begins(OTHER, 0, true);
            let mut known = all.off(OF, 4, false, None);
            for packet in [queued(OTHER, 5), self::received(OTHER, received)] {
                all.packet(&packet, 6);
            }
            all.woken(&waking(OTHER, OF, context), 7);
            known.extend(all.on(OF, 9));
            known.extend(all.end(20));
            causes(&known)
        };
        assert_eq!(causes_of(5, Context::SoftInterrupt), [(0, 4, false)]);
        assert!(causes_of(6, Context::SoftInterrupt).is_empty());
        assert!(causes_of(5, Context::HardInterrupt).is_empty());
    }

    #[test]
    fn the_end_of_a_process_ends_the_wait_for_it() {
        let child = ThreadOf {
            process: 9,
            thread: 9,
        };
        let mut all = Waits::default();
        all.begins(OF, 0, true);
        all.begins(child, 0, true);
        let mut known = all.off(OF, 4, false, None);
        known.extend(all.ends(child, 6));
        all.woken(&waking(child, OF, Context::Call), 7);
        known.extend(all.on(OF, 8));
        assert_eq!(causes(&known), [(0, 4, true)]);
    }

    #[test]
    fn no_cause_is_told_whose_stretch_is_not() {
        let mut all = Waits::default();
        all.begins(OF, 0, true);
        all.begins(OTHER, 0, true);
        all.off(OF, 4, false, None);
        all.woken(&waking(OTHER, OF, Context::Call), 7);
        let mut known = all.on(OF, 8);
        all.lost();
        known.extend(all.off(OTHER, 12, true, None));
        known.extend(all.end(20));
        assert!(known.iter().all(|known| !matches!(known, Known::Caused(_))));
        // It begins twice in a row: where its first stretch ended is not known.
        let mut all = Waits::default();
        all.begins(OF, 0, true);
        all.begins(OTHER, 0, true);
        all.off(OF, 4, false, None);
        all.woken(&waking(OTHER, OF, Context::Call), 7);
        all.on(OTHER, 8);
        assert!(causes(&all.on(OF, 9)).is_empty());
    }

    #[test]
    fn what_a_thread_did_when_it_was_met_follows_from_what_it_does_next() {
        // It waited, and is woken.
        let mut all = Waits::default();
        all.meets(OF, 10, true);
        all.woken(&waking(OTHER, OF, Context::HardInterrupt), 14);
        assert_eq!(waits(&all.on(OF, 15)), [(10, 14, false), (14, 15, true)]);
        // It ran.
        let mut all = Waits::default();
        all.meets(OF, 10, false);
        assert_eq!(stretches(&all.off(OF, 18, false, None)), [(10, 18)]);
        let known = all.end(20);
        assert_eq!(
            (waits(&known), cpu_ns(&known)),
            (vec![(18, 20, false)], Some(8))
        );
        // It was ready, and no processor was free.
        let mut all = Waits::default();
        all.meets(OF, 10, false);
        assert_eq!(waits(&all.on(OF, 12)), [(10, 12, true)]);
        // It waits until the end.
        let mut all = Waits::default();
        all.meets(OF, 10, true);
        let known = all.end(20);
        assert_eq!(
            (waits(&known), cpu_ns(&known)),
            (vec![(10, 20, false)], Some(0))
        );
        // A sample says that it ran; without one nobody knows.
        for (is_sampled, ran) in [(true, vec![(10, 20)]), (false, Vec::new())] {
            let mut all = Waits::default();
            all.meets(OF, 10, false);
            if is_sampled {
                all.seen_running(OF);
            }
            let known = all.end(20);
            assert_eq!((waits(&known), stretches(&known)), (Vec::new(), ran));
            assert_eq!(cpu_ns(&known), is_sampled.then_some(10));
        }
    }
}
