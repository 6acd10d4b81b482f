//! The output tables, and how their columns are computed.

use trueno_analysis::share;
use trueno_plugin::{Table, TableBuilder};

use crate::heatmap::Heatmap;
use crate::levels::Level;
use crate::outliers::Outliers;
use crate::sums::Sums;
use crate::sweep::Sum;

/// Table `levels`.
///
/// `exclusive_ns`: time in which a tile of the level was the innermost of its thread; `inclusive_ns`: time in which
/// one was open; `exclusive_share`: of the time of all tiles, so for `pack` the share of packing; `pack_share`:
/// share of the level's inclusive time spent packing; `flops`, `bytes`: declared, null if none are. Intensity and
/// rates are of tiles that declare both, over the sum of their durations. If no tile does, there is no intensity,
/// and each rate is of the tiles that declare it. `efficiency_share`: against the roof of `memory`; `is_valid`:
/// false above it; `imbalance_ratio`: longest inclusive time of a thread / mean over all threads with tiles;
/// `recorded`: tiles with a row; `sampled_every`: tiles that a row of the level stands for, null if all have a row.
/// Everything here and in the heat maps is scaled by it. `recorder_share`: `recorded` × the recorder's cost of a
/// span / inclusive time.
pub fn levels(levels: &[Level]) -> TableBuilder {
    let rows = || levels.iter();
    Table::build("levels")
        .text("level", rows().map(|row| row.name.as_str()))
        .u64("tiles", rows().map(|row| row.sum.tiles))
        .i64("exclusive_ns", rows().map(|row| row.sum.exclusive_ns))
        .f64(
            "exclusive_share",
            rows().map(|row| share(row.sum.exclusive_ns, row.all_ns)),
        )
        .i64("inclusive_ns", rows().map(|row| row.sum.inclusive_ns))
        .f64("pack_share", rows().map(Level::pack_share))
        .f64("flops_per_s", rows().map(|row| row.rates().0))
        .f64(
            "flops_per_byte",
            rows().map(|row| row.achieved.map(|found| found.intensity)),
        )
        .f64(
            "efficiency_share",
            rows().map(|row| row.place.map(|place| place.efficiency)),
        )
        .text("memory", rows().map(|row| row.memory.as_deref()))
        .text(
            "bound_by",
            rows().map(|row| row.place.map(|place| place.bound.name())),
        )
        .bool(
            "is_valid",
            rows().map(|row| row.place.map(|place| !place.is_above())),
        )
        .f64("imbalance_ratio", rows().map(|row| row.imbalance))
        .f64("flops", rows().map(|row| row.flops))
        .f64("bytes", rows().map(|row| row.bytes))
        .f64("bytes_per_s", rows().map(|row| row.rates().1))
        .f64(
            "ridge_flops_per_byte",
            rows().map(|row| row.place.map(|place| place.ridge)),
        )
        .u64("recorded", rows().map(|row| row.sum.recorded))
        .u64(
            "sampled_every",
            rows().map(|row| (row.sampled_every > 1).then_some(u64::from(row.sampled_every))),
        )
        .f64("recorder_share", rows().map(|row| row.recorder_share))
        .text("assumed", rows().map(|row| row.assumed.as_deref()))
        .text("reason", rows().map(|row| row.reason.as_deref()))
        .text("doubt", rows().map(|row| row.doubt.as_deref()))
}

/// Table `threads`: the times of table `levels` for each thread and level.
pub fn threads(sums: &Sums) -> TableBuilder {
    let threads = sums.threads.iter();
    let rows: Vec<(i64, &str, &Sum)> = threads
        .flat_map(|(thread, levels)| {
            let named = levels.iter();
            named.map(|(level, sum)| (*thread, level.as_str(), sum))
        })
        .collect();
    Table::build("threads")
        .i64("thread", rows.iter().map(|row| row.0))
        .text("level", rows.iter().map(|row| row.1))
        .u64("tiles", rows.iter().map(|row| row.2.tiles))
        .i64("exclusive_ns", rows.iter().map(|row| row.2.exclusive_ns))
        .i64("inclusive_ns", rows.iter().map(|row| row.2.inclusive_ns))
}

/// Table `outliers`: tiles far above the median of their level and declared work, the furthest first. Far means
/// more than 5 times the median absolute deviation, which counts as at least 5 % of the median.
pub fn outliers(outliers: &Outliers) -> TableBuilder {
    let rows = || outliers.listed.iter();
    Table::build("outliers")
        .u64("id", rows().map(|row| row.tile.id))
        .text("level", rows().map(|row| row.level.as_str()))
        .i64("row", rows().map(|row| i64::from(row.tile.row)))
        .i64("col", rows().map(|row| i64::from(row.tile.col)))
        .i64("thread", rows().map(|row| row.tile.thread))
        .i64("start_ns", rows().map(|row| row.tile.start_ns))
        .i64("dur_ns", rows().map(|row| row.tile.dur_ns))
        .i64("median_ns", rows().map(|row| row.median_ns))
        .f64("deviations", rows().map(|row| row.deviations))
}

/// Table `heat_<level>`: time of tiles by row and column. Both count from the enclosing tile.
pub fn heat(name: &str, map: &Heatmap) -> TableBuilder {
    let places = || map.cells.keys();
    Table::build(name)
        .i64("row", places().map(|at| i64::from(at.0)))
        .i64("col", places().map(|at| i64::from(at.1)))
        .u64("tiles", map.cells.values().map(|cell| cell.tiles))
        .i64("dur_ns", map.cells.values().map(|cell| cell.dur_ns))
}
