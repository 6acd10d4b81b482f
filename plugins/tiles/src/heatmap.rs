//! Time by row and column of tiles.
//!
//! Of more rows or columns than a map may have, neighbours share a cell, as many as a power of two: so the cells of a
//! rank lie whole in those of a job, whose ranks have further rows.

use std::collections::BTreeMap;

use crate::load::Tile;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cell {
    /// Number of tiles, including the unrecorded ones they stand for.
    pub tiles: u64,
    pub dur_ns: i64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heatmap {
    /// Number of rows and columns that share a cell.
    pub steps: (u64, u64),
    /// By first row and first column of the cell.
    pub cells: BTreeMap<(u32, u32), Cell>,
}

impl Default for Heatmap {
    fn default() -> Self {
        Self {
            steps: (1, 1),
            cells: BTreeMap::new(),
        }
    }
}

impl Heatmap {
    /// The map of some tiles, with at most `limit` rows and columns of cells.
    pub fn new<'a, I: Iterator<Item = &'a Tile>>(tiles: impl Fn() -> I, limit: u32) -> Self {
        let step = |last: Option<u32>| {
            let places = u64::from(last.unwrap_or(0)) + 1;
            places.div_ceil(u64::from(limit.max(1))).next_power_of_two()
        };
        let steps = (
            step(tiles().map(|tile| tile.row).max()),
            step(tiles().map(|tile| tile.col).max()),
        );
        let mut out = Self {
            steps,
            cells: BTreeMap::new(),
        };
        for tile in tiles() {
            let cell = Cell {
                tiles: u64::from(tile.weight),
                dur_ns: i64::from(tile.weight).saturating_mul(tile.dur_ns()),
            };
            out.add((tile.row, tile.col), cell, steps);
        }
        out
    }

    /// Adds a cell of a map with `steps` rows and columns per cell.
    pub fn add(&mut self, at: (u32, u32), cell: Cell, steps: (u64, u64)) {
        let wide = (self.steps.0.max(steps.0), self.steps.1.max(steps.1));
        if wide != self.steps {
            self.steps = wide;
            for (at, cell) in std::mem::take(&mut self.cells) {
                self.add(at, cell, wide);
            }
        }
        let first = |place: u32, step: u64| (u64::from(place) / step * step) as u32;
        let at = (first(at.0, wide.0), first(at.1, wide.1));
        let sum = self.cells.entry(at).or_default();
        sum.tiles = sum.tiles.saturating_add(cell.tiles);
        sum.dur_ns = sum.dur_ns.saturating_add(cell.dur_ns);
    }
}
