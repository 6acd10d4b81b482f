//! From ids to rows.
//!
//! Ids of a recorder are a thread in the upper half and a running number in the
//! lower: a plain array for each upper half finds a row without hashing. Ids
//! with wide gaps fall back to a map.

use std::collections::{BTreeMap, HashMap};

const NONE: u32 = u32::MAX;

/// Rows by id, and how many ids stand twice.
pub struct Ids {
    dense: BTreeMap<u32, Vec<u32>>,
    sparse: HashMap<u64, u32>,
    /// Rows whose id another row had before.
    pub duplicates: Vec<u32>,
}

impl Ids {
    /// Numbers the rows in the order given, from 0.
    pub fn new<'a>(ids: impl Iterator<Item = &'a u64> + Clone) -> Self {
        // Upper half: how many, and the largest lower half.
        let mut groups: BTreeMap<u32, (usize, u32)> = BTreeMap::new();
        let mut last: Option<(u32, usize, u32)> = None;
        for &id in ids.clone() {
            let (upper, lower) = halves(id);
            match &mut last {
                Some((current, count, largest)) if *current == upper => {
                    (*count, *largest) = (*count + 1, (*largest).max(lower));
                }
                _ => {
                    add(&mut groups, last.take());
                    last = Some((upper, 1, lower));
                }
            }
        }
        add(&mut groups, last);
        let dense = groups
            .into_iter()
            .filter(|(_, (count, largest))| *largest as usize <= 4 * count + 1024)
            .map(|(upper, (_, largest))| (upper, vec![NONE; largest as usize + 1]))
            .collect();
        let mut out = Self {
            dense,
            sparse: HashMap::new(),
            duplicates: Vec::new(),
        };
        for (row, &id) in ids.enumerate() {
            let row = row as u32;
            let (upper, lower) = halves(id);
            let taken = match out.dense.get_mut(&upper) {
                Some(rows) if rows[lower as usize] == NONE => {
                    rows[lower as usize] = row;
                    false
                }
                Some(_) => true,
                None => match out.sparse.entry(id) {
                    std::collections::hash_map::Entry::Vacant(free) => {
                        free.insert(row);
                        false
                    }
                    std::collections::hash_map::Entry::Occupied(_) => true,
                },
            };
            if taken {
                out.duplicates.push(row);
            }
        }
        out
    }

    /// The first row of an id.
    pub fn row(&self, id: u64) -> Option<u32> {
        let (upper, lower) = halves(id);
        match self.dense.get(&upper) {
            Some(rows) => rows.get(lower as usize).copied().filter(|row| *row != NONE),
            None => self.sparse.get(&id).copied(),
        }
    }
}

fn halves(id: u64) -> (u32, u32) {
    ((id >> 32) as u32, id as u32)
}

fn add(groups: &mut BTreeMap<u32, (usize, u32)>, run: Option<(u32, usize, u32)>) {
    if let Some((upper, count, largest)) = run {
        let group = groups.entry(upper).or_default();
        *group = (group.0 + count, group.1.max(largest));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn as_by_looking_at_all(
            near in prop::collection::vec((0..3_u64, 0..40_u64), 0..40),
            far in prop::collection::vec(any::<u64>(), 0..10),
        ) {
            let ids: Vec<u64> = near.iter().map(|(upper, lower)| upper << 32 | lower).chain(far).collect();
            let found = Ids::new(ids.iter());
            for (row, id) in ids.iter().enumerate() {
                let first = ids.iter().position(|other| other == id).unwrap();
                prop_assert_eq!(found.row(*id), Some(first as u32));
                prop_assert_eq!(found.duplicates.contains(&(row as u32)), first != row);
                prop_assert_eq!(found.row(id ^ 1 << 31), ids.iter().position(|other| *other == id ^ 1 << 31).map(|row| row as u32));
            }
        }
    }
}
