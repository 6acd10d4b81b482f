//! Tables of a part, as they are emitted and read: the tallies of one rank, or of several.

use trueno_plugin::{Input, Result, Run, Table, table_row};

use crate::alike::Alike;
use crate::clock::Clock;
use crate::inputs::{RANK_PROBLEMS, RANKS, RUN, SEGMENTS};
use crate::rows::TABLES;
use crate::tallies::{Counts, FirstOutside, Marked, Nesting, Tallies};
use crate::work::Work;

/// Inputs of a merge: the parts, and what the run records about itself.
pub const MERGE_INPUTS: [Input; 8] = [
    Input::sql("tallies", "SELECT * FROM sanity.tallies"),
    Input::sql("table_tallies", "SELECT * FROM sanity.table_tallies"),
    Input::sql("work_blocks", "SELECT * FROM sanity.work_blocks"),
    Input::sql("invalid_reasons", "SELECT * FROM sanity.invalid_reasons"),
    RUN,
    SEGMENTS,
    RANKS,
    RANK_PROBLEMS,
];

table_row! {
    struct TalliesRow<'a> {
        twice: u64,
        linked: u64,
        missing: u64,
        nested: u64,
        outside: u64,
        first_outside_table: Option<&'a str>,
        first_outside_rank: Option<u64>,
        first_outside_id: Option<u64>,
        is_told: bool,
        covered_ns: u64,
        work_rows: u64,
        least_dur_ns: Option<i64>,
        most_dur_ns: Option<i64>,
        first_start_ns: Option<i64>,
        last_start_ns: Option<i64>,
        edges: u64,
        edges_to_nowhere: u64,
        launches: u64,
        early_launches: u64,
        early_ns: u64,
        graph_kernels: u64,
        graph_kernels_with_brick: u64,
        graph_launches: u64,
        graph_launches_with_work: u64,
        checksums: u64,
        nan_checksums: u64,
        decode_calls: u64,
        odd_decode_calls: u64,
        clock_readings: u64,
        clock_deviation: Option<f64>,
    }
}
table_row! {
    struct TableRow<'a> {
        table_name: &'a str,
        row_count: u64,
        negative: u64,
        sum_ns: u64,
        outside: u64,
        bound: u64,
    }
}
table_row! {
    struct BlockRow {
        from_ns: i64,
        to_ns: i64,
    }
}
table_row! {
    struct InvalidRow<'a> {
        reason: Option<&'a str>,
        kernels: u64,
    }
}

/// Emits all tables of a part.
///
/// # Errors
/// The host refuses one.
pub fn emit(run: &mut Run, tallies: &Tallies) -> Result<()> {
    let nesting = &tallies.nesting;
    let first = nesting.first_outside;
    let alike = tallies.alike;
    let row = TalliesRow {
        twice: tallies.twice,
        linked: nesting.linked,
        missing: nesting.missing,
        nested: nesting.nested,
        outside: nesting.outside,
        first_outside_table: first.map(|row| TABLES[row.table]),
        first_outside_rank: first.map(|row| row.rank),
        first_outside_id: first.and_then(|row| row.id),
        is_told: tallies.work.is_told,
        covered_ns: tallies.work.covered_ns,
        work_rows: alike.map_or(0, |alike| alike.rows),
        least_dur_ns: alike.map(|alike| alike.least_dur_ns),
        most_dur_ns: alike.map(|alike| alike.most_dur_ns),
        first_start_ns: alike.map(|alike| alike.first_start_ns),
        last_start_ns: alike.map(|alike| alike.last_start_ns),
        edges: tallies.edges.all,
        edges_to_nowhere: tallies.edges.marked,
        launches: tallies.launches.all,
        early_launches: tallies.launches.marked,
        early_ns: tallies.early_ns,
        graph_kernels: tallies.graph_kernels.all,
        graph_kernels_with_brick: tallies.graph_kernels.marked,
        graph_launches: tallies.graph_launches.all,
        graph_launches_with_work: tallies.graph_launches.marked,
        checksums: tallies.checksums.all,
        nan_checksums: tallies.checksums.marked,
        decode_calls: tallies.decode.all,
        odd_decode_calls: tallies.decode.marked,
        clock_readings: tallies.clock.readings,
        clock_deviation: tallies.clock.deviation,
    };
    run.emit(Table::build("tallies").rows([row]))?;
    let rows = TABLES.into_iter().zip(&tallies.tables);
    let rows = rows.map(|(table_name, counts)| TableRow {
        table_name,
        row_count: counts.rows,
        negative: counts.negative,
        sum_ns: counts.sum_ns,
        outside: counts.outside,
        bound: counts.bound,
    });
    run.emit(Table::build("table_tallies").rows(rows))?;
    let rows = tallies.work.blocks().iter();
    let rows = rows.map(|(from_ns, to_ns)| BlockRow {
        from_ns: *from_ns,
        to_ns: *to_ns,
    });
    run.emit(Table::build("work_blocks").rows(rows))?;
    let rows = tallies.invalid_kernels.iter();
    let rows = rows.map(|(reason, kernels)| InvalidRow {
        reason: reason.as_deref(),
        kernels: *kernels,
    });
    run.emit(Table::build("invalid_reasons").rows(rows))
}

