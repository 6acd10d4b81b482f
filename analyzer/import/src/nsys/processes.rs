//! Processes of an export: those that ran kernels, and the rows of one of them alone.
//!
//! All ranks of a host that one `nsys profile torchrun …` recorded stand in one export, on one clock.

use std::collections::BTreeMap;

use super::source::{Scan, Source, Times, Value, Visit};
use super::tables::present;
use super::threads::pid;
use crate::Error;

/// Columns that identify a row's process; the first also contains the thread.
const PLACES: [&str; 2] = ["globalTid", "globalPid"];
/// Column that links functions to their sample. They come behind it and belong to its process.
const SAMPLE: &str = "id";
/// Device tables without a process column.
const OF_NOBODY: [&str; 1] = ["GPU_METRICS"];

/// A process as exports identify it: by machine and process id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Process(i64);

impl Process {
    /// The process of a thread, by the number that an export gives to it.
    pub fn of(global: i64) -> Self {
        Self(global >> 24)
    }

    pub fn pid(self) -> u32 {
        pid(self.0 << 24)
    }
}

/// The processes that ran kernels, in order of their first device.
///
/// # Errors
/// The table cannot be read.
pub fn device_processes(source: &mut dyn Source) -> Result<Vec<Process>, Error> {
    const KERNELS: &str = "CUPTI_ACTIVITY_KIND_KERNEL";
    let columns = ["start", "globalPid", "deviceId"];
    let kernels = present(KERNELS, source).filter(|table| source.has_columns(table, &columns));
    let Some(kernels) = kernels else {
        return Ok(Vec::new());
    };
    let mut first: BTreeMap<Process, i64> = BTreeMap::new();
    source.merged(&[Scan::new(&kernels, &columns)], &mut |_, values| {
        if let [_, Value::Int(global), Value::Int(device)] = values {
            let lowest = first.entry(Process::of(*global)).or_insert(*device);
            *lowest = (*lowest).min(*device);
        }
        Ok(())
    })?;
    let mut all: Vec<(Process, i64)> = first.into_iter().collect();
    all.sort_by_key(|(process, device)| (*device, *process));
    Ok(all.into_iter().map(|(process, _)| process).collect())
}

pub struct OfProcess<'s> {
    inner: &'s mut dyn Source,
    process: Process,
    /// All ranks, if this is the first of them, which counts the rows of no rank. Empty otherwise.
    ranks: Vec<Process>,
    of_nobody: u64,
}

impl<'s> OfProcess<'s> {
    /// Restricts an export to a process.
    ///
    /// # Errors
    /// As [`device_processes`].
    pub fn new(inner: &'s mut dyn Source, process: Process) -> Result<Self, Error> {
        let mut ranks = device_processes(inner)?;
        if ranks.first() != Some(&process) {
            ranks.clear();
        }
        Ok(Self {
            inner,
            process,
            ranks,
            of_nobody: 0,
        })
    }

    /// Rows left out that belong to no rank: of processes without kernels, or of no process. Only the first
    /// rank counts them.
    pub fn of_nobody(&self) -> u64 {
        self.of_nobody
    }
}

impl Source for OfProcess<'_> {
    fn tables(&self) -> Vec<String> {
        let mut tables = self.inner.tables();
        tables.retain(|table| !OF_NOBODY.contains(&table.as_str()));
        tables
    }

    fn columns(&self, table: &str) -> Option<&[String]> {
        if OF_NOBODY.contains(&table) {
            None
        } else {
            self.inner.columns(table)
        }
    }

    fn rows(&self, table: &str) -> u64 {
        self.inner.rows(table)
    }

    /// Over all processes, because the ranks of an export share one origin.
    fn earliest(
        &mut self,
        table: &str,
        start: &str,
        end: Option<&str>,
    ) -> Result<(Option<i64>, Vec<String>), Error> {
        self.inner.earliest(table, start, end)
    }

    fn times(
        &mut self,
        table: &str,
        times: Times<'_>,
        visit: &mut dyn FnMut(i64, i64),
    ) -> Result<Vec<String>, Error> {
        self.inner.times(table, times, visit)
    }

    fn merged(&mut self, scans: &[Scan], visit: &mut Visit<'_>) -> Result<Vec<String>, Error> {
        let is_place = |column: &Option<String>| {
            let name = column.as_deref();
            name.is_some_and(|name| PLACES.contains(&name))
        };
        let places: Vec<Option<usize>> = scans
            .iter()
            .map(|scan| scan.columns.iter().position(is_place))
            .collect();
        let is_timed: Vec<bool> = scans
            .iter()
            .map(|scan| matches!(scan.columns.first(), Some(Some(first)) if !PLACES.contains(&first.as_str())))
            .collect();
        let names_sample: Vec<bool> = scans
            .iter()
            .map(|scan| matches!(scan.columns.first(), Some(Some(first)) if first == SAMPLE))
            .collect();
        let Self {
            inner,
            process: own,
            ranks,
            of_nobody,
        } = self;
        // The last sample of another process, and whether it is of no rank.
        let mut other_sample: Option<(Value<'static>, bool)> = None;
        inner.merged(scans, &mut |scan, values| {
            let Some(at) = places[scan] else {
                match (&other_sample, values.first()) {
                    (Some((sample, is_of_nobody)), Some(id))
                        if names_sample[scan] && sample == id =>
                    {
                        *of_nobody += u64::from(*is_of_nobody);
                        return Ok(());
                    }
                    _ => return visit(scan, values),
                }
            };
            let process = match values.get(at) {
                Some(Value::Int(global)) => Some(Process::of(*global)),
                _ => None,
            };
            if process == Some(*own) {
                return visit(scan, values);
            }
            let is_of_rank = process.is_some_and(|process| ranks.contains(&process));
            let is_of_nobody = !ranks.is_empty() && !is_of_rank;
            *of_nobody += u64::from(is_timed[scan] && is_of_nobody);
            if let (true, Some(Value::Int(id))) = (names_sample[scan], values.first()) {
                other_sample = Some((Value::Int(*id), is_of_nobody));
            }
            Ok(())
        })
    }
}
