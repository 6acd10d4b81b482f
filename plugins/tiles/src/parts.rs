//! Tables of parts.

use trueno_analysis::roofline::ceilings::CEILINGS;
use trueno_plugin::{Input, Result, Run, Table, table_row};

use crate::heatmap::Cell;
use crate::load::{LevelName, RECORDER};
use crate::outliers::LongTile;
use crate::sums::{Group, Sums, Work};
use crate::sweep::Sum;

pub const MERGE_INPUTS: [Input; 7] = [
    Input::sql("thread_sums", "SELECT * FROM tiles.thread_sums"),
    Input::sql("durations", "SELECT * FROM tiles.durations"),
    Input::sql("longest", "SELECT * FROM tiles.longest"),
    Input::sql("cells", "SELECT * FROM tiles.cells"),
    Input::sql("backends", "SELECT backend FROM tiles.backends"),
    CEILINGS,
    RECORDER,
];

table_row! {
    struct ThreadRow<'a> {
        thread: i64,
        level: &'a str,
        tiles: u64,
        recorded: u64,
        exclusive_ns: i64,
        inclusive_ns: i64,
        pack_ns: i64,
    }
}
table_row! {
    struct DurationRow<'a> {
        level: &'a str,
        flops: Option<u64>,
        bytes: Option<u64>,
        weight: u64,
        dur_ns: i64,
        tiles: u64,
    }
}
table_row! {
    struct LongRow<'a> {
        level: &'a str,
        flops: Option<u64>,
        bytes: Option<u64>,
        id: u64,
        row: u64,
        col: u64,
        thread: i64,
        start_ns: i64,
        dur_ns: i64,
    }
}
table_row! {
    struct CellRow<'a> {
        level: &'a str,
        row: u64,
        col: u64,
        row_step: u64,
        col_step: u64,
        tiles: u64,
        dur_ns: i64,
    }
}

/// Emits a part.
///
/// # Errors
/// The host refuses a table.
pub fn emit(run: &mut Run, sums: &Sums) -> Result<()> {
    let rows = sums.threads.iter().flat_map(|(thread, levels)| {
        levels.iter().map(move |(level, sum)| ThreadRow {
            thread: *thread,
            level: level.as_str(),
            tiles: sum.tiles,
            recorded: sum.recorded,
            exclusive_ns: sum.exclusive_ns,
            inclusive_ns: sum.inclusive_ns,
            pack_ns: sum.pack_ns,
        })
    });
    run.emit(Table::build("thread_sums").rows(rows))?;
    let rows = sums.work.iter().flat_map(|(work, group)| {
        group.durations.iter().flat_map(move |(weight, durations)| {
            durations.iter().map(move |(dur_ns, tiles)| DurationRow {
                level: work.level.as_str(),
                flops: work.flops,
                bytes: work.bytes,
                weight: u64::from(*weight),
                dur_ns,
                tiles,
            })
        })
    });
    run.emit(Table::build("durations").rows(rows))?;
    let rows = sums.work.iter().flat_map(|(work, group)| {
        group.longest.tiles().iter().map(move |tile| LongRow {
            level: work.level.as_str(),
            flops: work.flops,
            bytes: work.bytes,
            id: tile.id,
            row: u64::from(tile.row),
            col: u64::from(tile.col),
            thread: tile.thread,
            start_ns: tile.start_ns,
            dur_ns: tile.dur_ns,
        })
    });
    run.emit(Table::build("longest").rows(rows))?;
    let rows = sums.heat.iter().flat_map(|(level, map)| {
        map.cells.iter().map(move |(at, cell)| CellRow {
            level: level.as_str(),
            row: u64::from(at.0),
            col: u64::from(at.1),
            row_step: map.steps.0,
            col_step: map.steps.1,
            tiles: cell.tiles,
            dur_ns: cell.dur_ns,
        })
    });
    run.emit(Table::build("cells").rows(rows))?;
    run.emit(Table::build("backends").text("backend", &sums.backends))
}

/// Reads all parts there are, and keeps the `limit` longest tiles of each work.
///
/// # Errors
/// An input lacks a column, or has it in another type or null.
pub fn load(run: &mut Run, limit: usize) -> Result<Sums> {
    let mut sums = Sums::default();
    for row in run.table("thread_sums")?.read::<ThreadRow>()? {
        let row = row?;
        let sum = Sum {
            tiles: row.tiles,
            recorded: row.recorded,
            exclusive_ns: row.exclusive_ns,
            inclusive_ns: row.inclusive_ns,
            pack_ns: row.pack_ns,
        };
        // A thread is of one rank, so nothing is to be added up.
        let levels = sums.threads.entry(row.thread).or_default();
        levels.insert(LevelName::new(row.level), sum);
    }
    for row in run.table("durations")?.read::<DurationRow>()? {
        let row = row?;
        let durations = &mut group_of(&mut sums, row.level, row.flops, row.bytes).durations;
        let list = durations.entry(small(row.weight)).or_default();
        list.add(row.dur_ns, row.tiles);
    }
    for row in run.table("longest")?.read::<LongRow>()? {
        let row = row?;
        let tile = LongTile {
            id: row.id,
            row: small(row.row),
            col: small(row.col),
            thread: row.thread,
            start_ns: row.start_ns,
            dur_ns: row.dur_ns,
        };
        let group = group_of(&mut sums, row.level, row.flops, row.bytes);
        group.longest.add(tile, limit);
    }
    for group in sums.work.values_mut() {
        group.longest.shorten(limit);
    }
    for row in run.table("cells")?.read::<CellRow>()? {
        let row = row?;
        let cell = Cell {
            tiles: row.tiles,
            dur_ns: row.dur_ns,
        };
        let map = sums.heat.entry(LevelName::new(row.level)).or_default();
        let at = (small(row.row), small(row.col));
        map.add(at, cell, (row.row_step, row.col_step));
    }
    let table = run.table("backends")?;
    let backends = table.text("backend")?;
    sums.backends = backends.iter().flatten().map(str::to_owned).collect();
    Ok(sums)
}

fn group_of<'a>(
    sums: &'a mut Sums,
    level: &str,
    flops: Option<u64>,
    bytes: Option<u64>,
) -> &'a mut Group {
    let work = Work {
        level: LevelName::new(level),
        flops,
        bytes,
    };
    sums.work.entry(work).or_default()
}

fn small(value: u64) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}
