//! Device work and device waits as records.

use super::pending::{Piece, What};
use crate::lane::{Class, Lane};
use crate::names::Name;
use trueno_format::record::{Record, device_timing, extension, kind, pair, row_id};

#[derive(Clone, Copy, Debug)]
pub(super) enum When {
    /// The device stamped both ends, in ticks.
    Stamped { start: u64, end: u64 },
    /// The work is somewhere between these ticks.
    Within { start: u64, end: u64 },
    /// Unknown, for this reason; the row shows when the work was launched.
    Unknown(&'static str),
}

impl Piece {
    fn records(&self, seq: u32, device: u32, when: When) -> Group {
        let (start, end, timing, reason) = match when {
            When::Stamped { start, end } => (start, end, device_timing::STAMPED, 0),
            When::Within { start, end } => (start, end, device_timing::BOUND, 0),
            When::Unknown(reason) => (
                self.start,
                self.launched,
                device_timing::LAUNCH,
                Name::new(reason).number(),
            ),
        };
        let mut record = Record {
            start,
            end: end.max(start),
            seq,
            parent: self.thread,
            name: self.name.number(),
            kind: kind::DEVICE_WORK,
            flags: timing | device_timing::ON_DEVICE,
            backend: self.backend,
            m: [
                self.brick,
                pair(device, self.stream),
                u64::from(reason),
                self.id,
            ],
        };
        let mut group = Group::default();
        match self.what {
            What::Brick => {}
            What::Kernel { launch, work } => {
                if launch.is_given() {
                    group.add(launch.record());
                }
                if work.given != 0 {
                    group.add(Record {
                        kind: extension::WORK,
                        flags: work.given,
                        m: work.m,
                        ..Record::default()
                    });
                }
            }
            What::Transfer { bytes, memory } => {
                record.kind = kind::TRANSFER;
                record.m[2] = bytes;
                group.add(Record {
                    kind: extension::MEMORY,
                    m: [pair(memory[0], memory[1]), 0, 0, 0],
                    ..Record::default()
                });
            }
        }
        record.flags |= (group.used as u8 - 1) << 4;
        group.all[0] = record;
        group
    }
}

impl Piece {
    /// Publishes its row on the calling thread's lane; its id. `None`: it was dropped, and counted.
    pub fn publish(&self, lane: &mut Lane, device: u32, when: When) -> Option<u64> {
        let table = self.what.table();
        let (seq, id) = match self.id {
            0 => {
                let seq = lane.open(Class::Kernel, table)?;
                lane.close(seq);
                (seq, row_id(lane.thread().index, seq))
            }
            id => (0, id),
        };
        let group = self.records(seq, device, when);
        lane.push_group(table, 1, group.as_ref()).then_some(id)
    }
}

struct Group {
    all: [Record; 3],
    used: usize,
}

impl Default for Group {
    fn default() -> Self {
        Self {
            all: [Record::default(); 3],
            used: 1,
        }
    }
}

impl Group {
    fn add(&mut self, record: Record) {
        self.all[self.used] = record;
        self.used += 1;
    }
}

impl AsRef<[Record]> for Group {
    fn as_ref(&self) -> &[Record] {
        &self.all[..self.used]
    }
}

pub(super) fn wait(seq: u32, device: u32, start: u64, end: u64) -> Record {
    Record {
        start,
        end,
        seq,
        kind: kind::DEVICE_WAIT,
        m: [u64::from(device), 0, 0, 0],
        ..Record::default()
    }
}
