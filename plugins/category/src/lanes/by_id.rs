//! A number for each of many ids.
//!
//! Ids of a recorder count up within a thread, those of an import from 0: a list for each upper half of the ids
//! is nearly dense, and finding one is one look into it, beside that of the row before. Ids that are far apart go
//! into a map.

use std::collections::BTreeMap;

use super::hash::FastMap;

const ABSENT: u32 = u32::MAX;

/// A list may be this many times as long as it has entries, and a bit.
const SPARSE: u64 = 8;
const SMALL: u64 = 1 << 12;

/// Ids of one upper half.
struct Half {
    upper: u32,
    count: u64,
    least: u32,
    most: u32,
    /// By lower half from `least` on; empty when the ids are far apart.
    numbers: Vec<u32>,
}

/// Numbers by id, for ids that are all known before the first is looked up.
#[derive(Default)]
pub struct ById {
    /// Sorted by upper half.
    halves: Vec<Half>,
    sparse: FastMap<u64, u32>,
}

fn upper(id: u64) -> u32 {
    (id >> 32) as u32
}

impl ById {
    /// Gives each id of the list its number, which is less than [`u32::MAX`]; of an id that stands there twice the last
    /// counts. The list is walked twice.
    pub fn new<I: Iterator<Item = (u64, u32)>>(ids: impl Fn() -> I) -> Self {
        let mut halves: BTreeMap<u32, Half> = BTreeMap::new();
        let mut current: Option<Half> = None;
        for (id, _) in ids() {
            let lower = id as u32;
            match &mut current {
                Some(half) if half.upper == upper(id) => {
                    half.count += 1;
                    (half.least, half.most) = (half.least.min(lower), half.most.max(lower));
                }
                _ => {
                    let next = Half {
                        upper: upper(id),
                        count: 1,
                        least: lower,
                        most: lower,
                        numbers: Vec::new(),
                    };
                    merge(&mut halves, current.replace(next));
                }
            }
        }
        merge(&mut halves, current);
        let mut out = Self {
            halves: halves.into_values().collect(),
            sparse: FastMap::default(),
        };
        for half in &mut out.halves {
            let length = u64::from(half.most - half.least) + 1;
            if length <= half.count * SPARSE + SMALL {
                half.numbers = vec![ABSENT; length as usize];
            }
        }
        for (id, number) in ids() {
            match out.place(id) {
                Some(place) => *place = number,
                None => _ = out.sparse.insert(id, number),
            }
        }
        out
    }

    /// Whether no id has a number.
    pub fn is_empty(&self) -> bool {
        self.halves.is_empty()
    }

    #[inline]
    fn half(&self, id: u64) -> Option<usize> {
        let upper = upper(id);
        self.halves
            .binary_search_by_key(&upper, |half| half.upper)
            .ok()
    }

    /// Where the number of an id is, if it lies in a list.
    #[inline]
    fn place(&mut self, id: u64) -> Option<&mut u32> {
        let at = self.half(id)?;
        let half = &mut self.halves[at];
        let at = (id as u32).checked_sub(half.least)?;
        half.numbers.get_mut(at as usize)
    }

    /// The number of an id.
    #[inline]
    pub fn get(&self, id: u64) -> Option<u32> {
        let half = &self.halves[self.half(id)?];
        if half.numbers.is_empty() {
            return self.sparse.get(&id).copied();
        }
        let at = (id as u32).checked_sub(half.least)?;
        let number = half.numbers.get(at as usize).copied();
        number.filter(|number| *number != ABSENT)
    }

    /// Gives an id that has a number another one.
    #[inline]
    pub fn set(&mut self, id: u64, number: u32) {
        match self.place(id) {
            Some(place) if *place != ABSENT => *place = number,
            Some(_) => {}
            None => {
                if let Some(place) = self.sparse.get_mut(&id) {
                    *place = number;
                }
            }
        }
    }
}

fn merge(halves: &mut BTreeMap<u32, Half>, half: Option<Half>) {
    let Some(half) = half else { return };
    match halves.get_mut(&half.upper) {
        Some(known) => {
            known.count += half.count;
            known.least = known.least.min(half.least);
            known.most = known.most.max(half.most);
        }
        None => _ = halves.insert(half.upper, half),
    }
}
