//! Futexes: who woke whom. (`man 2 futex`)
//!
//! A wait that returns 0 was ended by a wake of the same word. Each wake says how many it has ended, so a wake is used
//! up after as many waits. Where several that are not used up could have ended a wait, nobody knows which did; they are
//! counted as one from then on.

use std::collections::HashMap;

use libc::{c_int, pid_t};

use super::{Caller, Cause, CauseKind, Moment, Role};
use crate::memory::{self, Place};

/// Limit on words that are treated as one, and on separate wakes per word.
const MAX_ALIASES: usize = 4096;
const MAX_WAKES: usize = 64;
const MAX_PLACES: usize = 1024;

/// A word of memory, with the kernel's notion of identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Word {
    /// In the memory of one process, for private waits. Only private wakes end these.
    Private(pid_t, u64),
    /// The same, with operations that are not private.
    Own(pid_t, u64),
    /// In a file or memory that several processes can map: device, number and offset.
    Shared(u64, u64, u64),
}

/// The word of a call, and which of its waits it affects.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WaitTarget {
    word: Word,
    mask: u32,
    /// Limit on waits that it ends, among everything that its result counts.
    most: u64,
}

struct Wake {
    /// Row of the call, or the last row of a thread that has ended.
    id: u64,
    kind: CauseKind,
    mask: u32,
    begun: Moment,
    ended: Moment,
    /// Number of waits that it ended and that have not returned yet. `None` if the call has not returned.
    left: Option<u64>,
    is_mixed: bool,
}

struct Woken {
    to: u64,
    mask: u32,
    begun: Moment,
    ended: Moment,
}

#[derive(Default)]
struct Waits {
    open: usize,
    wakes: Vec<Wake>,
    /// Waits that ended while a wake that may have ended them had not returned.
    woken: Vec<Woken>,
}

pub(crate) struct Futexes {
    words: HashMap<Word, Waits>,
    /// Words whose waits may have been moved to others: they count as one.
    aliases: HashMap<Word, Word>,
    /// Places of shared words, cached while every call that changes mappings is traced.
    places: Option<HashMap<(pid_t, u64), Word>>,
}

impl Futexes {
    pub fn new(sees_all_calls: bool) -> Self {
        Self {
            words: HashMap::new(),
            aliases: HashMap::new(),
            places: sees_all_calls.then(HashMap::new),
        }
    }

    pub fn begins(
        &mut self,
        caller: Caller,
        (id, now): (u64, Moment),
        arguments: &[u64; 6],
    ) -> Role {
        let [at, operation, value, _, other, mask] = *arguments;
        let is_private = operation as c_int & libc::FUTEX_PRIVATE_FLAG != 0;
        let mask = mask as u32;
        match operation as c_int & 0x7f {
            libc::FUTEX_WAIT => self.waits(caller, (at, is_private), u32::MAX),
            libc::FUTEX_WAIT_BITSET => self.waits(caller, (at, is_private), mask),
            libc::FUTEX_WAKE => {
                let asked = self.asked(caller, (at, is_private), u32::MAX);
                self.wakes(asked, id, now)
            }
            libc::FUTEX_WAKE_BITSET => {
                let asked = self.asked(caller, (at, is_private), mask);
                self.wakes(asked, id, now)
            }
            operation @ (libc::FUTEX_WAKE_OP | libc::FUTEX_REQUEUE | libc::FUTEX_CMP_REQUEUE) => {
                let asked = self.asked(caller, (at, is_private), u32::MAX);
                let other = self.asked(caller, (other, is_private), u32::MAX);
                let (Some(asked), Some(other)) = (asked, other) else {
                    return Role::None;
                };
                self.count_as_one(other.word, asked.word);
                // What it returns counts those that were moved as well.
                let most = match operation {
                    libc::FUTEX_WAKE_OP => u64::MAX,
                    _ => u64::try_from(value as c_int).unwrap_or(0),
                };
                match most {
                    0 => Role::None,
                    most => self.wakes(Some(WaitTarget { most, ..asked }), id, now),
                }
            }
            _ => Role::None,
        }
    }

