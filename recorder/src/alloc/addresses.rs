//! The addresses of samples that are live: which releases are those of recorded blocks.
//!
//! Buckets of one cache line, two for each address, without locks. An address is put in before the
//! program knows it and taken out before it is free, and between the two only who owns
//! the block asks for it: so the program's own order makes what one thread puts here visible to
//! the one that takes it out, and relaxed operations will do. Before the buckets lies
//! a filter that stays in the cache: nearly every release ends there, at the price of one load.

use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU8, AtomicU64, Ordering};

const WAYS: usize = 8;
/// Room for a million addresses: 16 MiB, of which only used pages become memory.
const BUCKETS: usize = 1 << 17;
const TABLE_BYTES: usize = BUCKETS * size_of::<Bucket>();
const FILTER_BITS: u32 = 16;

/// Addresses (0 if free), and the sizes of their blocks on a separate cache line.
#[repr(C, align(64))]
struct Bucket {
    addresses: [AtomicU64; WAYS],
    bytes: [AtomicU64; WAYS],
}

/// Never unmapped, because threads may read it at any time.
static TABLE: AtomicPtr<Bucket> = AtomicPtr::new(ptr::null_mut());
/// Number of addresses per hash. A count that reaches 255 stays there.
static FILTER: [AtomicU8; 1 << FILTER_BITS] = [const { AtomicU8::new(0) }; 1 << FILTER_BITS];

/// Forgets all addresses. False: there is no memory.
pub fn clear() -> bool {
    let table = TABLE.load(Ordering::Acquire);
    if table.is_null() {
        // SAFETY: a fresh private mapping, of zeros.
        let memory = unsafe {
            libc::mmap(
                ptr::null_mut(),
                TABLE_BYTES,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        if memory == libc::MAP_FAILED {
            return false;
        }
        TABLE.store(memory.cast(), Ordering::Release);
    } else {
        // SAFETY: our own mapping, private and anonymous: its pages are zeros again.
        let gone = unsafe { libc::madvise(table.cast(), TABLE_BYTES, libc::MADV_DONTNEED) };
        if gone != 0 {
            return false;
        }
    }
    for count in &FILTER {
        count.store(0, Ordering::Relaxed);
    }
    true
}

fn buckets() -> &'static [Bucket] {
    let table = TABLE.load(Ordering::Acquire);
    if table.is_null() {
        return &[];
    }
    // SAFETY: mapped to that length, page-aligned, never unmapped; zeros are valid.
    unsafe { std::slice::from_raw_parts(table, BUCKETS) }
}

/// Fibonacci hashing: the high bits are the good ones.
#[inline(always)]
fn hash(address: u64) -> u64 {
    address.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

#[inline(always)]
fn filter(address: u64) -> &'static AtomicU8 {
    &FILTER[(hash(address) >> (64 - FILTER_BITS)) as usize]
}

fn homes(address: u64) -> impl Iterator<Item = &'static Bucket> {
    let hash = hash(address);
    let buckets = buckets();
    [hash >> 40, hash >> 20]
        .into_iter()
        .filter_map(move |at| buckets.get(at as usize & (BUCKETS - 1)))
}

/// Returns whether it may be there; false is certain.
#[inline(always)]
pub fn may_hold(address: u64) -> bool {
    filter(address).load(Ordering::Relaxed) != 0
}

/// Puts an address in, with the bytes of its block; false: there is no room.
pub fn insert(address: u64, bytes: u64) -> bool {
    let put = |bucket: &Bucket| {
        let mut ways = bucket.addresses.iter().zip(&bucket.bytes);
        ways.any(|(slot, of_slot)| {
            let is_taken = slot.load(Ordering::Relaxed) != 0
                || slot
                    .compare_exchange(0, address, Ordering::Relaxed, Ordering::Relaxed)
                    .is_err();
            if !is_taken {
                of_slot.store(bytes, Ordering::Relaxed);
            }
            !is_taken
        })
    };
    let is_put = homes(address).any(put);
    if is_put {
        change(address, |count| count.checked_add(1));
    }
    is_put
}

/// Takes an address out, and gives the bytes of its block; `None`: it is not there.
pub fn remove(address: u64) -> Option<u64> {
    let (slot, bytes) = homes(address)
        .flat_map(|bucket| bucket.addresses.iter().zip(&bucket.bytes))
        .find(|(slot, _)| slot.load(Ordering::Relaxed) == address)?;
    let bytes = bytes.load(Ordering::Relaxed);
    // Nobody else has this address; a slot is refilled only once it is 0.
    slot.store(0, Ordering::Relaxed);
    change(address, |count| {
        if count == u8::MAX {
            None
        } else {
            count.checked_sub(1)
        }
    });
    Some(bytes)
}

fn change(address: u64, next: impl Fn(u8) -> Option<u8>) {
    // Err: it stays what it is.
    let _ = filter(address).fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    /// A single test, because the set is global to the process.
    #[test]
    fn it_is_a_set_for_every_thread() {
        assert!(clear());
        std::thread::scope(|scope| {
            for thread in 1..=4_u64 {
                scope.spawn(move || {
                    let mut known = HashSet::new();
                    let mut x = thread;
                    for _ in 0..200_000 {
                        x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                        // Few and of one thread only: they come back, and often.
                        let address = thread << 32 | (x >> 50 & 0x3ff) << 4;
                        if known.contains(&address) {
                            assert!(may_hold(address) && remove(address) == Some(address ^ 5));
                            known.remove(&address);
                        } else {
                            assert_eq!(remove(address), None);
                            assert!(insert(address, address ^ 5));
                            known.insert(address);
                        }
                    }
                });
            }
        });
        // More than there is room for: what was refused is not there, the rest is.
        assert!(clear());
        let many = (1..=3 * (BUCKETS * WAYS) as u64 / 2).map(|n| n << 4);
        let (kept, refused): (Vec<u64>, Vec<u64>) = many.partition(|address| insert(*address, 1));
        assert!(kept.len() > BUCKETS * WAYS / 2 && !refused.is_empty());
        assert!(
            kept.iter()
                .all(|address| may_hold(*address) && remove(*address).is_some())
        );
        assert!(refused.iter().all(|address| remove(*address).is_none()));
        assert!(clear());
    }
}
