//! Nsight Compute's CSV (`ncu --csv`): counters for the kernels of a run that is there already.
//!
//! ncu runs kernels one at a time and more than once, so its times are no part of a run: they are
//! kept as counters under ncu's names, and replace no traced duration. Its rows meet the kernels
//! of a run by base name, launch shape, template arguments where both spell them alike, device where
//! both tell several apart, and ordinal among those, in the order of launches. Where the two have not equally many of a kind, or the order is
//! not known, nothing says which belongs to which, and none is joined. The whole CSV is held in
//! memory, and 64 bytes a kernel of the run.

pub(crate) mod derived;
mod join;
mod name;
mod number;
mod pairs;
mod table;

use std::path::Path;

use trueno_format::run_writer::RunWriter;

use crate::importer::{Head, Import, Importer};
use crate::{Error, Notes};

pub const NAME: &str = "ncu-csv";

/// Value of `counters.source` for these rows.
pub const SOURCE: &str = "ncu";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TracedKernel<'k> {
    pub id: u64,
    pub name: &'k str,
    /// x, y, z. A kernel without a grid is not joined.
    pub grid: Option<[u32; 3]>,
    /// x, y, z.
    pub block: Option<[u32; 3]>,
    pub start_ns: i64,
    /// Number of its launch; later launches have higher numbers.
    pub correlation: Option<u64>,
    pub device: Option<u32>,
    pub stream: Option<u32>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Joined {
    pub kernels: u64,
    pub unmatched: Vec<Unmatched>,
}

/// Profiled kernels of one name and launch shape that matched none of the run.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Unmatched {
    /// Base name, with template arguments if all have the same.
    pub name: String,
    /// x, y, z.
    pub grid: [u32; 3],
    /// x, y, z.
    pub block: [u32; 3],
    pub profiled: u64,
    pub in_run: u64,
    pub reason: &'static str,
}

/// CSV of Nsight Compute, which cannot become a run on its own: see [`join`].
pub const IMPORTER: Importer = Importer {
    name: NAME,
    description: "Nsight Compute, exported to CSV",
    recognises,
    read,
};

fn recognises(head: &Head<'_>) -> bool {
    // The program's own output may come before, and what ncu says of itself.
    let mut lines = head.text().lines();
    lines.any(|line| line.starts_with("==PROF==") || table::is_header(line))
}

fn read(import: Import<'_>) -> Result<Option<i64>, Error> {
    Err(import.refused("Nsight Compute's counters belong to the kernels of a run (hint: give that run with --into RUN)"))
}

/// Adds the counters of a CSV to the kernels. `process` selects one if there are several.
///
/// # Errors
/// The file is no such CSV or has decimal commas, it has several processes and none is selected, or the run cannot
/// be written.
pub fn join<'k>(
    path: &Path,
    process: Option<u64>,
    kernels: impl Iterator<Item = TracedKernel<'k>>,
    into: &mut RunWriter,
    notes: &mut Notes,
) -> Result<Joined, Error> {
    let mut launches = table::read(path, notes)?;
    let mut processes: Vec<u64> = launches.iter().map(|launch| launch.process).collect();
    processes.dedup();
    let chosen = match (process, processes.as_slice()) {
        (Some(process), _) if processes.contains(&process) => process,
        (None, []) => 0,
        (None, [one]) => *one,
        (process, _) => {
            let found: Vec<String> = processes.iter().map(u64::to_string).collect();
            let found = found.join(", ");
            let problem = match process {
                Some(process) => format!(
                    "expected kernels of process {process}, found those of {found} (hint: give one of them with --process)"
                ),
                None => format!(
                    "holds kernels of the processes {found}, and it is not known which of them belongs to the run \
                     (hint: give one with --process)"
                ),
            };
            return Err(Error::format(path, problem));
        }
    };
    let all = launches.len();
    launches.retain(|launch| launch.process == chosen);
    if launches.len() < all {
        let others = (all - launches.len()) as u64;
        let reason = "profiled kernel: of another process";
        notes.left_out.insert(reason.to_owned(), others);
    }
    join::join(launches, kernels, into, notes)
}

#[cfg(test)]
mod tests;
