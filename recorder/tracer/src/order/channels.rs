//! Pipes, sockets and event counters: who wrote what another read.
//!
//! Bytes come out in the order in which they went in, so the first byte that a read got tells whose write it waited for,
//! as long as all writes and reads are seen. Where it is not certain whose byte that was, no write is told: writes that
//! were open at the same time count as one, and so do those left when several reads are open. A read of more than all
//! seen writes gave shows that somebody else writes there: then nothing is told any more.

use std::collections::{HashMap, HashSet, VecDeque};

use libc::pid_t;
use syscalls::Sysno;

use super::Moment;
use super::sockets::{self, Connection, Ends};
use crate::descriptors::Object;

/// Limit on separate writes per channel; older ones are merged.
const MAX_WRITES: usize = 4096;
/// From this number of channels on, those that no process has open are removed.
const MIN_CHANNELS: usize = 4096;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Channel {
    /// A pipe or an event counter.
    Of(Object),
    /// To the socket of this number.
    To(u64),
    Tcp(Connection),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Flow {
    pub gives: Option<i32>,
    pub takes: Option<i32>,
    pub peeks: bool,
}

/// Descriptors between which a call moves bytes.
pub(crate) fn flow(call: Sysno, arguments: &[u64; 6]) -> Flow {
    let descriptor = |at: usize| Some(arguments[at] as i32);
    let flags = |at: usize| arguments[at] as i32;
    match call {
        Sysno::read | Sysno::readv | Sysno::preadv2 => Flow {
            takes: descriptor(0),
            ..Flow::default()
        },
        Sysno::recvfrom => Flow {
            takes: descriptor(0),
            peeks: flags(3) & libc::MSG_PEEK != 0,
            ..Flow::default()
        },
        Sysno::recvmsg => Flow {
            takes: descriptor(0),
            peeks: flags(2) & libc::MSG_PEEK != 0,
            ..Flow::default()
        },
        Sysno::write
        | Sysno::writev
        | Sysno::pwritev2
        | Sysno::sendto
        | Sysno::sendmsg
        | Sysno::sendfile => Flow {
            gives: descriptor(0),
            ..Flow::default()
        },
        Sysno::splice => Flow {
            takes: descriptor(0),
            gives: descriptor(2),
            ..Flow::default()
        },
        Sysno::tee => Flow {
            takes: descriptor(0),
            gives: descriptor(1),
            peeks: true,
        },
        _ => Flow::default(),
    }
}

/// True for calls that move more than their return value shows, or report it elsewhere.
pub(crate) fn hides(call: Sysno) -> bool {
    matches!(call, Sysno::sendmmsg | Sysno::recvmmsg | Sysno::vmsplice)
}

/// Writes that are tracked together.
struct Writes {
    /// Row of the first of them, and its thread.
    id: u64,
    thread: pid_t,
    count: u32,
    open: u32,
    /// Bytes written by those that have returned, minus those taken.
    units: i64,
    is_taken: bool,
    ended: Moment,
}

#[derive(Default)]
struct State {
    writes: VecDeque<Writes>,
    reads: u32,
    /// Reads that were open at this moment may overlap with others, so their order is unknown.
    mixed_at: Moment,
    taken_at: Moment,
    /// True if processes that are not traced write or read here.
    is_broken: bool,
    /// For a connection, the socket that writes. Another socket means another connection.
    giver: Option<u64>,
}

pub(crate) struct Channels {
    states: HashMap<Channel, State>,
    sockets: HashMap<u64, Ends>,
    inherited: HashSet<Object>,
    is_blind: bool,
    max: usize,
}

impl Default for Channels {
    fn default() -> Self {
        Self {
            states: HashMap::new(),
            sockets: HashMap::new(),
            inherited: HashSet::new(),
            is_blind: false,
            max: MIN_CHANNELS,
        }
    }
}

impl Channels {
    /// Marks objects that untraced processes can write to and read from.
    pub fn leave_out(&mut self, inherited: HashSet<Object>) {
        self.inherited = inherited;
    }

    pub fn are_hidden(&mut self) {
        self.is_blind = true;
        self.states.clear();
    }

    pub fn are_a_pair(&mut self, one: u64, other: u64) {
        self.sockets.insert(one, Ends::Pair(other));
        self.sockets.insert(other, Ends::Pair(one));
    }

    pub fn of_giver(&mut self, process: pid_t, object: Object) -> Option<Channel> {
        let Object::Socket(number) = object else {
            return self.of(object);
        };
        let channel = match self.ends(process, number)? {
            Ends::Pair(other) => Channel::To(other),
            Ends::Tcp(connection) => Channel::Tcp(connection),
            Ends::Unknown => return None,
        };
        if let Channel::Tcp(_) = channel {
            let state = self.states.entry(channel).or_default();
            if state.giver.is_some_and(|giver| giver != number) {
                *state = State::default();
            }
            state.giver = Some(number);
        }
        Some(channel)
    }

    pub fn of_taker(&mut self, process: pid_t, object: Object) -> Option<Channel> {
        let Object::Socket(number) = object else {
            return self.of(object);
        };
        match self.ends(process, number)? {
            Ends::Pair(_) => Some(Channel::To(number)),
            Ends::Tcp(connection) => Some(Channel::Tcp(connection.reversed())),
            Ends::Unknown => None,
        }
    }

    fn of(&self, object: Object) -> Option<Channel> {
        let is_known =
            !self.is_blind && object != Object::Signals && !self.inherited.contains(&object);
        is_known.then_some(Channel::Of(object))
    }

    fn ends(&mut self, process: pid_t, socket: u64) -> Option<Ends> {
        if self.is_blind || self.inherited.contains(&Object::Socket(socket)) {
            return None;
        }
        let ends = self.sockets.entry(socket);
        Some(*ends.or_insert_with(|| sockets::ends(process, socket)))
    }

    pub fn gives(&mut self, channel: Channel, (id, thread): (u64, pid_t)) {
        let state = self.states.entry(channel).or_default();
        match state.writes.back_mut().filter(|last| last.open > 0) {
            Some(last) => {
                last.count += 1;
                last.open += 1;
            }
            None => state.writes.push_back(Writes {
                id,
                thread,
                count: 1,
                open: 1,
                units: 0,
                is_taken: false,
                ended: Moment::MAX,
            }),
        }
        if state.writes.len() > MAX_WRITES
            && let Some(oldest) = state.writes.pop_front()
            && let Some(first) = state.writes.front_mut()
        {
            first.count = first.count.saturating_add(oldest.count);
            first.units += oldest.units;
        }
    }

    pub fn given(&mut self, channel: Channel, (id, now): (u64, Moment), units: u64) {
        let Some(state) = self.states.get_mut(&channel) else {
            return;
        };
        // Only the last ones can be open.
        let Some(last) = state.writes.back_mut().filter(|last| last.open > 0) else {
            return;
        };
        last.open -= 1;
        if last.open == 0 {
            last.ended = now;
        }
        last.units += units as i64;
        let is_empty = last.open == 0 && last.units == 0;
        let took_too_much = last.open == 0 && last.units < 0;
        if is_empty || last.count == 1 && last.id == id && units == 0 {
            state.writes.pop_back();
        }
        state.is_broken |= took_too_much;
    }

    pub fn takes(&mut self, channel: Channel) {
        self.states.entry(channel).or_default().reads += 1;
    }

    /// A reading call of a thread has returned. Returns the call that it waited for.
    pub fn taken(
        &mut self,
        (channel, thread): (Channel, pid_t),
        units: u64,
        (since, now): (Moment, Moment),
        peeks: bool,
    ) -> Option<u64> {
        let state = self.states.get_mut(&channel)?;
        state.reads = state.reads.saturating_sub(1);
        if units == 0 || state.is_broken {
            return None;
        }
        let has_all = || {
            let there: i64 = state.writes.iter().map(|writes| writes.units.max(0)).sum();
            there >= units as i64 || state.writes.back().is_some_and(|last| last.open > 0)
        };
        let is_alone = state.reads == 0 || state.writes.len() == 1;
        let is_certain = is_alone && since > state.mixed_at;
        let from = state.first(thread, since).filter(|_| is_certain);
        // The sum is asked for only where the first ones do not have enough.
        let has_enough = state
            .writes
            .front()
            .is_some_and(|first| first.units >= units as i64);
        if !has_enough && !has_all() {
            state.is_broken = true;
            state.writes.clear();
            return None;
        }
        if !peeks {
            state.taken_at = now;
            state.take(units as i64);
        }
        if !is_certain {
            state.mixed_at = now;
        }
        from
    }

    /// The call that made an object ready, if nothing has been read since. With `is_edge`, earlier data does
    /// not count.
    pub fn made_ready(
        &self,
        (channel, thread): (Channel, pid_t),
        since: Moment,
        is_edge: bool,
    ) -> Option<u64> {
        let state = self.states.get(&channel)?;
        let is_certain = state.taken_at < since && (state.reads == 0 || state.writes.len() == 1);
        if state.is_broken || !is_certain {
            return None;
        }
        if !is_edge {
            return state.first(thread, since);
        }
        let mut new = state.writes.iter().rev().take_while(|of| of.ended > since);
        let only = new.next()?;
        let is_certain = new.next().is_none() && only.count == 1 && only.thread != thread;
        is_certain.then_some(only.id)
    }

    /// A call on the channel never returned, so it is unknown what it moved.
    pub fn lose(&mut self, channel: Channel) {
        let state = self.states.entry(channel).or_default();
        state.is_broken = true;
        state.writes.clear();
    }

    pub fn are_many(&self) -> bool {
        self.states.len() + self.sockets.len() > self.max
    }

    /// Forgets all channels except those that a process has open. Does nothing if `open` is `None`: unknown.
    pub fn keep(&mut self, open: &Option<HashSet<Object>>) {
        if let Some(open) = open {
            self.sockets
                .retain(|number, _| open.contains(&Object::Socket(*number)));
            let sockets = &self.sockets;
            let connections: HashSet<Connection> = sockets
                .values()
                .filter_map(|ends| match ends {
                    Ends::Tcp(connection) => Some([*connection, connection.reversed()]),
                    _ => None,
                })
                .flatten()
                .collect();
            self.states.retain(|channel, _| match channel {
                Channel::Of(object) => open.contains(object),
                Channel::To(number) => open.contains(&Object::Socket(*number)),
                Channel::Tcp(connection) => connections.contains(connection),
            });
        }
        self.max = MIN_CHANNELS.max(2 * (self.states.len() + self.sockets.len()));
    }
}

impl State {
    /// The first write with data left, if it is tracked separately. Data left from before `since` was not
    /// waited for, and no thread waits for itself.
    fn first(&self, thread: pid_t, since: Moment) -> Option<u64> {
        let first = self.writes.front()?;
        let is_new = !first.is_taken || first.ended > since;
        (first.count == 1 && is_new && first.thread != thread).then_some(first.id)
    }

    fn take(&mut self, mut units: i64) {
        while let Some(first) = self.writes.front_mut().filter(|_| units > 0) {
            first.is_taken = true;
            if first.open > 0 {
                first.units -= units;
                return;
            }
            let taken = units.min(first.units);
            first.units -= taken;
            units -= taken;
            if first.units > 0 {
                return;
            }
            self.writes.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PIPE: Channel = Channel::Of(Object::Pipe(1));
    const WRITER: pid_t = 1;
    const READER: pid_t = 2;

    #[derive(Default)]
    struct Pipe(Channels, Moment);

    impl Pipe {
        fn begin(&mut self, id: u64) {
            self.1 += 1;
            self.0.gives(PIPE, (id, WRITER));
        }

        fn end(&mut self, id: u64, bytes: u64) {
            self.1 += 1;
            self.0.given(PIPE, (id, self.1), bytes);
        }

        fn write(&mut self, id: u64, bytes: u64) {
            self.begin(id);
            self.end(id, bytes);
        }

        fn begin_read(&mut self) -> Moment {
            self.1 += 1;
            self.0.takes(PIPE);
            self.1
        }

        fn end_read(&mut self, since: Moment, bytes: u64) -> Option<u64> {
            self.1 += 1;
            self.0.taken((PIPE, READER), bytes, (since, self.1), false)
        }

        fn read(&mut self, bytes: u64) -> Option<u64> {
            let since = self.begin_read();
            self.end_read(since, bytes)
        }
    }

    #[test]
    fn a_read_waited_for_the_write_of_its_first_byte() {
        let mut pipe = Pipe::default();
        pipe.write(1, 3);
        pipe.write(2, 3);
        pipe.write(3, 1);
        assert_eq!(pipe.read(2), Some(1));
        assert_eq!(pipe.read(2), None, "the rest of the first was there");
        assert_eq!(pipe.read(3), None, "the second had begun to be read");
        let since = pipe.begin_read();
        pipe.begin(4);
        assert_eq!(pipe.end_read(since, 7), Some(4));
        let since = pipe.begin_read();
        assert_eq!(pipe.end_read(since, 7), Some(4), "it still writes");
        pipe.end(4, 14);
        pipe.write(5, 1);
        assert_eq!(pipe.read(1), Some(5));
    }

    #[test]
    fn what_cannot_be_told_apart_has_no_cause_and_what_follows_has() {
        let mut pipe = Pipe::default();
        pipe.begin(1);
        pipe.begin(2);
        pipe.end(2, 1);
        pipe.end(1, 1);
        assert_eq!((pipe.read(1), pipe.read(1)), (None, None));
        pipe.write(3, 1);
        assert_eq!(pipe.read(1), Some(3));
        // Of two reads nobody knows which was first.
        let (one, other) = (pipe.begin_read(), pipe.begin_read());
        pipe.write(4, 1);
        pipe.write(5, 1);
        assert_eq!(pipe.end_read(one, 1), None);
        assert_eq!(pipe.end_read(other, 1), None);
        pipe.write(6, 1);
        assert_eq!(pipe.read(1), Some(6));
    }

    #[test]
    fn who_writes_unseen_ends_what_can_be_told() {
        let mut pipe = Pipe::default();
        pipe.write(1, 1);
        assert_eq!(pipe.read(5), None);
        pipe.write(2, 1);
        assert_eq!(pipe.read(1), None);
    }
}
