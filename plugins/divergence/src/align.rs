//! Alignment of the rows of two runs.
//!
//! In a group (iteration, position, layer), rows of one name pair up by occurrence. Where one side has
//! more of them, rows with equal hashes at the beginning and at the end pair up first, so that one
//! record too many shifts nothing behind it; of the rest, the last ones stay alone.

use crate::order::Groups;
use crate::rows::{NONE, Side};

#[derive(Clone, Copy, Debug)]
pub struct Item {
    pub rows: [u32; 2],
    /// Position among the rows with the same key, from 0.
    pub occurrence: u32,
    pub group: u32,
    /// True if the other side has rows with this key.
    pub shared: bool,
    /// True if one of the sides has several rows with this key.
    pub repeated: bool,
}

/// All pairs and unpaired rows, group by group, and within a group in recording order.
pub fn align(sides: [&Side; 2], groups: &Groups) -> Vec<Item> {
    let mut items = Vec::with_capacity(sides[0].len.max(sides[1].len));
    let mut work = Work::default();
    for group in 0..groups.places.len() {
        let rows = [groups.rows(0, group), groups.rows(1, group)];
        work.group(sides, rows, group as u32, &mut items);
    }
    items
}

#[derive(Default)]
struct Work {
    /// By side: (name, index in the group).
    named: [Vec<(u32, u32)>; 2],
    /// Items with their sort key: index among the subject's rows, then among the baseline's unpaired rows.
    placed: Vec<((u32, u32), Item)>,
    /// By baseline row: index of its partner, or [`NONE`].
    partner: Vec<u32>,
}

impl Work {
    fn group(&mut self, sides: [&Side; 2], rows: [&[u32]; 2], group: u32, items: &mut Vec<Item>) {
        for side in 0..2 {
            let named = &mut self.named[side];
            named.clear();
            let with_place = rows[side].iter().enumerate();
            named.extend(with_place.map(|(at, row)| (sides[side].name[*row as usize], at as u32)));
            named.sort_unstable();
        }
        self.placed.clear();
        self.partner.clear();
        self.partner.resize(rows[1].len(), NONE);
        let [mut a, mut b] = [0, 0];
        let named = std::mem::take(&mut self.named);
        while a < named[0].len() || b < named[1].len() {
            let name = match (named[0].get(a), named[1].get(b)) {
                (Some(x), Some(y)) => x.0.min(y.0),
                (Some(x), None) | (None, Some(x)) => x.0,
                (None, None) => break,
            };
            let end = |list: &[(u32, u32)], from: usize| {
                from + list[from..].partition_point(|(of, _)| *of == name)
            };
            let (to_a, to_b) = (end(&named[0], a), end(&named[1], b));
            self.key(sides, rows, group, [&named[0][a..to_a], &named[1][b..to_b]]);
            (a, b) = (to_a, to_b);
        }
        self.named = named;
        // Rows of the baseline alone stand behind the pair they followed.
        let mut behind = 0;
        let mut place = vec![
            0;
            if self.placed.iter().any(|(_, item)| item.rows[0] == NONE) {
                rows[1].len()
            } else {
                0
            }
        ];
        for (at, place) in place.iter_mut().enumerate() {
            if self.partner[at] != NONE {
                behind = self.partner[at] + 1;
            }
            *place = behind;
        }
        for (key, item) in &mut self.placed {
            if item.rows[0] == NONE {
                *key = (place[key.1 as usize - 1], key.1);
            }
        }
        self.placed.sort_unstable_by_key(|(key, _)| *key);
        items.extend(self.placed.iter().map(|(_, item)| *item));
    }

    /// Pairs the rows of one name in a group. `of` holds the indices of its rows on each side, in recording
    /// order.
    fn key(&mut self, sides: [&Side; 2], rows: [&[u32]; 2], group: u32, of: [&[(u32, u32)]; 2]) {
        let row = |side: usize, nth: usize| rows[side][of[side][nth].1 as usize];
        let hash = |side: usize, nth: usize| sides[side].hash[row(side, nth) as usize];
        let (count, fewer) = ([of[0].len(), of[1].len()], of[0].len().min(of[1].len()));
        let (mut head, mut tail) = (fewer, 0);
        if count[0] != count[1] {
            head = (0..fewer)
                .take_while(|nth| hash(0, *nth) == hash(1, *nth))
                .count();
            let from_end = |nth: &usize| hash(0, count[0] - 1 - nth) == hash(1, count[1] - 1 - nth);
            tail = (0..fewer - head).take_while(from_end).count();
            head = fewer - tail;
        }
        let base = Item {
            rows: [NONE; 2],
            occurrence: 0,
            group,
            shared: fewer > 0,
            repeated: count[0] > 1 || count[1] > 1,
        };
        let pairs = (0..head).map(|nth| [nth, nth]);
        let pairs = pairs.chain(
            (0..tail)
                .rev()
                .map(|nth| [count[0] - 1 - nth, count[1] - 1 - nth]),
        );
        for nth in pairs {
            let [a, b] = [of[0][nth[0]].1, of[1][nth[1]].1];
            self.partner[b as usize] = a;
            let rows = [row(0, nth[0]), row(1, nth[1])];
            self.placed.push((
                (a + 1, 0),
                Item {
                    rows,
                    occurrence: nth[0] as u32,
                    ..base
                },
            ));
        }
        for side in 0..2 {
            let rest = head..count[side] - tail;
            for (nth, (_, place)) in rest.clone().zip(&of[side][rest]) {
                let mut alone = Item {
                    occurrence: nth as u32,
                    ..base
                };
                alone.rows[side] = row(side, nth);
                let at = place + 1;
                let key = if side == 0 { (at, 0) } else { (0, at) };
                self.placed.push((key, alone));
            }
        }
    }
}
