//! One point of the roofline for each label: sums of its calls against the ceilings that fit.

use std::collections::BTreeMap;

use crate::Options;
use crate::ceilings::{Ceilings, Choice, Need};
use crate::instruction_set::{Backend, backend, precision as said_precision};
use crate::label::Label;
use crate::nest::Standing;
use crate::place::{Achieved, Place, Reason, Roof, Work, achieved, place, why_above};
use crate::rows::{NONE, Rows, WorkRow};

/// Sums over calls.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sum {
    /// Calls.
    pub calls: u64,
    /// Their durations.
    pub dur_ns: i64,
    /// Their FLOPs.
    pub flops: f64,
    /// Their bytes.
    pub bytes: f64,
}

impl Sum {
    /// Adds one call.
    pub fn add(&mut self, dur_ns: i64, flops: f64, bytes: f64) {
        self.calls += 1;
        self.dur_ns = self.dur_ns.saturating_add(dur_ns);
        self.flops += flops;
        self.bytes += bytes;
    }

    /// As one piece of work.
    pub fn work(&self) -> Work {
        Work {
            flops: self.flops,
            bytes: self.bytes,
            dur_ns: self.dur_ns as f64,
        }
    }
}

/// One label with what became of it.
#[derive(Clone, Debug)]
pub struct Point {
    /// What it is.
    pub label: Label,
    /// `cpu` or `gpu:<number>`.
    pub device: String,
    /// Sums over its calls with figures.
    pub sum: Sum,
    /// Rates; `None` when its sums are out of range.
    pub achieved: Option<Achieved>,
    /// As the ceiling says, or as assumed.
    pub precision: String,
    /// The ceilings over it, or why there are none.
    pub choice: Result<Choice, String>,
    /// Where it lies; `None` without ceilings.
    pub place: Option<Place>,
    /// Why it has no place, or cannot be right.
    pub reason: Option<String>,
    /// Calls that are above the roof alone.
    pub calls_above: u64,
}

impl Point {
    /// Its place, when it is one that can be.
    pub fn sound(&self) -> Option<&Place> {
        self.place.as_ref().filter(|place| !place.is_above())
    }
}

/// Work of a row under each of its labels.
pub fn of_row<'a>(rows: &'a Rows, row: &'a WorkRow) -> impl Iterator<Item = (u32, f64, f64)> + 'a {
    let declared = (row.label != NONE).then_some((row.label, row.flops, row.bytes));
    let counted = (row.counted != NONE).then(|| {
        let counted = &rows.counted[row.counted as usize];
        (counted.label, counted.flops, counted.bytes)
    });
    declared.into_iter().chain(counted)
}

/// Points by label number. Refused rows count as such and are part of no point.
pub fn points(
    rows: &mut Rows,
    standing: &[Vec<Standing>],
    ceilings: &Ceilings,
    options: &Options,
) -> Vec<Point> {
    let mut sums = vec![Sum::default(); rows.labels.all().len()];
    let mut refused = Vec::new();
    for (lane, standing) in rows.lanes.values().zip(standing) {
        for (row, standing) in lane.work.iter().zip(standing) {
            let dur_ns = row.end_ns - row.start_ns;
            if let Standing::Refused(reason) = standing {
                if row.label != NONE {
                    let label = rows.labels.all()[row.label as usize];
                    refused.push((label.source, *reason, label.name, dur_ns));
                }
                continue;
            }
            for (label, flops, bytes) in of_row(rows, row) {
                sums[label as usize].add(dur_ns, flops, bytes);
            }
        }
    }
    for (source, reason, name, dur_ns) in refused {
        rows.refused.add(source, reason, name, dur_ns);
    }
    let mut out: Vec<Point> = rows
        .labels
        .all()
        .iter()
        .zip(sums)
        .map(|(label, sum)| point(rows, *label, sum, ceilings, options))
        .collect();
    count_above(rows, standing, ceilings, &mut out);
    out
}

