//! The database of hipprof, the profiler of Hygon's DCUs (`hip-prof-PID.db`).
//!
//! | table | row |
//! | --- | --- |
//! | `OPS`, `COPY` | kernels, transfers and fills |
//! | `HIP` | calls, linked to work by process and index; their arguments state bytes and launch shapes |
//!
//! Names are held in memory, rows are not.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use trueno_format::run_writer::RunWriter;

use crate::chrome::feed::{Feed, Kind, Slice};
use crate::importer::{Head, Importer};
use crate::sqlite_rows::{Rows, number, small, text, unsigned};
use crate::{Error, Notes, Options};

/// Indices of the processes of one file are distinguished above this bit.
const PROCESS_SHIFT: u32 = 44;

pub struct Hipprof;

impl Importer for Hipprof {
    fn name(&self) -> &'static str {
        "hipprof"
    }

    fn description(&self) -> &'static str {
        "hipprof: the database of Hygon's profiler for DCUs"
    }

    fn recognises(&self, head: &Head<'_>) -> bool {
        head.is_database_with(&["STR_TABLE", "HIPTX"])
    }

    fn import(
        &self,
        path: &Path,
        options: &Options,
        into: &mut RunWriter,
        notes: &mut Notes,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Option<i64>, Error> {
        let mut rows = Rows::open(path, options, into, notes)?;
        let needed = ["HIP", "OPS", "COPY"];
        if let Some(missing) = needed.into_iter().find(|table| !rows.has(table)) {
            return Err(Error::Format {
                path: path.to_owned(),
                problem: format!("expected a database of hipprof, found no table {missing}"),
            });
        }
        let mut feed = Feed::new(path, "hipprof", into, notes, options);
        let mut ids = Ids::default();
        kernels(&mut rows, &mut feed, &mut ids)?;
        copies(&mut rows, &mut feed, &mut ids)?;
        progress(rows.bytes / 2);
        calls(&mut rows, &mut feed, &mut ids)?;
        for table in ["HIPTX", "MPI"] {
            if rows.has(table) {
                let sql = format!("SELECT pid FROM {table}");
                let sql = if table == "MPI" {
                    "SELECT rankid FROM MPI"
                } else {
                    &sql
                };
                rows.each(
                    sql,
                    |row| Ok(number(row, 0)),
                    |_| {
                        feed.notes().leave_out(&format!("row of table {table}"));
                        Ok(())
                    },
                )?;
            }
        }
        progress(rows.bytes);
        rows.finish(feed, options)
    }
}

/// Numbers of calls and queues that are unique in the file.
#[derive(Default)]
struct Ids {
    processes: HashMap<u64, u64>,
    queues: HashMap<(Option<u32>, String), u32>,
}

impl Ids {
    fn call(&mut self, process: u64, index: Option<u64>) -> Option<u64> {
        let next = self.processes.len() as u64;
        let process = *self.processes.entry(process).or_insert(next);
        Some(index?.wrapping_add(process << PROCESS_SHIFT))
    }

    fn queue(&mut self, device: Option<u32>, queue: Option<String>) -> Option<u32> {
        let queue = queue?;
        if let Ok(number) = queue.parse() {
            return Some(number);
        }
        let next = self.queues.len() as u32;
        Some(*self.queues.entry((device, queue)).or_insert(next))
    }
}

struct Work {
    times: Option<(i64, i64)>,
    device: Option<u32>,
    queue: Option<String>,
    process: u64,
    index: Option<u64>,
    name: Option<i64>,
    /// Of the call, if it is in the file.
    arguments: Option<String>,
}

/// A table of work, each row with the arguments of its call.
fn works(
    rows: &mut Rows,
    (table, name): (&str, &str),
    mut take: impl FnMut(Work) -> Result<(), Error>,
) -> Result<(), Error> {
    let sql = format!(
        "SELECT w.BeginNs, w.EndNs, w.dev_id, w.queue_id, w.pid, w._Index, w.{name}, h.args FROM {table} w \
         LEFT JOIN HIP h ON h.pid = w.pid AND h._Index = w._Index"
    );
    rows.each(
        &sql,
        |row| {
            Ok(Work {
                times: number(row, 0).zip(number(row, 1)),
                device: small(row, 2),
                queue: text(row, 3),
                process: unsigned(row, 4).unwrap_or(0),
                index: unsigned(row, 5),
                name: number(row, 6),
                arguments: text(row, 7),
            })
        },
        &mut take,
    )
}

