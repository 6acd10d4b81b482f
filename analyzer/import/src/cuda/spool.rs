//! Spools of the injected library to runs.
//!
//! `trueno-record run` has CUDA and NVTX load a library into the program. It appends what CUPTI says, and the
//! ranges that the program states, to one file a process ([`trueno_cupti::spool`]). [`collect`] makes a run
//! directory of one such file, or a folder of ranks of several.
//!
//! | CUPTI, NVTX | table |
//! |---|---|
//! | kernel records | `kernels`; those without sound times are kept, not valid, with the reason |
//! | memcpy, peer copies, memset | `transfers` |
//! | calls of the driver and the runtime | `calls`, with the innermost range around them |
//! | work of the driver's compiler (JIT) | `calls` named `JIT: …`, inside the call that caused it |
//! | functions of the host that streams and graphs call | `calls` named `host function …`, with an edge from the launching call |
//! | green contexts | values `gpu<number>.context.<id>` of `run.json` |
//! | synchronization | `syncs`; `edges` of kind `joins` from what they waited for |
//! | event records | `device_events` |
//! | streams, contexts | `streams` |
//! | memory | `allocations`; of pools, `counters` named `gpu<number> memory pool <number> …` |
//! | ids that other libraries gave to calls | `counters` named `external id: …`, at the row of the call |
//! | edges between nodes of graphs | `edges` of kind `depends_on` between the rows of each launch |
//! | graphs recorded as a whole | `kernels` named `graph <number>`, one a launch |
//! | clocks, temperature, power of devices | `counters` named `gpu<number> …` |
//! | work that a thread without ranges launches | the range of another thread around the call, said by an attribute |
//! | overhead | `counters` named `cupti_overhead: …`, in nanoseconds |
//! | NVTX ranges and marks | `bricks` of kind `function`, and of kind `iteration` around those called so; categories that have a name are their category |
//! | calls of a thread of autograd | `bricks` named `backward pass` around them, said by an attribute |
//! | readings of the clocks | `clock_pairs` |
//!
//! A call and its work share a correlation id; `edges` of kind `launches` lead from one to the other. Streams
//! of several contexts that have the same number are put 1,000,000 apart.

mod build;
mod ceilings;
mod clocks;
mod device_rows;
mod environment;
mod externals;
mod facts;
mod graph_edges;
mod graphs;
mod host_rows;
mod inferred;
mod pools;
mod range_pairs;
mod spool_reader;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use trueno_cupti::spool::{EXTENSION, Facts, Severity};

use crate::Error;
pub use build::Collected;
pub use ceilings::CeilingsOfDevice;
use spool_reader::Spool;

#[derive(Clone, Debug, Default)]
pub struct Summary {
    pub runs: Vec<Collected>,
    /// Command lines of processes that recorded nothing.
    pub idle: Vec<String>,
    pub problems: Vec<String>,
}

impl Summary {
    /// True if nothing requested is missing and no record was lost.
    pub fn is_whole(&self) -> bool {
        let whole = |collected: &Collected| {
            let run = &collected.run;
            run.dropped == 0
                && run.problems.is_empty()
                && run
                    .capture
                    .as_ref()
                    .is_none_or(|capture| capture.clean_end && capture.invalid.is_empty())
        };
        !self.runs.is_empty() && self.problems.is_empty() && self.runs.iter().all(whole)
    }
}

/// Converts all spools in a folder into the run at `path`. If several processes did something, `path` becomes a
/// folder of ranks: numbered by the `RANK` that their launcher set, else in order of their start. Set `here` if
/// they were recorded on this machine, so that its facts are added. `ceilings` returns the ceilings of each device.
///
/// # Errors
/// The folder cannot be read, or the run cannot be written.
pub fn collect(
    folder: &Path,
    path: &Path,
    here: bool,
    ceilings: CeilingsOfDevice<'_>,
) -> Result<Summary, Error> {
    let mut summary = Summary::default();
    let mut processes = Vec::new();
    for spool in spools(folder)? {
        match Spool::read(&spool)? {
            Some(process) => processes.push(process),
            None => summary.problems.push(format!(
                "{}: does not begin like a recording, and is left out",
                spool.display()
            )),
        }
    }
    processes.sort_by_key(|process| (process.facts.start_realtime_ns, process.facts.pid));
    let (busy, idle): (Vec<Spool>, Vec<Spool>) =
        processes.into_iter().partition(Spool::did_something);
    // Of the others, their runs say it.
    for process in &idle {
        let wrong = process.notes.iter();
        let wrong = wrong.filter(|note| note.severity == Severity::Error);
        let pid = process.facts.pid;
        let said = wrong.map(|note| format!("process {pid}: {}", note.text));
        summary.problems.extend(said);
        if process.damage.cut_bytes > 0 {
            summary.problems.push(format!(
                "process {pid}: its recording breaks off in the midst of its first records (hint: is the disk full?)"
            ));
        }
    }
    summary.idle = idle
        .iter()
        .map(|process| process.facts.argv.join(" "))
        .collect();
    let numbers = ranks(busy.iter().map(|process| &process.facts));
    let alone = busy.len() == 1;
    for (process, rank) in busy.into_iter().zip(numbers) {
        let run = if alone {
            path.to_owned()
        } else {
            path.join(format!("rank={rank}"))
        };
        summary
            .runs
            .push(build::build(process, &run, here, ceilings)?);
    }
    Ok(summary)
}

fn spools(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let entries = fs::read_dir(folder).map_err(|e| Error::io(folder, "read the folder", e))?;
    let mut found: Vec<PathBuf> = entries
        .filter_map(Result::ok)
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|ending| ending == EXTENSION))
        .collect();
    found.sort();
    Ok(found)
}

fn ranks<'f>(facts: impl Iterator<Item = &'f Facts>) -> Vec<u32> {
    let stated: Vec<Option<u32>> = facts.map(|facts| facts.rank).collect();
    let distinct: BTreeSet<u32> = stated.iter().flatten().copied().collect();
    if distinct.len() == stated.len() {
        return stated.into_iter().flatten().collect();
    }
    (0..stated.len() as u32).collect()
}