    fn waits(&mut self, caller: Caller, at: (u64, bool), mask: u32) -> Role {
        let Some(asked) = self.asked(caller, at, mask) else {
            return Role::None;
        };
        self.words.entry(asked.word).or_default().open += 1;
        Role::WaitsForFutex(asked)
    }

    fn wakes(&mut self, asked: Option<WaitTarget>, id: u64, now: Moment) -> Role {
        let Some(asked) = asked else {
            return Role::None;
        };
        let wake = Wake {
            id,
            kind: CauseKind::Wakes,
            mask: asked.mask,
            begun: now,
            ended: Moment::MAX,
            left: None,
            is_mixed: false,
        };
        self.words.entry(asked.word).or_default().add(wake);
        Role::WakesFutex(asked)
    }

    /// A wait has returned. `woken` is its row, if a wake ended it.
    pub fn wait_ends(
        &mut self,
        asked: WaitTarget,
        (begun, ended): (Moment, Moment),
        woken: Option<u64>,
        found: &mut Vec<Cause>,
    ) {
        let word = self.first_of(asked.word);
        let Some(waits) = self.words.get_mut(&word) else {
            return;
        };
        waits.open = waits.open.saturating_sub(1);
        waits.woken.extend(woken.map(|to| Woken {
            to,
            mask: asked.mask,
            begun,
            ended,
        }));
        self.settle(word, found);
    }

    /// A wake has returned with the number of waits that it has ended; `None` if that is unknown.
    pub fn wake_ends(
        &mut self,
        asked: WaitTarget,
        (id, now): (u64, Moment),
        woken: Option<u64>,
        found: &mut Vec<Cause>,
    ) {
        let word = self.first_of(asked.word);
        let Some(waits) = self.words.get_mut(&word) else {
            return;
        };
        let open = waits.wakes.iter_mut();
        for wake in open.filter(|wake| wake.id == id && wake.left.is_none()) {
            wake.left = Some(woken.map_or(u64::MAX, |woken| woken.min(asked.most)));
            wake.is_mixed |= woken.is_none();
            wake.ended = now;
        }
        self.settle(word, found);
    }

    /// A thread is about to end. It then clears a word and ends one wait for it.
    pub fn thread_ends(
        &mut self,
        caller: Caller,
        at: u64,
        (last, now): (u64, Moment),
    ) -> Option<Word> {
        let asked = self.asked(caller, (at, false), u32::MAX)?;
        let wake = Wake {
            id: last,
            kind: CauseKind::Joins,
            mask: u32::MAX,
            begun: now,
            ended: Moment::MAX,
            left: Some(1),
            is_mixed: false,
        };
        self.words.entry(asked.word).or_default().add(wake);
        Some(asked.word)
    }

    pub fn thread_is_gone(&mut self, word: Word, now: Moment) {
        let word = self.first_of(word);
        if let Some(waits) = self.words.get_mut(&word) {
            let open = waits.wakes.iter_mut();
            for wake in open.filter(|wake| wake.kind == CauseKind::Joins) {
                wake.ended = wake.ended.min(now);
            }
            self.settle(word, &mut Vec::new());
        }
    }

    pub fn forget_places(&mut self, memory: pid_t) {
        if let Some(places) = &mut self.places {
            places.retain(|(of, _), _| *of != memory);
        }
    }

    fn settle(&mut self, word: Word, found: &mut Vec<Cause>) {
        if let Some(waits) = self.words.get_mut(&word) {
            waits.settle(found);
            if waits.open == 0 && waits.wakes.is_empty() && waits.woken.is_empty() {
                self.words.remove(&word);
            }
        }
    }

    fn asked(
        &mut self,
        caller: Caller,
        (at, is_private): (u64, bool),
        mask: u32,
    ) -> Option<WaitTarget> {
        let word = if is_private {
            Word::Private(caller.memory, at)
        } else {
            self.shared(caller, at)?
        };
        let word = self.first_of(word);
        Some(WaitTarget {
            word,
            mask,
            most: u64::MAX,
        })
    }

