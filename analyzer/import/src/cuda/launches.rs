//! The call that began work of a device.
//!
//! A call of the runtime and the call of the driver in it share a correlation id: the outer one stands for both.
//! Calls of one id that do not lie in each other are strangers, and nothing says which of them is meant.

use super::call_kind::CallKind;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Launch {
    /// Process and correlation id.
    pub key: u64,
    pub call: u64,
    /// The enclosing row of `bricks`; 0 if there is none.
    pub brick: u64,
    pub start_ns: i64,
    pub end_ns: i64,
    pub thread: u32,
    pub kind: CallKind,
}

impl Launch {
    pub fn brick(&self) -> Option<u64> {
        Some(self.brick).filter(|brick| *brick != 0)
    }
}

/// Thread, start and end of a call.
pub(crate) type CallSpan = (u32, i64, i64);

/// True for a call of the same id that begins no earlier and is part of another. Calls of a thread nest, so one
/// that begins within another is inside it, even if rounding puts its end a little later.
pub(crate) fn is_part_of(
    (thread, _, end_ns): CallSpan,
    (inner_thread, inner_start_ns, _): CallSpan,
) -> bool {
    thread == inner_thread && inner_start_ns <= end_ns
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Link<'l> {
    None,
    To(&'l Launch),
    /// Several calls that do not enclose each other have this id.
    Ambiguous,
}

#[derive(Debug, Default)]
pub(crate) struct Launches {
    calls: Vec<Launch>,
}

impl Launches {
    /// Adds a call. Calls with the same key must come in order of their start, longer first.
    pub fn push(&mut self, launch: Launch) {
        self.calls.push(launch);
    }

    /// Prepares for lookups; add all calls before.
    pub fn sort(&mut self) {
        // Stable: of one key, the order of starts stays.
        self.calls.sort_by_key(|launch| launch.key);
    }

    pub fn get(&self, key: u64) -> Link<'_> {
        let first = self.calls.partition_point(|launch| launch.key < key);
        let Some(outer) = self.calls.get(first).filter(|launch| launch.key == key) else {
            return Link::None;
        };
        let span = |launch: &Launch| (launch.thread, launch.start_ns, launch.end_ns);
        let mut others = self.calls[first + 1..]
            .iter()
            .take_while(|launch| launch.key == key);
        if others.all(|inner| is_part_of(span(outer), span(inner))) {
            Link::To(outer)
        } else {
            Link::Ambiguous
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launch(key: u64, call: u64, start_ns: i64, end_ns: i64) -> Launch {
        Launch {
            key,
            call,
            brick: 0,
            start_ns,
            end_ns,
            thread: 0,
            kind: CallKind::Other,
        }
    }

    #[test]
    fn the_outer_call_stands_for_both_and_strangers_for_none() {
        let mut launches = Launches::default();
        for call in [
            launch(7, 1, 0, 10),
            launch(7, 2, 3, 9),
            launch(8, 3, 12, 13),
            launch(8, 4, 20, 30),
            launch(9, 5, 40, 50),
            Launch {
                thread: 1,
                ..launch(9, 6, 41, 42)
            },
        ] {
            launches.push(call);
        }
        launches.sort();
        assert_eq!(launches.get(6), Link::None);
        assert!(matches!(launches.get(7), Link::To(Launch { call: 1, .. })));
        assert_eq!(launches.get(8), Link::Ambiguous);
        assert_eq!(launches.get(9), Link::Ambiguous);
        assert_eq!(launches.get(10), Link::None);
    }
}
