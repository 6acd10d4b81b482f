//! Rows of the sampled run, on the threads and at the times of the other.

use std::collections::BTreeMap;

use polars::prelude::DataFrame;
use trueno_engine::frame::{Rows, bool_at, i64_at, text_at, u64_at};
use trueno_format::run_writer::RunWriter;
use trueno_format::schema::{SampleRow, StackRow, SyncRow};

use super::threads::Threads;

pub(super) struct Joining<'a> {
    pub rows: &'a mut RunWriter,
    pub threads: &'a mut Threads,
    /// Added to times of the sampled run.
    pub shift_ns: i64,
    /// End of the run that the samples are added to.
    pub wall_ns: i64,
    /// The sampler's tracer stopped threads at their calls, so its waits say nothing about the program.
    pub is_traced: bool,
    pub left_out: BTreeMap<String, u64>,
}

impl Joining<'_> {
    pub fn samples(&mut self, samples: &DataFrame) -> anyhow::Result<u64> {
        let columns = Rows::new(samples);
        let (times, numbers) = (columns.i64("time_ns")?, columns.u64("thread")?);
        let (stacks, events) = (columns.u64("stack")?, columns.text("event")?);
        let (periods, processors) = (columns.u64("period")?, columns.u64("cpu")?);
        let mut kept = 0;
        for row in 0..samples.height() {
            let Some((thread, time_ns)) = self.place("sample", numbers.get(row), times.get(row), 0)
            else {
                continue;
            };
            let event = self.rows.text(events.get(row).unwrap_or_default());
            self.rows.add(&SampleRow {
                time_ns,
                thread,
                stack: stacks.get(row),
                event,
                period: periods.get(row),
                cpu: processors.get(row).and_then(|cpu| u32::try_from(cpu).ok()),
            })?;
            kept += 1;
        }
        Ok(kept)
    }

    pub fn waits(&mut self, waits: &DataFrame, mut id: u64) -> anyhow::Result<u64> {
        let columns = Rows::new(waits);
        let (starts, lengths) = (columns.i64("start_ns")?, columns.i64("dur_ns")?);
        let (numbers, stacks) = (columns.u64("thread")?, columns.u64("stack")?);
        let (kinds, names) = (columns.text("kind")?, columns.text("name")?);
        let mut kept = 0;
        if self.is_traced && waits.height() > 0 {
            let reason = "wait of a program that a tracer stops at its calls".to_owned();
            self.left_out.insert(reason, waits.height() as u64);
            return Ok(0);
        }
        for row in 0..waits.height() {
            let dur_ns = lengths.get(row).unwrap_or_default();
            let Some((thread, start_ns)) =
                self.place("wait", numbers.get(row), starts.get(row), dur_ns)
            else {
                continue;
            };
            let kind = self.rows.text(kinds.get(row).unwrap_or_default());
            let name = names.get(row).map(|name| self.rows.text(name));
            self.rows.add(&SyncRow {
                id,
                kind,
                name,
                thread: Some(thread),
                start_ns,
                dur_ns,
                stack: stacks.get(row),
                ..SyncRow::default()
            })?;
            id = id.wrapping_add(1);
            kept += 1;
        }
        Ok(kept)
    }

    pub fn stacks(&mut self, stacks: &DataFrame) -> anyhow::Result<()> {
        for row in 0..stacks.height() {
            let Some(id) = u64_at(stacks, "id", row) else {
                continue;
            };
            let mut text = |column| text_at(stacks, column, row).map(|text| self.rows.text(text));
            let (function, module, file) = (text("function"), text("module"), text("file"));
            self.rows.add(&StackRow {
                id,
                caller: u64_at(stacks, "caller", row),
                function,
                module,
                address: u64_at(stacks, "address", row),
                file,
                line: i64_at(stacks, "line", row).and_then(|line| u32::try_from(line).ok()),
                inlined: bool_at(stacks, "inlined", row),
            })?;
        }
        Ok(())
    }

    /// Thread and start in the new run of an interval of that length; `None` if it does not belong to the run.
    fn place(
        &mut self,
        kind: &str,
        number: Option<u64>,
        start_ns: Option<i64>,
        dur_ns: i64,
    ) -> Option<(u32, i64)> {
        let mut leave_out = |why: &str| {
            let reason = format!("{kind} {why}");
            *self.left_out.entry(reason).or_default() += 1;
            None
        };
        let number = number.and_then(|number| u32::try_from(number).ok());
        let thread = number.and_then(|number| self.threads.sampled.get_mut(&number));
        let Some((thread, row)) = thread.and_then(|thread| Some((thread.row?, thread))) else {
            return leave_out("of another process");
        };
        let start_ns = start_ns.and_then(|start_ns| start_ns.checked_add(self.shift_ns));
        let is_within = |start_ns: &i64| {
            let end_ns = start_ns.saturating_add(dur_ns);
            dur_ns >= 0 && *start_ns >= 0 && end_ns <= self.wall_ns
        };
        let Some(start_ns) = start_ns.filter(is_within) else {
            return leave_out("before the recording began, or after it ended");
        };
        row.is_used = true;
        Some((thread, start_ns))
    }
}