/// Reads the parts and merges them.
///
/// # Errors
/// An input lacks a column, or has it in another type or null.
pub fn read(run: &mut Run) -> Result<Tallies> {
    let mut tallies = Tallies::default();
    for row in run.table("tallies")?.read::<TalliesRow>()? {
        tallies.merge(of_part(&row?));
    }
    for row in run.table("table_tallies")?.read::<TableRow>()? {
        let row = row?;
        if let Some(at) = number_of(row.table_name) {
            tallies.tables[at].merge(&Counts {
                rows: row.row_count,
                negative: row.negative,
                sum_ns: row.sum_ns,
                outside: row.outside,
                bound: row.bound,
            });
        }
    }
    let table = run.table("work_blocks")?;
    let blocks = table.read::<BlockRow>()?;
    let blocks = blocks.map(|block| block.map(|block| (block.from_ns, block.to_ns)));
    let blocks: Vec<(i64, i64)> = blocks.collect::<Result<_>>()?;
    tallies.work.add_blocks(blocks);
    for row in run.table("invalid_reasons")?.read::<InvalidRow>()? {
        let row = row?;
        tallies.add_invalid(row.reason.map(str::to_owned), row.kernels);
    }
    Ok(tallies)
}

fn of_part(row: &TalliesRow<'_>) -> Tallies {
    let marked = |all, marked| Marked { all, marked };
    let first = row.first_outside_table.and_then(number_of);
    let first_outside = first.map(|table| FirstOutside {
        table,
        rank: row.first_outside_rank.unwrap_or(0),
        id: row.first_outside_id,
    });
    Tallies {
        twice: row.twice,
        nesting: Nesting {
            linked: row.linked,
            missing: row.missing,
            nested: row.nested,
            outside: row.outside,
            first_outside,
        },
        work: Work::covering(row.is_told, row.covered_ns),
        alike: alike_of(row),
        edges: marked(row.edges, row.edges_to_nowhere),
        launches: marked(row.launches, row.early_launches),
        early_ns: row.early_ns,
        graph_kernels: marked(row.graph_kernels, row.graph_kernels_with_brick),
        graph_launches: marked(row.graph_launches, row.graph_launches_with_work),
        checksums: marked(row.checksums, row.nan_checksums),
        decode: marked(row.decode_calls, row.odd_decode_calls),
        clock: Clock {
            readings: row.clock_readings,
            deviation: row.clock_deviation,
        },
        ..Tallies::default()
    }
}

fn alike_of(row: &TalliesRow<'_>) -> Option<Alike> {
    Some(Alike {
        rows: row.work_rows,
        least_dur_ns: row.least_dur_ns?,
        most_dur_ns: row.most_dur_ns?,
        first_start_ns: row.first_start_ns?,
        last_start_ns: row.last_start_ns?,
    })
}

fn number_of(name: &str) -> Option<usize> {
    TABLES.iter().position(|table| *table == name)
}
