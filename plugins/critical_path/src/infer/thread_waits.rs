//! Threads that wait for other threads, told by how their times nest.
//!
//! The main thread of a training step lies in a frame `## backward ##` and does nothing of its own while the thread of
//! the autograd engine works: it waits for that thread. So does one that hands work to a pool. Where a stretch without
//! work of its own begins right before other threads begin, ends right after they have ended, and they were busy
//! meanwhile, it is a wait for them, and they were begun by it. A frame may do a little itself meanwhile, such as start
//! a collective operation from a hook. Nothing records this: it is inferred.
//!
//! Threads that do nothing but communicate, such as those of gloo, are begun in the middle of a frame, from the hooks of
//! `DistributedDataParallel`. A stretch of such a frame in which one of them communicates nearly all the time, and which
//! ends right after that, is a wait for it, if it is at least half of the time since that thread began: else the frame
//! has work to do, and need not wait.
//!
//! How soon the others begin and how soon the stretch ends after them is evidence of its own only where it is short.
//! Where two threads take turns all along, one working while the other does not, time and again, it may be longer.

use std::collections::BTreeMap;

use trueno_analysis::hash::{FastMap, FastSet};
use trueno_analysis::lanes::{Class, Lane, LaneKind, Lanes, Span};
use trueno_analysis::vendors::is_communication;
use trueno_analysis::waits::names_a_poll;
use trueno_plugin::rank::of_key;

use crate::infer::host_waits::HostWait;
use crate::infer::idle_intervals::{Stretch, stretches};
use crate::load::inferred::Rule;
use crate::load::scale::Scale;
use crate::load::streams::Streams;
use crate::load::wait_functions::only_waits;

/// Shorter stretches, in usual calls, are no waits for other threads: waking one takes about as long.
const MIN_CALLS: i64 = 4;
/// In a long run, stretches shorter than 1 / `MIN_PART` of it are skipped.
const MIN_PART: i64 = 100_000;
/// Other threads begin within this many usual calls after the stretch begins, and it ends within as many after they
/// end. That covers queues, locks and wake-ups.
const AROUND_CALLS: i64 = 60;
/// The same limit without an enclosing frame: a polling thread has gaps, too.
const AROUND_GAP_CALLS: i64 = 10;
/// Both limits are at least 1 / `AROUND_PART` of the stretch.
const AROUND_PART: i64 = 50;
/// The time before and after the others together is at most 1 / `BOTH_PART` of the stretch.
const BOTH_PART: i64 = 3;
/// Two threads take turns if one works in at least this many stretches of the other,
const MIN_TURNS: usize = 3;
/// if at most 1 / `OUT_OF_TURN_PART` of its work lies outside of them,
const OUT_OF_TURN_PART: i64 = 20;
/// and if the other works for at least 1 / `AT_WORK_PART` of the time between the first's first and last row.
const AT_WORK_PART: i64 = 5;
/// A thread that waits may itself work for at most 1 / `OWN_PART` of the frame.
const OWN_PART: i64 = 5;

struct Outermost {
    lane: u32,
    rank: u64,
    rows: Vec<Span>,
    /// It does nothing else.
    communicates: bool,
}

