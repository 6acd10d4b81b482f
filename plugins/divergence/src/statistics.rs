//! Counts and moments of the tensors that need them: those whose bits differ, and those that are listed.
//!
//! They are read after the rows were aligned. Of ten million pairs with equal bits nobody looks at them.

use trueno_plugin::{F64Column, Result, Run, Table, U64Column};

use crate::align::Item;
use crate::inputs::Names;
use crate::rows::{NONE, Side};
use trueno_analysis::hash::FastMap;

/// Statistics by row. Rows that were not loaded look as if nothing had been recorded.
#[derive(Default)]
pub struct Statistics {
    /// By row: its index in the columns, or [`NONE`].
    place: Vec<u32>,
    counts: [U64Column; 3],
    moments: [F64Column; 5],
}

const COUNTS: [&str; 3] = ["nan_count", "inf_count", "zero_count"];
const MOMENTS: [&str; 5] = ["min", "max", "absmax", "mean", "l2"];

/// Rows of both sides that need statistics, if at most `listed` pairs are listed.
pub fn needed(sides: [&Side; 2], items: &[Item], listed: usize) -> [Vec<bool>; 2] {
    let mut needed = sides.map(|side| vec![false; side.len]);
    let (mut alone, mut equal) = (0, 0);
    for item in items {
        let [a, b] = item.rows.map(|row| row as usize);
        let count = if item.rows.contains(&NONE) {
            &mut alone
        } else if sides[0].hash[a] == sides[1].hash[b] {
            &mut equal
        } else {
            (needed[0][a], needed[1][b]) = (true, true);
            continue;
        };
        *count += 1;
        if *count > listed {
            continue;
        }
        for (needed, row) in needed.iter_mut().zip(item.rows) {
            if row != NONE {
                needed[row as usize] = true;
            }
        }
    }
    needed
}

impl Statistics {
    /// Loads the statistics of the rows that need them; reads nothing if none do.
    ///
    /// # Errors
    /// A column is missing or of another type.
    pub fn load(run: &mut Run, names: &Names, side: &Side, needed: &[bool]) -> Result<Self> {
        if !needed.contains(&true) {
            return Ok(Self::default());
        }
        let table = run.table(names.statistics)?;
        let (place, chosen) = chosen(&table, side, needed)?;
        let count = |column: &str| -> Result<U64Column> {
            let column = table.u64(column)?;
            Ok(chosen.iter().map(|row| column.get(*row as usize)).collect())
        };
        let moment = |column: &str| -> Result<F64Column> {
            let column = table.f64(column)?;
            Ok(chosen.iter().map(|row| column.get(*row as usize)).collect())
        };
        let [nan, inf, zero] = COUNTS.map(count);
        let [min, max, absmax, mean, l2] = MOMENTS.map(moment);
        Ok(Self {
            place,
            counts: [nan?, inf?, zero?],
            moments: [min?, max?, absmax?, mean?, l2?],
        })
    }

    fn count(&self, which: usize, row: usize) -> Option<u64> {
        self.counts[which].get(self.place(row)?)
    }

    fn moment(&self, which: usize, row: usize) -> Option<f64> {
        self.moments[which].get(self.place(row)?)
    }

    fn place(&self, row: usize) -> Option<usize> {
        let place = self.place.get(row).copied().unwrap_or(NONE);
        (place != NONE).then_some(place as usize)
    }
}

/// The column index of each row of the side, and the table row at each column index.
fn chosen(table: &Table, side: &Side, needed: &[bool]) -> Result<(Vec<u32>, Vec<u32>)> {
    let (thread, time) = (table.i64("thread")?, table.i64("time_ns")?);
    let hash = table.u64("hash")?;
    let (thread, time, hash) = (thread.values(), time.values(), hash.values());
    let mut place = vec![NONE; side.len];
    let mut chosen = Vec::new();
    let key = |row: usize| (side.thread[row], side.time_ns[row], side.hash[row]);
    let is_same = |row: usize| key(row) == (thread[row], time[row], hash[row]);
    if table.rows() == side.len && (0..side.len).all(is_same) {
        for row in (0..side.len).filter(|row| needed[*row]) {
            place[row] = chosen.len() as u32;
            chosen.push(row as u32);
        }
        return Ok((place, chosen));
    }
    // In another order. Rows of one thread, time and hash have equal statistics.
    let mut places = FastMap::default();
    for row in (0..side.len).filter(|row| needed[*row]) {
        let next = places.len() as u32;
        place[row] = *places.entry(key(row)).or_insert(next);
    }
    chosen.resize(places.len(), NONE);
    for row in 0..table.rows() {
        if let Some(place) = places.get(&(thread[row], time[row], hash[row])) {
            chosen[*place as usize] = row as u32;
        }
    }
    // The queries are of one table: every row is there.
    for place in &mut place {
        if *place != NONE && chosen[*place as usize] == NONE {
            *place = NONE;
        }
    }
    for row in &mut chosen {
        if *row == NONE {
            *row = 0;
        }
    }
    Ok((place, chosen))
}

impl Side {
    pub fn nan_count(&self, row: usize) -> Option<u64> {
        self.statistics.count(0, row)
    }

    pub fn inf_count(&self, row: usize) -> Option<u64> {
        self.statistics.count(1, row)
    }

    pub fn zero_count(&self, row: usize) -> Option<u64> {
        self.statistics.count(2, row)
    }

    pub fn min(&self, row: usize) -> Option<f64> {
        self.statistics.moment(0, row)
    }

    pub fn max(&self, row: usize) -> Option<f64> {
        self.statistics.moment(1, row)
    }

    pub fn absmax(&self, row: usize) -> Option<f64> {
        self.statistics.moment(2, row)
    }

    /// Mean of the finite elements.
    pub fn mean(&self, row: usize) -> Option<f64> {
        self.statistics.moment(3, row)
    }

    /// Euclidean norm of the finite elements.
    pub fn l2(&self, row: usize) -> Option<f64> {
        self.statistics.moment(4, row)
    }
}
