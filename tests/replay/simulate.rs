//! The replay: hosts that launch and wait, streams that do one thing after the other.
//!
//! Threads that launch to one stream are one host with one clock, which only waits move. Work begins when its launch
//! has arrived and the work before it on its stream has ended. What both do not explain of the time before a start
//! stays as it was measured.

use std::collections::BTreeMap;

use crate::replay::recorded::{Call, Recorded, Target, Work};

/// Work that began this long after its stream became idle, and at most [`NEXT_NS`] after work of another stream
/// ended, waited for that work.
const IDLE_NS: i64 = 20_000;
const NEXT_NS: i64 = 10_000;
/// A wait returns at most this long after its target ended, or within a tenth of its own length.
const WAKE_NS: i64 = 50_000;
/// Shorter waits without a target are ignored.
const MIN_WAIT_NS: i64 = 10_000;
/// Minimum capacity of a stream's queue, in launches.
const MIN_QUEUE: usize = 64;
/// At most one in this many launches may differ from a pattern.
const UNFIT_PART: usize = 5;

type StreamKey = (i64, Option<i64>);

fn stream(work: &Work) -> StreamKey {
    (work.device, work.stream)
}

/// Shifts of a host's clock in the replay: measured time from which on a shift applies, and the shift.
#[derive(Default)]
struct Clock(Vec<(i64, i64)>);

impl Clock {
    fn moved_ns(&self, at_ns: i64) -> i64 {
        let before = self.0.iter().rev().find(|moved| moved.0 <= at_ns);
        before.map_or(0, |moved| moved.1)
    }
}

struct Replay<'r> {
    run: &'r Recorded,
    scale: f64,
    host_of: BTreeMap<i64, i64>,
    clocks: BTreeMap<i64, Clock>,
    /// New end of each replayed piece of work.
    ends_ns: Vec<Option<i64>>,
    /// By stream: shortest time from call to start, and from the end of the previous work to the start.
    shortest: BTreeMap<StreamKey, (i64, i64)>,
    /// By piece of work: the previous one on its stream.
    before: Vec<Option<usize>>,
}

/// End of the run if kernels take `scale` times as long.
pub fn end_ns(run: &Recorded, scale: f64) -> i64 {
    let mut replay = Replay::new(run, scale);
    let mut steps: Vec<(i64, u8, usize)> = Vec::new();
    for (at, work) in run.work.iter().enumerate() {
        let called_ns = replay.called_ns(work).unwrap_or(work.start_ns);
        steps.push((work.start_ns.max(called_ns), 1, at));
    }
    let waits = replay.waits();
    for (at, (wait, _)) in waits.iter().enumerate() {
        // A launch right after a wait comes after it.
        steps.push((wait.end_ns, 0, at));
    }
    steps.sort();
    for (_, kind, at) in steps {
        match kind {
            0 => replay.wait(&waits[at].0, &waits[at].1),
            _ => replay.work(at),
        }
    }
    replay.last_ns()
}

impl<'r> Replay<'r> {
    fn new(run: &'r Recorded, scale: f64) -> Self {
        let mut host_of: BTreeMap<i64, i64> = BTreeMap::new();
        let mut of_stream: BTreeMap<StreamKey, i64> = BTreeMap::new();
        for work in &run.work {
            let Some(call) = work.call else { continue };
            let thread = run.calls[call].thread;
            let own = *host_of.entry(thread).or_insert(thread);
            let other = *of_stream.entry(stream(work)).or_insert(own);
            let (from, to) = (
                host_of[&thread],
                host_of.get(&other).copied().unwrap_or(other),
            );
            host_of
                .values_mut()
                .filter(|host| **host == from)
                .for_each(|host| *host = to);
        }
        let before = (0..run.work.len()).map(|at| {
            // Work of a stream may overlap in what is recorded: the last to end of those before.
            let own = |before: &usize| stream(&run.work[*before]) == stream(&run.work[at]);
            let of_stream = (0..at).rev().filter(own).take(8);
            of_stream.max_by_key(|before| run.work[*before].end_ns)
        });
        let mut out = Self {
            run,
            scale,
            host_of,
            clocks: BTreeMap::new(),
            ends_ns: vec![None; run.work.len()],
            shortest: BTreeMap::new(),
            before: before.collect(),
        };
        out.measure();
        out
    }

    fn called_ns(&self, work: &Work) -> Option<i64> {
        work.call.map(|call| self.run.calls[call].start_ns)
    }

    fn measure(&mut self) {
        let mut shortest: BTreeMap<StreamKey, (Vec<i64>, Vec<i64>)> = BTreeMap::new();
        for (at, work) in self.run.work.iter().enumerate() {
            let Some(called_ns) = self.called_ns(work) else {
                continue;
            };
            let of = shortest.entry(stream(work)).or_default();
            match self.before[at].map(|before| self.run.work[before].end_ns) {
                Some(end_ns) if end_ns > called_ns + WAKE_NS => of.1.push(work.start_ns - end_ns),
                Some(end_ns) if end_ns > called_ns => {}
                _ => of.0.push(work.start_ns - called_ns),
            }
        }
        let least = |times: &[i64]| times.iter().min().map_or(0, |ns| *ns.max(&0));
        self.shortest = shortest
            .into_iter()
            .map(|(key, (launch, next))| (key, (least(&launch), least(&next))))
            .collect();
    }

