//! Self times by thread, iteration and name: time of the rows, less that of the rows right below them on
//! the same thread.
//!
//! Rows come when they end, so those below a row come before it: what they took waits until it comes.

use trueno_analysis::hash::FastMap;
use trueno_analysis::id_index::IdIndex;
use trueno_analysis::interner::{Interner, Texts};
use trueno_analysis::name_groups::NameGroups;
use trueno_plugin::{Result, Run};

use crate::outlier_cause::Names;

/// Thread, iteration, and the text numbers of kind and name.
type Group = (i64, u64, i64, i64);

#[derive(Default)]
struct Sums {
    groups: Interner<Group>,
    /// By number of the group.
    self_ns: Vec<i64>,
    /// Group of each row, by id.
    of_rows: IdIndex<u32>,
    /// Time of direct children whose parent has not been read yet, by the parent's id and thread.
    waiting: FastMap<(u64, i64), i64>,
    /// Key and time of the sum that is being accumulated, before it goes into `waiting`.
    last: Option<((u64, i64), i64)>,
}

/// Reads inputs `bricks`, `brick_kinds` and `brick_names`.
///
/// # Errors
/// An input lacks a column or has it in another type.
pub fn load(run: &mut Run) -> Result<Names> {
    let mut texts = Texts::default();
    let kinds = texts.read_distinct(run, "brick_kinds")?;
    let mut names = texts.read_distinct(run, "brick_names")?;
    NameGroups::read(run)?.apply(&mut names, &mut texts);
    let mut sums = Sums::default();
    let mut batches = run.batches("bricks")?;
    while let Some(batch) = batches.next_batch()? {
        let (id, parent) = (batch.u64("id")?, batch.u64("parent")?);
        let (thread, iteration) = (batch.i64("thread")?, batch.u64("iteration")?);
        let (kind, name) = (batch.i64("kind_id")?, batch.i64("name_id")?);
        let dur_ns = batch.i64("dur_ns")?;
        for row in 0..batch.rows() {
            // What has no thread is the self time of none.
            let Some(thread) = thread.get(row) else {
                continue;
            };
            let dur_ns = dur_ns.get(row).unwrap_or(0);
            let group = || Some((thread, iteration.get(row)?, kind.get(row)?, name.get(row)?));
            if let Some(id) = id.get(row) {
                sums.row(id, thread, group(), dur_ns);
            }
            if let Some(parent) = parent.get(row) {
                sums.below((parent, thread), dur_ns);
            }
        }
    }
    sums.finish();
    let mut out = Names::default();
    for ((thread, iteration, kind, name), self_ns) in sums.groups.all().iter().zip(&sums.self_ns) {
        let text = |known: &FastMap<i64, u32>, id| {
            let number = known.get(id).copied();
            number.map(|number| texts.text(number).to_owned())
        };
        if let (Some(kind), Some(name)) = (text(&kinds, kind), text(&names, name)) {
            out.add(*thread, *iteration, (kind, name), *self_ns);
        }
    }
    Ok(out)
}

impl Sums {
    #[inline]
    fn row(&mut self, id: u64, thread: i64, group: Option<Group>, dur_ns: i64) {
        let mut below_ns = 0;
        if let Some((last, last_ns)) = self.last
            && last == (id, thread)
        {
            (below_ns, self.last) = (last_ns, None);
        }
        if !self.waiting.is_empty() {
            let earlier_ns = self.waiting.remove(&(id, thread));
            below_ns = below_ns.wrapping_add(earlier_ns.unwrap_or(0));
        }
        let Some(group) = group else { return };
        let number = self.groups.number(group);
        self.of_rows.insert_first(id, number);
        if number as usize == self.self_ns.len() {
            self.self_ns.push(0);
        }
        let sum = &mut self.self_ns[number as usize];
        *sum = sum.wrapping_add(dur_ns.wrapping_sub(below_ns));
    }

    #[inline]
    fn below(&mut self, parent: (u64, i64), dur_ns: i64) {
        match &mut self.last {
            Some((last, sum)) if *last == parent => *sum = sum.wrapping_add(dur_ns),
            _ => {
                self.put_off();
                self.last = Some((parent, dur_ns));
            }
        }
    }

    fn put_off(&mut self) {
        if let Some((parent, dur_ns)) = self.last.take() {
            let sum = self.waiting.entry(parent).or_default();
            *sum = sum.wrapping_add(dur_ns);
        }
    }

    /// Subtracts the waiting times from their parents, which have all been read now.
    fn finish(&mut self) {
        self.put_off();
        for ((parent, thread), dur_ns) in std::mem::take(&mut self.waiting) {
            let Some(group) = self.of_rows.get(parent) else {
                continue;
            };
            if self.groups.get(group).0 == thread {
                let sum = &mut self.self_ns[group as usize];
                *sum = sum.wrapping_sub(dur_ns);
            }
        }
    }
}
