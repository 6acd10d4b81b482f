//! What Ascend's allocators hold. PyTorch's and CANN's own state totals of themselves alone, and blocks from before the
//! recording are released without a row.

use std::collections::BTreeMap;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct AllocatorId {
    pub device: u32,
    pub is_of_pytorch: bool,
}

/// An allocation, or a release with negative bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Change {
    pub bytes: i64,
    /// Allocated and reserved, as stated with it.
    pub totals_bytes: Option<(i64, i64)>,
}

#[derive(Debug)]
struct Held {
    allocated_bytes: i64,
    reserved_bytes: i64,
}

#[derive(Debug, Default)]
pub(super) struct Allocators(BTreeMap<AllocatorId, Held>);

impl Allocators {
    /// Takes what an allocator held before the recording from its first change.
    pub fn begin(&mut self, id: AllocatorId, change: &Change) {
        if let Some((allocated_bytes, reserved_bytes)) = change.totals_bytes {
            self.0.entry(id).or_insert(Held {
                allocated_bytes: allocated_bytes.saturating_sub(change.bytes),
                reserved_bytes,
            });
        }
    }

    /// Returns the bytes that came or went since the change before without a row.
    pub fn change(&mut self, id: AllocatorId, change: &Change) -> i64 {
        let Some(held) = self.0.get_mut(&id) else {
            return 0;
        };
        let expected_bytes = held.allocated_bytes.saturating_add(change.bytes);
        let Some((allocated_bytes, reserved_bytes)) = change.totals_bytes else {
            held.allocated_bytes = expected_bytes;
            return 0;
        };
        held.reserved_bytes = reserved_bytes;
        // CANN states with a release what was allocated before it.
        if change.bytes < 0 && allocated_bytes == held.allocated_bytes {
            held.allocated_bytes = expected_bytes;
            return 0;
        }
        held.allocated_bytes = allocated_bytes;
        allocated_bytes.saturating_sub(expected_bytes)
    }

    /// Bytes allocated and reserved on a device by all its allocators.
    pub fn totals_bytes(&self, device: u32) -> Option<(u64, u64)> {
        let of_device = self.0.iter().filter(|(id, _)| id.device == device);
        let (allocated, reserved) = of_device.fold((0_i64, 0_i64), |sums, (_, held)| {
            (
                sums.0.saturating_add(held.allocated_bytes),
                sums.1.saturating_add(held.reserved_bytes),
            )
        });
        Some((
            u64::try_from(allocated).ok()?,
            u64::try_from(reserved).ok()?,
        ))
    }
}
