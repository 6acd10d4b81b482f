//! From the published tables to sums.

use trueno_analysis::hash::{FastMap, FastSet};
use trueno_analysis::interner::Texts;
use trueno_analysis::window::Window;
use trueno_plugin::{Result, Run};

use crate::instants::Arguments;
use crate::sums::{CallSum, ErrorKey, FileSum, Sums, TimeSum, TransferSum, add_known};

/// Calls that read or write a file with a size that the program chose.
const TRANSFERS: [&str; 10] = [
    "read", "readv", "pread64", "preadv", "preadv2", "write", "writev", "pwrite64", "pwritev",
    "pwritev2",
];

#[derive(Clone, Copy, Debug, Default)]
struct Call {
    name: u32,
    thread: Option<i64>,
    target: Option<u32>,
    errno: Option<u32>,
    is_error: bool,
    bytes: Option<u64>,
    dur_ns: Option<i64>,
    is_wait: bool,
}

/// True if the kernel or the C library returns this value for errors: −4095 to −1.
fn is_error_status(status: i64) -> bool {
    (-4095..0).contains(&status)
}

#[derive(Default)]
struct Read {
    texts: Texts,
    calls: FastMap<u32, (CallSum, Vec<i64>)>,
    errors: FastMap<(u32, Option<u32>, Option<u32>), u64>,
    files: FastMap<u32, FileSum>,
    transfers: FastMap<(i64, u32), (Vec<i64>, TimeSum)>,
}

/// Reads the calls, and adds them up.
///
/// # Errors
/// An input lacks a column or has it in another type.
pub fn load(run: &mut Run) -> Result<Sums> {
    let window = Window::read(run)?;
    let mut read = Read::default();
    read.timed(run, window)?;
    run.check_cancelled()?;
    read.untimed(run, window)?;
    let mut sums = read.into_sums();
    let wall_ns = run.table("run")?.i64("wall_ns")?.iter().flatten().next();
    let wall_ns = window.map(|window| window.length_ns()).or(wall_ns);
    sums.wall_ns = wall_ns.filter(|ns| *ns > 0);
    Ok(sums)
}

impl Read {
    /// Adds rows of `calls`. With a report window, only those that lie wholly in it.
    fn timed(&mut self, run: &mut Run, window: Option<Window>) -> Result<()> {
        let names = self.texts.read_distinct(run, "names")?;
        let targets = self.texts.read_distinct(run, "targets")?;
        let errors = self.texts.read_distinct(run, "errors")?;
        let waits = waits(run)?;
        let moving: Vec<u32> = TRANSFERS.map(|name| self.texts.number(name)).to_vec();
        let mut batches = run.batches("calls")?;
        while let Some(batch) = batches.next_batch()? {
            let (name_id, thread) = (batch.i64("name_id")?, batch.i64("thread")?);
            let (start_ns, dur_ns) = (batch.i64("start_ns")?, batch.i64("dur_ns")?);
            let (status, bytes) = (batch.i64("status")?, batch.u64("bytes")?);
            let (target_id, errno_id) = (batch.i64("target_id")?, batch.i64("errno_id")?);
            let text = |id: Option<i64>, known: &FastMap<i64, u32>| known.get(&id?).copied();
            for row in 0..batch.rows() {
                let name = text(name_id.get(row), &names);
                let times = start_ns.get(row).zip(dur_ns.get(row));
                let (Some(name), Some(thread), Some((start_ns, dur_ns))) =
                    (name, thread.get(row), times)
                else {
                    continue;
                };
                let end_ns = start_ns.checked_add(dur_ns);
                let Some(end_ns) = end_ns.filter(|_| dur_ns >= 0) else {
                    continue;
                };
                if window.is_some_and(|window| !window.contains(start_ns, end_ns)) {
                    continue;
                }
                let errno = text(errno_id.get(row), &errors);
                let call = Call {
                    name,
                    thread: Some(thread).filter(|_| moving.contains(&name)),
                    target: text(target_id.get(row), &targets),
                    errno,
                    is_error: errno.is_some() || status.get(row).is_some_and(is_error_status),
                    bytes: bytes.get(row),
                    dur_ns: Some(dur_ns),
                    is_wait: waits.contains(&(thread, start_ns, dur_ns)),
                };
                self.add(call);
            }
        }
        Ok(())
    }