fn point(rows: &Rows, label: Label, sum: Sum, ceilings: &Ceilings, options: &Options) -> Point {
    let device = match label.device {
        Some(device) => format!("gpu:{device}"),
        None => "cpu".to_owned(),
    };
    let named = label.backend.map(|name| rows.texts.text(name));
    let counted = label
        .precision
        .map(|precision| rows.texts.text(precision).to_lowercase());
    let known = counted.or_else(|| Some(named.and_then(said_precision)?.to_owned()));
    let is_assumed = known.is_none();
    let precision = known.unwrap_or_else(|| options.precision.to_lowercase());
    let instruction_set = match named.map(backend) {
        Some(Backend::Cpu(set)) if label.device.is_none() => Ok(Some(set)),
        Some(Backend::Unknown) if label.device.is_none() => Err(format!(
            "backend {} is no instruction set known here",
            named.unwrap_or_default()
        )),
        _ => Ok(None),
    };
    let memory = options.memory.to_lowercase();
    let mut choice = instruction_set.and_then(|instruction_set| {
        ceilings.choose(&Need {
            device: &device,
            instruction_set,
            precision: &precision,
            memory: &memory,
        })
    });
    if let Ok(choice) = &mut choice {
        if is_assumed {
            choice.assumed.insert(0, format!("precision {precision}"));
        }
        if named.is_some_and(|name| name.contains('+')) && label.device.is_none() {
            choice
                .assumed
                .push("the widest of its instruction sets".to_owned());
        }
    }
    let work = sum.work();
    let mut out = Point {
        label,
        device,
        sum,
        achieved: None,
        precision,
        choice,
        place: None,
        reason: None,
        calls_above: 0,
    };
    match achieved(&work) {
        Ok(found) => out.achieved = Some(found),
        Err(reason) => {
            out.reason = Some(reason.to_string());
            return out;
        }
    }
    let placed = match &out.choice {
        Err(why) => {
            out.reason = Some(why.clone());
            return out;
        }
        Ok(choice) => place_below(&work, ceilings, choice),
    };
    match placed {
        Ok((found, choice)) => {
            if found.is_above() {
                let nearer = out
                    .achieved
                    .and_then(|found| ceilings.memory_for(&out.device, found.bytes_per_s))
                    .filter(|(level, _)| *level != memory);
                let roof = roof(ceilings, &choice);
                out.reason = Some(why_above(&work, &roof, nearer));
            }
            out.place = Some(found);
            out.choice = Ok(choice);
        }
        Err(reason) => out.reason = Some(reason.to_string()),
    }
    out
}

/// Below the ceilings chosen; below those of stores that pass the caches by where only that can be.
fn place_below(
    work: &Work,
    ceilings: &Ceilings,
    choice: &Choice,
) -> Result<(Place, Choice), Reason> {
    let plain = place(work, &roof(ceilings, choice))?;
    if plain.is_above()
        && let Some(streaming) = ceilings.streaming(choice)
        && let Ok(found) = place(work, &roof(ceilings, &streaming))
        && !found.is_above()
    {
        return Ok((found, streaming));
    }
    Ok((plain, choice.clone()))
}

/// Why the efficiency of a point may be off: what is doubtful of the ceiling that binds it.
pub fn doubt(point: &Point, ceilings: &Ceilings) -> Option<String> {
    let (choice, place) = (point.choice.as_ref().ok()?, point.place?);
    ceilings.binding(choice, place.bound).doubt()
}

/// The values behind a choice.
pub fn roof(ceilings: &Ceilings, choice: &Choice) -> Roof {
    Roof {
        compute: ceilings.rows[choice.compute].value,
        bandwidth: ceilings.rows[choice.bandwidth].value,
    }
}

fn count_above(rows: &Rows, standing: &[Vec<Standing>], ceilings: &Ceilings, out: &mut [Point]) {
    let roofs: BTreeMap<usize, Roof> = out
        .iter()
        .enumerate()
        .filter_map(|(at, point)| {
            let choice = point.choice.as_ref().ok()?;
            Some((at, roof(ceilings, choice)))
        })
        .collect();
    if roofs.is_empty() {
        return;
    }
    let roofs: Vec<Option<Roof>> = (0..out.len()).map(|at| roofs.get(&at).copied()).collect();
    for (lane, standing) in rows.lanes.values().zip(standing) {
        for (row, standing) in lane.work.iter().zip(standing) {
            if matches!(standing, Standing::Refused(_)) {
                continue;
            }
            for (label, flops, bytes) in of_row(rows, row) {
                let Some(roof) = &roofs[label as usize] else {
                    continue;
                };
                let work = Work {
                    flops,
                    bytes,
                    dur_ns: (row.end_ns - row.start_ns) as f64,
                };
                if place(&work, roof).is_ok_and(|place| place.is_above()) {
                    out[label as usize].calls_above += 1;
                }
            }
        }
    }
}