fn kernels(rows: &mut Rows, feed: &mut Feed<'_>, ids: &mut Ids) -> Result<(), Error> {
    let mut names: HashMap<(u64, i64), String> = HashMap::new();
    if rows.has("STR_TABLE") {
        rows.each(
            "SELECT PID, STR_ID, STR_NAME FROM STR_TABLE",
            |row| Ok((unsigned(row, 0), number(row, 1), text(row, 2))),
            |name| {
                if let (Some(process), Some(id), Some(name)) = name {
                    names.insert((process, id), name);
                }
                Ok(())
            },
        )?;
    }
    works(rows, ("OPS", "Name"), |work| {
        let Some(times_ns) = work.times else {
            feed.notes().leave_out("row without times that are numbers");
            return Ok(());
        };
        let name = work.name.and_then(|id| names.get(&(work.process, id)));
        let name = name.map_or("kernel without a name", String::as_str);
        let arguments = work.arguments.as_deref().unwrap_or("");
        feed.slice(&Slice {
            correlation: ids.call(work.process, work.index),
            device: work.device,
            stream: ids.queue(work.device, work.queue),
            grid: axes(arguments, ["numBlocks", "gridDim"]),
            block: axes(arguments, ["dimBlocks", "blockDim"]),
            shared_memory_bytes: value(arguments, "sharedMemBytes"),
            ..Slice::new(Kind::Kernel, name, times_ns)
        })
    })
}

/// What OpenCL numbers its commands, which is how ROCm states the kind of a copy.
fn kind_of_copy(command: Option<i64>) -> (Kind, &'static str) {
    match command {
        Some(0x11f3 | 0x1201) => (Kind::Copy, "CopyDeviceToHost"),
        Some(0x11f4 | 0x1202) => (Kind::Copy, "CopyHostToDevice"),
        Some(0x11f5 | 0x1203) => (Kind::Copy, "CopyDeviceToDevice"),
        Some(0x1207) => (Kind::Fill, "FillBuffer"),
        _ => (Kind::Copy, "Copy"),
    }
}

fn copies(rows: &mut Rows, feed: &mut Feed<'_>, ids: &mut Ids) -> Result<(), Error> {
    // The bytes of a call are those of its only copy.
    let mut with_several = HashSet::new();
    rows.each(
        "SELECT pid, _Index FROM COPY GROUP BY pid, _Index HAVING count(*) > 1",
        |row| Ok((unsigned(row, 0), unsigned(row, 1))),
        |call| {
            with_several.insert(call);
            Ok(())
        },
    )?;
    works(rows, ("COPY", "Kind"), |work| {
        let Some(times_ns) = work.times else {
            feed.notes().leave_out("row without times that are numbers");
            return Ok(());
        };
        let (kind, name) = kind_of_copy(work.name);
        let is_only = !with_several.contains(&(Some(work.process), work.index));
        let arguments = work.arguments.filter(|_| is_only);
        feed.slice(&Slice {
            correlation: ids.call(work.process, work.index),
            device: work.device,
            stream: ids.queue(work.device, work.queue),
            bytes: arguments.and_then(|text| value(&text, "sizeBytes")),
            ..Slice::new(kind, name, times_ns)
        })
    })
}

fn calls(rows: &mut Rows, feed: &mut Feed<'_>, ids: &mut Ids) -> Result<(), Error> {
    rows.each(
        "SELECT BeginNs, EndNs, pid, tid, _Index, args FROM HIP",
        |row| {
            Ok((
                number(row, 0).zip(number(row, 1)),
                (unsigned(row, 2), unsigned(row, 3)),
                unsigned(row, 4),
                text(row, 5),
            ))
        },
        |(times, (process, thread), index, text)| {
            let name = text
                .as_deref()
                .map(|text| text.split('(').next().unwrap_or("").trim());
            let (Some(name), Some(times_ns)) = (name.filter(|name| !name.is_empty()), times) else {
                feed.notes()
                    .leave_out("row without a name, or without times");
                return Ok(());
            };
            let process = process.unwrap_or(0);
            feed.slice(&Slice {
                process,
                thread: thread.unwrap_or(0),
                correlation: ids.call(process, index),
                ..Slice::new(Kind::Call, name, times_ns)
            })
        },
    )
}

/// The number behind `name=` in the text of a call.
fn value(arguments: &str, name: &str) -> Option<u64> {
    let from = arguments.find(&format!("{name}="))? + name.len() + 1;
    let digits = arguments[from..].bytes().take_while(u8::is_ascii_digit);
    arguments[from..from + digits.count()].parse().ok()
}

/// `numBlocks={z=1, y=1, x=512}`, or `gridDimX=1, gridDimY=1, gridDimZ=1`.
fn axes(arguments: &str, [together, apart]: [&str; 2]) -> Option<[u32; 3]> {
    let small =
        |text: &str, name: &str| value(text, name).and_then(|count| u32::try_from(count).ok());
    if let Some(at) = arguments.find(&format!("{together}={{")) {
        let inside = arguments[at..].split('}').next()?.split_once('{')?.1;
        return Some([
            small(inside, "x")?,
            small(inside, "y")?,
            small(inside, "z")?,
        ]);
    }
    let [x, y, z] = ["X", "Y", "Z"].map(|axis| small(arguments, &format!("{apart}{axis}")));
    Some([x?, y?, z?])
}

#[cfg(test)]
mod tests;
