//! Names of rows that found their ring full, counted by the one thread that drops them.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::record::Record;
use crate::schema::{TABLES, TableId};
use crate::text::{Text, Texts};

/// Names that one thread counts separately. Rows of other names are only in the sum of their table.
const SLOTS: usize = 64;
const LISTED: usize = 32;

#[derive(Default)]
#[repr(C)]
struct Slot {
    /// Table plus 1 in the upper half, number of the name in the lower half; 0 if free.
    key: AtomicU64,
    rows: AtomicU64,
}

/// Rows by table and name. Zeroed memory is a valid one: it lies in the first page of a ring, where it survives a kill.
#[repr(C)]
pub struct DroppedNames([Slot; SLOTS]);

/// Rows that were dropped, by place of the table in [`TABLES`] and number of the name.
pub type NamedRows = BTreeMap<(usize, u32), u64>;

impl Default for DroppedNames {
    fn default() -> Self {
        Self(std::array::from_fn(|_| Slot::default()))
    }
}

impl DroppedNames {
    /// For one adding thread: no locked instruction. Does nothing for a row without a name.
    pub fn add_alone(&self, table: TableId, name: Option<Text>, rows: u64) {
        let Some(name) = name else { return };
        let key = (table as u64 + 1) << 32 | u64::from(name.number());
        // A place of its own for most names: a thread drops few, and each search is short.
        let start = name.number() as usize % SLOTS;
        let slots = self.0[start..].iter().chain(&self.0[..start]);
        for slot in slots {
            let found = slot.key.load(Ordering::Relaxed);
            if found == key || found == 0 {
                let before = if found == key {
                    slot.rows.load(Ordering::Relaxed)
                } else {
                    0
                };
                // Rows first: a kill between the two leaves a free slot. Wrapping: others can write into the file.
                slot.rows
                    .store(before.wrapping_add(rows), Ordering::Relaxed);
                slot.key.store(key, Ordering::Release);
                return;
            }
        }
    }

    /// Adds what it holds to `sums`, but what cannot be: a table that there is not.
    pub fn add_to(&self, sums: &mut NamedRows) {
        for slot in &self.0 {
            let key = slot.key.load(Ordering::Acquire);
            let Some(table) = (key >> 32).checked_sub(1).map(|table| table as usize) else {
                continue;
            };
            if table < TABLES.len() {
                let sum = sums.entry((table, key as u32)).or_default();
                *sum = sum.saturating_add(slot.rows.load(Ordering::Relaxed));
            }
        }
    }

    /// Forgets them.
    pub fn clear(&self) {
        for slot in &self.0 {
            slot.key.store(0, Ordering::Relaxed);
            slot.rows.store(0, Ordering::Relaxed);
        }
    }
}

/// The name of the row that a group of records begins with; `None`: such rows have none.
pub fn name_of(record: &Record) -> Option<Text> {
    (record.is_named() && record.name != 0).then(|| Text::from_number(record.name))
}

/// Those of one table for `run.json`, as texts, the most rows first; a name that is not known is left out.
pub fn listed(sums: &NamedRows, table: usize, texts: &mut dyn Texts) -> BTreeMap<String, u64> {
    let mut by_text = BTreeMap::<String, u64>::new();
    for ((_, name), rows) in sums.range((table, 0)..=(table, u32::MAX)) {
        // One name may have several places.
        let name = texts
            .site_of(*name)
            .map_or(Text::default(), |site| site.name);
        if let Some(text) = texts.get(name).filter(|text| !text.is_empty()) {
            let sum = by_text.entry(text.to_owned()).or_default();
            *sum = sum.saturating_add(*rows);
        }
    }
    let mut names: Vec<(String, u64)> = by_text.into_iter().collect();
    names.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    names.truncate(LISTED);
    names.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_counted_apart_until_there_are_too_many() {
        let names = DroppedNames::default();
        for _ in 0..3 {
            for number in 1..=SLOTS as u32 + 5 {
                names.add_alone(TableId::Bricks, Some(Text::from_number(number)), 2);
            }
        }
        names.add_alone(TableId::Bricks, None, 7);
        let mut sums = NamedRows::new();
        names.add_to(&mut sums);
        assert_eq!(sums.len(), SLOTS);
        assert!(sums.values().all(|rows| *rows == 6), "{sums:?}");

        names.clear();
        names.add_alone(TableId::Kernels, Some(Text::from_number(1)), 1);
        let mut sums = NamedRows::new();
        names.add_to(&mut sums);
        names.add_to(&mut sums);
        assert_eq!(sums, NamedRows::from([((TableId::Kernels as usize, 1), 2)]));
    }
}
