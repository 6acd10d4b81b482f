//! The program's allocations: counted, and samples of them recorded.

use std::ffi::c_void;
use std::sync::atomic::Ordering;

use trueno_preload_rows::channel::ALLOCATIONS;
use trueno_preload_rows::event::Event;
use trueno_recorder::alloc::sampling as addresses;

use crate::image;
use crate::thread::{self, now_ns};

#[inline(always)]
pub fn taken(block: *mut c_void, size: usize) {
    let Some(channel) = image::channel() else {
        return;
    };
    let header = &channel.header;
    let mean_bytes = header.mean_bytes.load(Ordering::Relaxed);
    let thread = thread::current();
    if mean_bytes == 0 || block.is_null() || thread.inside.get() {
        return;
    }
    let image = image::number(channel);
    match thread.lane(image) {
        Some(lane) => lane.count(size as u64),
        None => {
            header.allocations.fetch_add(1, Ordering::Relaxed);
            header
                .allocated_bytes
                .fetch_add(size as u64, Ordering::Relaxed);
        }
    }
    if thread.sampler.draws(image, mean_bytes, size) {
        record(image, block, size as u64);
    }
}

#[cold]
#[inline(never)]
fn record(image: u64, block: *mut c_void, bytes: u64) {
    let address = block.addr() as u64;
    let event = Event::Taken {
        time_ns: now_ns(),
        address,
        bytes,
    };
    let Some(channel) = image::channel() else {
        return;
    };
    if !addresses::insert(address, bytes) {
        // Its release could not be told from others.
        image::lose(channel, ALLOCATIONS);
    } else if !thread::current().tell(image, ALLOCATIONS, &event) {
        addresses::remove(address);
    }
}

/// Records that a block is about to be freed. Returns its size, if the allocation was recorded.
#[inline(always)]
pub fn given_back(block: *mut c_void) -> Option<u64> {
    if !addresses::may_hold(block.addr() as u64) {
        return None;
    }
    record_given_back(block)
}

#[cold]
#[inline(never)]
fn record_given_back(block: *mut c_void) -> Option<u64> {
    let channel = image::channel()?;
    // In a forked child, this forgets the blocks of its parent.
    let image = image::number(channel);
    let address = block.addr() as u64;
    let bytes = addresses::remove(address)?;
    let event = Event::GivenBack {
        time_ns: now_ns(),
        address,
        bytes,
    };
    thread::current().tell(image, ALLOCATIONS, &event);
    Some(bytes)
}

/// Undoes a [`given_back`] whose free did not happen.
#[cold]
#[inline(never)]
pub fn still_there(block: *mut c_void, bytes: u64) {
    if let Some(channel) = image::channel() {
        record(image::number(channel), block, bytes);
    }
}