pub fn thread_waits(run: &Lanes, streams: &Streams) -> Vec<HostWait> {
    let hosts: Vec<Outermost> = (0..run.lanes.len())
        .filter_map(|lane| outermost(run, lane))
        .collect();
    if hosts.len() < 2 {
        return Vec::new();
    }
    let min_ns = streams.scale.calls(MIN_CALLS).max(run.wall_ns / MIN_PART);
    let mut out = Vec::new();
    for own in &hosts {
        let others: Vec<&Outermost> = hosts
            .iter()
            .filter(|other| {
                other.lane != own.lane
                    && works(run, streams, other)
                    && other.rank == own.rank
                    && may_share_work(streams, own.lane, other.lane)
            })
            .collect();
        if others.is_empty() {
            continue;
        }
        let of_own = &run.lanes[own.lane as usize];
        let polls = polls(run, of_own);
        let mut stretches = stretches(run, of_own, min_ns);
        stretches.retain(|stretch| stretch.is_gap || !polls.contains(&stretch.row));
        let others: Vec<Other<'_>> = others
            .into_iter()
            .map(|other| Other {
                rows: &other.rows,
                takes_turns: takes_turns(&stretches, &other.rows),
                communicates: other.communicates,
            })
            .collect();
        let mut of_row: BTreeMap<u64, Vec<Stretch>> = BTreeMap::new();
        for stretch in stretches {
            of_row.entry(stretch.row).or_default().push(stretch);
        }
        let frames = if others.iter().any(|other| other.communicates) {
            frames(&run.lanes[own.lane as usize].spans)
        } else {
            FastMap::default()
        };
        for (row, stretches) in &of_row {
            let whole = waits(own.lane, streams.scale, stretches, &others);
            if !whole.is_empty() {
                out.extend(whole);
                continue;
            }
            let frame = frames.get(row);
            for stretch in stretches {
                let alone = waits(own.lane, streams.scale, &[*stretch], &others);
                let collective = match frame {
                    Some(from_ns) if alone.is_empty() => {
                        collective(own.lane, streams.scale, (*from_ns, stretch), &others)
                    }
                    _ => None,
                };
                out.extend(alone);
                out.extend(collective);
            }
        }
    }
    out.sort_unstable_by_key(|wait| (wait.lane, wait.start_ns, wait.end_ns));
    out
}

/// Returns false for a thread that only polls devices, such as a watchdog: all its rows are calls and none launches
/// work. Nobody waits for it.
fn works(run: &Lanes, streams: &Streams, of: &Outermost) -> bool {
    let only_calls = |row: &Span| run.labels.get(row.label).class == Class::Call;
    let launches = streams.all.iter().any(|s| s.launchers.contains(&of.lane));
    launches || !of.rows.iter().all(only_calls)
}

/// Returns false if both lanes launch device work but never on a common stream: they belong to different programs.
fn may_share_work(streams: &Streams, lane: u32, other: u32) -> bool {
    let of = |lane: u32| streams.all.iter().any(|s| s.launchers.contains(&lane));
    let on_one = streams
        .all
        .iter()
        .any(|s| s.launchers.contains(&lane) && s.launchers.contains(&other));
    on_one || !of(lane) || !of(other)
}

/// Ids of the calls of a lane that wait for descriptors or until a time. No thread begins others by such a call.
fn polls(run: &Lanes, lane: &Lane) -> FastSet<u64> {
    let labels = run.labels.all().iter();
    let is_poll: Vec<bool> = labels
        .map(|label| label.class == Class::Call && names_a_poll(run.texts.text(label.name)))
        .collect();
    let spans = lane.spans.iter();
    let polls = spans.filter(|span| is_poll[span.label as usize]);
    polls.map(|span| span.id).collect()
}

fn outermost(run: &Lanes, lane: usize) -> Option<Outermost> {
    let of_lane = &run.lanes[lane];
    if of_lane.kind != LaneKind::Host {
        return None;
    }
    let mut rows: Vec<Span> = Vec::new();
    let mut until_ns = i64::MIN;
    for row in &of_lane.spans {
        let label = run.labels.get(row.label);
        if label.class == Class::Wait || row.dur_ns() == 0 || only_waits(label, &run.texts) {
            continue;
        }
        if row.start_ns >= until_ns {
            rows.push(*row);
            until_ns = row.end_ns;
        }
    }
    let rank = of_key(rows.first()?.id);
    Some(Outermost {
        lane: lane as u32,
        rank,
        communicates: communicates(run, &rows),
        rows,
    })
}

#[derive(Clone, Copy)]
struct Other<'r> {
    rows: &'r [Span],
    takes_turns: bool,
    communicates: bool,
}

