//! Runs of several ranks: which rank a row is of.
//!
//! Where a run holds ranks, the table `ranks` exists, every table has the column `rank`, and
//! numbers that are unique in a rank are made unique in the whole by the rank in their upper
//! bits: ids, correlations and events in those above 48, threads and devices in those above 16.
//! So lanes, joins and links of different ranks never meet, and a plugin need not know of ranks.
//! One that wants to show them asks for `ranks` as an optional input.

/// Bits of an id, correlation or event below its rank.
pub const KEY_BITS: u32 = 48;
/// Bits of a thread or device below its rank.
pub const PLACE_BITS: u32 = 16;
/// Ranks are below this.
pub const MAX_RANKS: u64 = 1 << 16;

/// The rank of an id, correlation or event.
pub fn of_key(key: u64) -> u64 {
    key >> KEY_BITS
}

/// The rank of a thread or device, and its number there.
pub fn of_place(place: i64) -> (i64, i64) {
    (place >> PLACE_BITS, place & ((1 << PLACE_BITS) - 1))
}
