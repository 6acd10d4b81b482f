//! Data-flow order: iteration, position, layer, and within them the order of recording.
//!
//! A row without an iteration (or position, or layer) stands before those with one if it was
//! recorded before the first of them, as an embedding is, and else after them, as a head over the
//! vocabulary is. Ranks work side by side: the rank comes last.

use crate::align::Item;
use crate::rows::{NONE, Side};
use trueno_analysis::hash::FastMap;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    pub rank: u16,
    pub iteration: Option<u64>,
    pub position: Option<u64>,
    pub layer: Option<i64>,
}

type Outside = (u16, Option<u64>, Option<u64>);

pub struct Groups {
    /// Unsorted until [`put_in_order`](Groups::put_in_order), then in data-flow order.
    pub places: Vec<Place>,
    rows: [Vec<u32>; 2],
    /// By side: where the rows of each group begin, with one more entry at the end.
    starts: [Vec<u32>; 2],
    /// By side and level (iteration, position, layer): when the first row with a number at that level was
    /// recorded.
    first: [[FastMap<Outside, i64>; 3]; 2],
}

impl Groups {
    pub fn new(sides: [&Side; 2]) -> Self {
        let mut numbers: FastMap<Place, u32> = FastMap::default();
        let mut places = Vec::new();
        let mut first: [[FastMap<Outside, i64>; 3]; 2] = Default::default();
        let group_of = [0, 1].map(|number| {
            let side = sides[number];
            let mut last: Option<(Place, u32)> = None;
            let mut begins: Vec<i64> = Vec::new();
            let mut group_of = Vec::with_capacity(side.len);
            for row in 0..side.len {
                let place = place(side, row);
                let group = match last {
                    Some((same, group)) if same == place => group,
                    _ => *numbers.entry(place).or_insert_with(|| {
                        places.push(place);
                        places.len() as u32 - 1
                    }),
                };
                last = Some((place, group));
                begins.resize(places.len().max(begins.len()), i64::MAX);
                let begin = &mut begins[group as usize];
                *begin = (*begin).min(side.time_ns[row]);
                group_of.push(group);
            }
            let present = places
                .iter()
                .zip(begins)
                .filter(|(_, begin)| *begin < i64::MAX);
            for (place, begin) in present {
                let numbered = [
                    place.iteration.is_some(),
                    place.position.is_some(),
                    place.layer.is_some(),
                ];
                for ((map, outside), numbered) in
                    first[number].iter_mut().zip(place.outside()).zip(numbered)
                {
                    if numbered {
                        let since = map.entry(outside).or_insert(i64::MAX);
                        *since = (*since).min(begin);
                    }
                }
            }
            group_of
        });
        let [a, b] = [0, 1].map(|side| sorted(sides[side], &group_of[side], places.len()));
        Self {
            places,
            rows: [a.0, b.0],
            starts: [a.1, b.1],
            first,
        }
    }

    pub fn rows(&self, side: usize, group: usize) -> &[u32] {
        let starts = &self.starts[side];
        &self.rows[side][starts[group] as usize..starts[group + 1] as usize]
    }

