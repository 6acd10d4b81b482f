//! Time by row and column of tiles.

use std::collections::BTreeMap;

use crate::load::Loaded;

/// One cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
    /// First row of the cell.
    pub row: u32,
    /// First column of the cell.
    pub col: u32,
    /// Tiles.
    pub tiles: u64,
    /// Their time.
    pub dur_ns: i64,
}

/// Cells of a level by row and column, at most `limit` by `limit`; of more, neighbours share one.
pub fn heatmap(loaded: &Loaded, level: u32, limit: u32) -> Vec<Cell> {
    let tiles = || {
        let all = loaded.threads.values().flatten();
        all.filter(move |tile| tile.level == level)
    };
    let step =
        |last: Option<u32>| (u64::from(last.unwrap_or(0)) + 1).div_ceil(u64::from(limit)) as u32;
    let rows = step(tiles().map(|tile| tile.row).max());
    let cols = step(tiles().map(|tile| tile.col).max());
    let mut cells: BTreeMap<(u32, u32), (u64, i64)> = BTreeMap::new();
    for tile in tiles() {
        let at = (tile.row / rows * rows, tile.col / cols * cols);
        let cell = cells.entry(at).or_default();
        cell.0 += u64::from(tile.weight);
        cell.1 += i64::from(tile.weight) * tile.dur_ns();
    }
    let cell = |((row, col), (tiles, dur_ns))| Cell {
        row,
        col,
        tiles,
        dur_ns,
    };
    cells.into_iter().map(cell).collect()
}
