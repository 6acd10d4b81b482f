//! The roof that a point is held against, and calls that lie above it.
//!
//! A sum can lie below a roof that most of its calls lie above: a few slow ones (the first, whose data
//! came from memory) make up for the others (whose data lay in a cache). No call then has the efficiency
//! of the sum, and the ceiling that seems to bind does not. Such a point is not valid either.

use trueno_analysis::roofline::ceilings::{Ceilings, Choice};
use trueno_analysis::roofline::model::{Place, Roof, Work, is_clearly_above, place, why_above};
use trueno_plugin::{agreeing, counted};

use crate::calls::{Call, Calls};
use crate::points::{Point, roof};
use crate::sums::Sum;

struct Candidate {
    memory: &'static str,
    choice: Choice,
    roof: Roof,
    place: Place,
    above: Sum,
}

impl Candidate {
    fn fits(&self, calls: u64) -> bool {
        !self.place.is_above() && !is_most(self.above.calls, calls)
    }

    /// The work that lies above this roof: the sum, or else those calls.
    fn work_above(&self, sum: &Sum) -> Work {
        if self.place.is_above() {
            sum.work()
        } else {
            self.above.work()
        }
    }
}

pub fn is_most(part: u64, calls: u64) -> bool {
    part > 0 && part >= calls - calls / 2
}

/// Places points with ceilings below a roof. Tries the chosen ceilings first, then those of streaming stores if
/// only they leave room for the sum and most calls, at each memory level in turn. A rate that is impossible for a
/// level shows that the data was in a nearer one. A rate just above the ceiling shows nothing, because the ceiling
/// may have been measured too low.
pub fn give_places(
    calls: &impl Calls,
    ceilings: &Ceilings,
    levels: &[&'static str],
    points: &mut [Point],
) {
    let mut candidates: Vec<Vec<Candidate>> = points
        .iter_mut()
        .map(|point| candidates(point, ceilings, levels))
        .collect();
    if candidates.iter().all(Vec::is_empty) {
        return;
    }
    calls.each(|call, count| {
        let Call {
            flops,
            bytes,
            dur_ns,
            ..
        } = *call;
        for candidate in &mut candidates[call.label as usize] {
            let work = Work {
                flops: flops as f64,
                bytes: bytes as f64,
                dur_ns: dur_ns as f64,
            };
            if place(&work, &candidate.roof).is_ok_and(|place| place.is_above()) {
                candidate.above.add_times(dur_ns, flops, bytes, count);
            }
        }
    });
    for (point, candidates) in points.iter_mut().zip(candidates) {
        let best = best(&candidates, &point.sum);
        if let Some(found) = candidates.into_iter().nth(best) {
            point.is_memory_inferred = found.memory != point.memory;
            point.memory = found.memory;
            settle(point, found, ceilings);
        }
    }
}

/// Index of the candidate to use: the first that fits at the farthest level for which the sum is not too fast. If
/// none fits there (some calls used this level and others did not), the first of that level.
fn best(candidates: &[Candidate], sum: &Sum) -> usize {
    let mut first = 0;
    for of_level in candidates.chunk_by(|a, b| a.memory == b.memory) {
        if let Some(fitting) = of_level.iter().position(|found| found.fits(sum.calls)) {
            return first + fitting;
        }
        let is_too_fast = |found: &Candidate| is_clearly_above(&sum.work(), &found.roof);
        if !of_level.iter().all(is_too_fast) {
            return first;
        }
        first += of_level.len();
    }
    0
}

fn candidates(point: &mut Point, ceilings: &Ceilings, levels: &[&'static str]) -> Vec<Candidate> {
    let (Ok(first), Some(_)) = (&point.choice, point.achieved) else {
        return Vec::new();
    };
    let work = point.sum.work();
    let candidate = |memory: &'static str, choice: Choice| {
        let roof = roof(ceilings, &choice);
        place(&work, &roof).map(|place| Candidate {
            memory,
            choice,
            roof,
            place,
            above: Sum::default(),
        })
    };
    if let Err(reason) = candidate(point.memory, first.clone()) {
        point.reason = Some(reason.to_string());
        return Vec::new();
    }
    let of_level = |memory: &&'static str| {
        let mut choice = first.clone();
        choice.bandwidth = if *memory == point.memory {
            choice.bandwidth
        } else {
            let found = ceilings.bandwidth(&point.device, memory, &mut choice.assumed);
            found.ok()?
        };
        Some((*memory, choice))
    };
    let both = |(memory, choice): (&'static str, Choice)| {
        let streaming = ceilings.streaming(&choice);
        let all = [Some(choice), streaming].into_iter().flatten();
        all.filter_map(move |choice| candidate(memory, choice).ok())
            .collect::<Vec<_>>()
    };
    levels.iter().filter_map(of_level).flat_map(both).collect()
}

fn settle(point: &mut Point, found: Candidate, ceilings: &Ceilings) {
    let (calls, memory) = (point.sum.calls, found.memory);
    point.place = Some(found.place);
    if !found.fits(calls) {
        let is_sum = found.place.is_above();
        let work = found.work_above(&point.sum);
        let bytes_per_s = work.bytes / (work.dur_ns / 1e9);
        let level = ceilings
            .memory_for(&point.device, bytes_per_s)
            .filter(|(level, _)| *level != memory);
        let is_compute = work.flops / (work.dur_ns / 1e9) > found.roof.compute;
        point.served_by = level.map(|(level, _)| level).filter(|_| !is_compute);
        let above = found.above.calls;
        let (of, lie) = (
            counted(calls, "call", "calls"),
            agreeing(above, "lies", "lie"),
        );
        point.reason = Some(match point.served_by {
            _ if is_sum => why_above(&work, &found.roof, level),
            Some(level) => format!(
                "{above} of {of} {lie} above the roof of {memory}: another level serves them \
                 (--set roofline.memory={level}), or the bytes are stated too high"
            ),
            None => format!(
                "{above} of {of} {lie} above the roof: {}",
                why_above(&work, &found.roof, level)
            ),
        });
    }
    point.above = found.above;
    point.choice = Ok(found.choice);
}
