//! Which profiled launch is which kernel of the trace.

use std::collections::{BTreeMap, BTreeSet};

use trueno_recorder::run_writer::{Cell, RunWriter, TableId};

use super::derived;
use super::name::base;
use super::table::{Key, Launch};
use super::{Joined, SOURCE, TracedKernel, Unmatched};
use crate::{Error, Notes};

/// Launches of one name and shape, and of one device where both sides tell devices apart.
type Group = (Key, Option<u32>);

/// Adds the counters of what can be told apart.
pub fn join<'k>(
    launches: Vec<Launch>,
    kernels: impl Iterator<Item = TracedKernel<'k>>,
    into: &mut RunWriter,
    notes: &mut Notes,
) -> Result<Joined, Error> {
    let table = into
        .table("counters")
        .ok_or_else(|| trueno_recorder::Error::Row {
            table: "counters",
            problem: "no such table in a run".to_owned(),
        })?;
    let mut traced = traced(kernels, notes);
    let devices: BTreeSet<Option<u32>> = traced.keys().map(|(_, device)| *device).collect();
    let by_device = tells_devices(&devices)
        && tells_devices(&launches.iter().map(|launch| launch.device).collect());
    if !by_device {
        traced = merged(traced);
    }
    let mut out = Joined::default();
    let mut profiled: BTreeMap<Group, Vec<Launch>> = BTreeMap::new();
    for mut launch in launches {
        match launch.key.take() {
            Some(key) => {
                let device = launch.device.filter(|_| by_device);
                profiled.entry((key, device)).or_default().push(launch);
            }
            None => notes.leave_out("profiled kernel without a name or launch shape"),
        }
    }
    let names = |groups: &mut dyn Iterator<Item = &Group>| -> BTreeSet<String> {
        groups.map(|(key, _)| key.name.clone()).collect()
    };
    let (traced_names, profiled_names) = (names(&mut traced.keys()), names(&mut profiled.keys()));
    for (group, launches) in profiled {
        let kernels = traced.remove(&group).unwrap_or_default();
        let reason = if kernels.is_empty() && !traced_names.contains(&group.0.name) {
            "no kernel of this name is in the run"
        } else if kernels.is_empty() {
            "the run has this kernel in other launch shapes only"
        } else if kernels.len() != launches.len() {
            "profile and run have not equally many: which is which cannot be known"
        } else if let Some(ids) = in_order_of_launch(&kernels) {
            for (kernel, launch) in ids.into_iter().zip(&launches) {
                counters(table, kernel, launch, into, notes)?;
                out.kernels += 1;
            }
            continue;
        } else {
            "the kernels ran on several streams, and in which order they were launched was not recorded"
        };
        add(notes, &format!("profiled kernel: {reason}"), launches.len());
        out.unmatched.push(Unmatched {
            name: group.0.name,
            grid: group.0.grid,
            block: group.0.block,
            profiled: launches.len() as u64,
            in_run: kernels.len() as u64,
            reason,
        });
    }
    for ((key, _), kernels) in traced {
        let reason = match profiled_names.contains(&key.name) {
            true => "kernel of the run: profiled in other launch shapes only",
            false => "kernel of the run: not profiled",
        };
        add(notes, reason, kernels.len());
    }
    Ok(out)
}

/// Whether devices are told apart: each has its number, and there are several.
fn tells_devices(devices: &BTreeSet<Option<u32>>) -> bool {
    devices.len() > 1 && !devices.contains(&None)
}

fn traced<'k>(
    kernels: impl Iterator<Item = TracedKernel<'k>>,
    notes: &mut Notes,
) -> BTreeMap<Group, Vec<At>> {
    let mut traced: BTreeMap<Group, Vec<At>> = BTreeMap::new();
    for kernel in kernels {
        let (Some(grid), Some(block)) = (kernel.grid, kernel.block) else {
            notes.leave_out("kernel of the run: no launch shape");
            continue;
        };
        let name = base(kernel.name).to_owned();
        let group = (Key { name, grid, block }, kernel.device);
        traced.entry(group).or_default().push(At {
            id: kernel.id,
            start_ns: kernel.start_ns,
            launch: kernel.correlation,
            lane: (kernel.device, kernel.stream),
        });
    }
    traced
}

/// Without telling devices apart.
fn merged(traced: BTreeMap<Group, Vec<At>>) -> BTreeMap<Group, Vec<At>> {
    let mut all: BTreeMap<Group, Vec<At>> = BTreeMap::new();
    for ((key, _), mut kernels) in traced {
        all.entry((key, None)).or_default().append(&mut kernels);
    }
    all
}

/// What is needed of a kernel of the run.
#[derive(Clone, Copy)]
struct At {
    id: u64,
    start_ns: i64,
    /// Numbers launches in the order in which the program made them.
    launch: Option<u64>,
    lane: (Option<u32>, Option<u32>),
}

/// ncu runs kernels in the order of their launches, which is that of their starts on one
/// stream only. `None`: the order is not known.
fn in_order_of_launch(kernels: &[At]) -> Option<Vec<At>> {
    let mut ordered = kernels.to_vec();
    if kernels.iter().all(|kernel| kernel.launch.is_some()) {
        ordered.sort_by_key(|kernel| (kernel.launch, kernel.start_ns, kernel.id));
        // A graph puts many kernels on several streams by one launch.
        let unordered = |two: &[At]| two[0].launch == two[1].launch && two[0].lane != two[1].lane;
        if ordered.windows(2).any(unordered) {
            return None;
        }
    } else if kernels.iter().all(|kernel| kernel.lane == kernels[0].lane) {
        ordered.sort_by_key(|kernel| (kernel.start_ns, kernel.id));
    } else {
        return None;
    }
    Some(ordered)
}

fn add(notes: &mut Notes, reason: &str, count: usize) {
    *notes.left_out.entry(reason.to_owned()).or_default() += count as u64;
}

fn counters(
    table: TableId,
    kernel: At,
    launch: &Launch,
    into: &mut RunWriter,
    notes: &mut Notes,
) -> Result<(), Error> {
    let source = into.text(SOURCE);
    let measured = launch
        .metrics
        .iter()
        .map(|(name, (value, unit))| (&**name, &**unit, *value));
    let sums = derived::counters(launch);
    let sums = sums
        .iter()
        .map(|(name, unit, value)| (&**name, *unit, *value));
    for (name, unit, value) in measured.chain(sums) {
        let unit = if unit.is_empty() {
            Cell::Null
        } else {
            Cell::Text(into.text(unit))
        };
        let cells = [
            Cell::I64(kernel.start_ns),
            Cell::U64(kernel.id),
            Cell::Null, // thread
            Cell::Text(into.text(name)),
            Cell::F64(value),
            unit,
            Cell::Text(source),
        ];
        into.row(table, &cells)?;
        notes.keep("counters");
    }
    Ok(())
}