    /// A word of an operation that is not private: depends on what is mapped there.
    fn shared(&mut self, caller: Caller, at: u64) -> Option<Word> {
        let known = self.places.as_ref();
        if let Some(word) = known.and_then(|places| places.get(&(caller.memory, at))) {
            return Some(*word);
        }
        let word = match memory::place(caller.thread, at)? {
            Place::Own => Word::Own(caller.memory, at),
            Place::Shared {
                device,
                number,
                offset,
            } => Word::Shared(device, number, offset),
        };
        if let Some(places) = &mut self.places {
            if places.len() >= MAX_PLACES {
                places.clear();
            }
            places.insert((caller.memory, at), word);
        }
        Some(word)
    }

    /// The representative of all words that count as one with this one.
    fn first_of(&self, mut word: Word) -> Word {
        // Names point to those that were first then, so the way is short and has an end.
        while let Some(other) = self.aliases.get(&word) {
            word = *other;
        }
        word
    }

    /// Merges two words, because waits at one may be moved to the other.
    fn count_as_one(&mut self, word: Word, with: Word) {
        if word == with {
            return;
        }
        if self.aliases.len() >= MAX_ALIASES {
            self.aliases.clear();
        }
        self.aliases.insert(word, with);
        if let Some(mut waits) = self.words.remove(&word) {
            let all = self.words.entry(with).or_default();
            all.open += waits.open;
            all.wakes.append(&mut waits.wakes);
            all.woken.append(&mut waits.woken);
        }
    }
}

impl Waits {
    fn add(&mut self, wake: Wake) {
        if self.wakes.len() >= MAX_WAKES {
            let closed = |wake: &Wake| wake.left.is_some() && wake.kind == CauseKind::Wakes;
            self.mix(closed);
        }
        self.wakes.push(wake);
    }

    /// Finds causes, and forgets what is used up or can no longer end a wait.
    fn settle(&mut self, found: &mut Vec<Cause>) {
        let woken = std::mem::take(&mut self.woken);
        for woken in woken {
            let can = |wake: &Wake| {
                wake.begun < woken.ended
                    && wake.ended > woken.begun
                    && wake.mask & woken.mask != 0
                    && wake.left != Some(0)
            };
            if self
                .wakes
                .iter()
                .any(|wake| can(wake) && wake.left.is_none())
            {
                self.woken.push(woken);
                continue;
            }
            let several = self.wakes.iter().filter(|wake| can(wake)).count() > 1;
            if several {
                self.mix(can);
            }
            let Some(wake) = self.wakes.iter_mut().find(|wake| can(wake)) else {
                continue;
            };
            wake.left = wake.left.map(|left| left.saturating_sub(1));
            if !wake.is_mixed {
                found.push(Cause {
                    from: wake.id,
                    to: woken.to,
                    kind: wake.kind,
                });
            }
        }
        let is_waited_for = self.open > 0 || !self.woken.is_empty();
        self.wakes.retain(|wake| match wake.left {
            None => true,
            Some(0) => false,
            // A thread that is not gone may still end a wait that begins now.
            Some(_) => is_waited_for || wake.ended == Moment::MAX,
        });
    }

