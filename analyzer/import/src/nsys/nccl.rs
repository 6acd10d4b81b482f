//! Collectives, as NCCL states them in the payloads of its NVTX ranges.
//!
//! A call between `ncclGroupStart` and `ncclGroupEnd` only queues: the end of the outermost group
//! launches, so its kernels lie in that range, and a group is one collective. Sizes are in bytes,
//! ranks those in the communicator. Names of members: `nvtx_payload_schemas.h` of NCCL.

use std::collections::HashMap;

use serde_json::{Map, Value as Json};
use trueno_analysis::collectives::Operation;
use trueno_format::run_writer::RunWriter;
use trueno_format::schema::CollectiveRow;

use crate::Notes;

const COMMUNICATOR: &str = "NCCL communicator ID";
const BYTES: &str = "Message size [bytes]";
const RANKS: &str = "No. of ranks";
const RANK: &str = "Rank";
const DEVICES: &str = "No. of devices";
const PEER: &str = "Peer rank";
const ROOT: &str = "Root";
/// Element type if only bytes are stated.
const BYTE: &str = "byte";

#[derive(Clone, Copy, Debug)]
pub struct Range<'r> {
    pub id: u64,
    pub name: &'r str,
    pub thread: u32,
    pub process: Option<u32>,
    pub start_ns: i64,
    pub dur_ns: i64,
}

#[derive(Debug, Default)]
pub struct Nccl {
    communicators: HashMap<(Option<u32>, u64), Communicator>,
    groups: HashMap<u32, Group>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Communicator {
    size: Option<u32>,
    rank: Option<u32>,
    /// The process has several ranks in it.
    is_several: bool,
}

#[derive(Debug, Default)]
struct Group {
    depth: u32,
    start_ns: i64,
    calls: Vec<Call>,
}

#[derive(Clone, Copy, Debug)]
struct Call {
    operation: Operation,
    communicator: u64,
    bytes: u64,
    peer: Option<u64>,
    root: Option<u64>,
}

type Elements = (Option<u64>, Option<u64>);

impl Nccl {
    /// Adds a range and returns the collective that it starts on the device. Ranges must come in order of their
    /// start.
    pub fn collective(
        &mut self,
        range: Range<'_>,
        members: &Map<String, Json>,
        into: &mut RunWriter,
        notes: &mut Notes,
    ) -> Option<CollectiveRow> {
        if !range.name.starts_with("nccl") {
            return None;
        }
        match range.name {
            "ncclGroupStart" => {
                let group = self.groups.entry(range.thread).or_default();
                if group.depth == 0 {
                    (group.start_ns, group.calls) = (range.start_ns, Vec::new());
                }
                group.depth += 1;
                return None;
            }
            "ncclGroupEnd" => {
                let group = self.groups.get_mut(&range.thread)?;
                group.depth = group.depth.saturating_sub(1);
                if group.depth > 0 {
                    return None;
                }
                let group = self.groups.remove(&range.thread)?;
                return self.row(&group.calls, range, group.start_ns, into, notes);
            }
            _ => {}
        }
        let communicator = whole(members.get(COMMUNICATOR)?)?;
        self.learn((range.process, communicator), members);
        let call = Call {
            operation: Operation::parse(range.name)?,
            communicator,
            bytes: whole(members.get(BYTES)?)?,
            peer: members.get(PEER).and_then(whole),
            root: members.get(ROOT).and_then(whole),
        };
        match self.groups.get_mut(&range.thread) {
            Some(group) => {
                group.calls.push(call);
                None
            }
            None => self.row(&[call], range, range.start_ns, into, notes),
        }
    }

    fn learn(&mut self, key: (Option<u32>, u64), members: &Map<String, Json>) {
        let number = |name| u32::try_from(whole(members.get(name)?)?).ok();
        let (size, rank, devices) = (number(RANKS), number(RANK), number(DEVICES));
        if size.is_none() && devices.is_none() {
            return;
        }
        let known = self.communicators.entry(key).or_default();
        known.size = known.size.or(size).or(devices);
        known.is_several |= devices.is_some_and(|devices| devices > 1)
            || matches!((known.rank, rank), (Some(one), Some(other)) if one != other);
        known.rank = known.rank.or(rank);
    }

