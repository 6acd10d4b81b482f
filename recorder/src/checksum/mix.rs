//! The finaliser of SplitMix64 and its constants.

pub(super) const K: u64 = 0x9E37_79B9_7F4A_7C15;
pub(super) const MIX_1: u64 = 0xBF58_476D_1CE4_E5B9;
pub(super) const MIX_2: u64 = 0x94D0_49BB_1331_11EB;

#[inline(always)]
pub(super) fn mix(mut z: u64) -> u64 {
    z = (z ^ z >> 30).wrapping_mul(MIX_1);
    z = (z ^ z >> 27).wrapping_mul(MIX_2);
    z ^ z >> 31
}
