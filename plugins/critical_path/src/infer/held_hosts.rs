//! When hosts that a device held went on, against the end of its work: what a late clock of a device gives away.
//!
//! A host that waits for work goes on a little after the work has ended. By a clock of the device that is late, it goes
//! on before. One such time proves nothing where the recording does not state what the host waited for; where time and
//! again the host goes on the same little before work has ended, the clock is late by that much at least.

use trueno_analysis::lanes::{Class, Lanes};
use trueno_plugin::rank::{of_key, of_place};

use crate::load::dependencies::{SpanAt, span};
use crate::load::edges::Blocking;
use crate::load::row_index::RowIndex;
use crate::load::streams::{Stream, Streams};
use crate::load::waits::{Wait, WaitKind};

/// Shorter waits and calls, in usual calls, may have another reason.
const MIN_HELD_CALLS: i64 = 4;
const MAX_LATE_NS: i64 = 100_000;
/// A host goes on within 1 / `HELD_PART` of the time that it waited.
const HELD_PART: i64 = 4;
/// Times needed for a pattern. Launch calls may be long by chance, so they need as many as `full_queues` does.
const MIN_COUNT: usize = 4;
const MIN_LAUNCHES: usize = 8;
/// No launch queue is shorter.
const MIN_DEPTH: usize = 64;
const MIN_PERCENT: usize = 80;
/// Times of a pattern may differ by this many usual calls, or by half of their median.
const JITTER_CALLS: i64 = 1;

/// Device, and how long after work had ended the host that waited for it went on. Negative if the device's clock is
/// late.
pub fn went_on_after(
    run: &Lanes,
    rows: &RowIndex,
    streams: &Streams,
    waits: &[Wait],
    copies: &[Blocking],
) -> Vec<(i64, i64)> {
    let jitter_ns = streams.scale.calls(JITTER_CALLS);
    let mut out = Vec::new();
    for of in [
        pattern(of_waits(run, rows, streams, waits), MIN_COUNT, jitter_ns),
        pattern(of_copies(run, rows, streams, copies), MIN_COUNT, jitter_ns),
        pattern(of_launches(run, streams), MIN_LAUNCHES, jitter_ns),
    ] {
        out.extend(of);
    }
    out
}

fn pattern(mut times: Vec<(i64, i64)>, min_count: usize, jitter_ns: i64) -> Vec<(i64, i64)> {
    times.sort_unstable();
    let of_devices = times.chunk_by(|a, b| a.0 == b.0);
    let agreeing = of_devices.flat_map(|of| {
        let median_ns = of[of.len() / 2].1;
        let jitter_ns = jitter_ns.max(median_ns.abs() / 2);
        let fits = |time: &&(i64, i64)| (time.1 - median_ns).abs() <= jitter_ns;
        let fitting: Vec<(i64, i64)> = of.iter().filter(fits).copied().collect();
        let is_pattern =
            fitting.len() >= min_count && 100 * fitting.len() >= MIN_PERCENT * of.len();
        if is_pattern { fitting } else { Vec::new() }
    });
    agreeing.collect()
}

/// Time from the end of the work to the end of the wait, if that is short compared with the wait.
fn after_ns(
    (held_from_ns, held_until_ns): (i64, i64),
    work_end_ns: i64,
    min_held_ns: i64,
) -> Option<i64> {
    let held_ns = held_until_ns - held_from_ns;
    let after_ns = held_until_ns - work_end_ns;
    let most_ns = MAX_LATE_NS.min(held_ns / HELD_PART);
    (held_ns >= min_held_ns && after_ns.abs() <= most_ns).then_some(after_ns)
}

