//! Tables of a part, as they are emitted and read: the tallies of one rank, or of several.

use trueno_plugin::{Input, Result, Run, Table, U64Column};

use crate::clock::Clock;
use crate::inputs::{RANK_PROBLEMS, RANKS, RUN, SEGMENTS};
use crate::rows::TABLES;
use crate::tallies::{Counts, FirstOutside, Marked, Nesting, Tallies};
use crate::work::Work;

/// Inputs of merging: the parts, and what the run says of itself.
pub const MERGE_INPUTS: [Input; 8] = [
    Input::sql(
        "tallies",
        "SELECT twice, linked, missing, nested, outside, first_outside_table, first_outside_rank, first_outside_id, \
         is_told, covered_ns, edges, edges_to_nowhere, launches, early_launches, graph_kernels, \
         graph_kernels_with_brick, graph_launches, graph_launches_with_work, checksums, nan_checksums, decode_calls, odd_decode_calls, clock_readings, clock_deviation FROM sanity.tallies",
    ),
    Input::sql(
        "table_tallies",
        "SELECT table_name, row_count, negative, sum_ns, outside, bound FROM sanity.table_tallies",
    ),
    Input::sql(
        "work_blocks",
        "SELECT from_ns, to_ns FROM sanity.work_blocks",
    ),
    Input::sql(
        "invalid_reasons",
        "SELECT reason, kernels FROM sanity.invalid_reasons",
    ),
    RUN,
    SEGMENTS,
    RANKS,
    RANK_PROBLEMS,
];

/// Emits all tables of a part.
///
/// # Errors
/// The host refuses one.
pub fn emit(run: &mut Run, tallies: &Tallies) -> Result<()> {
    let nesting = &tallies.nesting;
    let first = nesting.first_outside;
    let Tallies {
        edges,
        launches,
        graph_kernels,
        graph_launches,
        checksums,
        decode,
        clock,
        work,
        ..
    } = tallies;
    run.emit(
        Table::build("tallies")
            .u64("twice", [tallies.twice])
            .u64("linked", [nesting.linked])
            .u64("missing", [nesting.missing])
            .u64("nested", [nesting.nested])
            .u64("outside", [nesting.outside])
            .text("first_outside_table", [first.map(|row| TABLES[row.table])])
            .u64("first_outside_rank", [first.map(|row| row.rank)])
            .u64("first_outside_id", [first.and_then(|row| row.id)])
            .bool("is_told", [work.is_told])
            .u64("covered_ns", [work.covered_ns])
            .u64("edges", [edges.all])
            .u64("edges_to_nowhere", [edges.marked])
            .u64("launches", [launches.all])
            .u64("early_launches", [launches.marked])
            .u64("graph_kernels", [graph_kernels.all])
            .u64("graph_kernels_with_brick", [graph_kernels.marked])
            .u64("graph_launches", [graph_launches.all])
            .u64("graph_launches_with_work", [graph_launches.marked])
            .u64("checksums", [checksums.all])
            .u64("nan_checksums", [checksums.marked])
            .u64("decode_calls", [decode.all])
            .u64("odd_decode_calls", [decode.marked])
            .u64("clock_readings", [clock.readings])
            .f64("clock_deviation", [clock.deviation]),
    )?;
    let tables = || tallies.tables.iter();
    run.emit(
        Table::build("table_tallies")
            .text("table_name", TABLES)
            .u64("row_count", tables().map(|counts| counts.rows))
            .u64("negative", tables().map(|counts| counts.negative))
            .u64("sum_ns", tables().map(|counts| counts.sum_ns))
            .u64("outside", tables().map(|counts| counts.outside))
            .u64("bound", tables().map(|counts| counts.bound)),
    )?;
    let blocks = || work.blocks().iter();
    run.emit(
        Table::build("work_blocks")
            .i64("from_ns", blocks().map(|block| block.0))
            .i64("to_ns", blocks().map(|block| block.1)),
    )?;
    let reasons = &tallies.invalid_kernels;
    run.emit(
        Table::build("invalid_reasons")
            .text("reason", reasons.keys().map(Option::as_deref))
            .u64("kernels", reasons.values()),
    )
}

/// Reads the parts and merges them.
///
/// # Errors
/// An input lacks a column or has it in another type.
pub fn read(run: &mut Run) -> Result<Tallies> {
    let mut tallies = Tallies::default();
    let table = run.table("tallies")?;
    for row in 0..table.rows() {
        tallies.merge(of_part(&table, row)?);
    }
    let table = run.table("table_tallies")?;
    let names = table.text("table_name")?;
    for row in 0..table.rows() {
        if let Some(at) = names.get(row).and_then(number_of) {
            tallies.tables[at].merge(&Counts {
                rows: count(table.u64("row_count")?, row),
                negative: count(table.u64("negative")?, row),
                sum_ns: count(table.u64("sum_ns")?, row),
                outside: count(table.u64("outside")?, row),
                bound: count(table.u64("bound")?, row),
            });
        }
    }
    let table = run.table("work_blocks")?;
    let blocks = table.i64("from_ns")?.iter().zip(table.i64("to_ns")?.iter());
    let blocks = blocks.filter_map(|(from, to)| from.zip(to));
    tallies.work.add_blocks(blocks);
    let table = run.table("invalid_reasons")?;
    let (reasons, kernels) = (table.text("reason")?, table.u64("kernels")?);
    for row in 0..table.rows() {
        let reason = reasons.get(row).map(str::to_owned);
        tallies.add_invalid(reason, count(kernels, row));
    }
    Ok(tallies)
}

/// The tallies of one row of table `tallies`.
fn of_part(table: &Table, row: usize) -> Result<Tallies> {
    let cell = |column: &str| -> Result<Option<u64>> { Ok(table.u64(column)?.get(row)) };
    let number = |column: &str| -> Result<u64> { Ok(cell(column)?.unwrap_or(0)) };
    let marked = |all: &str, marked: &str| -> Result<Marked> {
        Ok(Marked {
            all: number(all)?,
            marked: number(marked)?,
        })
    };
    let rank = number("first_outside_rank")?;
    let id = cell("first_outside_id")?;
    let first = table.text("first_outside_table")?.get(row);
    let first_outside = first
        .and_then(number_of)
        .map(|table| FirstOutside { table, rank, id });
    Ok(Tallies {
        twice: number("twice")?,
        nesting: Nesting {
            linked: number("linked")?,
            missing: number("missing")?,
            nested: number("nested")?,
            outside: number("outside")?,
            first_outside,
        },
        work: Work::covering(
            table.bool("is_told")?.get(row) == Some(true),
            number("covered_ns")?,
        ),
        edges: marked("edges", "edges_to_nowhere")?,
        launches: marked("launches", "early_launches")?,
        graph_kernels: marked("graph_kernels", "graph_kernels_with_brick")?,
        graph_launches: marked("graph_launches", "graph_launches_with_work")?,
        checksums: marked("checksums", "nan_checksums")?,
        decode: marked("decode_calls", "odd_decode_calls")?,
        clock: Clock {
            readings: number("clock_readings")?,
            deviation: table.f64("clock_deviation")?.get(row),
        },
        ..Tallies::default()
    })
}

/// Number among [`TABLES`].
fn number_of(name: &str) -> Option<usize> {
    TABLES.iter().position(|table| *table == name)
}

fn count(column: &U64Column, row: usize) -> u64 {
    column.get(row).unwrap_or(0)
}
