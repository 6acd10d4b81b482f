//! The cost of recording one span, measured on the spot.

use std::sync::Arc;

use crate::clock::{Clock, monotonic_ns};
use crate::lane::{Class, Lane};
use crate::live::Live;
use crate::open_stack::Parent;
use crate::overflow::Overflow;
use crate::ring_pool::RingSizes;
use crate::session_state::SessionState;
use trueno_format::record::{Record, kind};
use trueno_format::ring::Ring;
use trueno_format::schema::TableId;

const SPANS: u64 = 1000;
const ROUNDS: usize = 9;

/// The best of a few rounds of empty spans on a ring that is not read. Takes well under a millisecond. `None` if
/// there is no memory for a ring.
pub(crate) fn per_span_ns(clock: Clock) -> Option<f64> {
    let live = Live::none();
    let ring = live.ring(1 << 10)?;
    let shared = SessionState::new(
        clock,
        Overflow::Drop,
        RingSizes {
            records: 1 << 10,
            growth_bytes: 0,
        },
        live,
    );
    let thread = shared.register(&ring);
    let mut lane = Lane::new(shared, thread, ring.clone());
    let mut best = u64::MAX;
    for _ in 0..ROUNDS {
        let begin = monotonic_ns();
        for _ in 0..SPANS {
            span(&mut lane);
        }
        best = best.min(monotonic_ns() - begin);
        consume(&ring);
    }
    (best > 0).then(|| best as f64 / SPANS as f64)
}

/// Does what a guard does between `brick()` and its drop.
#[inline(always)]
fn span(lane: &mut Lane) {
    let Some(seq) = lane.open_quickly(Class::Brick) else {
        return;
    };
    let start = lane.now();
    let end = lane.now();
    let record = Record {
        start,
        end,
        seq,
        name: 1,
        kind: kind::BRICK,
        ..Record::default()
    };
    match lane.close_quickly(seq.into(), Parent::Brick) {
        Some(parent) => {
            // SAFETY: found room just now.
            unsafe { lane.push_quickly(Record { parent, ..record }) };
        }
        None => {
            lane.close(seq);
            lane.push(TableId::Bricks, record);
        }
    }
}

fn consume(ring: &Arc<Ring>) {
    let positions = &ring.header().positions;
    positions.consume(positions.head());
}
