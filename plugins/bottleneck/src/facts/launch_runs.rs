//! Launches in a row that one graph can hold.

use std::collections::BTreeMap;

use trueno_analysis::vendors::takes_or_returns_memory;
use trueno_plugin::{Result, Run, rank};

use super::{Bricks, Device, Gap, Window};

/// Launches on a device, with no wait, blocking copy, call for memory or loading of input between them.
struct LaunchRun {
    /// When the first call began.
    first_ns: i64,
    /// When the last call began.
    last_ns: i64,
    launches: u64,
}

#[derive(Debug, Default)]
pub struct LaunchRuns {
    /// By rank, sorted: times of what a graph cannot hold (CUDA C++ Programming Guide, CUDA graphs, "prohibited and unhandled
    /// operations"), and of loading, which is no call of a device.
    barriers: BTreeMap<i64, Vec<(i64, i64)>>,
}

impl LaunchRuns {
    /// Reads input `memory_calls`.
    ///
    /// # Errors
    /// The input lacks a column or has it in another type.
    pub fn load(run: &mut Run, window: &Window, device: &Device, bricks: &Bricks) -> Result<Self> {
        let mut out = Self::default();
        let table = run.table("memory_calls")?;
        let (name, thread) = (table.text("name")?, table.i64("thread")?);
        let (start, dur) = (table.i64("start_ns")?, table.i64("dur_ns")?);
        for row in 0..table.rows() {
            let takes = name.get(row).is_some_and(takes_or_returns_memory);
            if let (true, Some(times)) = (takes, window.row(start.get(row), dur.get(row))) {
                let rank = rank::of_place(thread.get(row).unwrap_or(0)).0;
                out.add(rank, times);
            }
        }
        let of_key = |id: u64| rank::of_key(id) as i64;
        for wait in device.waits.iter().filter(|wait| wait.may_be_for_device()) {
            out.add(of_key(wait.id), (wait.start_ns, wait.end_ns));
        }
        for work in device.work.iter().filter(|work| work.blocks()) {
            if let Some(call) = work.launch {
                out.add(of_key(work.id), call);
            }
        }
        for load in &bricks.loaders {
            out.add(load.rank, load.range);
        }
        for times in out.barriers.values_mut() {
            times.sort_unstable();
        }
        Ok(out)
    }

    fn add(&mut self, rank: i64, times: (i64, i64)) {
        self.barriers.entry(rank).or_default().push(times);
    }

    fn runs(&self, device: &Device, number: i64) -> Vec<LaunchRun> {
        let rank = rank::of_place(number).0;
        let barriers = self.barriers.get(&rank).map_or(&[][..], Vec::as_slice);
        // A call that began before and ended after is of another thread.
        let is_between = |from_ns: i64, until_ns: i64| {
            let first = barriers.partition_point(|times| times.0 < from_ns);
            let began = barriers[first..].iter();
            let mut began = began.take_while(|times| times.0 < until_ns);
            began.any(|times| times.1 <= until_ns)
        };
        let work = device.of(Some(number));
        let launches = work.filter_map(|work| Some((work.launch?, work.blocks())));
        let mut launches: Vec<((i64, i64), bool)> = launches.collect();
        launches.sort_unstable();
        // Nodes of one graph have one launch.
        launches.dedup_by_key(|launch| launch.0);
        let mut out: Vec<LaunchRun> = Vec::new();
        for ((called_ns, _), blocks) in launches {
            match out.last_mut() {
                Some(run) if !blocks && !is_between(run.last_ns, called_ns) => {
                    run.last_ns = called_ns;
                    run.launches += 1;
                }
                _ => out.push(LaunchRun {
                    first_ns: called_ns,
                    last_ns: called_ns,
                    launches: 1,
                }),
            }
        }
        out
    }

    /// The gaps of a device that a graph of at least `min_launches` could close: the work after the gap is not the first of
    /// such a graph.
    pub fn spanned<'g>(
        &self,
        device: &Device,
        number: i64,
        min_launches: u64,
        gaps: &[&'g Gap],
    ) -> Vec<&'g Gap> {
        if gaps.is_empty() {
            return Vec::new();
        }
        let runs = self.runs(device, number);
        let mut called_ns: BTreeMap<(u64, bool), Option<i64>> = BTreeMap::new();
        for gap in gaps {
            called_ns.insert((gap.next, gap.next_is_copy), None);
        }
        for work in device.of(Some(number)) {
            if let Some(called_ns) = called_ns.get_mut(&(work.id, !work.is_kernel())) {
                *called_ns = work.launch.map(|call| call.0);
            }
        }
        let is_spanned = |gap: &&&Gap| {
            let called_ns = called_ns.get(&(gap.next, gap.next_is_copy));
            let Some(called_ns) = called_ns.copied().flatten() else {
                return false;
            };
            let after = runs.partition_point(|run| run.first_ns < called_ns);
            let run = after.checked_sub(1).and_then(|at| runs.get(at));
            run.is_some_and(|run| called_ns <= run.last_ns && run.launches >= min_launches)
        };
        gaps.iter().filter(is_spanned).copied().collect()
    }
}
