//! Sums of tiles, of one rank or of several: figures that can be merged exactly.

use std::collections::{BTreeMap, BTreeSet};

use trueno_analysis::value_counts::ValueCounts;

use crate::Options;
use crate::heatmap::Heatmap;
use crate::load::{LevelName, Loaded};
use crate::outliers::{LongTile, Longest};
use crate::sweep::{Sum, sweep};

/// A level, and what its tiles declare. Tiles with equal values are comparable.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Work {
    pub level: LevelName,
    /// `None` if not declared.
    pub flops: Option<u64>,
    /// `None` if not declared.
    pub bytes: Option<u64>,
}

#[derive(Clone, Debug, Default)]
pub struct Group {
    /// Durations by weight, the number of tiles that one stands for.
    pub durations: BTreeMap<u32, ValueCounts>,
    pub longest: Longest,
}

impl Group {
    pub fn all_durations(&self) -> ValueCounts {
        let mut all = ValueCounts::default();
        for durations in self.durations.values() {
            all.merge(durations);
        }
        all
    }
}

#[derive(Clone, Debug, Default)]
pub struct Sums {
    /// By thread, then level. Only levels with tiles.
    pub threads: BTreeMap<i64, BTreeMap<LevelName, Sum>>,
    pub work: BTreeMap<Work, Group>,
    pub heat: BTreeMap<LevelName, Heatmap>,
    pub backends: BTreeSet<String>,
}

impl Sums {
    pub fn new(loaded: &mut Loaded, options: &Options) -> Self {
        let sums = sweep(loaded);
        let levels = &loaded.levels;
        let threads = loaded.threads.keys().zip(sums).map(|(thread, sums)| {
            let sums = levels.iter().cloned().zip(sums);
            (*thread, sums.filter(|(_, sum)| sum.tiles > 0).collect())
        });
        let mut out = Self {
            threads: threads.collect(),
            backends: loaded.backends.clone(),
            ..Self::default()
        };
        out.add_work(loaded, options.outlier_rows);
        for (level, number) in levels.iter().zip(0_u32..) {
            let tiles = || loaded.threads.values().flatten();
            let tiles = || tiles().filter(|tile| tile.level == number);
            if tiles().next().is_some() {
                let map = Heatmap::new(tiles, options.heat_cells);
                out.heat.insert(level.clone(), map);
            }
        }
        out
    }

    fn add_work(&mut self, loaded: &Loaded, limit: usize) {
        // By number of the level, FLOPs and bytes.
        type Key = (u32, Option<u64>, Option<u64>);
        type Durations = BTreeMap<u32, Vec<i64>>;
        let mut groups: BTreeMap<Key, (Durations, Longest)> = BTreeMap::new();
        for (thread, tiles) in &loaded.threads {
            for tile in tiles {
                let group = groups.entry((tile.level, tile.flops, tile.bytes));
                let (durations, longest) = group.or_default();
                let dur_ns = tile.dur_ns();
                durations.entry(tile.weight).or_default().push(dur_ns);
                let long = LongTile {
                    id: tile.id,
                    row: tile.row,
                    col: tile.col,
                    thread: *thread,
                    start_ns: tile.start_ns,
                    dur_ns,
                };
                longest.add(long, limit);
            }
        }
        for ((level, flops, bytes), (durations, mut longest)) in groups {
            let Some(level) = loaded.levels.get(level as usize).cloned() else {
                continue;
            };
            longest.shorten(limit);
            let durations = durations.into_iter();
            let group = Group {
                durations: durations
                    .map(|(weight, values)| (weight, values.into_iter().collect()))
                    .collect(),
                longest,
            };
            let work = Work {
                level,
                flops,
                bytes,
            };
            self.work.insert(work, group);
        }
    }
}
