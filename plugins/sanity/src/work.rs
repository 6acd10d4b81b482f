//! Times in which recorded work was running.
//!
//! The covered time of a rank is added up over ranks. Holes in the run are those that all ranks have in
//! common: each rank keeps the blocks of work between its holes, which are few, for a hole is long.

use trueno_analysis::intervals::{IntervalSet, IntervalSetBuilder};

/// A gap without work this long suggests times of two clocks.
const HOLE_NS: i64 = 600_000_000_000;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// False if no row shows when work ran.
    pub is_told: bool,
    /// Time in which work ran on any lane of a rank, summed over ranks.
    pub covered_ns: u64,
    /// Periods without a hole, sorted and disjoint.
    blocks: Vec<(i64, i64)>,
}

impl Work {
    /// Without blocks, which are added later.
    pub fn covering(is_told: bool, covered_ns: u64) -> Self {
        Self {
            is_told,
            covered_ns,
            blocks: Vec::new(),
        }
    }

    pub fn add_blocks(&mut self, more: impl IntoIterator<Item = (i64, i64)>) {
        let all: IntervalSet<i64> = self.blocks.drain(..).chain(more).collect();
        for &(from, to) in all.ranges() {
            match self.blocks.last_mut() {
                Some(last) if from.saturating_sub(last.1) < HOLE_NS => last.1 = to,
                _ => self.blocks.push((from, to)),
            }
        }
    }

    pub fn merge(&mut self, other: &Self) {
        self.is_told |= other.is_told;
        self.covered_ns = self.covered_ns.saturating_add(other.covered_ns);
        if !other.blocks.is_empty() {
            self.add_blocks(other.blocks.iter().copied());
        }
    }

    pub fn blocks(&self) -> &[(i64, i64)] {
        &self.blocks
    }

    /// Periods of at least ten minutes in `[0, wall_ns)` in which no recorded work ran on any rank.
    pub fn holes(&self, wall_ns: i64) -> Vec<(i64, i64)> {
        let ends = [0]
            .into_iter()
            .chain(self.blocks.iter().map(|block| block.1));
        let starts = self.blocks.iter().map(|block| block.0).chain([wall_ns]);
        let holes = ends.zip(starts.map(|start| start.min(wall_ns)));
        let holes = holes.map(|(from, to)| (from.max(0), to));
        holes
            .filter(|(from, to)| to.saturating_sub(*from) >= HOLE_NS)
            .collect()
    }
}

#[derive(Default)]
pub struct WorkBuilder {
    is_told: bool,
    ranks: Vec<(u64, IntervalSetBuilder<i64>)>,
    last: usize,
}

impl WorkBuilder {
    #[inline]
    pub fn add(&mut self, rank: u64, from_ns: i64, to_ns: i64) {
        self.is_told = true;
        if self.ranks.get(self.last).is_none_or(|of| of.0 != rank) {
            self.last = self.place(rank);
        }
        self.ranks[self.last].1.add(from_ns, to_ns);
    }

    #[cold]
    fn place(&mut self, rank: u64) -> usize {
        match self.ranks.binary_search_by_key(&rank, |of| of.0) {
            Ok(at) => at,
            Err(at) => {
                self.ranks.insert(at, (rank, IntervalSetBuilder::default()));
                at
            }
        }
    }

    /// Merges what was added. Further rows that lie within it then take no memory.
    pub fn seal(&mut self) {
        self.ranks
            .iter_mut()
            .for_each(|(_, builder)| builder.seal());
    }

    pub fn finish(self) -> Work {
        let mut work = Work::covering(self.is_told, 0);
        for (_, builder) in self.ranks {
            let set = builder.finish();
            let covered_ns = u64::try_from(set.total_ns()).unwrap_or(0);
            work.covered_ns = work.covered_ns.saturating_add(covered_ns);
            work.add_blocks(set.ranges().iter().copied());
        }
        work
    }
}
