//! Alignment of the rows of two runs.
//!
//! In a place (iteration, position, layer), rows of one name pair up by occurrence. Where one side has
//! more of them, rows with equal hashes at the beginning and at the end pair up first, so that one
//! record too many shifts nothing behind it; of the rest, the last ones stay alone.

use crate::order::Rows;
use crate::rows::{NONE, Side, Tensor};

#[derive(Clone, Copy, Debug)]
pub struct Item {
    pub rows: [u32; 2],
    /// Position among the rows with the same key, from 0.
    pub occurrence: u32,
    /// Number of the place.
    pub place: u32,
    /// True if the other side has rows with this key.
    pub shared: bool,
    /// True if one of the sides has several rows with this key.
    pub repeated: bool,
}

impl Item {
    /// The side that describes it, and its row there.
    pub fn row(&self) -> (usize, usize) {
        let side = usize::from(self.rows[0] == NONE);
        (side, self.rows[side] as usize)
    }

    pub fn on(&self, side: usize) -> Option<usize> {
        let row = self.rows[side];
        (row != NONE).then_some(row as usize)
    }

    pub fn tensor<'a>(&self, sides: [&'a Side; 2]) -> &'a Tensor {
        let (side, row) = self.row();
        sides[side].tensor(row)
    }
}

/// Up to so many rows of a place are compared with each other instead of sorted.
const FEW: usize = 32;

#[derive(Default)]
pub struct Aligner {
    rows: [Vec<u32>; 2],
    /// By side: (name, index in the place).
    named: [Vec<(u32, u32)>; 2],
    /// Items with their sort key: index among the subject's rows, then among the baseline's unpaired rows.
    placed: Vec<((u32, u32), Item)>,
    /// By baseline row: index of its partner, or [`NONE`].
    partner: Vec<u32>,
}

impl Aligner {
    /// All pairs and unpaired rows of a place, in recording order.
    pub fn align(
        &mut self,
        sides: [&Side; 2],
        rows: [&Rows; 2],
        place: usize,
        visit: &mut impl FnMut(Item),
    ) {
        for ((to, rows), (named, side)) in self
            .rows
            .iter_mut()
            .zip(rows)
            .zip(self.named.iter_mut().zip(sides))
        {
            rows.of(place, to);
            named.clear();
            let with_place = to.iter().zip(0..);
            named.extend(with_place.map(|(row, at)| (side.tensor(*row as usize).name, at)));
        }
        let place = place as u32;
        if self.are_alike() {
            for (a, b) in self.rows[0].iter().zip(&self.rows[1]) {
                visit(Item {
                    rows: [*a, *b],
                    occurrence: 0,
                    place,
                    shared: true,
                    repeated: false,
                });
            }
            return;
        }
        self.by_name(sides, place);
        self.placed.sort_unstable_by_key(|(key, _)| *key);
        self.placed.iter().for_each(|(_, item)| visit(*item));
    }

    /// The sides have the same few names in the same order, each once.
    fn are_alike(&self) -> bool {
        let [a, b] = &self.named;
        let is_new = |at: usize| a[..at].iter().all(|(name, _)| *name != a[at].0);
        a.len() <= FEW && a == b && (0..a.len()).all(is_new)
    }

    fn by_name(&mut self, sides: [&Side; 2], place: u32) {
        self.placed.clear();
        self.partner.clear();
        self.partner.resize(self.rows[1].len(), NONE);
        let [mut a, mut b] = [0, 0];
        let mut named = std::mem::take(&mut self.named);
        named.iter_mut().for_each(|named| named.sort_unstable());
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
            self.key(sides, place, [&named[0][a..to_a], &named[1][b..to_b]]);
            (a, b) = (to_a, to_b);
        }
        self.named = named;
        // Rows of the baseline alone stand behind the pair they followed.
        if self.placed.iter().all(|(_, item)| item.rows[0] != NONE) {
            return;
        }
        let mut behind = 0;
        let mut place = vec![0; self.partner.len()];
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
    }

    /// Pairs the rows of one name in a place. `of` holds the indices of its rows on each side, in recording
    /// order.
    fn key(&mut self, sides: [&Side; 2], place: u32, of: [&[(u32, u32)]; 2]) {
        let rows = &self.rows;
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
            place,
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
