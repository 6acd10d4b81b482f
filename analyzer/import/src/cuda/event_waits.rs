//! Waits for events, matched with the records of these events.
//!
//! Newer exports number the pairs (`eventSyncId`). In older ones a wait belongs to the last
//! record of its event before it: calls of a process have rising correlation ids. Edges of kind
//! `joins` go from the row of `device_events` to the row of `syncs`.

use trueno_recorder::run_writer::Cell;
use xxhash_rust::xxh3::xxh3_64;

use super::context::Context;
use super::device::Place;
use crate::Error;
use crate::sorter::Sorter;

const WORDS: usize = 4;
/// What CUPTI says where there is no number.
const NO_NUMBER: u64 = u32::MAX as u64;

/// Records and waits: what they have in common, then their order.
pub struct Records(Sorter<WORDS>);

impl Records {
    pub fn new(context: &Context<'_>) -> Self {
        Self(Sorter::new(context.into.path().join("import.records")))
    }

    /// A row of `device_events`.
    pub fn recorded(
        &mut self,
        id: u64,
        place: &Place,
        event: u64,
        sync_id: Option<u64>,
    ) -> Result<(), Error> {
        self.put(id, 0, place, event, sync_id)
    }

    /// A row of `syncs`.
    pub fn waits(
        &mut self,
        id: u64,
        place: &Place,
        event: u64,
        sync_id: Option<u64>,
    ) -> Result<(), Error> {
        self.put(id, 1, place, event, sync_id)
    }

    fn put(
        &mut self,
        id: u64,
        part: u64,
        place: &Place,
        event: u64,
        sync_id: Option<u64>,
    ) -> Result<(), Error> {
        let sync_id = sync_id.filter(|id| *id != NO_NUMBER);
        let common = format!(
            "{:?} {:?} {:?}",
            place.process,
            place.context,
            sync_id.ok_or(event)
        );
        // A pair with a number needs no order.
        let order = match (sync_id, place.correlation) {
            (Some(_), _) => 0,
            (None, Some(correlation)) => correlation,
            (None, None) => return Ok(()),
        };
        let words = [xxh3_64(common.as_bytes()), order, part, id];
        let done = self.0.push(words);
        done.map_err(|e| Error::io(self.0.path(), "write it", e))
    }

    /// Writes the edges, once all are here.
    pub fn join(self, context: &mut Context<'_>) -> Result<(), Error> {
        let path = self.0.path().to_owned();
        let problem = |e| Error::io(&path, "sort it", e);
        let mut all = self.0.sorted().map_err(problem)?;
        let mut record = None;
        while let Some([common, _, part, id]) = all.next().map_err(problem)? {
            if part == 0 {
                record = Some((common, id));
            } else if let Some((_, from)) = record.filter(|(recorded, _)| *recorded == common) {
                let kind = context.text("joins");
                let cells = [Cell::U64(from), Cell::U64(id), kind];
                context.row(context.tables.edges, &cells)?;
            }
        }
        Ok(())
    }
}
