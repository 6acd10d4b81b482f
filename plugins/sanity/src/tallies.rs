//! Counts of what the checks judge: of a run, of one of its ranks, or of some.
//!
//! All of it can be merged in any grouping: sums of integers, extremes, stretches of time.

use std::collections::BTreeMap;

use trueno_plugin::{Result, Run, Table};

use crate::alike::Alike;
use crate::clock::Clock;
use crate::decode;
use crate::facts::Facts;
use crate::scan;
use crate::work::Work;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub rows: u64,
    pub negative: u64,
    /// Sum of the non-negative durations, saturating.
    pub sum_ns: u64,
    pub outside: u64,
    /// Rows that only bound their work.
    pub bound: u64,
}

impl Counts {
    pub fn merge(&mut self, other: &Self) {
        add(&mut self.rows, other.rows);
        add(&mut self.negative, other.negative);
        add(&mut self.sum_ns, other.sum_ns);
        add(&mut self.outside, other.outside);
        add(&mut self.bound, other.bound);
    }
}

/// The first row that lies outside its parent, ordered by table, then rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FirstOutside {
    pub table: usize,
    /// 0 if the run has no ranks.
    pub rank: u64,
    pub id: Option<u64>,
}

/// Rows that name a parent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Nesting {
    pub linked: u64,
    pub missing: u64,
    /// Rows whose times can be compared with their parent's.
    pub nested: u64,
    pub outside: u64,
    pub first_outside: Option<FirstOutside>,
}

impl Nesting {
    fn merge(&mut self, other: &Self) {
        add(&mut self.linked, other.linked);
        add(&mut self.missing, other.missing);
        add(&mut self.nested, other.nested);
        add(&mut self.outside, other.outside);
        let both = [self.first_outside, other.first_outside];
        self.first_outside = both.into_iter().flatten().min();
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Marked {
    pub all: u64,
    pub marked: u64,
}

impl Marked {
    pub fn merge(&mut self, other: &Self) {
        add(&mut self.all, other.all);
        add(&mut self.marked, other.marked);
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tallies {
    /// In the order of [`TABLES`](crate::rows::TABLES).
    pub tables: [Counts; 6],
    /// Rows whose id an earlier row has.
    pub twice: u64,
    pub nesting: Nesting,
    /// When recorded work ran.
    pub work: Work,
    /// `None`: no row shows when work ran.
    pub alike: Option<Alike>,
    /// Edges. Marked: those that lead to a missing row.
    pub edges: Marked,
    /// Kernels with a linked launch. Marked: those that begin before it.
    pub launches: Marked,
    /// How long before its launch a kernel began, at most.
    pub early_ns: u64,
    /// Kernels of replayed graphs. Marked: those under a brick.
    pub graph_kernels: Marked,
    /// Launches of graphs. Marked: those with kernels.
    pub graph_launches: Marked,
    /// Checksums of floating-point elements. Marked: those with NaN.
    pub checksums: Marked,
    /// Call counts of a decoder's bricks. Marked: those that differ.
    pub decode: Marked,
    pub invalid_kernels: BTreeMap<Option<String>, u64>,
    pub clock: Clock,
}

impl Tallies {
    /// Reads the inputs with rows.
    ///
    /// # Errors
    /// An input lacks a column or has it in another type.
    pub fn read(run: &mut Run, facts: &Facts) -> Result<Self> {
        let mut tallies = scan::read(run, facts)?;
        (tallies.launches, tallies.early_ns) = launches(&run.table("launches")?)?;
        tallies.graph_kernels = {
            let table = run.table("graph_kernels")?;
            Marked {
                all: sum(&table, "kernels")?,
                marked: sum(&table, "with_brick")?,
            }
        };
        tallies.graph_launches = {
            let table = run.table("graph_launches")?;
            Marked {
                all: sum(&table, "launches")?,
                marked: sum(&table, "with_work")?,
            }
        };
        tallies.checksums = Marked {
            all: sum(&run.table("checksums")?, "counted")?,
            marked: sum(&run.table("nan_checksums")?, "checksums")?,
        };
        let table = run.table("invalid_kernels")?;
        let kernels = table.i64("kernels")?.iter();
        for (reason, kernels) in table.text("reason")?.iter().zip(kernels) {
            if let Some(kernels) = kernels {
                tallies.add_invalid(reason.map(str::to_owned), count(kernels));
            }
        }
        tallies.decode = decode::read(run)?;
        tallies.clock = Clock::read(run)?;
        Ok(tallies)
    }

    pub fn merge(&mut self, other: Self) {
        for (counts, others) in self.tables.iter_mut().zip(&other.tables) {
            counts.merge(others);
        }
        add(&mut self.twice, other.twice);
        self.nesting.merge(&other.nesting);
        self.work.merge(&other.work);
        if let Some(alike) = other.alike {
            Alike::merge(&mut self.alike, alike);
        }
        self.edges.merge(&other.edges);
        self.launches.merge(&other.launches);
        self.early_ns = self.early_ns.max(other.early_ns);
        self.graph_kernels.merge(&other.graph_kernels);
        self.graph_launches.merge(&other.graph_launches);
        self.checksums.merge(&other.checksums);
        self.decode.merge(&other.decode);
        for (reason, kernels) in other.invalid_kernels {
            self.add_invalid(reason, kernels);
        }
        self.clock.merge(&other.clock);
    }

    pub fn add_invalid(&mut self, reason: Option<String>, kernels: u64) {
        add(self.invalid_kernels.entry(reason).or_default(), kernels);
    }

    pub fn rows(&self) -> u64 {
        self.sum(|counts| counts.rows)
    }

    pub fn sum(&self, of: impl Fn(&Counts) -> u64) -> u64 {
        self.tables.iter().map(of).fold(0, u64::saturating_add)
    }
}

/// Kernels with a linked launch, and how long before it one began at most.
fn launches(table: &Table) -> Result<(Marked, u64)> {
    let (call, start) = (table.i64("call_start_ns")?, table.i64("start_ns")?);
    let pairs = call.values().iter().zip(start.values());
    let early = pairs.map(|(call, start)| call.saturating_sub(*start));
    let early: Vec<i64> = early.filter(|ns| *ns > 0).collect();
    let marked = Marked {
        all: table.rows() as u64,
        marked: early.len() as u64,
    };
    Ok((marked, count(early.into_iter().max().unwrap_or(0))))
}

fn sum(table: &Table, column: &str) -> Result<u64> {
    let counts = table.i64(column)?.values().iter();
    Ok(counts.map(|&rows| count(rows)).fold(0, u64::saturating_add))
}

/// A count from SQL; negative values become 0.
fn count(rows: i64) -> u64 {
    u64::try_from(rows).unwrap_or(0)
}

/// Saturating.
fn add(to: &mut u64, more: u64) {
    *to = to.saturating_add(more);
}
