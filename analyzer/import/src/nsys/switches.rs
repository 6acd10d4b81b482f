//! Context switches: when the threads ran, and when they did not.
//!
//! Only threads that call CUDA or have ranges are read, and only from the first to the last of all other rows. A wait
//! inside a recorded call is a row as well, because how long a thread ran is known only from all of its waits. A wait
//! that outlasts all other rows is left out, and the thread's life ends where it begins.

use std::collections::BTreeMap;

use trueno_format::run_writer::Text;
use trueno_format::schema::{CounterRow, SyncRow};

use super::context::Context;
use super::host::left_out;
use super::row::Row;
use super::source::{Scan, Source};
use super::tables::Found;
use crate::Error;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Switch {
    In,
    Out,
}

#[derive(Debug)]
struct Thread {
    number: u32,
    first_ns: i64,
    last: (Switch, i64),
    ran_ns: i64,
    /// The same switch twice: one between was not recorded, so that the time it ran is not known.
    has_lost: bool,
}

struct Switches {
    end_ns: i64,
    off_cpu: Text,
    threads: BTreeMap<i64, Thread>,
}

/// Reads switches, after all other rows of threads.
pub fn read(
    source: &mut dyn Source,
    tables: &[Found],
    context: &mut Context<'_>,
) -> Result<(), Error> {
    let Some(end_ns) = context.last_ns() else {
        return Ok(());
    };
    let scans: Vec<Scan> = tables.iter().map(|found| found.scan.clone()).collect();
    let mut switches = Switches {
        end_ns,
        off_cpu: context.text("off_cpu"),
        threads: BTreeMap::new(),
    };
    let damage = source.merged(&scans, &mut |number, values| {
        let scan = &scans[number];
        context.visited(&scan.table);
        switches.add(Row { scan, values }, context)
    })?;
    context.damaged(damage);
    switches.end(context)
}

impl Switches {
    fn add(&mut self, record: Row<'_>, context: &mut Context<'_>) -> Result<(), Error> {
        let start = record.int(0, context.notes);
        let Some(time_ns) = start.and_then(|start| start.checked_sub(context.origin_ns)) else {
            return left_out(record, "no start, or one beyond 64 bits", context);
        };
        let switch = match record.int(3, context.notes) {
            None => return left_out(record, "switch neither in nor out", context),
            Some(0) => Switch::Out,
            Some(_) => Switch::In,
        };
        let global = record.int(2, context.notes);
        let known = global.and_then(|global| Some((global, context.threads.of_program(global)?)));
        let Some((global, number)) = known else {
            let reason = format!(
                "{}: switch of a thread without calls of CUDA and ranges",
                record.scan.table
            );
            context.notes.skip(&reason);
            return Ok(());
        };
        if time_ns > self.end_ns && self.is_waiting(global) {
            return Ok(());
        }
        let time_ns = time_ns.clamp(0, self.end_ns);
        let thread = self.threads.entry(global).or_insert(Thread {
            number,
            first_ns: time_ns,
            last: (switch, time_ns),
            ran_ns: 0,
            has_lost: false,
        });
        let (last, since_ns) = std::mem::replace(&mut thread.last, (switch, time_ns));
        let dur_ns = time_ns - since_ns;
        match (last, switch) {
            (Switch::In, Switch::Out) => thread.ran_ns += dur_ns,
            (Switch::Out, Switch::In) if dur_ns > 0 => {
                let row = SyncRow {
                    id: context.id(),
                    kind: self.off_cpu,
                    thread: Some(number),
                    start_ns: since_ns,
                    dur_ns,
                    ..SyncRow::default()
                };
                context.add(&row)?;
            }
            // The first of a thread comes here as well, after no time.
            _ => thread.has_lost |= dur_ns > 0,
        }
        Ok(())
    }

    fn is_waiting(&self, global: i64) -> bool {
        let thread = self.threads.get(&global);
        thread.is_some_and(|thread| thread.last.0 == Switch::Out)
    }

    /// Writes how long each thread ran in its life, from its first switch to the last.
    fn end(self, context: &mut Context<'_>) -> Result<(), Error> {
        let (name, unit) = (context.text("cpu_time"), context.text("ns"));
        let source = context.text("measured");
        for (global, thread) in self.threads {
            let until_ns = thread.last.1;
            context.threads.number(Some(global), thread.first_ns);
            if thread.has_lost || until_ns <= thread.first_ns {
                continue;
            }
            context.add(&CounterRow {
                time_ns: until_ns,
                thread: Some(thread.number),
                name,
                value: thread.ran_ns as f64,
                unit: Some(unit),
                source,
                ..CounterRow::default()
            })?;
        }
        Ok(())
    }
}
