//! One segment: what was listed, what was found, and what can be read of it.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::PathBuf;

use polars::prelude::{DataFrame, SchemaRef};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SegmentState {
    /// Ended with its footer, and read as it is.
    Sealed,
    /// Not ended; its whole batches are read.
    Open,
    /// Damaged; read from its good parts.
    Rebuilt,
    /// Nothing of it can be read.
    Lost,
    /// Not on disk yet when its process died; taken from `live/`.
    Live,
}

impl SegmentState {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            SegmentState::Sealed => "sealed",
            SegmentState::Open => "open",
            SegmentState::Rebuilt => "rebuilt",
            SegmentState::Lost => "lost",
            SegmentState::Live => "live",
        }
    }
}

/// Source of a segment's rows.
#[derive(Clone)]
pub(super) enum Source {
    /// The engine scans the file itself.
    Scan {
        path: PathBuf,
        schema: SchemaRef,
    },
    /// The same of a Parquet file.
    Parquet {
        path: PathBuf,
        schema: SchemaRef,
    },
    /// Rebuilt in memory; text columns are strings.
    Frame(DataFrame),
    Nothing,
}

/// One segment, checked.
#[derive(Clone)]
pub(super) struct Segment {
    /// As in the journal, such as `bricks/000000.arrow`.
    pub(super) name: String,
    pub(super) table: String,
    pub(super) state: SegmentState,
    /// Tells whether every byte that is read was compared with a hash: the journal's, or the segment's own.
    pub(super) verified: bool,
    /// `None`: neither journal nor footer tell.
    pub(super) rows_expected: Option<u64>,
    pub(super) rows_read: u64,
    pub(super) bytes: u64,
    /// Its faults in words, without its name.
    pub(super) faults: Vec<String>,
    /// Bytes of batches that a writer may be about to write: not a fault of a run being written.
    pub(super) unwritten_rows: u64,
    pub(super) source: Source,
    /// Hash of all that is in it, where its own hashes vouch for it, and the journal does not.
    pub(super) content: Option<u64>,
}

/// Takes the rows of a segment that is byte for byte another one of its table only once. Its own hashes do not tell its
/// place: it lies under the name of one that is gone.
pub(super) fn leave_copies_out(segments: &mut [Segment]) {
    let mut first: BTreeMap<(String, u64), String> = BTreeMap::new();
    for segment in segments.iter_mut().filter(|segment| segment.rows_read > 0) {
        let Some(content) = segment.content else {
            continue;
        };
        match first.entry((segment.table.clone(), content)) {
            Entry::Vacant(entry) => drop(entry.insert(segment.name.clone())),
            Entry::Occupied(of) => {
                let fault = format!(
                    "a copy of {}, byte for byte: the rows that were here are lost",
                    of.get()
                );
                segment.state = SegmentState::Lost;
                segment.verified = false;
                (segment.rows_expected, segment.rows_read) = (None, 0);
                segment.source = Source::Nothing;
                segment.faults.push(fault);
            }
        }
    }
}

impl Segment {
    /// A segment of which nothing is known yet.
    pub(super) fn lost(name: &str, bytes: u64, rows_expected: Option<u64>, fault: String) -> Self {
        Segment {
            name: name.to_owned(),
            table: table_of(name),
            state: SegmentState::Lost,
            verified: false,
            rows_expected,
            rows_read: 0,
            bytes,
            faults: vec![fault],
            unwritten_rows: 0,
            source: Source::Nothing,
            content: None,
        }
    }

    /// Name of its table.
    pub(super) fn table(&self) -> &str {
        &self.table
    }

    /// Tells whether it is ended, and every byte of it as it was written.
    pub(super) fn is_whole(&self) -> bool {
        self.state == SegmentState::Sealed && self.verified && self.faults.is_empty()
    }

    /// Takes what is missing at the end of an open segment for not written yet: its writer is alive.
    pub(super) fn forgive_unwritten(&mut self) {
        if self.state == SegmentState::Open {
            self.faults.clear();
            self.rows_expected = self
                .rows_expected
                .map(|rows| rows.saturating_sub(self.unwritten_rows));
        }
    }

    /// Rows that were written and cannot be read; `None`: not known.
    pub(super) fn rows_lost(&self) -> Option<u64> {
        self.rows_expected
            .map(|expected| expected.saturating_sub(self.rows_read))
    }
}

/// The table of a segment of this name.
pub(super) fn table_of(name: &str) -> String {
    name.split('/').next().unwrap_or(name).to_owned()
}
