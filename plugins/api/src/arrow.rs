//! The Arrow C data and stream interfaces: how tables cross the boundary.
//!
//! [`read_stream`] drains a stream into an owned [`Table`], [`Batches`] lends it
//! batch by batch, [`export_stream`] makes a stream of a table.

mod column;
mod lend;
mod read;

pub use lend::{export_batches, export_stream};
pub(crate) use read::StreamReader;
pub use read::read_stream;

pub use crate::arrow_c::{ArrowArray, ArrowArrayStream, ArrowSchema, FLAG_NULLABLE};

#[cfg(doc)]
use crate::{Batches, Table};
