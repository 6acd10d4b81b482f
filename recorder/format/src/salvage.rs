//! Salvage: what a recorder whose process died has left in `live/`, rows that were recorded and lie in
//! no segment yet.
//!
//! [`read`] gives them as whole segments, each the bytes of an Arrow IPC file, so that a
//! reader takes them like the ones on disk, or puts them beside these. Every row that was
//! complete when the process died is in exactly one place: in a segment's whole batch, among
//! the waiting rows, or in a ring.

mod facts;
mod live_folder;
mod on_disk;
mod rings;
mod table;
mod waiting;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::dropped_names;
use crate::error::Error;
use crate::journal::{Chunk, Line};
use crate::live::LIVE;
use crate::record_rows::Rows;
use crate::regular_file;
use crate::run_json::{Kept, RUN_JSON, RunJson, State};
use crate::schema::TABLES;
use crate::timeline::Timeline;
use live_folder::LiveFolder;
use table::SalvageTables;

pub use crate::live::is_recording;
pub use on_disk::CutBatch;

/// Remains of a run whose writer is dead.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Salvaged {
    /// The rows, by table in the order of the schema. A table may have several segments.
    pub segments: Vec<SalvagedSegment>,
    /// Batches that the journal announces and that were not written whole: their rows are
    /// in [`Salvaged::segments`].
    pub cut: Vec<CutBatch>,
    /// Rows not kept until the process died, by table; exact.
    pub dropped: BTreeMap<&'static str, u64>,
    /// The names that most of them had, by table.
    pub dropped_names: BTreeMap<&'static str, BTreeMap<String, u64>>,
    /// Facts that the program gave.
    pub values: BTreeMap<String, String>,
    /// Kernel sources: the hash, which names the file `ptx/<hash>.ptx`, and the text.
    pub sources: BTreeMap<String, String>,
    /// Of the recorder's clock, measured over the whole run.
    pub ticks_per_second: Option<f64>,
    /// The rolling window that the rows are, with times from its beginning on; `None`: everything was recorded.
    pub kept: Option<Kept>,
    /// Tables that lost rows whose number is not known.
    pub lost_uncounted: BTreeSet<&'static str>,
    /// Things that were left and cannot be used, and why; in words.
    pub problems: Vec<String>,
}

/// Rows of one table.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SalvagedSegment {
    /// Name of the table.
    pub table: &'static str,
    /// A whole segment: what stands in `<table>/<number>.arrow`.
    pub bytes: Vec<u8>,
    /// Rows in it.
    pub rows: u64,
    /// Its chunks, for the journal: offset, length and rows of each batch.
    pub batches: Vec<SalvagedBatch>,
}

/// One batch of a [`SalvagedSegment`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SalvagedBatch {
    /// Its offset in the segment.
    pub offset: u64,
    /// Its length.
    pub bytes: u64,
    /// Rows in it.
    pub rows: u64,
    /// Dictionary entries that first appear in it, by column.
    pub new: BTreeMap<String, Vec<String>>,
}

impl SalvagedSegment {
    /// Its lines for the journal, under the name that it gets there.
    pub fn lines(&self, name: &str) -> Vec<Line> {
        let chunk = |chunk, from: u64, to: u64| {
            let bytes = self.bytes.get(from as usize..to as usize);
            Line::new(name, chunk, from, bytes.unwrap_or_default())
        };
        let end = |batch: &SalvagedBatch| batch.offset + batch.bytes;
        let head_end = self.batches.first().map_or(0, |batch| batch.offset);
        let mut lines = vec![chunk(Chunk::Head, 0, head_end)];
        lines.extend(self.batches.iter().map(|batch| Line {
            rows: Some(batch.rows),
            new: batch.new.clone(),
            ..chunk(Chunk::Batch, batch.offset, end(batch))
        }));
        let tail_at = self.batches.last().map_or(head_end, end);
        lines.push(Line {
            rows: Some(self.rows),
            ..chunk(Chunk::Tail, tail_at, self.bytes.len() as u64)
        });
        lines
    }
}

impl std::fmt::Debug for SalvagedSegment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SalvagedSegment")
            .field("table", &self.table)
            .field("rows", &self.rows)
            .finish_non_exhaustive()
    }
}

