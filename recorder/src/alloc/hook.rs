//! Hooks that every allocation and release of the program runs through.

use std::sync::atomic::Ordering;

use super::active::{self, ACTIVE, LOST, MEAN, NOT_ASKED, TAG};
use super::{addresses, sampler};
use crate::reentrancy::ReentrancyGuard;
use crate::threads;
use trueno_format::record::{Record, kind};
use trueno_format::schema::TableId;

/// With feature `off` the hooks below are removed at compile time.
const COMPILED_OUT: bool = cfg!(feature = "off");

#[inline(always)]
fn active() -> Option<u64> {
    if COMPILED_OUT {
        return None;
    }
    // Acquire: the rest of what `start` says. A plain load on x86-64.
    match ACTIVE.load(Ordering::Acquire) {
        0 => None,
        NOT_ASKED => first(),
        number => Some(number),
    }
}

/// Notes that there is a [`super::Recording`].
#[cold]
fn first() -> Option<u64> {
    // If it is no longer that, another thread has stored the new state.
    let _ = ACTIVE.compare_exchange(NOT_ASKED, 0, Ordering::AcqRel, Ordering::Relaxed);
    None
}

#[inline(always)]
pub(super) fn taken(block: *mut u8, size: usize) {
    let Some(number) = active() else { return };
    let mean_bytes = MEAN.load(Ordering::Relaxed);
    if block.is_null() || (mean_bytes > 0 && !sampler::draws(number, mean_bytes, size)) {
        return;
    }
    record_taken(number, mean_bytes, block.addr() as u64, size);
}

/// Records that a block is about to be freed. Returns whether it did.
#[inline(always)]
pub(super) fn given_back(block: *mut u8, size: usize) -> bool {
    let Some(number) = active() else { return false };
    let mean_bytes = MEAN.load(Ordering::Relaxed);
    let address = block.addr() as u64;
    if mean_bytes > 0 && !addresses::may_hold(address) {
        return false;
    }
    record_given_back(number, mean_bytes, address, size)
}

/// Undoes a [`given_back`] whose free did not happen.
#[cold]
pub(super) fn still_there(block: *mut u8, size: usize) {
    if let Some(number) = active() {
        let mean_bytes = MEAN.load(Ordering::Relaxed);
        record_taken(number, mean_bytes, block.addr() as u64, size);
    }
}

#[inline(never)]
fn record_taken(number: u64, mean_bytes: u64, address: u64, size: usize) {
    if ReentrancyGuard::is_held() {
        return;
    }
    if mean_bytes == 0 {
        record(number, 0, address, size as i64);
    } else if !addresses::insert(address, size as u64) {
        // Its release could not be told from others.
        LOST.fetch_add(1, Ordering::Relaxed);
    } else if !record(number, mean_bytes, address, size as i64) {
        addresses::remove(address);
    }
}

#[inline(never)]
fn record_given_back(number: u64, mean_bytes: u64, address: u64, size: usize) -> bool {
    if mean_bytes > 0 && addresses::remove(address).is_none() {
        return false;
    }
    if ReentrancyGuard::is_held() {
        // Of a sample it is known that the program had it; of others it is not.
        LOST.fetch_add(u64::from(mean_bytes > 0), Ordering::Relaxed);
        return false;
    }
    record(number, mean_bytes, address, -(size as i64));
    true
}

/// Publishes a row. False if it was dropped, which is counted if there is a lane to count it.
fn record(number: u64, mean_bytes: u64, address: u64, bytes: i64) -> bool {
    let _reentrancy = ReentrancyGuard::enter();
    let mut lane = threads::cached(number).map_or(std::ptr::null_mut(), |lane| lane.as_ptr());
    if lane.is_null() {
        let Some(shared) = active::shared(number) else {
            return false;
        };
        lane = threads::lane(&shared);
        if lane.is_null() {
            shared.counts.no_ring(TableId::Allocations, 1);
            return false;
        }
    }
    let (weight, more) = match mean_bytes {
        0 => (1.0, 0),
        mean_bytes => (sampler::weight(bytes.unsigned_abs(), mean_bytes), 8),
    };
    // SAFETY: the calling thread's own lane, valid until the thread ends. No other reference to it
    // exists: whoever has one and may allocate is inside the recorder, and the callers turned back.
    let lane = unsafe { &mut *lane };
    let record = Record {
        start: lane.now(),
        parent: lane.brick_below(lane.depth()),
        name: TAG.load(Ordering::Relaxed),
        kind: kind::ALLOCATION,
        flags: 2 | 4 | more,
        m: [bytes as u64, address, weight.to_bits(), mean_bytes],
        ..Record::default()
    };
    lane.try_push(TableId::Allocations, record)
}