fn communicates(run: &Lanes, rows: &[Span]) -> bool {
    let mut known: FastMap<u32, bool> = FastMap::default();
    rows.iter().all(|row| {
        let is_one = || is_communication(run.texts.text(run.labels.get(row.label).name));
        *known.entry(row.label).or_insert_with(is_one)
    })
}

/// Starts of rows with others inside, by id.
fn frames(rows: &[Span]) -> FastMap<u64, i64> {
    let pairs = rows.windows(2);
    let frames = pairs.filter(|pair| pair[1].start_ns < pair[0].end_ns);
    frames.map(|pair| (pair[0].id, pair[0].start_ns)).collect()
}

/// The wait that a stretch of a frame stands for, if a thread that only communicates has begun to in this frame, does so
/// for nearly all of the stretch and ends right before it, and the frame does little else meanwhile. `from_ns` is when
/// the frame began.
fn collective(
    lane: u32,
    scale: Scale,
    (from_ns, stretch): (i64, &Stretch),
    others: &[Other<'_>],
) -> Option<HostWait> {
    let length_ns = stretch.end_ns - stretch.start_ns;
    let around_ns = scale.calls(AROUND_CALLS).max(length_ns / AROUND_PART);
    let communicating = others.iter().filter(|other| other.communicates);
    let ended = communicating.filter_map(|other| {
        let first = other
            .rows
            .partition_point(|row| row.end_ns <= stretch.start_ns);
        let last = other
            .rows
            .partition_point(|row| row.start_ns < stretch.end_ns);
        let rows = other.rows.get(first..last)?;
        let within_ns = |row: &Span| row.end_ns - row.start_ns.max(stretch.start_ns);
        let busy_ns = rows.iter().map(within_ns).fold(0, i64::saturating_add);
        let row = rows.last()?;
        let is_until_end = row.end_ns <= stretch.end_ns && stretch.end_ns - row.end_ns <= around_ns;
        let is_most = length_ns >= (stretch.end_ns - row.start_ns) / 2;
        let is_begun_here = from_ns <= row.start_ns;
        let is_busy = busy_ns >= length_ns - length_ns / OWN_PART;
        (is_until_end && is_busy && is_most && is_begun_here).then_some(row)
    });
    let last = ended.max_by_key(|row| row.end_ns)?;
    (!stretch.is_gap).then(|| HostWait {
        lane,
        start_ns: stretch.start_ns.max(last.start_ns),
        end_ns: last.end_ns,
        waited_for: vec![last.id],
        began: vec![(stretch.row, last.id)],
        rule: Rule::Threads,
    })
}

/// Returns whether a lane works during stretches of another and hardly ever while the other works.
fn takes_turns(stretches: &[Stretch], rows: &[Span]) -> bool {
    let (Some(first), Some(last)) = (rows.first(), rows.last()) else {
        return false;
    };
    let all_ns: i64 = rows.iter().map(Span::dur_ns).fold(0, i64::saturating_add);
    let (mut turns, mut inside_ns, mut idle_ns) = (0, 0, 0);
    let mut rows = rows.iter().peekable();
    for stretch in stretches {
        let (from_ns, to_ns) = (
            stretch.start_ns.max(first.start_ns),
            stretch.end_ns.min(last.end_ns),
        );
        idle_ns += (to_ns - from_ns).max(0);
        while rows.next_if(|row| row.end_ns <= stretch.start_ns).is_some() {}
        let before_ns = inside_ns;
        while let Some(row) = rows.peek().filter(|row| row.start_ns < stretch.end_ns) {
            inside_ns += row.end_ns.min(stretch.end_ns) - row.start_ns.max(stretch.start_ns);
            if row.end_ns > stretch.end_ns {
                break;
            }
            rows.next();
        }
        turns += usize::from(inside_ns > before_ns);
    }
    let life_ns = last.end_ns - first.start_ns;
    turns >= MIN_TURNS
        && all_ns - inside_ns <= all_ns / OUT_OF_TURN_PART
        && life_ns - idle_ns >= life_ns / AT_WORK_PART
}

/// The waits that stretches of one row stand for, if other lanes explain all of them together.
fn waits(lane: u32, scale: Scale, stretches: &[Stretch], others: &[Other<'_>]) -> Vec<HostWait> {
    let (Some(first), Some(last)) = (stretches.first(), stretches.last()) else {
        return Vec::new();
    };
    let own_ns: i64 = stretches
        .iter()
        .map(|s| s.end_ns - s.start_ns)
        .fold(0, i64::saturating_add);
    let length_ns = last.end_ns - first.start_ns;
    if own_ns < length_ns - length_ns / OWN_PART {
        return Vec::new();
    }
    let mut take_turns = true;
    let inside = others.iter().filter_map(|other| {
        let rows = nested(other.rows, first.start_ns, last.end_ns)?;
        // One that did next to nothing, such as look at the device once, was not begun for that.
        let busy_ns = rows.iter().map(Span::dur_ns);
        let is_busy = busy_ns.fold(0, i64::saturating_add) >= length_ns / OWN_PART;
        take_turns &= other.takes_turns || !is_busy;
        is_busy.then_some(rows)
    });
    let nested: Vec<&[Span]> = inside.collect();
    let starts = nested.iter().map(|rows| rows[0].start_ns);
    let ends = nested.iter().map(|rows| rows[rows.len() - 1].end_ns);
    let (Some(start_ns), Some(end_ns)) = (starts.min(), ends.max()) else {
        return Vec::new();
    };
    let busy = nested
        .iter()
        .map(|rows| rows.iter().map(Span::dur_ns).fold(0, i64::saturating_add));
    let busy_ns: i64 = busy.max().unwrap_or(0);
    let around_ns = if stretches.iter().any(|stretch| stretch.is_gap) {
        scale.calls(AROUND_GAP_CALLS)
    } else {
        scale.calls(AROUND_CALLS)
    };
    let around_ns = around_ns.max(length_ns / AROUND_PART);
    let is_soon = start_ns - first.start_ns <= around_ns && last.end_ns - end_ns <= around_ns;
    let is_tight =
        (is_soon || take_turns) && length_ns - (end_ns - start_ns) <= length_ns / BOTH_PART;
    if !is_tight || 2 * busy_ns < end_ns - start_ns {
        return Vec::new();
    }
    let waits = stretches.iter().filter_map(|stretch| {
        let ended = nested.iter().filter_map(|rows| {
            let count = rows.partition_point(|row| row.end_ns <= stretch.end_ns);
            let row = &rows[count.checked_sub(1)?];
            (stretch.start_ns < row.end_ns).then_some(row)
        });
        let ended: Vec<&Span> = ended.collect();
        let end_ns = ended.iter().map(|row| row.end_ns).max()?;
        let begun = nested.iter().map(|rows| &rows[0]);
        let begun = begun.filter(|row| (stretch.start_ns..stretch.end_ns).contains(&row.start_ns));
        Some(HostWait {
            lane,
            start_ns: stretch.start_ns.max(start_ns),
            end_ns,
            waited_for: ended.iter().map(|row| row.id).collect(),
            began: begun.map(|row| (stretch.row, row.id)).collect(),
            rule: Rule::Threads,
        })
    });
    waits.filter(|wait| wait.start_ns < wait.end_ns).collect()
}

/// Rows of a lane between two times; `None` if there are none, or if the lane works beyond them, which means it
/// works on its own.
fn nested(rows: &[Span], start_ns: i64, end_ns: i64) -> Option<&[Span]> {
    let first = rows.partition_point(|row| row.end_ns <= start_ns);
    let last = rows.partition_point(|row| row.start_ns < end_ns);
    let inside = rows.get(first..last).filter(|rows| !rows.is_empty())?;
    let is_inside = start_ns <= inside[0].start_ns && inside[inside.len() - 1].end_ns <= end_ns;
    is_inside.then_some(inside)
}
