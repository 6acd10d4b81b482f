//! Which profiled launch is which kernel of the trace.

use std::collections::BTreeMap;

use trueno_recorder::run_writer::{Cell, RunWriter, TableId};

use super::TracedKernel;
use super::derived;
use super::name::base;
use super::table::{Key, Launch};
use crate::{Error, Notes};

pub fn join<'k>(
    launches: Vec<Launch>,
    kernels: impl Iterator<Item = TracedKernel<'k>>,
    into: &mut RunWriter,
    notes: &mut Notes,
) -> Result<u64, Error> {
    let table = into
        .table("counters")
        .ok_or_else(|| trueno_recorder::Error::Row {
            table: "counters",
            problem: "no such table in a run".to_owned(),
        })?;
    let mut profiled: BTreeMap<Key, Vec<Launch>> = BTreeMap::new();
    for mut launch in launches {
        match launch.key.take() {
            Some(key) => profiled.entry(key).or_default().push(launch),
            None => notes.leave_out("profiled kernel without a name or launch shape"),
        }
    }
    let mut traced: BTreeMap<Key, Vec<(u64, i64)>> = BTreeMap::new();
    for kernel in kernels {
        let (Some(grid), Some(block)) = (kernel.grid, kernel.block) else {
            notes.leave_out("traced kernel without a launch shape");
            continue;
        };
        let key = Key {
            name: base(kernel.name).to_owned(),
            grid,
            block,
        };
        if profiled.contains_key(&key) {
            traced
                .entry(key)
                .or_default()
                .push((kernel.id, kernel.start_ns));
        } else {
            notes.leave_out("traced kernel that was not profiled");
        }
    }
    let mut joined = 0;
    for (key, launches) in profiled {
        let kernels = traced.remove(&key).unwrap_or_default();
        if kernels.is_empty() {
            add(
                notes,
                "profiled kernel that is not in the trace",
                launches.len(),
            );
        } else if kernels.len() == launches.len() {
            for ((id, start_ns), launch) in kernels.into_iter().zip(&launches) {
                counters(table, id, start_ns, launch, into, notes)?;
                joined += 1;
            }
        } else {
            notes.warn(format!(
                "{} of one launch shape stands {} times in the profile and {} times in the trace: which is \
                 which cannot be known, none is joined",
                key.name,
                launches.len(),
                kernels.len()
            ));
            add(
                notes,
                "profiled kernel that could be several of the trace",
                launches.len(),
            );
        }
    }
    Ok(joined)
}

fn add(notes: &mut Notes, reason: &str, count: usize) {
    *notes.left_out.entry(reason.to_owned()).or_default() += count as u64;
}

fn counters(
    table: TableId,
    id: u64,
    start_ns: i64,
    launch: &Launch,
    into: &mut RunWriter,
    notes: &mut Notes,
) -> Result<(), Error> {
    let measured = launch
        .metrics
        .iter()
        .map(|(name, (value, unit))| (&**name, &**unit, *value, "measured"));
    let computed = derived::counters(launch);
    let computed = computed
        .iter()
        .map(|(name, unit, value)| (*name, *unit, *value, "computed"));
    for (name, unit, value, source) in measured.chain(computed) {
        let unit = if unit.is_empty() {
            Cell::Null
        } else {
            Cell::Text(into.text(unit))
        };
        let cells = [
            Cell::I64(start_ns),
            Cell::U64(id),
            Cell::Null, // thread
            Cell::Text(into.text(name)),
            Cell::F64(value),
            unit,
            Cell::Text(into.text(source)),
        ];
        into.row(table, &cells)?;
        notes.keep("counters");
    }
    Ok(())
}
