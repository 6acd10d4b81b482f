//! Waits for events, matched with the records they waited for.
//!
//! A wait names the call that recorded its event, by correlation. Edges of kind `joins` go from
//! the row of `device_events` to the row of `syncs`.

use trueno_recorder::run_writer::Cell;

use super::Linker;
use crate::Error;
use crate::chrome::gather;
use crate::chrome::record::{Link, NO_ID, NONE, pair};
use crate::sorter::Sorter;

const WAIT_WORDS: usize = 5;

/// Records and waits by the correlation of the record, its event and its stream; records first.
pub(super) struct Waits(pub Sorter<WAIT_WORDS>);

impl Waits {
    /// A row of `device_events`.
    pub fn recorded(&mut self, link: &Link, id: u64) -> Result<(), Error> {
        let place = pair(link.device, link.stream);
        self.put([link.correlation, link.more[0], place, 0, id])
    }

    /// A row of `syncs`; one that does not name its record is part of no edge.
    pub fn waits(&mut self, link: &Link, id: u64) -> Result<(), Error> {
        let [_, event, correlation, stream, _] = link.more;
        if correlation == NO_ID {
            return Ok(());
        }
        let stream = u32::try_from(stream).unwrap_or(NONE);
        self.put([correlation, event, pair(link.device, stream), 1, id])
    }

    fn put(&mut self, words: [u64; WAIT_WORDS]) -> Result<(), Error> {
        let done = self.0.push(words);
        done.map_err(|e| Error::io(self.0.path(), "write it", e))
    }
}

impl Linker<'_, '_> {
    /// Writes the edges.
    pub(super) fn join_events(&mut self) -> Result<(), Error> {
        let path = self.waits.0.path().to_owned();
        let mut all = gather::sorted(&mut self.waits.0)?;
        let mut record = None;
        while let Some([correlation, event, place, part, id]) =
            all.next().map_err(|e| Error::io(&path, "read it", e))?
        {
            let of = (correlation, event, place);
            if part == 0 {
                record = Some((of, id));
            } else if let Some((_, from)) = record.filter(|(recorded, _)| *recorded == of) {
                let kind = Cell::Text(self.tables.joins);
                let cells = [Cell::U64(from), Cell::U64(id), kind];
                self.tables.put(self.gather, "edges", &cells)?;
            }
        }
        Ok(())
    }
}
