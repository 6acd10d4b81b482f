//! Tables of parts.

use trueno_analysis::roofline::ceilings::CEILINGS;
use trueno_plugin::{Input, Result, Run, Table};

use crate::heatmap::Cell;
use crate::load::{LevelName, RECORDER};
use crate::outliers::LongTile;
use crate::sums::{Group, Sums, Work};
use crate::sweep::Sum;

/// Inputs of the merging.
pub const MERGE_INPUTS: [Input; 7] = [
    Input::sql(
        "thread_sums",
        "SELECT thread, level, tiles, recorded, exclusive_ns, inclusive_ns, pack_ns FROM tiles.thread_sums",
    ),
    Input::sql(
        "durations",
        "SELECT level, flops, bytes, weight, dur_ns, tiles FROM tiles.durations",
    ),
    Input::sql(
        "longest",
        "SELECT level, flops, bytes, id, \"row\", col, thread, start_ns, dur_ns FROM tiles.longest",
    ),
    Input::sql(
        "cells",
        "SELECT level, \"row\", col, row_step, col_step, tiles, dur_ns FROM tiles.cells",
    ),
    Input::sql("backends", "SELECT backend FROM tiles.backends"),
    CEILINGS,
    RECORDER,
];

/// Emits a part.
///
/// # Errors
/// The host refuses a table.
pub fn emit(run: &mut Run, sums: &Sums) -> Result<()> {
    emit_threads(run, sums)?;
    emit_work(run, sums)?;
    let maps = sums.heat.iter();
    let rows = maps.flat_map(|(level, map)| {
        let cells = map.cells.iter();
        cells.map(move |(at, cell)| (level, map.steps, *at, *cell))
    });
    let rows: Vec<_> = rows.collect();
    run.emit(
        Table::build("cells")
            .text("level", rows.iter().map(|row| row.0.as_str()))
            .u64("row", rows.iter().map(|row| u64::from(row.2.0)))
            .u64("col", rows.iter().map(|row| u64::from(row.2.1)))
            .u64("row_step", rows.iter().map(|row| row.1.0))
            .u64("col_step", rows.iter().map(|row| row.1.1))
            .u64("tiles", rows.iter().map(|row| row.3.tiles))
            .i64("dur_ns", rows.iter().map(|row| row.3.dur_ns)),
    )?;
    run.emit(Table::build("backends").text("backend", &sums.backends))
}

fn emit_threads(run: &mut Run, sums: &Sums) -> Result<()> {
    let threads = sums.threads.iter();
    let rows = threads.flat_map(|(thread, levels)| {
        let levels = levels.iter();
        levels.map(|(level, sum)| (*thread, level, *sum))
    });
    let rows: Vec<(i64, &LevelName, Sum)> = rows.collect();
    run.emit(
        Table::build("thread_sums")
            .i64("thread", rows.iter().map(|row| row.0))
            .text("level", rows.iter().map(|row| row.1.as_str()))
            .u64("tiles", rows.iter().map(|row| row.2.tiles))
            .u64("recorded", rows.iter().map(|row| row.2.recorded))
            .i64("exclusive_ns", rows.iter().map(|row| row.2.exclusive_ns))
            .i64("inclusive_ns", rows.iter().map(|row| row.2.inclusive_ns))
            .i64("pack_ns", rows.iter().map(|row| row.2.pack_ns)),
    )
}

fn emit_work(run: &mut Run, sums: &Sums) -> Result<()> {
    let groups = || sums.work.iter();
    let rows = groups().flat_map(|(work, group)| {
        let lists = group.durations.iter();
        lists.flat_map(move |(weight, durations)| {
            let each = durations.iter();
            each.map(move |(ns, count)| (work, u64::from(*weight), ns, count))
        })
    });
    let rows: Vec<(&Work, u64, i64, u64)> = rows.collect();
    run.emit(
        Table::build("durations")
            .text("level", rows.iter().map(|row| row.0.level.as_str()))
            .u64("flops", rows.iter().map(|row| row.0.flops))
            .u64("bytes", rows.iter().map(|row| row.0.bytes))
            .u64("weight", rows.iter().map(|row| row.1))
            .i64("dur_ns", rows.iter().map(|row| row.2))
            .u64("tiles", rows.iter().map(|row| row.3)),
    )?;
    let rows = groups().flat_map(|(work, group)| {
        let tiles = group.longest.tiles().iter();
        tiles.map(move |tile| (work, tile))
    });
    let rows: Vec<(&Work, &LongTile)> = rows.collect();
    run.emit(
        Table::build("longest")
            .text("level", rows.iter().map(|row| row.0.level.as_str()))
            .u64("flops", rows.iter().map(|row| row.0.flops))
            .u64("bytes", rows.iter().map(|row| row.0.bytes))
            .u64("id", rows.iter().map(|row| row.1.id))
            .u64("row", rows.iter().map(|row| u64::from(row.1.row)))
            .u64("col", rows.iter().map(|row| u64::from(row.1.col)))
            .i64("thread", rows.iter().map(|row| row.1.thread))
            .i64("start_ns", rows.iter().map(|row| row.1.start_ns))
            .i64("dur_ns", rows.iter().map(|row| row.1.dur_ns)),
    )
}