/// Reads what a recorder has left in a run directory. Changes nothing there.
///
/// `None`: nothing was left, because the run has ended, says that its writer failed, or was
/// recorded by a version that leaves nothing. The process must be gone ([`is_recording`]):
/// while it lives, rows still move from rings to segments.
///
/// # Errors
/// `run.json` or `live/` cannot be read. Damage inside is no error but a problem in words, and
/// what is not damaged is there.
pub fn read(run: &Path) -> Result<Option<Salvaged>, Error> {
    let path = run.join(RUN_JSON);
    let text = regular_file::read(&path).map_err(|e| Error::io(&path, "read it", e))?;
    let json: RunJson =
        serde_json::from_slice(&text).map_err(|e| Error::io(&path, "understand it", e.into()))?;
    let live = run.join(LIVE);
    if json.state != State::Recording || !live.is_dir() {
        return Ok(None);
    }
    let mut found = LiveFolder::read(&live)?;
    let (disk, cut) = on_disk::read(run);
    if found.is_empty && !disk.is_empty() {
        found.problem(
            &live,
            "empty; the rows that waited there are lost, and their number is not known",
        );
    }
    let mut salvaged = Salvaged {
        ticks_per_second: Timeline::ticks_per_second_between(&found.pairs),
        ..Salvaged::default()
    };
    let keep_last_ns = json.recorder.keep_last_ns;
    let mut tables = SalvageTables::new(std::mem::take(&mut found.texts), keep_last_ns.is_some());

    let waiting = waiting::take(&live, &mut found, &disk, &mut tables);
    // Of a batch whose rows do not wait any more it is not known to be cut, but damaged since.
    let waits = |batch: &CutBatch| {
        let rows = waiting.get(batch.table());
        rows.is_some_and(|rows| *rows >= batch.rows)
    };
    salvaged.cut = cut.into_iter().filter(waits).collect();
    match Timeline::restored(&found.pairs, found.knots.clone()) {
        Some(timeline) => {
            let mut rows = Rows::new(timeline, &mut tables.texts);
            rings::take(&mut found, &mut rows, &mut tables);
            let off = |table: &str| json.recorder.tables_off.iter().any(|other| other == table);
            facts::add(&found, &mut rows.timeline, &disk, off, &mut tables);
        }
        None if found.rings.iter().all(|ring| ring.unread() == 0) => {}
        None => {
            found.lost_rings = true;
            let text = "no reading of the clocks; the rows in rings have no times and are left out";
            found.problem(&live, text);
        }
    }
    if let Some(last_ns) = keep_last_ns {
        salvaged.kept = Some(keep(last_ns, &found, &mut tables));
    }
    for (number, table) in TABLES.iter().enumerate() {
        let dropped = found.dropped(number);
        if dropped > 0 {
            salvaged.dropped.insert(table.name, dropped);
            let names = dropped_names::listed(&found.dropped_names, number, &mut tables.texts);
            salvaged.dropped_names.insert(table.name, names);
        }
    }
    (salvaged.values, salvaged.sources) = (found.values, found.sources);
    salvaged.problems = found.problems;
    salvaged.lost_uncounted = if found.lost_rings {
        TABLES.iter().map(|table| table.name).collect()
    } else {
        found
            .lost_rows
            .iter()
            .map(|table| TABLES[*table].name)
            .collect()
    };
    salvaged.segments = tables.finish(&mut salvaged.problems);
    Ok(Some(salvaged))
}

/// Leaves the rows of the rolling window.
fn keep(last_ns: i64, found: &LiveFolder, tables: &mut SalvageTables) -> Kept {
    let from_ns = found.kept_from_ns;
    let (left_out, latest_ns) = tables.keep_from(from_ns);
    let recorded_ns = latest_ns.map_or(from_ns, |ns| ns.max(from_ns));
    let events = TABLES.iter().zip(left_out).enumerate();
    let discarded = events
        .filter(|(_, (table, _))| !table.is_own)
        .map(|(number, (_, left_out))| found.discarded(number).saturating_add(left_out));
    Kept {
        last_ns,
        from_ns,
        recorded_ns,
        discarded: discarded.fold(0, u64::saturating_add),
        max_bytes: None,
    }
}
