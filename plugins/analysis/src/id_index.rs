//! A value for each of many ids.
//!
//! Ids of a recorder count up within a thread, those of an import from 0: a list for each upper half of the ids
//! is nearly dense, and finding one is one look into it, beside that of the row before. Ids that are far apart go
//! into a map.

use std::collections::BTreeMap;

use crate::hash::FastMap;

/// A value that stands for none, so that a list of values needs no second list.
pub trait Vacant: Copy + PartialEq {
    /// Marks an absent value, so it must not be the value of any id.
    const VACANT: Self;
}

impl Vacant for u32 {
    const VACANT: Self = Self::MAX;
}

/// A list may be this many times as long as its number of entries, plus [`SMALL`].
const SPARSE: u64 = 8;
const SMALL: u64 = 1 << 12;

#[derive(Clone, Debug)]
struct Half<V> {
    upper: u32,
    count: u64,
    min: u32,
    max: u32,
    /// Values by lower half, starting at `min`; empty if the ids are far apart.
    values: Vec<V>,
}

/// Values by id: quickest for ids that are all known before the first is looked up.
///
/// ```
/// use trueno_analysis::id_index::IdIndex;
///
/// let ids = [7_u64, 9, (3 << 32) | 1];
/// let rows: IdIndex<u32> = IdIndex::new(|| ids.iter().copied().zip(0..));
/// assert_eq!((rows.get(9), rows.get(8)), (Some(1), None));
/// ```
#[derive(Clone, Debug)]
pub struct IdIndex<V> {
    /// Sorted by upper half.
    halves: Vec<Half<V>>,
    sparse: FastMap<u64, V>,
}

impl<V> Default for IdIndex<V> {
    fn default() -> Self {
        Self {
            halves: Vec::new(),
            sparse: FastMap::default(),
        }
    }
}

#[inline]
fn upper(id: u64) -> u32 {
    (id >> 32) as u32
}

