//! Waits for events, matched with the records of these events.
//!
//! CUPTI numbers pairs of record and wait (`eventSyncId`), and Kineto names the call that recorded. Where there is
//! neither, a wait belongs to the last record of its event before it: calls of a process have rising correlation
//! ids. Edges of kind `joins` go from the row of `device_events` to the row of `syncs`; what had to end is the
//! work before that record on its stream, and that is for analyses to find.

use std::path::PathBuf;

use crate::Error;
use crate::sorter::{Sorted, Sorter};

/// Key shared by a record of an event and the waits for it.
pub(crate) type Pairing = [u64; 3];

/// Pairing, order within it, and row.
const WORDS: usize = 5;

/// Records and waits, sorted so that each wait follows its record.
pub(crate) struct EventWaits(Sorter<WORDS>);

impl EventWaits {
    /// `path` is used for a temporary file when the rows do not fit in memory.
    pub fn new(path: PathBuf) -> Self {
        Self(Sorter::small(path))
    }

    /// Adds a row of `device_events`. Later ones of the same pairing have a higher `order`, or a higher id.
    pub fn recorded(&mut self, pairing: Pairing, order: u64, id: u64) -> Result<(), Error> {
        self.push(pairing, order << 1, id)
    }

    pub fn waited(&mut self, pairing: Pairing, order: u64, id: u64) -> Result<(), Error> {
        self.push(pairing, order << 1 | 1, id)
    }

    fn push(&mut self, [a, b, c]: Pairing, order: u64, id: u64) -> Result<(), Error> {
        self.0.push([a, b, c, order, id])
    }

    pub fn pairs(self) -> Result<Pairs, Error> {
        let all = self.0.sorted()?;
        Ok(Pairs { all, record: None })
    }
}

pub(crate) struct Pairs {
    all: Sorted<WORDS>,
    record: Option<(Pairing, u64)>,
}

impl Pairs {
    pub fn next(&mut self) -> Result<Option<(u64, u64)>, Error> {
        while let Some([a, b, c, order, id]) = self.all.next()? {
            let pairing = [a, b, c];
            if order & 1 == 0 {
                self.record = Some((pairing, id));
            } else if let Some((_, from)) = self.record.filter(|(recorded, _)| *recorded == pairing)
            {
                return Ok(Some((from, id)));
            }
        }
        Ok(None)
    }
}

/// Pairing of CUPTI's records: by number if there is one, else by event and context.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CudaEvent {
    pub process: Option<u32>,
    pub context: Option<i64>,
    pub event: u64,
    /// CUPTI's number that pairs a record with its waits.
    pub sync_id: Option<u64>,
    pub correlation: Option<u64>,
}

impl CudaEvent {
    fn pairing(&self, is_numbered: u64, number: u64) -> Pairing {
        let process = self.process.map_or(u64::MAX, u64::from);
        let context = self.context.map_or(u64::MAX, i64::cast_unsigned);
        [process << 1 | is_numbered, context, number]
    }

    pub fn recorded(&self, id: u64, to: &mut EventWaits) -> Result<(), Error> {
        if let Some(number) = self.sync_id {
            to.recorded(self.pairing(1, number), 0, id)?;
        }
        match self.correlation {
            Some(correlation) => to.recorded(self.pairing(0, self.event), correlation, id),
            None => Ok(()),
        }
    }

    /// Adds a row of `syncs`; without number and order it matches nothing.
    pub fn waited(&self, id: u64, to: &mut EventWaits) -> Result<(), Error> {
        match (self.sync_id, self.correlation) {
            (Some(number), _) => to.waited(self.pairing(1, number), 0, id),
            (None, Some(correlation)) => to.waited(self.pairing(0, self.event), correlation, id),
            (None, None) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_for_an_event_finds_its_record() {
        let of = |sync_id, correlation| CudaEvent {
            process: Some(0),
            context: Some(1),
            event: 3,
            sync_id,
            correlation: Some(correlation),
        };
        let folder = tempfile::tempdir().unwrap();
        for (wait, record) in [
            (of(Some(100), 12), Some(1)),
            (of(None, 12), Some(2)),
            (of(None, 7), Some(1)),
            (of(None, 4), None),
            (of(Some(7), 12), None),
        ] {
            let mut waits = EventWaits::new(folder.path().join("events"));
            of(Some(100), 5).recorded(1, &mut waits).unwrap();
            of(Some(101), 9).recorded(2, &mut waits).unwrap();
            wait.waited(20, &mut waits).unwrap();
            let mut pairs = waits.pairs().unwrap();
            let found = pairs.next().unwrap();
            assert_eq!(found, record.map(|record| (record, 20)), "{wait:?}");
        }
    }
}
