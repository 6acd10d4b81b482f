//! Lanes: host threads and device streams, on which rows lie.

use trueno_format::schema::{self, LaneRule};
use trueno_plugin::rank::PLACE_BITS;

/// Rows of this table with both a thread and a device are shown on the thread.
pub fn is_of_thread_first(table: &str) -> bool {
    schema::table(table).is_some_and(|table| table.lane == Some(LaneRule::ThreadElseStream))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Lane {
    Thread(Option<u64>),
    /// In a run with ranks, an unrecorded thread of this rank.
    ThreadOfRank(u64),
    Stream(u64, Option<u64>),
}

impl Lane {
    /// The lane of a row: the stream if it has a device, unless [`is_of_thread_first`].
    pub fn of_row(
        is_of_thread_first: bool,
        thread: Option<u64>,
        (device, stream): (Option<u64>, Option<u64>),
        rank: Option<u64>,
    ) -> Lane {
        match device {
            Some(device) if thread.is_none() || !is_of_thread_first => Lane::Stream(device, stream),
            _ => match (thread, rank) {
                (None, Some(rank)) => Lane::ThreadOfRank(rank),
                _ => Lane::Thread(thread),
            },
        }
    }

    /// The lane's name in reports; in a run with ranks, prefixed with the rank.
    pub fn name(self, threads: &std::collections::BTreeMap<u64, String>, of_ranks: bool) -> String {
        let name = match self {
            Lane::Thread(Some(thread)) => threads.get(&thread),
            _ => None,
        };
        let (rank, lane) = if of_ranks { self.in_rank() } else { (0, self) };
        let lane = match (lane, name) {
            (Lane::Thread(Some(thread)), Some(name)) => format!("thread {thread} {name}"),
            (Lane::Thread(Some(thread)), None) => format!("thread {thread}"),
            (Lane::Thread(None) | Lane::ThreadOfRank(_), _) => "thread ?".to_owned(),
            (Lane::Stream(device, Some(stream)), _) => format!("gpu{device}/stream {stream}"),
            (Lane::Stream(device, None), _) => format!("gpu{device}/stream ?"),
        };
        if of_ranks {
            format!("rank {rank} {lane}")
        } else {
            lane
        }
    }

    pub fn in_rank(self) -> (u64, Lane) {
        let split = |place: u64| (place >> PLACE_BITS, place & ((1 << PLACE_BITS) - 1));
        match self {
            Lane::Thread(Some(thread)) => {
                let (rank, thread) = split(thread);
                (rank, Lane::Thread(Some(thread)))
            }
            Lane::Thread(None) => (0, self),
            Lane::ThreadOfRank(rank) => (rank, Lane::Thread(None)),
            Lane::Stream(device, stream) => {
                let (rank, device) = split(device);
                (rank, Lane::Stream(device, stream))
            }
        }
    }
}
