//! Columns of recorded tables in memory, decoded once and kept as narrow as their values allow.
//!
//! A batch of a column holds one value, or differences to its least value in as few bytes as fit: ids and times of
//! neighbouring rows are near each other, so a column takes two to four bytes a row, not eight. Texts are the numbers
//! that the query engine gives them too, so no text is looked at for a row.

mod frame;
mod packed;
mod store;

pub(crate) use frame::{kind, of_frame, of_lazy};
pub(crate) use packed::{FALSE, From64, Packed, TRUE, Truths, UNKNOWN, is_set};
pub use store::Kind;
pub(crate) use store::{Claim, ReadBatches, ReadColumns, StoredTable};
