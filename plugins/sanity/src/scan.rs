//! One pass over all rows with times.
//!
//! Rows are recorded when they end, so a row comes after those that lie in it: rows are kept until all
//! tables but `kernels` are read. Kernels, of which there are most, come last and are not kept, for
//! the rows that they lie in are known by then; only where a row names a parent that is in none of
//! the other tables, kernels are kept too.

use trueno_analysis::id_index::IdIndex;
use trueno_analysis::intervals::IntervalSetBuilder;
use trueno_plugin::{Result, Run};

use crate::facts::Facts;
use crate::rows::{Columns, Row, TABLES, Threads};

const BRICKS: usize = 0;
const KERNELS: usize = 1;
const WAITS: usize = 3;
/// Order of reading, by number among [`TABLES`].
const ORDER: [usize; 6] = [BRICKS, 2, WAITS, 4, 5, KERNELS];

/// Counts of one table.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// Rows.
    pub rows: u64,
    /// Durations below 0.
    pub negative: u64,
    /// Sum of the durations that are not below 0.
    pub sum_ns: i128,
    /// Rows that begin before the run or end after it.
    pub outside: u64,
    /// Rows that only bound their work.
    pub bound: u64,
}

/// Rows that name the row that they lie in.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nesting {
    /// All of them.
    pub linked: u64,
    /// Those whose parent is not in the run.
    pub missing: u64,
    /// Those of which it is clear whether they lie in their parent.
    pub nested: u64,
    /// Those that do not.
    pub outside: u64,
    /// Number of the table of the first of these, and its id.
    pub first_outside: Option<(usize, u64)>,
}

/// All that the checks need of the rows.
#[derive(Default)]
pub struct Scan {
    /// By number among [`TABLES`].
    pub tables: [Counts; 6],
    /// Rows whose id another row has that was read before.
    pub twice: u64,
    /// Links to parents.
    pub nesting: Nesting,
    /// Numbers of rows by id.
    pub ids: IdIndex<u32>,
    /// Time in which recorded work was running on any lane; `None`: no row tells.
    pub covered_ns: Option<i64>,
    /// Stretches of the run, each of at least ten minutes, in which no recorded work was running.
    pub holes: Vec<(i64, i64)>,
}

impl Scan {
    /// Reads all tables.
    ///
    /// # Errors
    /// An input lacks a column or has it in another type.
    pub fn read(run: &mut Run, facts: &Facts) -> Result<Self> {
        let mut scanner = Scanner::default();
        for table in ORDER {
            if table == KERNELS {
                scanner.settle_kept();
            }
            scanner.table(run, facts, table)?;
            run.check_cancelled()?;
        }
        Ok(scanner.finish(facts.wall_ns))
    }

    /// Rows of all tables.
    pub fn rows(&self) -> u64 {
        self.tables.iter().map(|table| table.rows).sum()
    }
}

/// A row whose parent was not found when it was looked for.
struct Unsettled {
    table: usize,
    number: u32,
    row: Row,
}

#[derive(Default)]
struct Scanner {
    out: Scan,
    threads: Threads,
    /// By number of the row.
    kept: Vec<Row>,
    /// Number of the first row of each table, in the order of reading.
    firsts: Vec<u32>,
    unsettled: Vec<Unsettled>,
    /// Rows whose id was there before, with it.
    twice: Vec<(u32, u64)>,
    next: u32,
    /// Table and number of the first row that does not lie in its parent.
    first_outside: Option<(usize, u32)>,
    work: IntervalSetBuilder<i64>,
    tells_of_work: bool,
}

