//! Ends of flows from a launch on a thread of the host to device work.

use super::record::{NO_ID, rising};

pub(super) const LAUNCH_FLOW_WORDS: usize = 10;

/// Kinds: a flow starts in a call, starts in another interval, or ends at work.
pub(super) const IN_CALL: u64 = 0;
pub(super) const IN_BRICK: u64 = 1;
pub(super) const AT_WORK: u64 = 2;

/// Kineto states correlations besides its flows.
pub(super) fn is_of_kineto(category: &str) -> bool {
    matches!(category, "ac2g" | "async_gpu" | "async_cpu_to_gpu")
}

pub(super) fn end(flow: u64, time_ns: i64, work: u64) -> [u64; LAUNCH_FLOW_WORDS] {
    [flow, rising(time_ns), AT_WORK, work, 0, 0, 0, 0, 0, 0]
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Call {
    pub id: u64,
    pub brick: Option<u64>,
    pub thread: u32,
    pub name: u32,
    pub start_ns: i64,
    pub end_ns: i64,
    pub bytes: Option<u64>,
}

pub(super) fn start_in_call(flow: u64, time_ns: i64, of: Call) -> [u64; LAUNCH_FLOW_WORDS] {
    [
        flow,
        rising(time_ns),
        IN_CALL,
        of.id,
        of.brick.unwrap_or(NO_ID),
        of.thread.into(),
        of.name.into(),
        rising(of.start_ns),
        (of.end_ns - of.start_ns).cast_unsigned(),
        of.bytes.unwrap_or(NO_ID),
    ]
}

pub(super) fn start_in_brick(
    flow: u64,
    time_ns: i64,
    (brick, thread): (u64, u32),
) -> [u64; LAUNCH_FLOW_WORDS] {
    let time = rising(time_ns);
    [flow, time, IN_BRICK, brick, thread.into(), 0, 0, 0, 0, 0]
}
