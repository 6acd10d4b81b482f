//! From the published tables to tiles, thread by thread.

use std::collections::{BTreeMap, BTreeSet};

use trueno_analysis::roofline::ceilings::CEILINGS;
use trueno_analysis::start_order::Interval;
use trueno_analysis::window::Window;
use trueno_plugin::{Error, Input, Result, Run};

pub const RECORDER: Input = Input::sql(
    "recorder",
    "SELECT cost_ns_per_span FROM run WHERE cost_ns_per_span IS NOT NULL",
)
.optional();

pub const INPUTS: [Input; 6] = [
    Input::sql(
        "tiles",
        "SELECT id, level_id, \"row\" AS at_row, col AS at_col, thread, start_ns, dur_ns, flops, bytes, sampled_every FROM tiles",
    ),
    Input::sql(
        "tile_levels",
        "SELECT DISTINCT level_id AS id, level AS text FROM tiles",
    ),
    Input::sql(
        "tile_backends",
        "SELECT DISTINCT k.backend AS backend FROM tiles AS t JOIN kernels AS k ON t.parent = k.id",
    ),
    CEILINGS,
    RECORDER,
    Window::INPUT,
];

/// Levels in report order. Other levels follow by name.
const LEVELS: [&str; 4] = ["macro", "midi", "micro", "pack"];

/// A level; ordered as in reports.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LevelName {
    place: usize,
    name: String,
}

impl LevelName {
    pub fn new(name: &str) -> Self {
        let place = LEVELS.iter().position(|level| *level == name);
        Self {
            place: place.unwrap_or(LEVELS.len()),
            name: name.to_owned(),
        }
    }

    pub fn as_str(&self) -> &str {
        &self.name
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tile {
    pub start_ns: i64,
    pub end_ns: i64,
    /// Unique in the run.
    pub id: u64,
    /// `None` if not declared.
    pub flops: Option<u64>,
    /// `None` if not declared.
    pub bytes: Option<u64>,
    pub row: u32,
    pub col: u32,
    pub level: u32,
    /// Number of tiles it stands for, itself included, because of sampling.
    pub weight: u32,
}

impl Interval for Tile {
    fn times(&self) -> (i64, i64, u64) {
        (self.start_ns, self.end_ns, self.id)
    }
}

impl Tile {
    pub fn dur_ns(&self) -> i64 {
        self.end_ns - self.start_ns
    }
}

#[derive(Clone, Debug, Default)]
pub struct Loaded {
    pub levels: Vec<LevelName>,
    pub threads: BTreeMap<i64, Vec<Tile>>,
    pub backends: BTreeSet<String>,
    /// Rows with an impossible duration, or cut by the window.
    pub left_out: u64,
}

/// Cost of a recorded tile to its thread, as the recorder measured it.
///
/// # Errors
/// The input lacks the column or has it in another type.
pub fn cost_ns(run: &mut Run) -> Result<Option<f64>> {
    let table = run.table(RECORDER.name())?;
    Ok(table.f64("cost_ns_per_span")?.iter().next().flatten())
}

/// Reads the tiles.
///
/// # Errors
/// An input lacks a column or has it in another type.
pub fn load(run: &mut Run) -> Result<Loaded> {
    let mut out = Loaded::default();
    let window = Window::read(run)?;
    let table = run.table("tile_levels")?;
    let (ids, texts) = (table.i64("id")?, table.text("text")?);
    let known: Vec<(i64, LevelName)> = (0..table.rows())
        .filter_map(|row| Some((ids.get(row)?, LevelName::new(texts.get(row)?))))
        .collect();
    out.levels = known.iter().map(|(_, level)| level.clone()).collect();
    out.levels.sort();
    out.levels.dedup();
    let numbers: BTreeMap<i64, u32> = known
        .iter()
        .filter_map(|(id, level)| Some((*id, out.levels.binary_search(level).ok()? as u32)))
        .collect();

    let table = run.table("tile_backends")?;
    let backends = table.text("backend")?;
    out.backends = backends.iter().flatten().map(str::to_owned).collect();

    let small = |value: i64| u32::try_from(value).unwrap_or(u32::MAX);
    let mut batches = run.batches("tiles")?;
    while let Some(batch) = batches.next_batch()? {
        let (id, thread) = (batch.u64("id")?, batch.i64("thread")?);
        let level_id = batch.i64("level_id")?;
        let (at_row, at_col) = (batch.i64("at_row")?, batch.i64("at_col")?);
        let (start_ns, dur_ns) = (batch.i64("start_ns")?, batch.i64("dur_ns")?);
        let (flops, bytes) = (batch.u64("flops")?, batch.u64("bytes")?);
        let sampled_every = batch.i64("sampled_every")?;
        for row in 0..batch.rows() {
            let level = *numbers.get(&level_id.value(row)).ok_or_else(|| {
                Error::bad_input("`tile_levels` does not list all levels of `tiles`".to_owned())
            })?;
            let start = start_ns.value(row);
            let end = start
                .checked_add(dur_ns.value(row))
                .filter(|end| *end >= start);
            let Some(end) = end else {
                out.left_out += 1;
                continue;
            };
            if let Some(window) = window {
                if !window.overlaps(start, end) {
                    continue;
                }
                if !window.contains(start, end) {
                    out.left_out += 1;
                    continue;
                }
            }
            out.threads
                .entry(thread.value(row))
                .or_default()
                .push(Tile {
                    start_ns: start,
                    end_ns: end,
                    id: id.value(row),
                    flops: flops.get(row),
                    bytes: bytes.get(row),
                    row: small(at_row.value(row)),
                    col: small(at_col.value(row)),
                    level,
                    weight: sampled_every.get(row).map_or(1, small).max(1),
                });
        }
    }
    Ok(out)
}
