//! Categories that every run has, by the numbers of their texts.

/// Category of time that lies in no brick: run, iteration and layer rows, and
/// work that ran directly in them.
pub const OUTSIDE: u32 = 0;
/// Category of a brick that has none.
pub const UNCATEGORISED: u32 = 1;
/// Stands for "that of the enclosing brick" until the lanes are sorted.
pub const INHERITED: u32 = 2;
/// Category of time in which a thread waited for others.
pub const WAITING: u32 = 3;

/// Texts of the reserved categories, which come first in [`Lanes::texts`](super::Lanes::texts).
pub(super) const RESERVED: [&str; 4] = ["outside bricks", "uncategorised", "", "waiting"];
