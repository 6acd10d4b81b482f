//! NVTX ranges: beginnings find their ends.

use std::collections::{BTreeMap, HashMap};

use trueno_cupti::spool::{RangeEvent, RangeKind};

/// A range that ended, or an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    pub thread: u32,
    pub start: i64,
    pub end: i64,
    pub domain: u32,
    pub category: u32,
    pub message: u32,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Ranges {
    /// Sorted by thread and start; of two with the same start the longer one comes first.
    pub ranges: Vec<Range>,
    /// Numbers of the names of categories, by domain and the program's category number.
    pub categories: BTreeMap<(u32, u32), u32>,
    pub open: u64,
    pub stray: u64,
}

/// Matches beginnings and ends. The events of each thread must be in order.
pub fn pair(events: &[RangeEvent]) -> Ranges {
    let mut all = Ranges::default();
    let mut pushed: HashMap<(u32, u32), Vec<RangeEvent>> = HashMap::new();
    let mut started: HashMap<u64, RangeEvent> = HashMap::new();
    for event in events {
        let begun = match event.kind {
            RangeKind::Push => {
                let stack = pushed.entry((event.thread, event.domain)).or_default();
                stack.push(*event);
                continue;
            }
            RangeKind::Start => {
                started.insert(event.range, *event);
                continue;
            }
            RangeKind::NameCategory => {
                let category = (event.domain, event.category);
                all.categories.insert(category, event.message);
                continue;
            }
            RangeKind::Mark => Some(*event),
            RangeKind::Pop => {
                let stack = pushed.get_mut(&(event.thread, event.domain));
                stack.and_then(Vec::pop)
            }
            RangeKind::End => started.remove(&event.range),
        };
        match begun {
            Some(begun) => all.ranges.push(Range {
                thread: begun.thread,
                start: begun.realtime_ns,
                // A clock that was set back makes no interval.
                end: event.realtime_ns.max(begun.realtime_ns),
                domain: begun.domain,
                category: begun.category,
                message: begun.message,
            }),
            None => all.stray += 1,
        }
    }
    all.open = started.len() as u64 + pushed.values().map(|stack| stack.len() as u64).sum::<u64>();
    all.ranges
        .sort_by_key(|range| (range.thread, range.start, std::cmp::Reverse(range.end)));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(kind: RangeKind, thread: u32, at: i64, domain: u32, range: u64) -> RangeEvent {
        RangeEvent {
            kind,
            thread,
            realtime_ns: at,
            domain,
            category: 0,
            message: at as u32,
            range,
        }
    }

    #[test]
    fn ends_find_their_beginnings_by_thread_domain_and_number() {
        use RangeKind::{End, Mark, Pop, Push, Start};
        let all = pair(&[
            event(Push, 1, 10, 0, 0),
            event(Push, 1, 20, 5, 0),
            event(Push, 2, 25, 0, 0),
            event(Start, 1, 30, 0, 9),
            event(Pop, 1, 40, 0, 0),
            event(End, 2, 50, 0, 9),
            event(Mark, 2, 60, 0, 0),
            event(Pop, 1, 70, 0, 0),
            event(End, 1, 80, 0, 9),
        ]);
        let found: Vec<_> = all
            .ranges
            .iter()
            .map(|r| (r.thread, r.start, r.end))
            .collect();
        assert_eq!(found, [(1, 10, 40), (1, 30, 50), (2, 60, 60)]);
        assert_eq!((all.open, all.stray), (2, 2));
    }
}