    /// Sorts items, which come group by group, and places into data-flow order.
    pub fn put_in_order(&mut self, sides: [&Side; 2], items: &mut Vec<Item>) {
        let late: Vec<u8> = items.iter().map(|item| self.late(sides, item)).collect();
        // Which of its eight forms of a group occur; each becomes a place of its own.
        let mut forms = vec![0u8; self.places.len()];
        for (item, late) in items.iter().zip(&late) {
            forms[item.group as usize] |= 1 << late;
        }
        let mut bases = Vec::with_capacity(forms.len());
        let mut order: Vec<(u32, u8)> = Vec::new();
        for (group, form) in forms.iter().enumerate() {
            bases.push(order.len() as u32);
            order.extend(
                (0..8)
                    .filter(|late| form & 1 << late != 0)
                    .map(|late| (group as u32, late)),
            );
        }
        let mut by_flow: Vec<u32> = (0..order.len() as u32).collect();
        by_flow.sort_unstable_by_key(|at| {
            let (group, late) = order[*at as usize];
            key(&self.places[group as usize], late)
        });
        let mut place_of = vec![0u32; order.len()];
        for (place, at) in by_flow.iter().enumerate() {
            place_of[*at as usize] = place as u32;
        }
        // A stable counting sort.
        let mut starts = vec![0u32; order.len() + 1];
        for (item, late) in items.iter_mut().zip(&late) {
            let below = forms[item.group as usize] & ((1u8 << late) - 1);
            item.group = place_of[(bases[item.group as usize] + below.count_ones()) as usize];
            starts[item.group as usize + 1] += 1;
        }
        for place in 0..order.len() {
            starts[place + 1] += starts[place];
        }
        if !items.is_sorted_by_key(|item| item.group) {
            let mut ordered = items.clone();
            for item in &*items {
                let at = &mut starts[item.group as usize];
                ordered[*at as usize] = *item;
                *at += 1;
            }
            *items = ordered;
        }
        let place = |at: &u32| self.places[order[*at as usize].0 as usize];
        self.places = by_flow.iter().map(place).collect();
        self.rows = Default::default();
        self.starts = Default::default();
    }

    /// One bit per level that has no number, set if the row was recorded after the first row that has one.
    fn late(&self, sides: [&Side; 2], item: &Item) -> u8 {
        let place = &self.places[item.group as usize];
        let missing = [
            place.iteration.is_none(),
            place.position.is_none(),
            place.layer.is_none(),
        ];
        let mut late = 0;
        for level in (0..3).filter(|level| missing[*level]) {
            let found = (0..2).find_map(|side| {
                let row = Some(item.rows[side]).filter(|row| *row != NONE)? as usize;
                let first = self.first[side][level].get(&place.outside()[level])?;
                Some(sides[side].time_ns[row] >= *first)
            });
            late |= u8::from(found.unwrap_or(true)) << level;
        }
        late
    }
}

impl Place {
    /// For each of iteration, position and layer, the levels that enclose it.
    fn outside(&self) -> [Outside; 3] {
        [
            (self.rank, None, None),
            (self.rank, self.iteration, None),
            (self.rank, self.iteration, self.position),
        ]
    }
}

/// 0 sorts before the numbered rows, 1 among them, 2 after them.
type Key = (u8, u64);

fn key(place: &Place, late: u8) -> (Key, Key, Key, u16) {
    let key = |level: u8, number: Option<u64>| match number {
        Some(number) => (1, number),
        None => ((late >> level & 1) * 2, 0),
    };
    (
        key(0, place.iteration),
        key(1, place.position),
        key(2, place.layer.map(i64::cast_unsigned)),
        place.rank,
    )
}

fn place(side: &Side, row: usize) -> Place {
    Place {
        rank: side.rank[row],
        iteration: side.iteration.get(row),
        position: side.position.get(row),
        layer: side.layer.get(row),
    }
}

/// Rows by (group, time), and where each group begins. Rows with equal times get an order that does not depend on
/// the table's.
fn sorted(side: &Side, group_of: &[u32], groups: usize) -> (Vec<u32>, Vec<u32>) {
    let mut starts = vec![0u32; groups + 1];
    for group in group_of {
        starts[*group as usize + 1] += 1;
    }
    for group in 0..groups {
        starts[group + 1] += starts[group];
    }
    let mut next = starts.clone();
    let mut rows = vec![0u32; side.len];
    for (row, group) in group_of.iter().enumerate() {
        let to = &mut next[*group as usize];
        rows[*to as usize] = row as u32;
        *to += 1;
    }
    let key = |row: &u32| {
        let row = *row as usize;
        (
            side.time_ns[row],
            side.thread[row],
            side.name[row],
            side.hash[row],
            side.span.get(row),
            (side.dtype[row], side.shape[row]),
        )
    };
    for group in 0..groups {
        let rows = &mut rows[starts[group] as usize..starts[group + 1] as usize];
        if !rows.is_sorted_by_key(key) {
            rows.sort_unstable_by_key(key);
        }
    }
    (rows, starts)
}
