//! Counters of the CPU around the bricks of a lane.

use trueno_format::record::{Record, kind};
use trueno_format::schema::TableId;

use crate::lane::Lane;
use crate::perf::Counting;
use crate::reentrancy::ReentrancyGuard;

/// Begins brick `seq`. Call as late as possible.
#[cold]
#[inline(never)]
pub(crate) fn begin(lane: &mut Lane, seq: u32) {
    let _reentrancy = ReentrancyGuard::enter();
    if lane.perf.is_none() {
        let shared = lane.shared().clone();
        let Some(perf) = shared.perf.get() else {
            return;
        };
        lane.perf = Some(Box::new(Counting::open(perf)));
    }
    if let Some(counting) = &mut lane.perf {
        counting.begin(seq);
    }
}

#[cold]
#[inline(never)]
pub(crate) fn end(lane: &mut Lane, seq: u32, ticks: u64) {
    let Some(mut counting) = lane.perf.take() else {
        return;
    };
    let to = counting.read();
    let shared = lane.shared().clone();
    if let Some(perf) = shared.perf.get() {
        counting.end(seq, &to, perf, |name, value, unit, source| {
            let record = Record {
                start: ticks,
                parent: seq,
                name,
                kind: kind::COUNTER,
                m: [value.to_bits(), u64::from(unit), source as u64, 0],
                ..Record::default()
            };
            lane.push_group(TableId::Counters, 1, &[record]);
        });
    }
    lane.perf = Some(counting);
}

/// Forgets brick `seq`, which will end on another thread, where these counters say nothing about it.
#[cold]
pub(crate) fn forget(lane: &mut Lane, seq: u32) {
    if let Some(counting) = &mut lane.perf {
        counting.close(seq);
    }
}
