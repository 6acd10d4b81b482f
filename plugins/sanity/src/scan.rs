//! One pass over all rows with times.
//!
//! Rows are recorded when they end, so a row comes after those that lie in it: rows are kept until all
//! tables but `kernels` are read. Kernels, of which there are most, come last and are not kept, for
//! the rows that they lie in are known by then; only where a row names a parent that is in none of
//! the other tables, kernels are kept too.

use trueno_analysis::id_index::IdIndex;
use trueno_plugin::{Result, Run, Table, rank};

use crate::alike::Alike;
use crate::facts::Facts;
use crate::rows::{Columns, Row, TABLES, Threads};
use crate::tallies::{Counts, FirstOutside, Marked, Tallies};
use crate::work::WorkBuilder;

const BRICKS: usize = 0;
const KERNELS: usize = 1;
const WAITS: usize = 3;
/// Order of reading, as indices into [`TABLES`].
const ORDER: [usize; 6] = [BRICKS, 2, WAITS, 4, 5, KERNELS];

/// Reads all tables, and edges.
///
/// # Errors
/// An input lacks a column or has it in another type.
pub fn read(run: &mut Run, facts: &Facts) -> Result<Tallies> {
    let mut scanner = Scanner {
        has_ranks: facts.ranks.is_some(),
        ..Scanner::default()
    };
    for table in ORDER {
        if table == KERNELS {
            scanner.settle_kept();
        }
        scanner.table(run, facts, table)?;
        run.check_cancelled()?;
    }
    scanner.edges(&run.table("edges")?)?;
    Ok(scanner.finish())
}

/// A row whose parent had not been read yet.
struct Unsettled {
    table: usize,
    number: u32,
    row: Row,
}

#[derive(Default)]
struct Scanner {
    out: Tallies,
    has_ranks: bool,
    ids: IdIndex<u32>,
    threads: Threads,
    kept: Vec<Row>,
    /// Number of the first row of each table, in the order of reading.
    firsts: Vec<u32>,
    unsettled: Vec<Unsettled>,
    /// Rows whose id an earlier row has, with the id.
    twice: Vec<(u32, u64)>,
    next: u32,
    /// Table, rank and number of the first row that lies outside its parent.
    first_outside: Option<(usize, u64, u32)>,
    work: WorkBuilder,
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
                let (number, id) = (self.next, columns.id.get(at));
                self.next += 1;
                counts.rows += 1;
                counts.negative += u64::from(row.dur_ns < 0);
                let dur_ns = u64::try_from(row.dur_ns).unwrap_or(0);
                counts.sum_ns = counts.sum_ns.saturating_add(dur_ns);
                let has_no_end = row.start_ns.checked_add(row.dur_ns).is_none();
                let is_outside = row.start_ns < 0 || has_no_end || row.end_ns() > end_ns;
                counts.outside += u64::from(is_outside);
                counts.bound += u64::from(columns.is_bound(at) && !columns.is_open(at));
                if let Some(id) = id
                    && !self.ids.insert_first(id, number)
                {
                    self.twice.push((number, id));
                }
                if table != WAITS && row.dur_ns >= 0 && columns.is_work(at) {
                    let rank = self.rank(id.unwrap_or(0));
                    self.work.add(rank, row.start_ns, row.end_ns());
                    let alike = Alike::of_row(row.start_ns, row.dur_ns);
                    Alike::merge(&mut self.out.alike, alike);
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

    /// Looks up the parents of the rows that were read before the kernels.
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

    /// The rank of the row with this id; 0 if the run has no ranks.
    #[inline]
    fn rank(&self, id: u64) -> u64 {
        if self.has_ranks { rank::of_key(id) } else { 0 }
    }

    /// Compares a row with its parent, or puts it off if the parent has not been read yet.
    #[inline]
    fn settle(&mut self, link: Unsettled) {
        let parent = link.row.parent().and_then(|parent| self.ids.get(parent));
        match parent.and_then(|number| Some((number, *self.kept.get(number as usize)?))) {
            Some((number, around)) => {
                self.out.nesting.linked += 1;
                self.compare(&link, number, &around);
            }
            None => self.unsettled.push(link),
        }
    }

    #[inline]
    fn compare(&mut self, link: &Unsettled, parent: u32, around: &Row) {
        // Kernels are read last. One in another says nothing of host threads, and whether they are kept
        // hangs on other rows.
        let is_in_kernel =
            link.table == KERNELS && self.firsts.last().is_some_and(|first| *first <= parent);
        if is_in_kernel || !link.row.is_comparable(around) {
            return;
        }
        self.out.nesting.nested += 1;
        if !link.row.lies_in(around, link.table == BRICKS) {
            self.out.nesting.outside += 1;
            let rank = self.rank(link.row.parent().unwrap_or(0));
            let place = (link.table, rank, link.number);
            let first = self.first_outside.get_or_insert(place);
            *first = place.min(*first);
        }
    }

    fn edges(&mut self, table: &Table) -> Result<()> {
        let (from, to) = (table.u64("from_id")?, table.u64("to_id")?);
        let is_nowhere = |id: Option<u64>| id.is_none_or(|id| self.ids.get(id).is_none());
        let bad = (0..table.rows())
            .filter(|&row| is_nowhere(from.get(row)) || is_nowhere(to.get(row)))
            .count();
        self.out.edges = Marked {
            all: table.rows() as u64,
            marked: bad as u64,
        };
        Ok(())
    }

    fn finish(mut self) -> Tallies {
        for link in std::mem::take(&mut self.unsettled) {
            self.out.nesting.linked += 1;
            let parent = link.row.parent().and_then(|parent| self.ids.get(parent));
            match parent.map(|number| (number, self.kept.get(number as usize).copied())) {
                None => self.out.nesting.missing += 1,
                Some((number, Some(around))) => self.compare(&link, number, &around),
                Some((_, None)) => {}
            }
        }
        self.out.nesting.first_outside = self.first_outside.map(|(table, rank, number)| {
            let twice = self.twice.iter().find(|(other, _)| *other == number);
            let id = twice.map(|(_, id)| *id).or_else(|| self.ids.id_of(number));
            FirstOutside { table, rank, id }
        });
        self.out.twice = self.twice.len() as u64;
        self.out.work = self.work.finish();
        self.out
    }
}