/// Reads all parts there are; of each work `limit` of the longest tiles are kept.
///
/// # Errors
/// An input lacks a column or has it in another type.
pub fn load(run: &mut Run, limit: usize) -> Result<Sums> {
    let mut sums = Sums::default();
    load_threads(&run.table("thread_sums")?, &mut sums)?;
    load_durations(&run.table("durations")?, &mut sums)?;
    load_longest(&run.table("longest")?, limit, &mut sums)?;
    load_cells(&run.table("cells")?, &mut sums)?;
    let table = run.table("backends")?;
    let backends = table.text("backend")?;
    sums.backends = backends.iter().flatten().map(str::to_owned).collect();
    Ok(sums)
}

fn load_threads(table: &Table, sums: &mut Sums) -> Result<()> {
    let (thread, level) = (table.i64("thread")?, table.text("level")?);
    let (tiles, recorded) = (table.u64("tiles")?, table.u64("recorded")?);
    let (exclusive_ns, inclusive_ns) = (table.i64("exclusive_ns")?, table.i64("inclusive_ns")?);
    let pack_ns = table.i64("pack_ns")?;
    for row in 0..table.rows() {
        let (Some(thread), Some(level)) = (thread.get(row), level.get(row)) else {
            continue;
        };
        let sum = Sum {
            tiles: tiles.get(row).unwrap_or(0),
            recorded: recorded.get(row).unwrap_or(0),
            exclusive_ns: exclusive_ns.get(row).unwrap_or(0),
            inclusive_ns: inclusive_ns.get(row).unwrap_or(0),
            pack_ns: pack_ns.get(row).unwrap_or(0),
        };
        // A thread is of one rank, so nothing is to be added up.
        let levels = sums.threads.entry(thread).or_default();
        levels.insert(LevelName::new(level), sum);
    }
    Ok(())
}

/// The group of each row's work; null where it has no level.
fn group_of<'a>(
    sums: &'a mut Sums,
    level: Option<&str>,
    flops: Option<u64>,
    bytes: Option<u64>,
) -> Option<&'a mut Group> {
    let work = Work {
        level: LevelName::new(level?),
        flops,
        bytes,
    };
    Some(sums.work.entry(work).or_default())
}

fn load_durations(table: &Table, sums: &mut Sums) -> Result<()> {
    let (level, flops, bytes) = (
        table.text("level")?,
        table.u64("flops")?,
        table.u64("bytes")?,
    );
    let (weight, dur_ns) = (table.u64("weight")?, table.i64("dur_ns")?);
    let tiles = table.u64("tiles")?;
    for row in 0..table.rows() {
        let values = weight.get(row).zip(dur_ns.get(row)).zip(tiles.get(row));
        let group = group_of(sums, level.get(row), flops.get(row), bytes.get(row));
        if let (Some(group), Some(((weight, ns), count))) = (group, values) {
            let list = group.durations.entry(small(weight)).or_default();
            list.add(ns, count);
        }
    }
    Ok(())
}

fn load_longest(table: &Table, limit: usize, sums: &mut Sums) -> Result<()> {
    let (level, flops, bytes) = (
        table.text("level")?,
        table.u64("flops")?,
        table.u64("bytes")?,
    );
    let (id, thread) = (table.u64("id")?, table.i64("thread")?);
    let (at_row, at_col) = (table.u64("row")?, table.u64("col")?);
    let (start_ns, dur_ns) = (table.i64("start_ns")?, table.i64("dur_ns")?);
    for row in 0..table.rows() {
        let tile = LongTile {
            id: id.get(row).unwrap_or(0),
            row: small(at_row.get(row).unwrap_or(0)),
            col: small(at_col.get(row).unwrap_or(0)),
            thread: thread.get(row).unwrap_or(0),
            start_ns: start_ns.get(row).unwrap_or(0),
            dur_ns: dur_ns.get(row).unwrap_or(0),
        };
        if let Some(group) = group_of(sums, level.get(row), flops.get(row), bytes.get(row)) {
            group.longest.add(tile, limit);
        }
    }
    for group in sums.work.values_mut() {
        group.longest.shorten(limit);
    }
    Ok(())
}

fn load_cells(table: &Table, sums: &mut Sums) -> Result<()> {
    let (level, tiles) = (table.text("level")?, table.u64("tiles")?);
    let (at_row, at_col) = (table.u64("row")?, table.u64("col")?);
    let (row_step, col_step) = (table.u64("row_step")?, table.u64("col_step")?);
    let dur_ns = table.i64("dur_ns")?;
    for row in 0..table.rows() {
        let Some(level) = level.get(row) else {
            continue;
        };
        let at = (
            small(at_row.get(row).unwrap_or(0)),
            small(at_col.get(row).unwrap_or(0)),
        );
        let cell = Cell {
            tiles: tiles.get(row).unwrap_or(0),
            dur_ns: dur_ns.get(row).unwrap_or(0),
        };
        let steps = (
            row_step.get(row).unwrap_or(1),
            col_step.get(row).unwrap_or(1),
        );
        let map = sums.heat.entry(LevelName::new(level)).or_default();
        map.add(at, cell, steps);
    }
    Ok(())
}

fn small(value: u64) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}
