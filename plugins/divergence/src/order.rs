//! Data-flow order: iteration, position, layer, and within them the order of recording.
//!
//! A row without an iteration (or position, or layer) stands before those with one if it was
//! recorded before the first of them, as an embedding is, and else after them, as a head over the
//! vocabulary is. Ranks work side by side: the rank comes last.

use trueno_analysis::hash::FastMap;

use crate::align::{Aligner, Item};
use crate::rows::{NONE, Side};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    pub rank: u16,
    pub iteration: Option<u64>,
    pub position: Option<u64>,
    pub layer: Option<i64>,
}

/// Places in the order in which the first row of each was read.
#[derive(Default)]
pub struct Places {
    all: Vec<Place>,
    numbers: FastMap<Place, u32>,
    last: u32,
}

impl Places {
    /// The number of a place. Most rows are of the same place as the row before, or of the next.
    #[inline]
    pub fn number(&mut self, place: Place) -> u32 {
        for number in [self.last, self.last.wrapping_add(1)] {
            if self.all.get(number as usize) == Some(&place) {
                self.last = number;
                return number;
            }
        }
        let next = self.all.len() as u32;
        self.last = *self.numbers.entry(place).or_insert(next);
        if self.last == next {
            self.all.push(place);
        }
        self.last
    }

    pub fn into_all(self) -> Vec<Place> {
        self.all
    }
}

/// The rows of one run, place by place.
pub struct Rows {
    /// Where the rows of each place begin, with one more entry at the end.
    starts: Vec<u32>,
    /// `None`: they are stored in this order.
    rows: Option<Vec<u32>>,
}

type Outside = (u16, Option<u64>, Option<u64>);

/// By level (iteration, position, layer): when the first row with a number at that level was recorded.
type Firsts = [FastMap<Outside, i64>; 3];

impl Rows {
    /// The rows by (place, time). Rows with equal times get an order that does not depend on the table's.
    pub fn new(side: &mut Side, places: usize) -> Self {
        let place_of = std::mem::take(&mut side.place);
        let side = &*side;
        let mut starts = vec![0u32; places + 1];
        let mut is_stored_so = true;
        let mut last = 0;
        for place in place_of.iter() {
            starts[place as usize + 1] += 1;
            is_stored_so &= last <= place;
            last = place;
        }
        for place in 0..places {
            starts[place + 1] += starts[place];
        }
        let is_before =
            |a: usize, b: usize| side.time_ns(a) < side.time_ns(b) || key(side, a) <= key(side, b);
        let mut bounds = starts
            .windows(2)
            .map(|pair| pair[0] as usize..pair[1] as usize);
        if is_stored_so
            && bounds.all(|rows| rows.clone().skip(1).all(|row| is_before(row - 1, row)))
        {
            return Self { starts, rows: None };
        }
        let mut next = starts.clone();
        let mut rows = vec![0u32; side.len];
        for (row, place) in place_of.iter().enumerate() {
            let to = &mut next[place as usize];
            rows[*to as usize] = row as u32;
            *to += 1;
        }
        for place in 0..places {
            let rows = &mut rows[starts[place] as usize..starts[place + 1] as usize];
            if !rows.is_sorted_by(|a, b| is_before(*a as usize, *b as usize)) {
                rows.sort_unstable_by_key(|row| key(side, *row as usize));
            }
        }
        let rows = Some(rows);
        Self { starts, rows }
    }

    pub fn of(&self, place: usize, to: &mut Vec<u32>) {
        to.clear();
        let bounds = self.starts[place]..self.starts[place + 1];
        match &self.rows {
            Some(rows) => to.extend(&rows[bounds.start as usize..bounds.end as usize]),
            None => to.extend(bounds),
        }
    }
}

/// What decides between rows of one place.
fn key(side: &Side, row: usize) -> impl Ord + use<> {
    let tensor = side.tensor(row);
    (
        side.time_ns(row),
        tensor.thread,
        tensor.name,
        side.hash[row],
        side.span.get(row),
        (tensor.dtype, tensor.shape),
    )
}

