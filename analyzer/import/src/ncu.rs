//! Nsight Compute's CSV (`ncu --csv`): counters for the kernels of a run that is there already.
//!
//! ncu runs kernels one at a time and more than once, so its times are no part of a run: they are
//! kept as counters under ncu's names. Its rows meet the kernels of a trace by base name, launch
//! shape and ordinal among those. Where the two have not equally many of a kind, nothing says which
//! belongs to which, and none is joined. The whole CSV is held in memory, and 16 bytes a kernel that
//! it names.

mod derived;
mod join;
mod name;
mod number;
mod table;

use std::path::Path;

use trueno_recorder::run_writer::RunWriter;

use crate::{Error, Notes};

/// A kernel of the run, in order of start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TracedKernel<'k> {
    /// Its row of `kernels`.
    pub id: u64,
    /// As traced.
    pub name: &'k str,
    /// x, y, z; a kernel without a shape is not joined.
    pub grid: Option<[u32; 3]>,
    /// x, y, z.
    pub block: Option<[u32; 3]>,
    /// When it began.
    pub start_ns: i64,
}

/// Whether a file that begins so is ncu's CSV; the program's own output may come before.
pub fn recognises(head: &[u8]) -> bool {
    let text = String::from_utf8_lossy(head);
    text.lines().any(table::is_header)
}

/// Adds the counters of a CSV to the kernels; returns how many kernels got some.
///
/// # Errors
/// No such CSV, one with decimal commas, or the run cannot be written.
pub fn join<'k>(
    path: &Path,
    kernels: impl Iterator<Item = TracedKernel<'k>>,
    into: &mut RunWriter,
    notes: &mut Notes,
) -> Result<u64, Error> {
    let launches = table::read(path, notes)?;
    join::join(launches, kernels, into, notes)
}

#[cfg(test)]
mod tests;
