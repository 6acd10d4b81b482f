//! One segment: what was listed, what was found, and what can be read of it.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::PathBuf;

use polars::prelude::{DataFrame, SchemaRef};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SegmentState {
    /// Complete with its footer, and read directly.
    Sealed,
    /// Without a footer; its complete batches are read.
    Open,
    /// Damaged; the intact parts are read.
    Rebuilt,
    Lost,
    /// Not on disk when the process died; taken from `live/`.
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

#[derive(Clone)]
pub(super) enum Source {
    Scan {
        path: PathBuf,
        schema: SchemaRef,
    },
    /// As `Scan`, for a Parquet file.
    Parquet {
        path: PathBuf,
        schema: SchemaRef,
    },
    /// Rebuilt in memory; text columns are strings.
    Frame(DataFrame),
    Nothing,
}

#[derive(Clone)]
pub(super) struct Segment {
    /// As in the journal, such as `bricks/000000.arrow`.
    pub(super) name: String,
    pub(super) table: String,
    pub(super) state: SegmentState,
    /// Every byte read was compared with a hash, from the journal or from the segment itself.
    pub(super) verified: bool,
    /// `None` if neither journal nor footer state it.
    pub(super) rows_expected: Option<u64>,
    pub(super) rows_read: u64,
    pub(super) bytes: u64,
    /// Descriptions of its faults, without its name.
    pub(super) faults: Vec<String>,
    /// Rows of batches that a writer may be about to write; not a fault while the run is being written.
    pub(super) unwritten_rows: u64,
    pub(super) source: Source,
    /// Hash of its content, if only its own hashes verify it and not the journal.
    pub(super) content: Option<u64>,
}

/// Of identical segments of a table, reads only one. A segment's own hashes do not include its name, so a copy may
/// be under the name of a lost one.
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

    pub(super) fn table(&self) -> &str {
        &self.table
    }

    /// It is sealed, and every byte is as it was written.
    pub(super) fn is_whole(&self) -> bool {
        self.state == SegmentState::Sealed && self.verified && self.faults.is_empty()
    }

    /// Treats what is missing at the end of an open segment as not written yet, because its writer is alive.
    pub(super) fn forgive_unwritten(&mut self) {
        if self.state == SegmentState::Open {
            self.faults.clear();
            self.rows_expected = self
                .rows_expected
                .map(|rows| rows.saturating_sub(self.unwritten_rows));
        }
    }

    /// Rows that were written and are unreadable; `None` if unknown.
    pub(super) fn rows_lost(&self) -> Option<u64> {
        self.rows_expected
            .map(|expected| expected.saturating_sub(self.rows_read))
    }
}

pub(super) fn table_of(name: &str) -> String {
    name.split('/').next().unwrap_or(name).to_owned()
}