    fn host(&self, call: &Call) -> Option<i64> {
        self.host_of.get(&call.thread).copied()
    }

    fn new_ns(&self, host: i64, at_ns: i64) -> i64 {
        at_ns
            + self
                .clocks
                .get(&host)
                .map_or(0, |clock| clock.moved_ns(at_ns))
    }

    fn work(&mut self, at: usize) {
        let work = &self.run.work[at];
        let (launch_ns, next_ns) = self
            .shortest
            .get(&stream(work))
            .copied()
            .unwrap_or_default();
        // Measured and new time from which it might have begun.
        let mut from: Vec<(i64, i64)> = Vec::new();
        if let Some(call) = work.call.map(|call| &self.run.calls[call])
            && let Some(host) = self.host(call)
        {
            from.push((
                call.start_ns + launch_ns,
                self.new_ns(host, call.start_ns) + launch_ns,
            ));
        }
        if let Some(before) = self.before[at] {
            let end_ns = self.run.work[before].end_ns;
            from.push((
                end_ns + next_ns,
                self.ends_ns[before].unwrap_or(end_ns) + next_ns,
            ));
        } else if work.call.is_none() {
            from.push((work.start_ns, work.start_ns));
        }
        let ready_ns = from
            .iter()
            .map(|from| from.0)
            .max()
            .unwrap_or(work.start_ns);
        if work.start_ns - ready_ns >= IDLE_NS
            && let Some(other) = self.other_stream(work, ready_ns)
        {
            let end_ns = self.run.work[other].end_ns;
            from.push((end_ns, self.ends_ns[other].unwrap_or(end_ns)));
        }
        let ready_ns = from.iter().map(|from| from.0.min(work.start_ns)).max();
        let left_ns = work.start_ns - ready_ns.unwrap_or(work.start_ns);
        let start_ns = from
            .iter()
            .map(|from| from.1 - (from.0 - work.start_ns).max(0))
            .max();
        let start_ns = start_ns.unwrap_or(work.start_ns) + left_ns;
        let dur_ns = (work.end_ns - work.start_ns) as f64;
        let dur_ns = if work.is_kernel {
            dur_ns * self.scale
        } else {
            dur_ns
        };
        self.ends_ns[at] = Some(start_ns + dur_ns as i64);
    }

    /// Work of another stream on the device that ended just before this one began.
    fn other_stream(&self, work: &Work, ready_ns: i64) -> Option<usize> {
        let others = self.run.work.iter().enumerate().filter(|(_, other)| {
            let ended_ns = work.start_ns - other.end_ns;
            other.device == work.device
                && stream(other) != stream(work)
                && (0..=NEXT_NS.max((work.start_ns - ready_ns) / 10)).contains(&ended_ns)
                && other.end_ns > ready_ns
        });
        others
            .max_by_key(|(_, other)| other.end_ns)
            .map(|(at, _)| at)
    }

    /// Intervals in which a host waited: recorded waits, blocking copies, and the time before launches that
    /// always follow shortly after the device has drained.
    fn waits(&self) -> Vec<(Call, Vec<usize>)> {
        let mut out = Vec::new();
        for (wait, target) in &self.run.waits {
            if self.host(wait).is_some() {
                out.push((copy(wait), self.waited_for(wait, *target)));
            }
        }
        for (at, work) in self
            .run
            .work
            .iter()
            .enumerate()
            .filter(|(_, work)| work.blocks)
        {
            let Some(call) = work.call.map(|call| &self.run.calls[call]) else {
                continue;
            };
            let staged_ns = WAKE_NS.max((work.end_ns - work.start_ns) / 10);
            let is_inside = (call.start_ns..call.end_ns).contains(&work.start_ns);
            if is_inside && work.end_ns - call.end_ns <= staged_ns {
                out.push((copy(call), vec![at]));
            }
        }
        out.extend(self.drained());
        out.extend(self.full_queues());
        out
    }

    fn waited_for(&self, wait: &Call, target: Target) -> Vec<usize> {
        let was_launched = |work: &Work| match self.called_ns(work) {
            Some(called_ns) => called_ns < wait.start_ns && work.start_ns < wait.end_ns,
            None => work.is_before_window || work.start_ns < wait.start_ns,
        };
        let is_target = |work: &Work| match target {
            Target::Device(device) => device.is_none_or(|device| device == work.device),
            Target::Stream(device, stream) => {
                work.stream == Some(stream) && device.is_none_or(|device| device == work.device)
            }
            Target::Unknown => true,
        };
        let length_ns = wait.end_ns - wait.start_ns;
        let all = self.run.work.iter().enumerate();
        let all = all.filter(|(_, work)| was_launched(work) && is_target(work));
        if target != Target::Unknown {
            return all.map(|(at, _)| at).collect();
        }
        let soon_ns = WAKE_NS.max(length_ns / 10);
        let last = all.filter(|(_, work)| {
            length_ns > MIN_WAIT_NS
                && work.end_ns > wait.start_ns
                && (0..=soon_ns).contains(&(wait.end_ns - work.end_ns))
        });
        last.max_by_key(|(_, work)| work.end_ns)
            .map(|(at, _)| at)
            .into_iter()
            .collect()
    }

