//! Profiled launches, matched with the kernels of the trace.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

use trueno_display_names::full_name;
use trueno_format::run_writer::RunWriter;
use trueno_format::schema::CounterRow;

use super::derived;
use super::name::{arguments, base};
use super::pairs::{At, pairings};
use super::table::{Key, Launch};
use super::{Joined, SOURCE, TracedKernel, Unmatched};
use crate::{Error, Notes};

const NO_NAME: &str = "no kernel of this name is in the run";
const OTHER_SHAPES: &str = "the run has this kernel in other launch shapes only";
const NOT_PROFILED: &str = "kernel of the run: not profiled";

/// Launches with one name and shape, on one device if both sides distinguish devices.
type Group = (Key, Option<u32>);

/// Adds the counters of launches that can be matched unambiguously.
pub fn join<'k>(
    launches: Vec<Launch>,
    kernels: impl Iterator<Item = TracedKernel<'k>>,
    into: &mut RunWriter,
    notes: &mut Notes,
) -> Result<Joined, Error> {
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
        let whole = match kernels.is_empty() {
            true if traced_names.contains(&group.0.name) => Some(OTHER_SHAPES),
            true => Some(NO_NAME),
            false => None,
        };
        for pairing in pairings(&kernels, &launches) {
            let reason = match (whole, pairing.pairs(&kernels, &launches)) {
                (Some(reason), _) | (None, Err(reason)) => reason,
                (None, Ok(pairs)) => {
                    for (kernel, launch) in pairs {
                        counters(kernel, launch, into, notes)?;
                        out.kernels += 1;
                    }
                    continue;
                }
            };
            let (profiled, in_run) = (pairing.launches.len(), pairing.kernels.len());
            if profiled == 0 {
                add(notes, NOT_PROFILED, in_run);
                continue;
            }
            add(notes, &format!("profiled kernel: {reason}"), profiled);
            out.unmatched.push(Unmatched {
                name: format!("{}{}", group.0.name, pairing.shown_arguments(&launches)),
                grid: group.0.grid,
                block: group.0.block,
                profiled: profiled as u64,
                in_run: in_run as u64,
                reason,
            });
        }
    }
    for ((key, _), kernels) in traced {
        let reason = if profiled_names.contains(&key.name) {
            "kernel of the run: profiled in other launch shapes only"
        } else {
            NOT_PROFILED
        };
        add(notes, reason, kernels.len());
    }
    Ok(out)
}

/// Devices are distinguished: each has a number, and there are several.
fn tells_devices(devices: &BTreeSet<Option<u32>>) -> bool {
    devices.len() > 1 && !devices.contains(&None)
}

fn traced<'k>(
    kernels: impl Iterator<Item = TracedKernel<'k>>,
    notes: &mut Notes,
) -> BTreeMap<Group, Vec<At>> {
    let mut traced: BTreeMap<Group, Vec<At>> = BTreeMap::new();
    let mut texts = BTreeSet::new();
    let mut spelled: HashMap<&str, (String, Option<Rc<str>>)> = HashMap::new();
    for kernel in kernels {
        let (Some(grid), Some(block)) = (kernel.grid, kernel.block) else {
            notes.leave_out("kernel of the run: no launch shape");
            continue;
        };
        // CUPTI gives symbols, ncu the names behind them.
        let (name, arguments) = spelled.entry(kernel.name).or_insert_with(|| {
            let full = full_name(kernel.name);
            let full = full.as_deref().unwrap_or(kernel.name);
            let arguments = arguments(full).map(|text| shared(&mut texts, text));
            (base(full).to_owned(), arguments)
        });
        let (name, arguments) = (name.clone(), arguments.clone());
        let group = (Key { name, grid, block }, kernel.device);
        traced.entry(group).or_default().push(At {
            id: kernel.id,
            arguments,
            start_ns: kernel.start_ns,
            launch: kernel.correlation,
            lane: (kernel.device, kernel.stream),
        });
    }
    traced
}

/// Shares one copy of equal texts.
fn shared(texts: &mut BTreeSet<Rc<str>>, text: String) -> Rc<str> {
    match texts.get(&*text) {
        Some(known) => known.clone(),
        None => {
            let text: Rc<str> = text.into();
            texts.insert(text.clone());
            text
        }
    }
}

fn merged(traced: BTreeMap<Group, Vec<At>>) -> BTreeMap<Group, Vec<At>> {
    let mut all: BTreeMap<Group, Vec<At>> = BTreeMap::new();
    for ((key, _), mut kernels) in traced {
        all.entry((key, None)).or_default().append(&mut kernels);
    }
    all
}

fn add(notes: &mut Notes, reason: &str, count: usize) {
    *notes.left_out.entry(reason.to_owned()).or_default() += count as u64;
}

fn counters(
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
    let sums = derived::counters(&launch.metrics);
    let sums = sums
        .iter()
        .map(|(name, unit, value)| (&**name, *unit, *value));
    for (name, unit, value) in measured.chain(sums) {
        let row = CounterRow {
            time_ns: kernel.start_ns,
            span: Some(kernel.id),
            thread: None,
            name: into.text(name),
            value,
            unit: (!unit.is_empty()).then(|| into.text(unit)),
            source,
        };
        notes.add(into, &row)?;
    }
    Ok(())
}
