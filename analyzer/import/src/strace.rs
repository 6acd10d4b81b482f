//! System calls as `strace -f -ttt -T` prints them.
//!
//! A call that another thread's line interrupts stands in two lines, `<unfinished ...>` and
//! `<... resumed>`, and becomes one row when it has ended. In memory are only such calls.

mod line;

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use trueno_format::run_writer::RunWriter;
use trueno_format::schema::{CallRow, TableId, ThreadRow};

use crate::importer::{Head, Importer};
use crate::{Error, Notes, Options};
use line::Line;

/// Text of strace. A run is as long as from the first call to the end of the last.
pub struct Strace;

impl Importer for Strace {
    fn name(&self) -> &'static str {
        "strace"
    }

    fn description(&self) -> &'static str {
        "The text of strace"
    }

    fn recognises(&self, head: &Head<'_>) -> bool {
        head.text().lines().take(16).any(line::is_call)
    }

    fn import(
        &self,
        path: &Path,
        _: &Options,
        into: &mut RunWriter,
        notes: &mut Notes,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Option<i64>, Error> {
        let file = File::open(path).map_err(|e| Error::io(path, "open it", e))?;
        let mut lines = BufReader::new(file);
        let mut calls = Calls::default();
        let mut bytes = Vec::new();
        let mut position = 0;
        loop {
            bytes.clear();
            let read = lines
                .read_until(b'\n', &mut bytes)
                .map_err(|e| Error::io(path, "read it", e))?;
            if read == 0 {
                break;
            }
            position += read as u64;
            calls.line(&String::from_utf8_lossy(&bytes), into, notes)?;
            progress(position);
        }
        let Some(origin_ns) = calls.origin_ns else {
            return Err(Error::Format {
                path: path.to_owned(),
                problem: "expected lines of strace with times, found none; record with `strace -f -ttt -T -o FILE`"
                    .to_owned(),
            });
        };
        for _ in calls.open.drain() {
            notes.leave_out("call that had not ended");
        }
        into.run().clock.source = "strace".to_owned();
        into.run().clock.origin_realtime_ns = origin_ns;
        calls.threads(into, notes)?;
        if calls.first_ns.is_some_and(|first_ns| first_ns < 0) {
            notes.warn(
                "the first line is not the earliest: what began before it has negative times",
            );
        }
        Ok(calls.last_ns.map(|last_ns| last_ns.max(0)))
    }
}

#[derive(Default)]
struct Calls {
    origin_ns: Option<i64>,
    /// Earliest start of a call, which is 0 in a file in order.
    first_ns: Option<i64>,
    last_ns: Option<i64>,
    numbers: HashMap<u64, u32>,
    /// Process id and first time.
    list: Vec<(u64, i64)>,
    /// Open calls by thread: name and start.
    open: HashMap<u32, (String, i64)>,
}

impl Calls {
    fn line(&mut self, text: &str, into: &mut RunWriter, notes: &mut Notes) -> Result<(), Error> {
        let Some(line) = line::parse(text) else {
            if !text.trim().is_empty() {
                notes.leave_out("line that is no call with a time");
            }
            return Ok(());
        };
        notes.read(line.kind());
        let (pid, time_ns) = line.place();
        let start_ns = time_ns.saturating_sub(*self.origin_ns.get_or_insert(time_ns));
        let list = &mut self.list;
        let thread = *self.numbers.entry(pid).or_insert_with(|| {
            list.push((pid, start_ns));
            list.len() as u32 - 1
        });
        match line {
            Line::Event { .. } => {
                notes.leave_out("signal or exit");
                Ok(())
            }
            Line::Unfinished { name, .. } => {
                if self
                    .open
                    .insert(thread, (name.to_owned(), start_ns))
                    .is_some()
                {
                    notes.leave_out("call that had not ended");
                }
                Ok(())
            }
            Line::Resumed {
                name,
                dur_ns,
                status,
                ..
            } => match self.open.remove(&thread) {
                Some((begun, start_ns)) if begun == name => {
                    self.row(name, thread, start_ns, dur_ns, status, into, notes)
                }
                begun => {
                    if begun.is_some() {
                        notes.leave_out("call that had not ended");
                    }
                    notes.leave_out("end of a call whose beginning is not there");
                    Ok(())
                }
            },
            Line::Call {
                name,
                dur_ns,
                status,
                ..
            } => self.row(name, thread, start_ns, dur_ns, status, into, notes),
        }
    }

    #[expect(clippy::too_many_arguments, reason = "the columns of a row")]
    fn row(
        &mut self,
        name: &str,
        thread: u32,
        start_ns: i64,
        dur_ns: Option<i64>,
        status: Option<i64>,
        into: &mut RunWriter,
        notes: &mut Notes,
    ) -> Result<(), Error> {
        let Some(dur_ns) = dur_ns else {
            notes.leave_out("call without a duration: record with -T");
            return Ok(());
        };
        let end_ns = start_ns.saturating_add(dur_ns);
        self.last_ns = self.last_ns.max(Some(end_ns));
        self.first_ns = Some(
            self.first_ns
                .map_or(start_ns, |first_ns| first_ns.min(start_ns)),
        );
        let row = CallRow {
            id: into.rows(TableId::Calls) + 1,
            name: into.text(name),
            thread,
            start_ns,
            dur_ns,
            status,
            ..CallRow::default()
        };
        notes.add(into, &row)
    }

    fn threads(&self, into: &mut RunWriter, notes: &mut Notes) -> Result<(), Error> {
        for (number, (pid, start_ns)) in self.list.iter().enumerate() {
            let os_id = Some(*pid).filter(|pid| *pid != 0);
            let row = ThreadRow {
                thread: number as u32,
                os_id,
                start_ns: Some(*start_ns),
                ..ThreadRow::default()
            };
            notes.add(into, &row)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
