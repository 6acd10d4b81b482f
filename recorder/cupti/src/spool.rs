//! The file a recorded process appends to: chunks, each with its length and hash, and no footer. Whatever
//! ends the process, all chunks that were written are whole.
//!
//! | chunk | holds |
//! |---|---|
//! | facts | JSON, [`Facts`]: who records what with which library |
//! | names | numbers and texts that records and ranges refer to |
//! | callback | the name of a function of the driver or the runtime |
//! | records | activity records, each behind its length |
//! | ranges | [`RangeEvent`]s of NVTX |
//! | clock | [`ClockReading`] |
//! | dropped | how many records CUPTI dropped |
//! | note | JSON, [`Note`]: what went wrong |
//! | thread | number and name of a thread |
//! | graph clones | pairs of `u64`: a node of a graph, and the node it was cloned from |
//! | graph edges | pairs of `u64`: a node of a graph, and one that may begin when it has ended |
//! | end | JSON, [`End`]: the process ended as it should |

mod facts;
mod range;
mod read;
mod write;

pub use facts::{CuptiFacts, End, Facts, Note, Severity};
pub use range::{ClockReading, RangeEvent, RangeKind};
pub use read::{Damage, Item, Reader, read};
pub use write::{Chunk, Writer};

/// First bytes of a spool.
pub const MAGIC: &[u8; 8] = b"TRNSPOL1";
/// File extension of spools.
pub const EXTENSION: &str = "spool";

/// Size of a chunk header: kind, length, XXH3-64 of the payload.
const HEADER_BYTES: usize = 16;
/// Longer chunks are treated as damaged.
const MAX_BYTES: usize = 1 << 30;
