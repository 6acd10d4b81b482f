//! Table `roofs`: lines of the chart.
//!
//! Where points have roofs, all of the machine's are drawn: of the host each instruction set and each level of memory
//! that was measured with the points' precision and number of threads, so that the distance to a wider set or a nearer
//! cache is seen.

use std::collections::{BTreeMap, BTreeSet};

use trueno_analysis::roofline::ceilings::{Ceilings, Choice, Need};
use trueno_analysis::roofline::instruction_set::NARROW_TO_WIDE;
use trueno_plugin::{Table, TableBuilder};

use crate::MEMORY;
use crate::points::{Point, roof};

/// Table `roofs`: corners of each roof from a tenth of the lowest intensity over the ridge to ten times the
/// highest, then those of operators. `None` without roofs of bricks and kernels: then plugin `operators` draws its
/// own chart.
pub fn roofs(points: &[&Point], ceilings: &Ceilings, more: &[Corner]) -> Option<TableBuilder> {
    let mut roofs: BTreeMap<(usize, usize), (f64, f64)> = BTreeMap::new();
    let mut precisions = BTreeSet::new();
    for point in points {
        let (Ok(choice), Some(achieved)) = (&point.choice, point.achieved) else {
            continue;
        };
        if point.device == "cpu" {
            precisions.insert(point.precision.as_str());
        }
        let reach = roofs
            .entry((choice.compute, choice.bandwidth))
            .or_insert((f64::INFINITY, 0.0));
        let ridge = point.place.map_or(achieved.intensity, |place| place.ridge);
        reach.0 = reach.0.min(achieved.intensity / 10.0).min(ridge / 10.0);
        reach.1 = reach.1.max(achieved.intensity * 10.0).max(ridge * 10.0);
    }
    let mut rows = lines(&roofs, ceilings);
    let left = roofs
        .values()
        .map(|reach| reach.0)
        .fold(f64::INFINITY, f64::min);
    let right = roofs.values().map(|reach| reach.1).fold(0.0, f64::max);
    for precision in precisions {
        rows.extend(others(precision, &roofs, ceilings, (left, right)));
    }
    if !rows.is_empty() {
        rows.extend_from_slice(more);
    }
    let is_drawable = rows
        .iter()
        .all(|row| row.1.is_finite() && row.2.is_finite());
    (!rows.is_empty() && is_drawable).then(|| {
        Table::build("roofs")
            .text("roof", rows.iter().map(|row| row.0.as_str()))
            .f64("flops_per_byte", rows.iter().map(|row| row.1))
            .f64("flops_per_s", rows.iter().map(|row| row.2))
    })
}

/// Name of the line, intensity, FLOP/s.
pub type Corner = (String, f64, f64);

fn lines(roofs: &BTreeMap<(usize, usize), (f64, f64)>, ceilings: &Ceilings) -> Vec<Corner> {
    // Where loads and plain stores reach different bandwidths, what was done to the memory tells two roofs apart.
    let level = |bandwidth: usize| {
        let row = &ceilings.rows[bandwidth];
        (&row.device, &row.level)
    };
    let is_one_of_several = |bandwidth: usize| {
        let mut others = roofs.keys().map(|(_, other)| *other);
        others.any(|other| other != bandwidth && level(other) == level(bandwidth))
    };
    let mut rows = Vec::new();
    for (&(compute, bandwidth), &(left, right)) in roofs {
        let (flops, bytes) = (&ceilings.rows[compute], &ceilings.rows[bandwidth]);
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        let name = format!(
            "{} {} {}, {}",
            flops.device,
            text(&flops.level),
            text(&flops.precision),
            text(&bytes.level)
        );
        let name = match (&bytes.operation, is_one_of_several(bandwidth)) {
            (Some(operation), true) => format!("{name} {operation}"),
            _ => name,
        };
        let choice = Choice {
            compute,
            bandwidth,
            assumed: Vec::new(),
        };
        let roof = roof(ceilings, &choice);
        for x in [left, roof.compute / roof.bandwidth, right] {
            rows.push((name.clone(), x, (x * roof.bandwidth).min(roof.compute)));
        }
    }
    rows
}

/// Host roofs without points. Each instruction set starts where the nearest memory can feed it; each memory level
/// ends at the peak of the widest set.
fn others(
    precision: &str,
    roofs: &BTreeMap<(usize, usize), (f64, f64)>,
    ceilings: &Ceilings,
    (left, right): (f64, f64),
) -> Vec<Corner> {
    let sets = NARROW_TO_WIDE.iter().filter_map(|set| {
        let need = Need {
            device: "cpu",
            instruction_set: Some(set),
            precision,
            memory: "dram",
        };
        Some((*set, ceilings.choose(&need).ok()?.compute))
    });
    let sets: Vec<(&str, usize)> = sets.collect();
    let levels = MEMORY.iter().filter_map(|memory| {
        let bandwidth = ceilings.bandwidth("cpu", memory, &mut Vec::new());
        Some((*memory, bandwidth.ok()?))
    });
    let levels: Vec<(&str, usize)> = levels.collect();
    let value = |at: usize| ceilings.rows[at].value;
    let highest = |of: &[(&str, usize)]| of.iter().map(|one| value(one.1)).fold(0.0, f64::max);
    let (most_flops, most_bytes) = (highest(&sets), highest(&levels));
    let mut rows = Vec::new();
    for (set, at) in sets {
        if roofs.keys().any(|roof| roof.0 == at) || most_bytes == 0.0 {
            continue;
        }
        let name = format!("cpu {set} {precision}");
        let from = value(at) / most_bytes;
        rows.push((name.clone(), from, value(at)));
        rows.push((name, right.max(from), value(at)));
    }
    for (memory, at) in levels {
        if most_flops == 0.0 {
            continue;
        }
        // Up to its ridge it is drawn already where points are held against it.
        let drawn = roofs.keys().filter(|roof| roof.1 == at);
        let drawn = drawn.map(|roof| value(roof.0) / value(at)).reduce(f64::max);
        let (name, until) = (format!("cpu {memory}"), most_flops / value(at));
        let from = drawn.unwrap_or(left).min(until);
        if from < until {
            rows.push((name.clone(), from, from * value(at)));
            rows.push((name, until, most_flops));
        }
    }
    rows
}
