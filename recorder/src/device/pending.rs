//! Device work whose times are not known yet.

use std::collections::{HashMap, VecDeque};

use super::timeline::DeviceTimeline;
use crate::names::Name;
use crate::row_details::Work;
use trueno_format::Launch;
use trueno_format::schema::TableId;

/// Limit on work that waits for its times. Beyond it, the oldest is given up and counted.
pub(super) const MAX_PENDING: usize = 1 << 14;
/// After this many new pieces, those whose times are available are removed.
pub(super) const HARVEST: usize = 1 << 10;

#[derive(Clone, Copy, Debug)]
pub(super) enum What {
    /// All work of one brick on one stream.
    Brick,
    /// One launch.
    Kernel { launch: Launch, work: Work },
    Transfer {
        bytes: u64,
        /// Kinds of source and destination memory; 0 if not given.
        memory: [u32; 2],
    },
}

impl What {
    /// Table of its row.
    pub fn table(self) -> TableId {
        match self {
            Self::Brick | Self::Kernel { .. } => TableId::Kernels,
            Self::Transfer { .. } => TableId::Transfers,
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    pub what: What,
    /// Id of its own row; 0: it gets one when it is published.
    pub id: u64,
    /// Id of the row of `bricks`; 0: none.
    pub brick: u64,
    /// Direction, of a transfer.
    pub name: Name,
    /// Number of the backend's name where it fits a record; 0: none.
    pub backend: u16,
    /// The thread that launched it.
    pub thread: u32,
    pub stream: u32,
    /// Start of the brick or the call, and the time from which it launched no more.
    pub start: u64,
    pub launched: u64,
    pub marks: Marks,
}

/// The marks before and behind a piece of work; `None` if there is no device clock.
#[derive(Clone, Copy, Debug)]
pub(super) struct Marks {
    pub before: Option<u64>,
    pub behind: Option<u64>,
}

/// Streams that an open brick has named, each with the mark before its work.
pub(super) type OpenStreams = Vec<(u32, Option<u64>)>;

#[derive(Default)]
pub(super) struct Pending {
    /// Open streams by row id of the open brick.
    pub open: HashMap<u64, OpenStreams>,
    pub pieces: VecDeque<Piece>,
    /// `None`: the device's clock cannot be read.
    pub timeline: Option<DeviceTimeline>,
    /// Time of the last reading of both clocks.
    pub paired: u64,
    /// Bound on the error of the worst reading; `None`: there was none.
    pub clock_error_ns: Option<u64>,
    pub counts: Counts,
    /// The last wait of the run has begun: what comes now is too late.
    pub ended: bool,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub synchronized: u64,
    pub failed: u64,
    pub panicked: u64,
    pub not_measurable: u64,
}
