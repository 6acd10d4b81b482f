//! Device time by operator, over the trees of operators of both sides.
//!
//! [`OperatorTree`] holds who called whom; [`compare`] aligns two of them from their roots and adds up, for each
//! path of operators that both have, what both took. What only one has counts for the lowest operator around it
//! that both have. The rules stand in `docs/comparing.md`.

mod alignment;
mod difference;
mod lanes;
mod rows;
mod sequence;
mod shapes;
mod tree;

pub use difference::{KernelRow, OneSided, OperatorRow, Operators, compare};
pub use tree::OperatorTree;

#[cfg(test)]
mod tests;
