//! Intervals, what they are called, and the lanes they ran on.

use trueno_plugin::rank::of_place;

use crate::interner::Interner;
use crate::start_order::Interval;

/// In [`Span::elements`]: the program declared none.
pub const NO_ELEMENTS: u32 = u32::MAX;

/// One measured interval, half open: `start_ns <= t < end_ns`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Start.
    pub start_ns: i64,
    /// End; not before `start_ns`.
    pub end_ns: i64,
    /// Unique in the run.
    pub id: u64,
    /// Kind, name and category: an index into [`Labels`].
    pub label: u32,
    /// Index into [`Lanes::elements`](super::Lanes::elements), or [`NO_ELEMENTS`].
    pub elements: u32,
}

impl Span {
    /// Its duration.
    pub fn dur_ns(&self) -> i64 {
        self.end_ns - self.start_ns
    }
}

impl Interval for Span {
    #[inline]
    fn times(&self) -> (i64, i64, u64) {
        (self.start_ns, self.end_ns, self.id)
    }
}

/// The class of an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// A run, iteration or layer: a frame around bricks.
    Scope,
    /// A brick or function, or a kind of brick that is not known here.
    Brick,
    /// A task: work that another thread may have requested.
    Task,
    /// A kernel.
    Kernel,
    /// A tile.
    Tile,
    /// A host API call.
    Call,
    /// A wait of the host or of a stream.
    Wait,
    /// A copy or a fill.
    Transfer,
}

impl Class {
    /// All variants.
    pub const ALL: [Self; 8] = [
        Self::Scope,
        Self::Brick,
        Self::Task,
        Self::Kernel,
        Self::Tile,
        Self::Call,
        Self::Wait,
        Self::Transfer,
    ];

    /// Text in tables of parts.
    pub fn name(self) -> &'static str {
        match self {
            Self::Scope => "scope",
            Self::Brick => "brick",
            Self::Task => "task",
            Self::Kernel => "kernel",
            Self::Tile => "tile",
            Self::Call => "call",
            Self::Wait => "wait",
            Self::Transfer => "transfer",
        }
    }

    /// The variant with a [`name`](Self::name).
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|class| class.name() == name)
    }
}

/// Names of an interval; texts by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Label {
    /// Its class.
    pub class: Class,
    /// `layer`, `brick`, `kernel`, ...
    pub kind: u32,
    /// As recorded; a wait, a tile and a transfer go by their kind, level and direction.
    pub name: u32,
    /// See [`OUTSIDE`](super::OUTSIDE) and its neighbours.
    pub category: u32,
}

/// Numbered labels.
pub type Labels = Interner<Label>;

/// Host or device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LaneKind {
    /// A host thread.
    Host,
    /// A device stream.
    Device,
}

impl LaneKind {
    /// Both, in the order of reports.
    pub const ALL: [Self; 2] = [Self::Host, Self::Device];

    /// `host` or `device`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Device => "device",
        }
    }
}

/// Identity of a lane; the order here is the order of reports. `None`: not recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LaneKey {
    /// A thread, as numbered in table `threads`.
    Thread(Option<i64>),
    /// In a run of ranks: the unrecorded thread of this rank.
    ThreadOfRank(i64),
    /// A device and a stream.
    Stream(i64, Option<i64>),
}

impl LaneKey {
    /// Host or device.
    pub fn kind(self) -> LaneKind {
        match self {
            Self::Thread(_) | Self::ThreadOfRank(_) => LaneKind::Host,
            Self::Stream(..) => LaneKind::Device,
        }
    }

    /// Rank of the lane; 0 where the run has no ranks.
    pub fn rank(self) -> u32 {
        let rank = match self {
            Self::Thread(thread) => thread.map_or(0, |thread| of_place(thread).0),
            Self::ThreadOfRank(rank) => rank,
            Self::Stream(device, _) => of_place(device).0,
        };
        u32::try_from(rank).unwrap_or(0)
    }

    /// `thread 0 main` or `gpu0/stream 7`; what was not recorded is a `?`.
    pub fn name(self, thread_name: Option<&str>) -> String {
        match (self, thread_name) {
            (Self::Thread(Some(thread)), Some(name)) => format!("thread {thread} {name}"),
            (Self::Thread(Some(thread)), None) => format!("thread {thread}"),
            (Self::Thread(None) | Self::ThreadOfRank(_), _) => "thread ?".to_owned(),
            (Self::Stream(device, Some(stream)), _) => format!("gpu{device}/stream {stream}"),
            (Self::Stream(device, None), _) => format!("gpu{device}/stream ?"),
        }
    }

    /// Of a lane of a run of ranks: `rank 1 thread 0 main`, with the numbers of that rank.
    pub fn name_in_rank(self, thread_name: Option<&str>) -> String {
        let (rank, lane) = match self {
            Self::Thread(Some(thread)) => {
                let (rank, thread) = of_place(thread);
                (rank, Self::Thread(Some(thread)))
            }
            Self::Thread(None) => return self.name(thread_name),
            Self::ThreadOfRank(rank) => (rank, self),
            Self::Stream(device, stream) => {
                let (rank, device) = of_place(device);
                (rank, Self::Stream(device, stream))
            }
        };
        format!("rank {rank} {}", lane.name(thread_name))
    }
}

/// One lane with its intervals, sorted as [`sort_by_start`](crate::start_order::sort_by_start) does.
#[derive(Clone, Debug)]
pub struct Lane {
    /// Name in reports.
    pub name: String,
    /// Its identity.
    pub key: LaneKey,
    /// Host or device.
    pub kind: LaneKind,
    /// Its first start and last end in the whole recording, counted as times here are, of rows that became no
    /// interval too; `None`: not known.
    pub life: Option<(i64, i64)>,
    /// Its intervals.
    pub spans: Vec<Span>,
}

impl Lane {
    /// The part of a window between its first row and its last; where these are not known, all of it.
    pub fn alive_ns(&self, wall_ns: i64) -> i64 {
        let (first_ns, last_ns) = self.life.unwrap_or((0, wall_ns));
        last_ns.min(wall_ns).saturating_sub(first_ns.max(0)).max(0)
    }
}
