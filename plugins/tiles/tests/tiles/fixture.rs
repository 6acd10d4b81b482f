//! Tiles by hand.

use std::collections::BTreeMap;

pub use trueno_analysis::testing::lines_significant as lines;
use trueno_plugin::testing::{Output, run};
use trueno_plugin::{Table, TableBuilder};
use trueno_plugin_tiles::Tiles;

/// Level, thread, start, duration, FLOPs, bytes, row, column. Ids count from 1 in each rank.
pub type Row = (
    &'static str,
    i64,
    i64,
    i64,
    Option<u64>,
    Option<u64>,
    i64,
    i64,
);

/// Level (instruction set or memory) and value, measured on one thread.
pub type Ceiling = (&'static str, f64);

#[derive(Clone, Debug, Default)]
pub struct Fixture {
    pub tiles: Vec<Row>,
    pub backends: Vec<&'static str>,
    pub ceilings: Vec<Ceiling>,
    pub window: Option<(i64, i64)>,
    /// Sampling period of the micro tiles.
    pub micro_every: Option<i64>,
    pub cost_ns: Option<f64>,
    /// Relative spread of the repetitions of each ceiling.
    pub spread: Option<f64>,
}

const LEVELS: [&str; 5] = ["pack", "micro", "midi", "macro", "other"];

impl Fixture {
    pub fn analyse(&self) -> Output {
        self.analyse_with("{}")
    }

    pub fn analyse_with(&self, options: &str) -> Output {
        run::<Tiles>(self.inputs(), options).unwrap()
    }

    /// Ids with the rank in their upper bits, as in thread numbers.
    fn ids(&self) -> Vec<u64> {
        let mut counts: BTreeMap<u64, u64> = BTreeMap::new();
        let tiles = self.tiles.iter();
        let id = tiles.map(|row| {
            let rank = (row.1 >> 16) as u64;
            let count = counts.entry(rank).or_default();
            *count += 1;
            (rank << 48) | *count
        });
        id.collect()
    }

    pub fn inputs(&self) -> Vec<TableBuilder> {
        let tiles = || self.tiles.iter();
        let number = |level: &str| LEVELS.iter().position(|known| *known == level).unwrap() as i64;
        let used: Vec<&str> = LEVELS
            .into_iter()
            .filter(|level| tiles().any(|row| row.0 == *level))
            .collect();
        let mut inputs = vec![
            Table::build("tiles")
                .u64("id", self.ids())
                .i64("level_id", tiles().map(|row| number(row.0)))
                .i64("at_row", tiles().map(|row| row.6))
                .i64("at_col", tiles().map(|row| row.7))
                .i64("thread", tiles().map(|row| row.1))
                .i64("start_ns", tiles().map(|row| row.2))
                .i64("dur_ns", tiles().map(|row| row.3))
                .u64("flops", tiles().map(|row| row.4))
                .u64("bytes", tiles().map(|row| row.5))
                .i64(
                    "sampled_every",
                    tiles().map(|row| self.micro_every.filter(|_| row.0 == "micro")),
                ),
            Table::build("tile_levels")
                .i64("id", used.iter().map(|level| number(level)))
                .text("text", &used),
            Table::build("tile_backends").text("backend", &self.backends),
        ];
        if let Some((from_ns, until_ns)) = self.window {
            inputs.push(
                Table::build("report_window")
                    .i64("from_ns", [from_ns])
                    .i64("until_ns", [until_ns]),
            );
        }
        inputs.extend(self.others());
        inputs
    }

    /// Inputs other than rows of events, which a merge reads too.
    pub fn others(&self) -> Vec<TableBuilder> {
        let is_memory = |level: &str| ["dram", "l3", "l2", "l1"].contains(&level);
        let ceilings = || self.ceilings.iter();
        vec![
            Table::build("recorder").f64("cost_ns_per_span", self.cost_ns),
            Table::build("ceilings")
                .text("device", ceilings().map(|_| "cpu"))
                .text(
                    "kind",
                    ceilings().map(|row| {
                        if is_memory(row.0) {
                            "bandwidth"
                        } else {
                            "compute"
                        }
                    }),
                )
                .text("level", ceilings().map(|row| row.0))
                .text(
                    "precision",
                    ceilings().map(|row| (!is_memory(row.0)).then_some("f32")),
                )
                .i64("threads", ceilings().map(|_| 1))
                .f64("value", ceilings().map(|row| row.1))
                .text("unit", ceilings().map(|_| ""))
                .text("source", ceilings().map(|_| "measured"))
                .text("operation", ceilings().map(|_| None::<&str>))
                .f64("spread", ceilings().map(|_| self.spread))
                .bool("settled", ceilings().map(|_| None::<bool>))
                .f64("earlier", ceilings().map(|_| None::<f64>)),
        ]
    }
}