impl<V: Vacant> IdIndex<V> {
    /// Gives each id of the list its value, none of which is [`VACANT`](Vacant::VACANT); of an id that stands there
    /// twice the last counts. The list is walked twice.
    pub fn new<I: Iterator<Item = (u64, V)>>(ids: impl Fn() -> I) -> Self {
        let mut halves: BTreeMap<u32, Half<V>> = BTreeMap::new();
        let mut current: Option<Half<V>> = None;
        for (id, _) in ids() {
            let lower = id as u32;
            match &mut current {
                Some(half) if half.upper == upper(id) => {
                    half.count += 1;
                    (half.min, half.max) = (half.min.min(lower), half.max.max(lower));
                }
                _ => {
                    let next = Half {
                        upper: upper(id),
                        count: 1,
                        min: lower,
                        max: lower,
                        values: Vec::new(),
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
            let length = u64::from(half.max - half.min) + 1;
            if length <= half.count * SPARSE + SMALL {
                half.values = vec![V::VACANT; length as usize];
            }
        }
        for (id, value) in ids() {
            match out.slot(id) {
                Some(slot) => *slot = value,
                None => _ = out.sparse.insert(id, value),
            }
        }
        out
    }

    /// True if no id has a value.
    pub fn is_empty(&self) -> bool {
        self.halves.is_empty()
    }

    #[inline]
    fn half(&self, id: u64) -> Option<usize> {
        let upper = upper(id);
        match &self.halves[..] {
            [half] => (half.upper == upper).then_some(0),
            halves => halves.binary_search_by_key(&upper, |half| half.upper).ok(),
        }
    }

    #[inline]
    fn slot(&mut self, id: u64) -> Option<&mut V> {
        let at = self.half(id)?;
        let half = &mut self.halves[at];
        let at = (id as u32).checked_sub(half.min)?;
        half.values.get_mut(at as usize)
    }

    /// The value of an id.
    #[inline]
    pub fn get(&self, id: u64) -> Option<V> {
        let half = &self.halves[self.half(id)?];
        let at = (id as u32).wrapping_sub(half.min) as usize;
        match half.values.get(at) {
            Some(value) => Some(*value).filter(|value| *value != V::VACANT),
            None if self.sparse.is_empty() => None,
            None => self.sparse.get(&id).copied(),
        }
    }

    /// Gives an id a value, if it has none; says whether it had none.
    #[inline]
    pub fn insert_first(&mut self, id: u64, value: V) -> bool {
        match self.slot(id) {
            Some(slot) => {
                let is_vacant = *slot == V::VACANT;
                if is_vacant {
                    *slot = value;
                }
                is_vacant
            }
            None => self.insert_beyond(id, value),
        }
    }

    #[cold]
    fn insert_beyond(&mut self, id: u64, value: V) -> bool {
        if self.sparse.contains_key(&id) {
            return false;
        }
        let at = self.halves.partition_point(|half| half.upper < upper(id));
        if self
            .halves
            .get(at)
            .is_none_or(|half| half.upper != upper(id))
        {
            let half = Half {
                upper: upper(id),
                count: 0,
                min: 0,
                max: 0,
                values: Vec::new(),
            };
            self.halves.insert(at, half);
        }
        let half = &mut self.halves[at];
        half.count += 1;
        self.sparse.insert(id, value);
        if half.grow_to(id as u32) {
            let (half, sparse) = (&mut self.halves[at], &mut self.sparse);
            sparse.retain(|id, value| {
                let slot = (*id as u32).wrapping_sub(half.min) as usize;
                match half
                    .values
                    .get_mut(slot)
                    .filter(|_| upper(*id) == half.upper)
                {
                    Some(slot) => {
                        *slot = *value;
                        false
                    }
                    None => true,
                }
            });
        }
        true
    }

    /// An id that has this value. Looks at all of them.
    pub fn id_of(&self, value: V) -> Option<u64> {
        let of_half = |half: &Half<V>| {
            let at = half.values.iter().position(|other| *other == value)?;
            Some(u64::from(half.upper) << 32 | (u64::from(half.min) + at as u64))
        };
        let mut sparse = self.sparse.iter();
        let of_sparse = || {
            sparse
                .find(|(_, other)| **other == value)
                .map(|(id, _)| *id)
        };
        self.halves.iter().find_map(of_half).or_else(of_sparse)
    }

    /// Gives an id that has a value another one.
    #[inline]
    pub fn set(&mut self, id: u64, value: V) {
        match self.slot(id) {
            Some(slot) if *slot == V::VACANT => {}
            Some(slot) => *slot = value,
            None => {
                if let Some(slot) = self.sparse.get_mut(&id) {
                    *slot = value;
                }
            }
        }
    }
}

impl<V: Vacant> Half<V> {
    /// Extends the list to cover an id, plus half its length to keep extensions rare. Fails if it would then be
    /// mostly empty.
    fn grow_to(&mut self, lower: u32) -> bool {
        let length = self.values.len() as u64;
        let spare = length / 2 + 64;
        if length == 0 {
            self.min = lower;
        }
        let (before, after) = (
            u64::from(self.min.saturating_sub(lower)),
            lower.saturating_sub(self.min),
        );
        let (before, length) = match before {
            0 => {
                let needed = (u64::from(after) + 1).max(length) + spare;
                (0, needed.min((1 << 32) - u64::from(self.min)))
            }
            _ => ((before + spare).min(u64::from(self.min)), length),
        };
        let is_dense = before + length <= self.count * SPARSE + SMALL;
        if is_dense {
            let vacant = std::iter::repeat_n(V::VACANT, before as usize);
            self.values.splice(0..0, vacant);
            self.values.resize((before + length) as usize, V::VACANT);
            self.min -= before as u32;
        }
        is_dense
    }
}

fn merge<V>(halves: &mut BTreeMap<u32, Half<V>>, half: Option<Half<V>>) {
    let Some(half) = half else { return };
    match halves.get_mut(&half.upper) {
        Some(known) => {
            known.count += half.count;
            known.min = known.min.min(half.min);
            known.max = known.max.max(half.max);
        }
        None => _ = halves.insert(half.upper, half),
    }
}
