//! What a wait waited for.
//!
//! A wait for a stream or a device: of the work that was launched before the wait began, there, the one that
//! ended last before the wait did. Work that had ended when the wait began held up nothing. A wait for an
//! event: the record of that event, by the number that CUPTI gives such pairs, else the last one before it.

use std::collections::{BTreeMap, HashMap};

/// Work of a device whose call is known.
#[derive(Clone, Copy, Debug)]
pub struct Work {
    pub id: u64,
    pub device: u32,
    pub stream: u32,
    pub launched: i64,
    pub end: i64,
}

/// A wait of the host.
#[derive(Clone, Copy, Debug)]
pub struct Wait {
    pub id: u64,
    pub device: Option<u32>,
    /// `None`: for all of the device.
    pub stream: Option<u32>,
    pub start: i64,
    pub end: i64,
}

/// Pairs of work and wait.
pub fn of_work(mut work: Vec<Work>, waits: &[Wait]) -> Vec<(u64, u64)> {
    work.sort_by_key(|work| (work.end, work.id));
    let mut pairs = Vec::new();
    for wait in waits {
        let before = work.partition_point(|work| work.end <= wait.end);
        let candidates = work[..before].iter().rev();
        let found = candidates
            .take_while(|work| work.end > wait.start)
            .find(|work| {
                work.launched < wait.start
                    && wait.device.is_none_or(|device| device == work.device)
                    && wait.stream.is_none_or(|stream| stream == work.stream)
            });
        pairs.extend(found.map(|work| (work.id, wait.id)));
    }
    pairs
}

/// The record of an event, or a wait for it.
#[derive(Clone, Copy, Debug)]
pub struct OfEvent {
    pub id: u64,
    pub context: u32,
    pub event: u32,
    pub event_sync: Option<u64>,
    pub correlation: u32,
}

/// Pairs of record and wait.
pub fn of_events(records: &[OfEvent], waits: &[OfEvent]) -> Vec<(u64, u64)> {
    let mut by_number = HashMap::new();
    let mut by_event: HashMap<(u32, u32), BTreeMap<u32, u64>> = HashMap::new();
    for record in records {
        if let Some(number) = record.event_sync {
            by_number.insert((record.context, number), record.id);
        }
        let of_event = by_event.entry((record.context, record.event)).or_default();
        of_event.insert(record.correlation, record.id);
    }
    let find = |wait: &OfEvent| match wait.event_sync {
        Some(number) => by_number.get(&(wait.context, number)).copied(),
        None => {
            let of_event = by_event.get(&(wait.context, wait.event))?;
            of_event
                .range(..wait.correlation)
                .next_back()
                .map(|(_, id)| *id)
        }
    };
    waits
        .iter()
        .filter_map(|wait| Some((find(wait)?, wait.id)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_ends_after_the_last_work_it_waited_for() {
        let work = |id, stream, launched, end| Work {
            id,
            device: 0,
            stream,
            launched,
            end,
        };
        let wait = |id, stream| Wait {
            id,
            device: Some(0),
            stream,
            start: 20,
            end: 50,
        };
        let all = vec![
            work(1, 7, 0, 40),
            work(2, 8, 1, 45),
            work(3, 7, 30, 48), // launched while the wait was on
            work(4, 8, 2, 60),  // ended after it
            work(5, 9, 2, 19),  // ended before it
        ];
        let pairs = of_work(all, &[wait(10, Some(7)), wait(11, None), wait(12, Some(9))]);
        assert_eq!(pairs, [(1, 10), (2, 11)]);
    }

    #[test]
    fn a_wait_for_an_event_finds_its_record() {
        let of = |id, event_sync, correlation| OfEvent {
            id,
            context: 1,
            event: 3,
            event_sync,
            correlation,
        };
        let records = [of(1, Some(100), 5), of(2, Some(101), 9)];
        assert_eq!(of_events(&records, &[of(20, Some(100), 12)]), [(1, 20)]);
        assert_eq!(of_events(&records, &[of(20, None, 12)]), [(2, 20)]);
        assert_eq!(of_events(&records, &[of(20, None, 7)]), [(1, 20)]);
        assert_eq!(of_events(&records, &[of(20, None, 5)]), []);
        assert_eq!(of_events(&records, &[of(20, Some(7), 12)]), []);
    }
}