impl Scanner {
    fn table(&mut self, run: &mut Run, facts: &Facts, table: usize) -> Result<()> {
        let end_ns = facts.wall_ns.filter(|_| facts.wall_is_recorded);
        let end_ns = end_ns.unwrap_or(i64::MAX);
        let is_kept = table != KERNELS || !self.unsettled.is_empty();
        self.firsts.push(self.next);
        let mut counts = Counts::default();
        let mut batches = run.batches(TABLES[table])?;
        while let Some(batch) = batches.next_batch()? {
            let columns = Columns::read(&batch)?;
            for at in 0..batch.rows() {
                let row = columns.row(at, &mut self.threads);
                let (number, id) = (self.next, columns.id.get(at).unwrap_or(0));
                self.next += 1;
                counts.rows += 1;
                counts.negative += u64::from(row.dur_ns < 0);
                counts.sum_ns += i128::from(row.dur_ns.max(0));
                let has_no_end = row.start_ns.checked_add(row.dur_ns).is_none();
                let is_outside = row.start_ns < 0 || has_no_end || row.end_ns() > end_ns;
                counts.outside += u64::from(is_outside);
                counts.bound += u64::from(columns.is_bound(at));
                if !self.out.ids.insert_first(id, number) {
                    self.twice.push((number, id));
                }
                if table != WAITS && row.dur_ns >= 0 && columns.is_work(at) {
                    self.tells_of_work = true;
                    self.work.add(row.start_ns, row.end_ns());
                }
                if is_kept {
                    self.kept.push(row);
                }
                if table == KERNELS && row.parent().is_some() {
                    self.settle(Unsettled { table, number, row });
                }
            }
        }
        self.out.tables[table] = counts;
        Ok(())
    }

    /// Looks for the parents of the rows of all tables before kernels.
    fn settle_kept(&mut self) {
        self.work.seal();
        let ends = self.firsts[1..].iter().copied().chain([self.next]);
        let tables: Vec<_> = ORDER
            .into_iter()
            .zip(self.firsts.iter().copied().zip(ends))
            .collect();
        for (table, (first, end)) in tables {
            for number in first..end {
                let row = self.kept[number as usize];
                if row.parent().is_some() {
                    self.settle(Unsettled { table, number, row });
                }
            }
        }
    }

    /// Compares a row with its parent, or puts it off when that is not known yet.
    #[inline]
    fn settle(&mut self, link: Unsettled) {
        let parent = link
            .row
            .parent()
            .and_then(|parent| self.out.ids.get(parent));
        match parent.and_then(|number| self.kept.get(number as usize)) {
            Some(&around) => {
                self.out.nesting.linked += 1;
                self.compare(&link, &around);
            }
            None => self.unsettled.push(link),
        }
    }

    #[inline]
    fn compare(&mut self, link: &Unsettled, around: &Row) {
        if !link.row.is_comparable(around) {
            return;
        }
        self.out.nesting.nested += 1;
        if !link.row.lies_in(around, link.table == BRICKS) {
            self.out.nesting.outside += 1;
            let place = (link.table, link.number);
            let first = self.first_outside.get_or_insert(place);
            *first = place.min(*first);
        }
    }

    fn finish(mut self, wall_ns: Option<i64>) -> Scan {
        for link in std::mem::take(&mut self.unsettled) {
            self.out.nesting.linked += 1;
            let parent = link
                .row
                .parent()
                .and_then(|parent| self.out.ids.get(parent));
            match parent.map(|number| self.kept.get(number as usize).copied()) {
                None => self.out.nesting.missing += 1,
                Some(Some(around)) => self.compare(&link, &around),
                // A kernel in a kernel, which says nothing of host threads.
                Some(None) => {}
            }
        }
        self.out.nesting.first_outside = self.first_outside.and_then(|(table, number)| {
            let twice = self.twice.iter().find(|(other, _)| *other == number);
            let id = twice
                .map(|(_, id)| *id)
                .or_else(|| self.out.ids.id_of(number));
            Some((table, id?))
        });
        self.out.twice = self.twice.len() as u64;
        let covered = self.work.finish();
        self.out.covered_ns = self.tells_of_work.then_some(covered.total_ns());
        if let Some(wall_ns) = wall_ns.filter(|_| self.tells_of_work) {
            self.out.holes = holes(covered.ranges(), wall_ns);
        }
        self.out
    }
}

/// Shortest time without work that may lie between times of two clocks.
const HOLE_NS: i64 = 600_000_000_000;

/// Stretches of `[0, wall_ns)`, of at least [`HOLE_NS`], outside sorted, disjoint ranges.
fn holes(ranges: &[(i64, i64)], wall_ns: i64) -> Vec<(i64, i64)> {
    let ends = [0].into_iter().chain(ranges.iter().map(|range| range.1));
    let starts = ranges.iter().map(|range| range.0).chain([wall_ns]);
    let holes = ends.zip(starts.map(|start| start.min(wall_ns)));
    let holes = holes.map(|(from, to)| (from.max(0), to));
    holes
        .filter(|(from, to)| to.saturating_sub(*from) >= HOLE_NS)
        .collect()
}