/// For waits that do not name their work: the nearest end among the last launched work of each stream.
fn of_waits(run: &Lanes, rows: &RowIndex, streams: &Streams, waits: &[Wait]) -> Vec<(i64, i64)> {
    let min_held_ns = streams.scale.calls(MIN_HELD_CALLS);
    let of_wait = |wait: &Wait| {
        if wait.kind == WaitKind::StreamWait {
            return None;
        }
        let at = rows.get(wait.id)?;
        let row = span(run, at);
        let rank = of_key(wait.id) as i64;
        let may_hold = |stream: &&Stream| {
            of_place(stream.device).0 == rank
                && wait.device.is_none_or(|device| device == stream.device)
                && (stream.launchers.is_empty() || stream.launchers.contains(&at.lane))
        };
        let after = |stream: &Stream| {
            let work = &run.lanes[stream.lane].spans[stream.last_before(wait.called_ns)?];
            let is_work = run.labels.get(work.label).class != Class::Wait;
            let after_ns = after_ns((row.start_ns, row.end_ns), work.end_ns, min_held_ns)?;
            is_work.then_some((after_ns.abs(), stream.device, after_ns))
        };
        let nearest = streams.all.iter().filter(may_hold).filter_map(after).min();
        nearest.map(|(_, device, after_ns)| (device, after_ns))
    };
    waits.iter().filter_map(of_wait).collect()
}

/// For calls of device-to-host copies that were queued behind other work.
fn of_copies(
    run: &Lanes,
    rows: &RowIndex,
    streams: &Streams,
    copies: &[Blocking],
) -> Vec<(i64, i64)> {
    let min_held_ns = streams.scale.calls(MIN_HELD_CALLS);
    let of_copy = |pair: &Blocking| {
        let (at, call) = (rows.get(pair.copy)?, span(run, rows.get(pair.call)?));
        let copy = span(run, at);
        let stream = streams.of_lane(at.lane)?;
        let before_ns = stream.ended_before(at.index as usize)?;
        let is_queued = pair.is_to_host && before_ns - call.start_ns >= min_held_ns;
        let after_ns = after_ns((call.start_ns, call.end_ns), copy.end_ns, min_held_ns)?;
        is_queued.then_some((stream.device, after_ns))
    };
    copies.iter().filter_map(of_copy).collect()
}

/// For long launch calls with many launches queued before them: the nearest end of any work of the stream.
fn of_launches(run: &Lanes, streams: &Streams) -> Vec<(i64, i64)> {
    let min_held_ns = streams.scale.calls(MIN_HELD_CALLS);
    let of_stream = |stream: &Stream| {
        let spans = &run.lanes[stream.lane].spans;
        let calls = (MIN_DEPTH..spans.len()).filter_map(|index| {
            let at = SpanAt {
                lane: stream.lane as u32,
                index: index as u32,
            };
            let call = span(run, *streams.launches.get(&at)?);
            let last = stream.last_ended(call.end_ns).map(|last| last.0);
            let next = last.map_or(0, |last| last + 1);
            let is_queued = spans[index].start_ns > call.end_ns && next + MIN_DEPTH <= index;
            if !is_queued {
                return None;
            }
            let ends_ns = last.into_iter().chain([next]).map(|at| spans[at].end_ns);
            let nearest =
                ends_ns.filter_map(|ns| after_ns((call.start_ns, call.end_ns), ns, min_held_ns));
            nearest.min_by_key(|after_ns| after_ns.abs())
        });
        calls.map(|ns| (stream.device, ns)).collect::<Vec<_>>()
    };
    streams.all.iter().flat_map(of_stream).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_that_agree_are_a_pattern() {
        let late = [(0, -4_500), (0, -4_600), (0, -4_400), (0, -4_900)];
        assert_eq!(pattern(late.to_vec(), 4, 5_000).len(), 4);
        assert_eq!(pattern(late[..3].to_vec(), 4, 5_000), []);
        // Of another device.
        let apart = [(0, -4_500), (0, -4_600), (1, -4_400), (1, -4_900)];
        assert_eq!(pattern(apart.to_vec(), 4, 5_000), []);
        // Whatever ended nearest by chance.
        let chance = [(0, -45_000), (0, -20_000), (0, 10_000), (0, 40_000)];
        assert_eq!(pattern(chance.to_vec(), 4, 5_000), []);
    }

    #[test]
    fn what_held_the_host_ended_about_when_it_went_on() {
        assert_eq!(after_ns((0, 4_000_000), 4_004_500, 20_000), Some(-4_500));
        assert_eq!(after_ns((0, 4_000_000), 3_990_000, 20_000), Some(10_000));
        assert_eq!(after_ns((0, 4_000_000), 4_200_000, 20_000), None);
        assert_eq!(after_ns((0, 19_000), 19_500, 20_000), None);
        assert_eq!(after_ns((0, 20_000), 30_000, 20_000), None);
    }
}
