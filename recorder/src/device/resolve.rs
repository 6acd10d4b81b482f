//! From pending work to rows.

use std::collections::{BTreeMap, VecDeque};

use super::pending::{Piece, What};
use super::rows::When;
use super::work::DeviceWork;
use crate::sync_mode::SyncMode;
use trueno_format::record::{Record, kind};
use trueno_format::schema::TableId;

/// Maximum number of ids in one record of [`kind::JOINS`].
const JOINS_A_RECORD: usize = 6;

const FAILED: &str = "the device could not be synchronised";
const BACKWARDS: &str = "the device's marks run backwards";

impl DeviceWork {
    /// Writes rows of work. `proven` is the end of a wait that proves that the work has ended. Returns the ids
    /// of rows with their own times.
    pub(super) fn resolve(&self, pieces: VecDeque<Piece>, proven: Option<u64>) -> Vec<u64> {
        let mut ids = Vec::new();
        // Of launches and transfers the last of a stream stands for those before it.
        let mut last: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
        for piece in pieces {
            let when = match (self.stamps(piece), proven) {
                (Some(Ok((start, end))), _) => When::Stamped { start, end },
                (Some(Err(reason)), _) => When::Unknown(reason),
                // The brick's own interval says the same.
                (None, Some(_))
                    if self.mode() == SyncMode::Immediate && matches!(piece.what, What::Brick) =>
                {
                    continue;
                }
                (None, Some(end)) => When::Within {
                    start: piece.start,
                    end,
                },
                (None, None) => When::Unknown(FAILED),
            };
            self.release(piece);
            let id = self.row(piece, when);
            if let (When::Stamped { end, .. }, Some(id)) = (when, id) {
                if matches!(piece.what, What::Brick) {
                    ids.push(id);
                } else {
                    let of_stream = last.entry(piece.stream).or_default();
                    *of_stream = (*of_stream).max((end, id));
                }
            }
        }
        ids.extend(last.into_values().map(|(_, id)| id));
        ids
    }

    pub(super) fn harvest(&self) {
        // The clocks drift apart meanwhile.
        self.read_clocks(false);
        loop {
            // Taken out first: of two threads only one may ask for its marks and release them.
            let Some(piece) = self.pending().pieces.pop_front() else {
                return;
            };
            let Some(stamps) = self.stamps(piece) else {
                self.put_back(piece);
                return;
            };
            self.release(piece);
            let when = match stamps {
                Ok((start, end)) => When::Stamped { start, end },
                Err(reason) => When::Unknown(reason),
            };
            self.row(piece, when);
        }
    }

    fn put_back(&self, piece: Piece) {
        let mut pending = self.pending();
        if !pending.ended {
            return pending.pieces.push_front(piece);
        }
        drop(pending);
        self.too_late(piece);
    }

    pub(super) fn give_up(&self, piece: Piece, reason: &'static str) {
        self.release(piece);
        self.row(piece, When::Unknown(reason));
    }

    /// Ticks of both marks. `None` if they have not been reached or do not exist.
    fn stamps(&self, piece: Piece) -> Option<Result<(u64, u64), &'static str>> {
        let (before, behind) = (piece.marks.before?, piece.marks.behind?);
        let start = self.ask(|device| device.time_ns(before)).flatten()?;
        let end = self.ask(|device| device.time_ns(behind)).flatten()?;
        if end < start {
            return Some(Err(BACKWARDS));
        }
        let mut pending = self.pending();
        let timeline = pending.timeline.as_mut()?;
        Some(Ok((timeline.ticks(start), timeline.ticks(end))))
    }

    pub(super) fn release(&self, piece: Piece) {
        for mark in [piece.marks.before, piece.marks.behind]
            .into_iter()
            .flatten()
        {
            self.ask(|device| device.release(mark));
        }
    }

    fn row(&self, piece: Piece, when: When) -> Option<u64> {
        if matches!(when, When::Unknown(_)) {
            self.pending().counts.not_measurable += 1;
        }
        self.on_lane(piece.what.table(), |lane| {
            piece.publish(lane, self.number, when)
        })
        .flatten()
    }

    /// Records that the wait `seq` of this thread could not end before the rows `ids`.
    pub(super) fn joins(&self, seq: u32, ids: &[u64]) {
        if !self.records(TableId::Edges) {
            return;
        }
        for ids in ids.chunks(JOINS_A_RECORD) {
            let mut six = [0; JOINS_A_RECORD];
            six[..ids.len()].copy_from_slice(ids);
            let [start, end, m @ ..] = six;
            let record = Record {
                start,
                end,
                seq,
                m,
                kind: kind::JOINS,
                flags: ids.len() as u8,
                ..Record::default()
            };
            self.on_lane(TableId::Edges, |lane| {
                lane.push_group(TableId::Edges, ids.len() as u64, &[record]);
            });
        }
    }
}
