//! The texts, and what is launched for a tensor of some size.
//!
//! The texts are PTX for old drivers (`.version 7.0`, which every CUDA 11 driver takes and compiles for its device), made
//! from CUDA C by `kernels/generate.py`, which no build needs. A test compares each with the hash of its source, and tests
//! execute the texts themselves: by an interpreter of the part of PTX they use, stricter than a GPU about addresses,
//! alignment and threads that leave a warp.

use trueno_cupti::driver::Launch;

/// Kernels `fingerprint_<dtype>`, of tensors whose elements lie side by side, and `fold`.
pub const FINGERPRINT_PTX: &str = include_str!("../../kernels/fingerprint.ptx");
/// Kernels `strided_<dtype>`, of all others.
pub const STRIDED_PTX: &str = include_str!("../../kernels/strided.ptx");

/// The block size of `trueno_recorder::fingerprint`.
const BLOCK_BYTES: u64 = 8192;
const FOLDED: u64 = 32;
/// Limit on the partials that are copied to the host, which adds them up.
pub(super) const MAX_PARTIALS: u64 = 256;
const THREADS: u32 = 256;
/// Thread blocks per multiprocessor: enough to keep it busy.
const BLOCKS_EACH: u64 = 8;

pub(super) fn blocks(elements: u64, element_bytes: u64) -> u64 {
    elements.div_ceil(BLOCK_BYTES / element_bytes)
}

/// The number of partials that each pass of `fold` leaves, until few enough remain to copy. Empty if no pass is
/// needed.
pub(super) fn passes(blocks: u64) -> Vec<u64> {
    let next = |count: &u64| Some(count.div_ceil(FOLDED));
    let counts = std::iter::successors(Some(blocks), next);
    let mut left: Vec<u64> = counts
        .take_while(|count| *count > MAX_PARTIALS)
        .map(|count| count.div_ceil(FOLDED))
        .collect();
    left.shrink_to_fit();
    left
}

/// Launch shape of a kernel with `units` units of work and `threads_each` threads for each.
pub(super) fn shape(units: u64, threads_each: u64, multiprocessors: u32) -> Launch {
    let wanted = (units * threads_each).div_ceil(u64::from(THREADS)).max(1);
    let most = u64::from(multiprocessors.max(1)) * BLOCKS_EACH;
    Launch {
        blocks: wanted.min(most) as u32,
        threads: THREADS,
        shared_bytes: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passes_end_at_what_is_copied() {
        assert!(passes(0).is_empty());
        assert!(passes(256).is_empty());
        assert_eq!(passes(257), [9]);
        assert_eq!(passes(131_072), [4096, 128]);
        assert_eq!(passes(1 << 24), [1 << 19, 1 << 14, 1 << 9, 1 << 4]);
        assert_eq!(blocks(0, 4), 0);
        assert_eq!(blocks(2049, 4), 2);
    }

    #[test]
    fn a_launch_is_no_larger_than_its_work_or_the_device() {
        assert_eq!(shape(0, 8, 132).blocks, 1);
        assert_eq!(shape(33, 8, 132).blocks, 2);
        assert_eq!(shape(1 << 30, 8, 132).blocks, 132 * 8);
    }
}