    /// Long launches that returned while their stream's queue was within 5 % of its largest size.
    fn full_queues(&self) -> Vec<(Call, Vec<usize>)> {
        let mut long: Vec<(StreamKey, usize, Call, usize)> = Vec::new();
        for (at, work) in self.run.work.iter().enumerate() {
            let Some(call) = work.call.map(|call| &self.run.calls[call]) else {
                continue;
            };
            if call.end_ns - call.start_ns < IDLE_NS || work.start_ns < call.end_ns {
                continue;
            }
            let own = self.run.work[..at].iter().enumerate();
            let own = own.filter(|(_, other)| stream(other) == stream(work));
            let ended = own.clone().filter(|(_, other)| other.end_ns <= call.end_ns);
            if let Some((last, _)) = ended.clone().max_by_key(|(_, other)| other.end_ns) {
                let queued = own.count() - ended.count();
                long.push((stream(work), queued, copy(call), last));
            }
        }
        let most = |key: StreamKey| {
            let queued = long.iter().filter(|of| of.0 == key).map(|of| of.1);
            queued.max().unwrap_or(0)
        };
        let is_full = |of: &&(StreamKey, usize, Call, usize)| {
            of.1 >= MIN_QUEUE && 20 * (most(of.0) - of.1) <= most(of.0)
        };
        let full = long.iter().filter(is_full);
        full.map(|of| (copy(&of.2), vec![of.3])).collect()
    }

    fn drained(&self) -> Vec<(Call, Vec<usize>)> {
        let mut out = Vec::new();
        let mut hosts: Vec<i64> = self.host_of.values().copied().collect();
        hosts.sort_unstable();
        hosts.dedup();
        for host in hosts {
            let mut launched: Vec<usize> = (0..self.run.work.len())
                .filter(|&at| {
                    let call = self.run.work[at].call.map(|call| &self.run.calls[call]);
                    call.and_then(|call| self.host(call)) == Some(host)
                })
                .collect();
            launched.sort_by_key(|&at| self.called_ns(&self.run.work[at]));
            let (mut found, mut last, mut free_ns) = (Vec::new(), None::<usize>, 0);
            for &at in &launched {
                let work = &self.run.work[at];
                let Some(call) = work.call.map(|call| &self.run.calls[call]) else {
                    continue;
                };
                if let Some(before) = last {
                    let end_ns = self.run.work[before].end_ns;
                    if free_ns < end_ns && (0..IDLE_NS).contains(&(call.start_ns - end_ns)) {
                        let wait = Call {
                            thread: call.thread,
                            start_ns: free_ns,
                            end_ns,
                        };
                        found.push((wait, vec![before]));
                    }
                }
                free_ns = call.end_ns;
                if last.is_none_or(|before| self.run.work[before].end_ns < work.end_ns) {
                    last = Some(at);
                }
            }
            if self.run.waits.is_empty()
                && found.len() >= 8
                && UNFIT_PART * (launched.len() - 1 - found.len()) <= launched.len()
            {
                out.extend(found);
            }
        }
        out
    }

    fn wait(&mut self, wait: &Call, waited_for: &[usize]) {
        let Some(host) = self.host(wait) else { return };
        let ended = waited_for.iter().map(|&at| {
            let end_ns = self.run.work[at].end_ns;
            // Clocks differ: what ended after the wait, let it go when it ended.
            let late_ns = (end_ns - wait.end_ns).max(0);
            let new_ns = self.ends_ns[at].unwrap_or(end_ns);
            (end_ns - late_ns, new_ns - late_ns)
        });
        let ended: Vec<(i64, i64)> = ended.collect();
        let Some(last_ns) = ended
            .iter()
            .map(|end| end.0)
            .max()
            .filter(|ns| *ns > wait.start_ns)
        else {
            return; // held up by nothing
        };
        let start_ns = self.new_ns(host, wait.start_ns);
        let new_ns = ended
            .iter()
            .map(|end| end.1)
            .max()
            .unwrap_or(start_ns)
            .max(start_ns);
        let end_ns = new_ns + wait.end_ns - last_ns;
        let clock = self.clocks.entry(host).or_default();
        clock.0.push((wait.end_ns, end_ns - wait.end_ns));
        clock.0.sort_by_key(|moved| moved.0);
    }

    fn last_ns(&self) -> i64 {
        let hosts = self.run.ends.iter().filter_map(|(thread, end_ns)| {
            let host = self.host_of.get(thread)?;
            Some(self.new_ns(*host, *end_ns))
        });
        let work = self.ends_ns.iter().flatten().copied();
        hosts.chain(work).max().unwrap_or(0)
    }
}

fn copy(call: &Call) -> Call {
    Call {
        thread: call.thread,
        start_ns: call.start_ns,
        end_ns: call.end_ns,
    }
}