    fn mix(&mut self, which: impl Fn(&Wake) -> bool) {
        let mut all: Option<Wake> = None;
        for wake in self.wakes.extract_if(.., |wake| which(wake)) {
            all = Some(match all {
                None => wake,
                Some(all) => Wake {
                    mask: all.mask | wake.mask,
                    begun: all.begun.min(wake.begun),
                    ended: all.ended.max(wake.ended),
                    left: Some(all.left.unwrap_or(0).saturating_add(wake.left.unwrap_or(0))),
                    is_mixed: true,
                    ..all
                },
            });
        }
        self.wakes.extend(all);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALLER: Caller = Caller {
        thread: 1,
        process: 1,
        memory: 1,
    };

    struct Seen(Futexes, Moment, Vec<(u64, u64)>);

    impl Seen {
        fn new() -> Self {
            Self(Futexes::new(true), 0, Vec::new())
        }

        fn begin(
            &mut self,
            operation: c_int,
            id: u64,
            (at, other): (u64, u64),
        ) -> (WaitTarget, Moment) {
            self.1 += 1;
            let operation = (operation | libc::FUTEX_PRIVATE_FLAG) as u64;
            let arguments = [at, operation, 1, 9, other, u64::MAX];
            match self.0.begins(CALLER, (id, self.1), &arguments) {
                Role::WaitsForFutex(asked) | Role::WakesFutex(asked) => (asked, self.1),
                _ => panic!("it neither waits nor wakes"),
            }
        }

        fn wait(&mut self, at: u64) -> (WaitTarget, Moment) {
            self.begin(libc::FUTEX_WAIT, 0, (at, 0))
        }

        fn wake(&mut self, id: u64, at: u64, woken: u64) {
            let (asked, _) = self.begin(libc::FUTEX_WAKE, id, (at, 0));
            self.wake_ends(asked, id, woken);
        }

        fn wake_ends(&mut self, asked: WaitTarget, id: u64, woken: u64) {
            self.1 += 1;
            let mut found = Vec::new();
            self.0
                .wake_ends(asked, (id, self.1), Some(woken), &mut found);
            self.2
                .extend(found.iter().map(|cause| (cause.from, cause.to)));
        }

        fn wait_ends(&mut self, (asked, since): (WaitTarget, Moment), to: Option<u64>) {
            self.1 += 1;
            let mut found = Vec::new();
            self.0.wait_ends(asked, (since, self.1), to, &mut found);
            self.2
                .extend(found.iter().map(|cause| (cause.from, cause.to)));
        }
    }

    #[test]
    fn a_wake_is_used_up_by_as_many_waits_as_it_says() {
        let mut seen = Seen::new();
        let waits = [seen.wait(8), seen.wait(8), seen.wait(8)];
        seen.wake(1, 8, 2);
        seen.wake(2, 16, 0);
        seen.wait_ends(waits[1], Some(11));
        seen.wait_ends(waits[0], Some(10));
        seen.wake(3, 8, 1);
        seen.wait_ends(waits[2], Some(12));
        assert_eq!(seen.2, [(1, 11), (1, 10), (3, 12)]);
        assert!(seen.0.words.is_empty());
    }

    #[test]
    fn a_wait_may_be_seen_to_end_before_its_wake() {
        let mut seen = Seen::new();
        let wait = seen.wait(8);
        let (asked, _) = seen.begin(libc::FUTEX_WAKE, 1, (8, 0));
        seen.wait_ends(wait, Some(10));
        assert_eq!(seen.2, []);
        seen.wake_ends(asked, 1, 1);
        assert_eq!(seen.2, [(1, 10)]);
        assert!(seen.0.words.is_empty());
    }

    #[test]
    fn of_two_wakes_that_may_have_ended_it_none_is_told() {
        let mut seen = Seen::new();
        let waits = [seen.wait(8), seen.wait(8), seen.wait(8)];
        seen.wake(1, 8, 1);
        seen.wake(2, 8, 1);
        seen.wait_ends(waits[0], Some(10));
        seen.wait_ends(waits[1], Some(11));
        assert_eq!(seen.2, []);
        // Both are used up.
        seen.wake(3, 8, 1);
        seen.wait_ends(waits[2], Some(12));
        assert_eq!(seen.2, [(3, 12)]);
    }

    #[test]
    fn what_nobody_woke_has_no_cause_and_what_was_moved_has() {
        let mut seen = Seen::new();
        let wait = seen.wait(8);
        seen.wake(1, 8, 0);
        seen.wait_ends(wait, Some(10));
        let wait = seen.wait(8);
        seen.wait_ends(wait, None);
        assert_eq!(seen.2, []);
        let waits = [seen.wait(8), seen.wait(8)];
        // One is woken, and one is moved to another word.
        let (asked, _) = seen.begin(libc::FUTEX_CMP_REQUEUE, 2, (8, 16));
        seen.wake_ends(asked, 2, 2);
        seen.wait_ends(waits[0], Some(10));
        seen.wake(3, 16, 1);
        seen.wait_ends(waits[1], Some(11));
        assert_eq!(seen.2, [(2, 10), (3, 11)]);
    }
}