    /// Adds instants that describe a call.
    fn untimed(&mut self, run: &mut Run, window: Option<Window>) -> Result<()> {
        let mut batches = run.batches("instants")?;
        while let Some(batch) = batches.next_batch()? {
            let (time_ns, name) = (batch.i64("time_ns")?, batch.text("name")?);
            let arguments = batch.text("arguments")?;
            for row in 0..batch.rows() {
                let told = arguments.get(row).and_then(Arguments::parse);
                let (Some(time_ns), Some(name), Some(told)) =
                    (time_ns.get(row), name.get(row), told)
                else {
                    continue;
                };
                if window.is_some_and(|window| !window.has(time_ns)) {
                    continue;
                }
                let mut number = |text: Option<&str>| text.map(|text| self.texts.number(text));
                let errno = number(told.errno.as_deref());
                let call = Call {
                    target: number(told.target.as_deref()),
                    errno,
                    is_error: errno.is_some() || told.status.is_some_and(is_error_status),
                    bytes: told.bytes,
                    name: self.texts.number(name),
                    ..Call::default()
                };
                self.add(call);
            }
        }
        Ok(())
    }

    fn add(&mut self, call: Call) {
        let (sum, durations) = self.calls.entry(call.name).or_default();
        durations.extend(call.dur_ns);
        sum.untimed += u64::from(call.dur_ns.is_none());
        sum.errors += u64::from(call.is_error);
        add_known(&mut sum.bytes, call.bytes);
        let wait_ns = call.dur_ns.filter(|_| call.is_wait);
        if let Some(wait_ns) = wait_ns {
            sum.waits += 1;
            sum.wait_time.add(wait_ns);
        }
        if let Some(target) = call.target {
            let file = self.files.entry(target).or_default();
            file.timed += u64::from(call.dur_ns.is_some());
            file.untimed += u64::from(call.dur_ns.is_none());
            file.time.add(call.dur_ns.unwrap_or(0));
            file.errors += u64::from(call.is_error);
            add_known(&mut file.bytes, call.bytes);
            file.waits += u64::from(wait_ns.is_some());
            file.wait_time.add(wait_ns.unwrap_or(0));
        }
        if call.is_error {
            let key = (call.name, call.errno, call.target);
            *self.errors.entry(key).or_default() += 1;
        }
        let moved = call.bytes.filter(|_| !call.is_error && !call.is_wait);
        let target = call.target.map(|target| self.texts.text(target));
        if let (Some(thread), Some(bytes), Some(dur_ns)) = (call.thread, moved, call.dur_ns)
            && target.is_none_or(is_buffered)
        {
            let (sizes, time) = self.transfers.entry((thread, call.name)).or_default();
            sizes.push(i64::try_from(bytes).unwrap_or(i64::MAX));
            time.add(dur_ns);
        }
    }

    fn into_sums(self) -> Sums {
        let texts = self.texts;
        let text = |number: u32| texts.text(number).to_owned();
        let mut out = Sums::default();
        for (name, (sum, durations)) in self.calls {
            let durations = durations.into_iter().collect();
            out.calls.insert(text(name), CallSum { durations, ..sum });
        }
        for ((name, errno, target), count) in self.errors {
            let key = ErrorKey {
                name: text(name),
                errno: errno.map(text),
            };
            let targets = out.errors.entry(key).or_default();
            targets.insert(target.map(text), count);
        }
        let files = self.files.into_iter();
        out.files = files.map(|(target, sum)| (text(target), sum)).collect();
        for ((thread, name), (sizes, time)) in self.transfers {
            let sizes = sizes.into_iter().collect();
            out.transfers
                .insert((thread, text(name)), TransferSum { sizes, time });
        }
        out
    }
}

/// True for what a program can read or write in larger pieces: files, which have a path, and pipes. Event counters
/// and socket messages have a fixed size.
fn is_buffered(target: &str) -> bool {
    target.starts_with('/') || target.starts_with("pipe")
}

/// Threads and times of calls that only wait.
fn waits(run: &mut Run) -> Result<FastSet<(i64, i64, i64)>> {
    let table = run.table("waits")?;
    let (thread, start_ns) = (table.i64("thread")?, table.i64("start_ns")?);
    let dur_ns = table.i64("dur_ns")?;
    let row = |row: usize| Some((thread.get(row)?, start_ns.get(row)?, dur_ns.get(row)?));
    Ok((0..table.rows()).filter_map(row).collect())
}