    fn row(
        &self,
        calls: &[Call],
        range: Range<'_>,
        start_ns: i64,
        into: &mut RunWriter,
        notes: &mut Notes,
    ) -> Option<CollectiveRow> {
        let first = calls.first()?;
        let communicator = self
            .communicators
            .get(&(range.process, first.communicator))
            .copied()
            .unwrap_or_default();
        if communicator.is_several {
            notes.skip("NCCL: calls of a process that is several ranks of one communicator");
            return None;
        }
        let is_of_several = |call: &Call| call.communicator != first.communicator;
        let together = if calls.iter().any(is_of_several) {
            None
        } else {
            together(calls, communicator)
        };
        let Some((operation, (given, got))) = together else {
            notes.skip(if is_pair(first.operation) {
                "NCCL: sends and receives, whose peers are numbers in a communicator"
            } else {
                "NCCL: groups of several collectives"
            });
            return None;
        };
        Some(CollectiveRow {
            span: Some(range.id),
            thread: Some(range.thread),
            time_ns: start_ns,
            dur_ns: range
                .start_ns
                .saturating_add(range.dur_ns)
                .saturating_sub(start_ns),
            communicator: Some(into.text(&format!("{:#018x}", first.communicator))),
            operation: into.text(operation.name()),
            element_type: Some(into.text(BYTE)),
            elements_in: given,
            elements_out: got,
            group_size: communicator.size,
            ..CollectiveRow::default()
        })
    }
}

fn is_pair(operation: Operation) -> bool {
    matches!(operation, Operation::Send | Operation::Recv)
}

/// The single operation formed by several calls on one communicator.
fn together(calls: &[Call], communicator: Communicator) -> Option<(Operation, Elements)> {
    let first = calls.first()?;
    if is_pair(first.operation) {
        return all_to_all(calls, communicator);
    }
    let mut sum = (Some(0_u64), Some(0_u64));
    for call in calls {
        if call.operation != first.operation || call.root != first.root {
            return None;
        }
        let (given, got) = elements(call, communicator);
        sum.0 = sum.0.zip(given).and_then(|(sum, n)| sum.checked_add(n));
        sum.1 = sum.1.zip(got).and_then(|(sum, n)| sum.checked_add(n));
    }
    Some((first.operation, sum))
}

/// An all-to-all consists of a send to and a receive from each rank, including itself.
fn all_to_all(calls: &[Call], communicator: Communicator) -> Option<(Operation, Elements)> {
    let side = |operation| {
        let of_side = calls.iter().filter(|call| call.operation == operation);
        let mut peers: Vec<u64> = of_side.clone().filter_map(|call| call.peer).collect();
        peers.sort_unstable();
        let bytes = of_side.map(|call| call.bytes);
        (peers, bytes.fold(0_u64, u64::saturating_add))
    };
    let ((to, given), (from, got)) = (side(Operation::Send), side(Operation::Recv));
    let size = u64::try_from(to.len()).ok()?;
    let is_all = to.iter().copied().eq(0..size)
        && from == to
        && calls.len() == to.len() + from.len()
        && communicator
            .size
            .is_none_or(|ranks| u64::from(ranks) == size);
    (is_all && size > 1).then_some((Operation::AllToAll, (Some(given), Some(got))))
}

/// Bytes that the rank sends and receives. `bytes` is one rank's part, or for a reduction the whole.
fn elements(call: &Call, communicator: Communicator) -> Elements {
    let bytes = call.bytes;
    let of_all = communicator
        .size
        .and_then(|ranks| bytes.checked_mul(u64::from(ranks)));
    let is_root = communicator
        .rank
        .is_some_and(|rank| call.root == Some(u64::from(rank)));
    let at_root = |bytes: Option<u64>| bytes.filter(|_| is_root);
    match call.operation {
        Operation::AllGather => (Some(bytes), of_all),
        Operation::ReduceScatter => (of_all, Some(bytes)),
        Operation::AllToAll => (of_all, of_all),
        Operation::Reduce => (Some(bytes), at_root(Some(bytes))),
        Operation::Gather => (Some(bytes), at_root(of_all)),
        Operation::Scatter => (None, Some(bytes)),
        _ => (Some(bytes), Some(bytes)),
    }
}

/// Parses a number from a JSON number or a string, hexadecimal after `0x`.
fn whole(value: &Json) -> Option<u64> {
    match value {
        Json::Number(number) => number
            .as_u64()
            .or_else(|| number.as_i64().map(i64::cast_unsigned)),
        Json::String(text) => match text.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16).ok(),
            None => text.parse().ok(),
        },
        _ => None,
    }
}
