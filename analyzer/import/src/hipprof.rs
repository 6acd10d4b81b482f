//! The database of hipprof, the profiler of Hygon's DCUs (`hip-prof-PID.db`).
//!
//! | table | row |
//! | --- | --- |
//! | `OPS`, `COPY` | kernels, transfers and fills |
//! | `HIP` | calls, linked to work by process and index; their arguments state bytes and launch shapes |
//!
//! Names are held in memory, rows are not.

use std::collections::{HashMap, HashSet};

use crate::Error;
use crate::chrome::feed::{Feed, Kind, NO_NAME_OR_TIMES, NO_TIMES, Slice};
use crate::importer::{Import, Importer};
use crate::sqlite_rows::Rows;

/// Indices of the processes of one file are distinguished above this bit.
const PROCESS_SHIFT: u32 = 44;

pub const IMPORTER: Importer = Importer {
    name: "hipprof",
    description: "hipprof: the database of Hygon's profiler for DCUs",
    recognises: |head| head.is_database_with(&["STR_TABLE", "HIPTX"]),
    read,
};

fn read(mut import: Import<'_>) -> Result<Option<i64>, Error> {
    let rows = Rows::open(&mut import)?;
    rows.need(&["HIP", "OPS", "COPY"], "hipprof")?;
    let mut feed = Feed::new(import, "hipprof");
    let mut ids = Ids::default();
    kernels(&rows, &mut feed, &mut ids)?;
    copies(&rows, &mut feed, &mut ids)?;
    feed.progress(rows.bytes / 2);
    calls(&rows, &mut feed, &mut ids)?;
    for (table, column) in [("HIPTX", "pid"), ("MPI", "rankid")] {
        if rows.has(table) {
            let reason = format!("row of table {table}");
            let sql = format!("SELECT {column} FROM {table}");
            rows.each(&sql, |_| feed.leave_out(&reason))?;
        }
    }
    rows.finish(feed)
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

/// Feeds a table of work. `describe` adds to a row what its name and the arguments of its call say.
fn works(
    rows: &Rows<'_>,
    (table, name): (&str, &str),
    feed: &mut Feed<'_>,
    ids: &mut Ids,
    mut describe: impl FnMut(Work, &mut Feed<'_>, Slice<'static>) -> Result<(), Error>,
) -> Result<(), Error> {
    let sql = format!(
        "SELECT w.BeginNs, w.EndNs, w.dev_id, w.queue_id, w.pid, w._Index, w.{name}, h.args FROM {table} w \
         LEFT JOIN HIP h ON h.pid = w.pid AND h._Index = w._Index"
    );
    rows.each(&sql, |row| {
        let Some(times_ns) = row.times(0) else {
            return feed.leave_out(NO_TIMES);
        };
        let work = Work {
            process: row.unsigned(4).unwrap_or(0),
            index: row.unsigned(5),
            name: row.number(6),
            arguments: row.text(7).unwrap_or_default(),
        };
        let device = row.small(2);
        let slice = Slice {
            correlation: ids.call(work.process, work.index),
            device,
            stream: ids.queue(device, row.text(3)),
            ..Slice::new(Kind::Kernel, "", times_ns)
        };
        describe(work, feed, slice)
    })
}

struct Work {
    process: u64,
    index: Option<u64>,
    name: Option<i64>,
    /// Of the call, if it is in the file.
    arguments: String,
}

fn kernels(rows: &Rows<'_>, feed: &mut Feed<'_>, ids: &mut Ids) -> Result<(), Error> {
    let mut names: HashMap<(u64, i64), String> = HashMap::new();
    if rows.has("STR_TABLE") {
        rows.each("SELECT PID, STR_ID, STR_NAME FROM STR_TABLE", |row| {
            let id = row.unsigned(0).zip(row.number(1));
            names.extend(id.zip(row.text(2)));
            Ok(())
        })?;
    }
    works(rows, ("OPS", "Name"), feed, ids, |work, feed, slice| {
        let name = work.name.and_then(|id| names.get(&(work.process, id)));
        feed.slice(&Slice {
            name: name.map_or("kernel without a name", String::as_str),
            grid: axes(&work.arguments, ["numBlocks", "gridDim"]),
            block: axes(&work.arguments, ["dimBlocks", "blockDim"]),
            shared_memory_bytes: value(&work.arguments, "sharedMemBytes"),
            ..slice
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

fn copies(rows: &Rows<'_>, feed: &mut Feed<'_>, ids: &mut Ids) -> Result<(), Error> {
    // The bytes of a call are those of its only copy.
    let mut with_several = HashSet::new();
    rows.each(
        "SELECT pid, _Index FROM COPY GROUP BY pid, _Index HAVING count(*) > 1",
        |row| {
            with_several.insert((row.unsigned(0), row.unsigned(1)));
            Ok(())
        },
    )?;
    works(rows, ("COPY", "Kind"), feed, ids, |work, feed, slice| {
        let (kind, name) = kind_of_copy(work.name);
        let is_only = !with_several.contains(&(Some(work.process), work.index));
        let bytes = value(&work.arguments, "sizeBytes").filter(|_| is_only);
        feed.slice(&Slice {
            kind,
            name,
            bytes,
            ..slice
        })
    })
}

fn calls(rows: &Rows<'_>, feed: &mut Feed<'_>, ids: &mut Ids) -> Result<(), Error> {
    let sql = "SELECT BeginNs, EndNs, pid, tid, _Index, args FROM HIP";
    rows.each(sql, |row| {
        let text = row.text(5).unwrap_or_default();
        let name = text.split('(').next().unwrap_or("").trim();
        let Some(times_ns) = row.times(0).filter(|_| !name.is_empty()) else {
            return feed.leave_out(NO_NAME_OR_TIMES);
        };
        let process = row.unsigned(2).unwrap_or(0);
        feed.slice(&Slice {
            process,
            thread: row.unsigned(3).unwrap_or(0),
            correlation: ids.call(process, row.unsigned(4)),
            ..Slice::new(Kind::Call, name, times_ns)
        })
    })
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