/// The rows of two runs in data-flow order.
pub struct Flow<'a> {
    sides: [&'a Side; 2],
    rows: [&'a Rows; 2],
    places: &'a [Place],
    firsts: [Firsts; 2],
    /// Places in data-flow order, each once for each of its [forms](Self::late) that occur.
    order: Vec<Step>,
}

#[derive(Clone, Copy)]
struct Step {
    place: u32,
    late: u8,
    /// Other forms of the place occur too.
    is_part: bool,
}

impl<'a> Flow<'a> {
    pub fn new(sides: [&'a Side; 2], rows: [&'a Rows; 2], places: &'a [Place]) -> Self {
        let firsts = [0, 1].map(|side| firsts(sides[side], rows[side], places));
        let mut flow = Self {
            sides,
            rows,
            places,
            firsts,
            order: Vec::with_capacity(places.len()),
        };
        let mut aligner = Aligner::default();
        let mut order = Vec::with_capacity(places.len());
        for (at, place) in places.iter().enumerate() {
            let mut forms = 0u8;
            if place.is_numbered() {
                let is_empty = |rows: &Rows| rows.starts[at] == rows.starts[at + 1];
                forms = u8::from(!rows.iter().all(|rows| is_empty(rows)));
            } else {
                aligner.align(sides, rows, at, &mut |item| forms |= 1 << flow.late(&item));
            }
            let present = (0..8).filter(|late| forms & 1 << late != 0);
            order.extend(present.map(|late| Step {
                place: at as u32,
                late,
                is_part: forms.count_ones() > 1,
            }));
        }
        order.sort_unstable_by_key(|step| flow_key(&places[step.place as usize], step.late));
        flow.order = order;
        flow
    }

    /// The number of places, of which each form counts.
    pub fn places(&self) -> impl Iterator<Item = &'a Place> + '_ {
        self.order
            .iter()
            .map(|step| &self.places[step.place as usize])
    }

    /// All pairs and unpaired rows in data-flow order; within a place in recording order.
    pub fn each<E>(&self, mut visit: impl FnMut(&Place, Item) -> Result<(), E>) -> Result<(), E> {
        let mut aligner = Aligner::default();
        let mut items = Vec::new();
        for (at, step) in self.order.iter().enumerate() {
            let place = &self.places[step.place as usize];
            items.clear();
            aligner.align(self.sides, self.rows, step.place as usize, &mut |item| {
                items.push(item);
            });
            for mut item in items.drain(..) {
                if step.is_part && self.late(&item) != step.late {
                    continue;
                }
                item.place = at as u32;
                visit(place, item)?;
            }
        }
        Ok(())
    }

    /// The form of an item of a place that lacks a number: one bit per level that has none, set if the row was
    /// recorded after the first row that has one.
    fn late(&self, item: &Item) -> u8 {
        let place = &self.places[item.place as usize];
        let missing = [
            place.iteration.is_none(),
            place.position.is_none(),
            place.layer.is_none(),
        ];
        let mut late = 0;
        for level in (0..3).filter(|level| missing[*level]) {
            let found = (0..2).find_map(|side| {
                let row = Some(item.rows[side]).filter(|row| *row != NONE)? as usize;
                let first = self.firsts[side][level].get(&place.outside()[level])?;
                Some(self.sides[side].time_ns(row) >= *first)
            });
            late |= u8::from(found.unwrap_or(true)) << level;
        }
        late
    }
}

fn firsts(side: &Side, rows: &Rows, places: &[Place]) -> Firsts {
    let mut firsts = Firsts::default();
    for (at, place) in places.iter().enumerate() {
        let bounds = rows.starts[at]..rows.starts[at + 1];
        if bounds.is_empty() {
            continue;
        }
        let first = rows.rows.as_ref();
        let first = first.map_or(bounds.start, |rows| rows[bounds.start as usize]);
        let begin = side.time_ns(first as usize);
        let numbered = [
            place.iteration.is_some(),
            place.position.is_some(),
            place.layer.is_some(),
        ];
        for ((map, outside), numbered) in firsts.iter_mut().zip(place.outside()).zip(numbered) {
            if numbered {
                let since = map.entry(outside).or_insert(i64::MAX);
                *since = (*since).min(begin);
            }
        }
    }
    firsts
}

impl Place {
    fn is_numbered(&self) -> bool {
        self.iteration.is_some() && self.position.is_some() && self.layer.is_some()
    }

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

fn flow_key(place: &Place, late: u8) -> (Key, Key, Key, u16) {
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
