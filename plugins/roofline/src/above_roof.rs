//! The roof that a point is held against, and calls that lie above it.
//!
//! A sum can lie below a roof that most of its calls lie above: a few slow ones (the first, whose data
//! came from memory) make up for the others (whose data lay in a cache). No call then has the efficiency
//! of the sum, and the ceiling that seems to bind does not. Such a point is not valid either.

use trueno_analysis::roofline::ceilings::{Ceilings, Choice};
use trueno_analysis::roofline::model::{Place, Roof, Work, place, why_above};
use trueno_plugin::{agreeing, counted};

use crate::calls::{Call, Calls};
use crate::points::{Point, roof};
use crate::sums::Sum;

/// A roof that a point may be held against.
struct Candidate {
    choice: Choice,
    roof: Roof,
    place: Place,
    /// The calls above it.
    above: Sum,
}

impl Candidate {
    fn fits(&self, calls: u64) -> bool {
        !self.place.is_above() && !is_most(self.above.calls, calls)
    }
}

/// True if `part` is at least half of the calls.
pub fn is_most(part: u64, calls: u64) -> bool {
    part > 0 && part >= calls - calls / 2
}

/// Gives points that have ceilings their places: below those chosen; below those of stores that pass
/// the caches by where only they leave room for the sum and for most of the calls.
pub fn give_places(calls: &impl Calls, ceilings: &Ceilings, memory: &str, points: &mut [Point]) {
    let mut candidates: Vec<Vec<Candidate>> = points
        .iter_mut()
        .map(|point| candidates(point, ceilings))
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
        let calls = point.sum.calls;
        let best = candidates.iter().position(|found| found.fits(calls));
        if let Some(found) = candidates.into_iter().nth(best.unwrap_or(0)) {
            settle(point, found, ceilings, memory);
        }
    }
}

fn candidates(point: &mut Point, ceilings: &Ceilings) -> Vec<Candidate> {
    let (Ok(choice), Some(_)) = (&point.choice, point.achieved) else {
        return Vec::new();
    };
    let work = point.sum.work();
    let candidate = |choice: Choice| {
        let roof = roof(ceilings, &choice);
        place(&work, &roof).map(|place| Candidate {
            choice,
            roof,
            place,
            above: Sum::default(),
        })
    };
    match candidate(choice.clone()) {
        Ok(plain) => {
            let streaming = ceilings.streaming(choice).map(candidate);
            [Some(plain), streaming.and_then(Result::ok)]
                .into_iter()
                .flatten()
                .collect()
        }
        Err(reason) => {
            point.reason = Some(reason.to_string());
            Vec::new()
        }
    }
}

fn settle(point: &mut Point, found: Candidate, ceilings: &Ceilings, memory: &str) {
    let calls = point.sum.calls;
    point.place = Some(found.place);
    if !found.fits(calls) {
        let is_sum = found.place.is_above();
        let work = if is_sum { point.sum } else { found.above }.work();
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
