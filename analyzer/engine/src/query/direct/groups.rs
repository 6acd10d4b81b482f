//! Groups of rows with the same keys, and what is counted and summed up of them.
//!
//! Keys are compared as they are stored: texts by their numbers. Threads take the batches in runs of neighbours, and
//! their groups are put together in the order of the rows, so groups come in the order in which their first rows do.

use std::sync::Arc;
use std::thread;

use super::result::Vector;
use super::rows::{Batch, Chosen, TOO_LARGE, add, batch_at};
use super::{Direct, Item};
use crate::columns::{Kind, Packed, is_set};
use crate::cores;

pub(super) const MAX_KEYS: usize = 16;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Grouping {
    keys: Vec<Item>,
    outputs: Vec<(String, Aggregate)>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Aggregate {
    Key(usize),
    Rows,
    Of(Function, Item),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Function {
    Count,
    Sum,
    Min,
    Max,
    Median,
}

impl Grouping {
    /// `None` if there are too many keys, or a key's type has equal values with different bits.
    pub(super) fn new(keys: Vec<Item>, outputs: Vec<(String, Aggregate)>) -> Option<Self> {
        let is_exact = keys.iter().all(|key| key.kind() != Kind::F64);
        (is_exact && keys.len() <= MAX_KEYS).then_some(Self { keys, outputs })
    }

    pub(super) fn items(&self) -> impl Iterator<Item = &Item> {
        let of_outputs = self.outputs.iter().filter_map(|(_, output)| match output {
            Aggregate::Of(_, item) => Some(item),
            _ => None,
        });
        self.keys.iter().chain(of_outputs)
    }

    pub(super) fn items_mut(&mut self) -> impl Iterator<Item = &mut Item> {
        let of_outputs = self
            .outputs
            .iter_mut()
            .filter_map(|(_, output)| match output {
                Aggregate::Of(_, item) => Some(item),
                _ => None,
            });
        self.keys.iter_mut().chain(of_outputs)
    }

    pub(super) fn columns(&self) -> impl Iterator<Item = (&str, Kind)> {
        self.outputs.iter().map(|(name, output)| {
            let kind = match output {
                Aggregate::Key(key) => self.keys[*key].kind(),
                Aggregate::Rows | Aggregate::Of(Function::Count, _) => Kind::I64,
                Aggregate::Of(Function::Median, _) => Kind::F64,
                Aggregate::Of(_, item) => item.kind(),
            };
            (name.as_str(), kind)
        })
    }
}

impl Direct {
    pub(super) fn groups(
        &self,
        grouping: &Grouping,
        columns: &[usize],
        of_columns: &[Arc<[Packed]>],
    ) -> Result<Vec<Vector>, String> {
        let count = of_columns.first().map_or(0, |batches| batches.len());
        let work = |from: usize, until: usize| {
            let mut groups = Groups::new(grouping);
            for at in from..until {
                let batch = batch_at(columns, of_columns, at);
                if let Some(chosen) = self.chosen(&batch) {
                    groups.add(grouping, &batch, &chosen)?;
                }
            }
            Ok::<Groups, &str>(groups)
        };
        let threads = cores::count();
        let share = count.div_ceil(threads).max(MIN_BATCHES);
        let mut groups = thread::scope(|scope| {
            let work = &work;
            let others: Vec<_> = (share..count)
                .step_by(share)
                .map(|from| scope.spawn(move || work(from, count.min(from + share))))
                .collect();
            let mut groups: Groups = work(0, count.min(share))?;
            for other in others {
                let other = other.join();
                groups.append(other.map_err(|_| "a thread that groups rows panicked")??)?;
            }
            Ok::<_, &str>(groups)
        })?;
        // All rows are one group where there are no keys, also no rows.
        if grouping.keys.is_empty() && groups.count() == 0 {
            let group = groups.keys.find(&[0]);
            groups.grow();
            debug_assert_eq!(group, 0, "it is the first group");
        }
        Ok(groups.finish(grouping))
    }
}

const MIN_BATCHES: usize = 16;

struct Keys {
    /// Words per key: its values, and a bitmap of missing ones.
    width: usize,
    words: Vec<u64>,
    /// Hash table of key number plus one; 0 is free.
    slots: Vec<u32>,
}

impl Keys {
    fn new(width: usize) -> Self {
        Self {
            width,
            words: Vec::new(),
            slots: vec![0; 64],
        }
    }

    fn count(&self) -> usize {
        self.words.len() / self.width
    }

    fn key(&self, at: usize) -> &[u64] {
        &self.words[at * self.width..][..self.width]
    }

    fn find(&mut self, key: &[u64]) -> u32 {
        let mask = self.slots.len() - 1;
        let mut slot = hash(key) as usize & mask;
        loop {
            match self.slots[slot] {
                0 => break,
                found => {
                    let at = found as usize - 1;
                    if self.key(at) == key {
                        return found - 1;
                    }
                }
            }
            slot = (slot + 1) & mask;
        }
        let number = self.count() as u32;
        self.words.extend_from_slice(key);
        self.slots[slot] = number + 1;
        if self.count() * 2 > self.slots.len() {
            self.widen();
        }
        number
    }

    fn widen(&mut self) {
        let mask = self.slots.len() * 4 - 1;
        let mut slots = vec![0; mask + 1];
        for at in 0..self.count() {
            let mut slot = hash(self.key(at)) as usize & mask;
            while slots[slot] != 0 {
                slot = (slot + 1) & mask;
            }
            slots[slot] = at as u32 + 1;
        }
        self.slots = slots;
    }
}

fn hash(key: &[u64]) -> u64 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let mixed = key.iter().fold(0_u64, |hash, word| {
        (hash.rotate_left(23) ^ word).wrapping_mul(FACTOR)
    });
    mixed >> 20
}

enum Gathered {
    Nothing,
    Counts(Vec<u64>),
    /// Sum of each group (`None` without values), and the kind of the values.
    Sums(Kind, Vec<Option<u64>>),
    /// Minimum or maximum of each group (`None` without values).
    Values(Function, Vec<Option<u64>>),
    All(Vec<(u32, u64)>),
}

struct Groups {
    keys: Keys,
    gathered: Vec<Gathered>,
}

/// Maps the bits of an integer to an unsigned number with the same order. It is its own inverse.
fn ordered(kind: Kind, bits: u64) -> u64 {
    match kind {
        Kind::I64 => bits ^ 1 << 63,
        _ => bits,
    }
}

impl Groups {
    fn new(grouping: &Grouping) -> Self {
        let gathered = grouping.outputs.iter().map(|(_, output)| match output {
            Aggregate::Key(_) => Gathered::Nothing,
            Aggregate::Rows | Aggregate::Of(Function::Count, _) => Gathered::Counts(Vec::new()),
            Aggregate::Of(Function::Median, _) => Gathered::All(Vec::new()),
            Aggregate::Of(Function::Sum, item) => Gathered::Sums(item.kind(), Vec::new()),
            Aggregate::Of(function, _) => Gathered::Values(*function, Vec::new()),
        });
        Self {
            keys: Keys::new(grouping.keys.len() + 1),
            gathered: gathered.collect(),
        }
    }

    fn count(&self) -> usize {
        self.keys.count()
    }

    fn grow(&mut self) {
        let count = self.count();
        for gathered in &mut self.gathered {
            match gathered {
                Gathered::Nothing | Gathered::All(_) => {}
                Gathered::Counts(counts) => counts.resize(count, 0),
                Gathered::Sums(_, values) | Gathered::Values(_, values) => {
                    values.resize(count, None);
                }
            }
        }
    }

    fn add(
        &mut self,
        grouping: &Grouping,
        batch: &Batch<'_>,
        chosen: &Chosen,
    ) -> Result<(), &'static str> {
        let rows: Vec<u32> = match chosen {
            Chosen::All => (0..batch.rows as u32).collect(),
            Chosen::Some(rows) => rows.clone(),
        };
        let groups = self.groups_of(grouping, batch, &rows)?;
        self.grow();
        for (gathered, (_, output)) in self.gathered.iter_mut().zip(&grouping.outputs) {
            match (gathered, output) {
                (Gathered::Counts(counts), Aggregate::Rows) => {
                    for group in &groups {
                        counts[*group as usize] += 1;
                    }
                }
                (gathered, Aggregate::Of(_, item)) => {
                    let (values, valid) = item.values(batch)?;
                    let there = groups.iter().zip(&rows).filter(|(_, row)| {
                        let valid = valid.as_ref();
                        valid.is_none_or(|bits| is_set(bits, **row as usize))
                    });
                    let there = there.map(|(group, row)| (*group, values[*row as usize]));
                    gathered.add(item.kind(), there)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn groups_of(
        &mut self,
        grouping: &Grouping,
        batch: &Batch<'_>,
        rows: &[u32],
    ) -> Result<Vec<u32>, &'static str> {
        let columns = grouping.keys.iter().map(|key| key.values(batch));
        let columns = columns.collect::<Result<Vec<_>, _>>()?;
        let mut key = [0_u64; MAX_KEYS + 1];
        let key = &mut key[..=columns.len()];
        let mut before = None;
        let mut group = |row: &u32| {
            let row = *row as usize;
            let mut missing = 0;
            let mut same = true;
            for (at, (values, valid)) in columns.iter().enumerate() {
                let is_there = valid.as_ref().is_none_or(|bits| is_set(bits, row));
                missing |= u64::from(!is_there) << at;
                let word = if is_there { values[row] } else { 0 };
                same &= key[at] == word;
                key[at] = word;
            }
            same &= key[columns.len()] == missing;
            key[columns.len()] = missing;
            // Neighbours are often of one group.
            match before {
                Some(group) if same => group,
                _ => {
                    let group = self.keys.find(key);
                    before = Some(group);
                    group
                }
            }
        };
        Ok(rows.iter().map(&mut group).collect())
    }

    fn append(&mut self, other: Self) -> Result<(), &'static str> {
        let keys = (0..other.count()).map(|at| self.keys.find(other.keys.key(at)));
        let groups: Vec<u32> = keys.collect();
        self.grow();
        for (own, other) in self.gathered.iter_mut().zip(other.gathered) {
            match (own, other) {
                (Gathered::Counts(own), Gathered::Counts(other)) => {
                    for (group, count) in groups.iter().zip(other) {
                        own[*group as usize] += count;
                    }
                }
                (Gathered::Sums(kind, own), Gathered::Sums(_, other)) => {
                    for (group, value) in groups.iter().zip(other) {
                        if let Some(value) = value {
                            add_to(*kind, &mut own[*group as usize], value)?;
                        }
                    }
                }
                (Gathered::Values(function, own), Gathered::Values(_, other)) => {
                    for (group, value) in groups.iter().zip(other) {
                        if let Some(value) = value {
                            combine(*function, &mut own[*group as usize], value);
                        }
                    }
                }
                (Gathered::All(own), Gathered::All(other)) => {
                    own.extend(
                        other
                            .into_iter()
                            .map(|(group, value)| (groups[group as usize], value)),
                    );
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn finish(self, grouping: &Grouping) -> Vec<Vector> {
        let count = self.count();
        let mut vectors = Vec::new();
        let columns = grouping.columns().zip(&grouping.outputs);
        for (((_, kind), (_, output)), gathered) in columns.zip(self.gathered) {
            vectors.push(match (gathered, output) {
                (Gathered::Counts(counts), _) => Vector::of(kind, counts.into_iter().map(Some)),
                (Gathered::Sums(_, sums), _) => Vector::of(kind, sums.into_iter()),
                (Gathered::Values(_, values), _) => {
                    let values = values.into_iter();
                    Vector::of(kind, values.map(|value| Some(ordered(kind, value?))))
                }
                (Gathered::All(all), Aggregate::Of(_, item)) => {
                    Vector::of(kind, medians(all, item.kind(), count).into_iter())
                }
                (_, Aggregate::Key(key)) => {
                    let last = grouping.keys.len();
                    let value = |at: usize| {
                        let words = self.keys.key(at);
                        (words[last] >> key & 1 == 0).then_some(words[*key])
                    };
                    Vector::of(kind, (0..count).map(value))
                }
                (_, _) => Vector::new(kind),
            });
        }
        vectors
    }
}

impl Gathered {
    fn add(
        &mut self,
        kind: Kind,
        mut rows: impl Iterator<Item = (u32, u64)>,
    ) -> Result<(), &'static str> {
        match self {
            Self::Nothing => {}
            Self::Counts(counts) => rows.for_each(|(group, _)| counts[group as usize] += 1),
            Self::Sums(_, sums) => {
                rows.try_for_each(|(group, value)| add_to(kind, &mut sums[group as usize], value))?;
            }
            Self::Values(function, values) => rows.for_each(|(group, value)| {
                combine(*function, &mut values[group as usize], ordered(kind, value));
            }),
            Self::All(all) => {
                all.extend(rows.map(|(group, value)| (group, ordered(kind, value))));
            }
        }
        Ok(())
    }
}

fn add_to(kind: Kind, sum: &mut Option<u64>, value: u64) -> Result<(), &'static str> {
    *sum = Some(add(kind, sum.unwrap_or(0), value).ok_or(TOO_LARGE)?);
    Ok(())
}

fn combine(function: Function, to: &mut Option<u64>, value: u64) {
    *to = Some(match (function, *to) {
        (_, None) => value,
        (Function::Min, Some(before)) => before.min(value),
        (_, Some(before)) => before.max(value),
    });
}

fn medians(mut all: Vec<(u32, u64)>, kind: Kind, count: usize) -> Vec<Option<u64>> {
    all.sort_unstable();
    let mut medians = vec![None; count];
    let float = |bits: u64| match kind {
        Kind::I64 => ordered(kind, bits).cast_signed() as f64,
        _ => bits as f64,
    };
    for group in all.chunk_by(|a, b| a.0 == b.0) {
        let (low, high) = (group[(group.len() - 1) / 2], group[group.len() / 2]);
        let (number, low, high) = (low.0, float(low.1), float(high.1));
        medians[number as usize] = Some((low + (high - low) * 0.5).to_bits());
    }
    medians
}
