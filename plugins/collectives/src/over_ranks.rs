//! Tables of parts: what ranks recorded of their collectives, gathered; merging them matches them.

use trueno_analysis::collectives::{Operation, Part};
use trueno_analysis::hash::FastMap;
use trueno_analysis::steps::Step;
use trueno_plugin::{Error, Input, Result, Run, Table, table_row};

use crate::inputs::{BEGINS, JOB, MISSING};
use crate::rows::{Around, PartFacts, Rows};

pub const MERGE_INPUTS: [Input; 8] = [
    Input::sql("flight", "SELECT * FROM collectives.flight"),
    Input::sql("texts", "SELECT * FROM collectives.texts"),
    Input::sql("rank_parts", "SELECT * FROM collectives.rank_parts"),
    Input::sql("steps", "SELECT * FROM collectives.steps"),
    Input::sql("around", "SELECT * FROM collectives.around"),
    JOB,
    BEGINS,
    MISSING,
];

table_row! {
    /// A text that other tables name by its number: a list of hundreds of ranks for each of millions of rows would be
    /// gigabytes.
    struct TextRow<'a> {
        part: u64,
        number: u64,
        is_group: bool,
        text: &'a str,
    }
}
table_row! {
    struct PartRow<'a> {
        part: u64,
        rank: u64,
        communicator: Option<u64>,
        group_ranks: Option<u64>,
        group_size: Option<u64>,
        sequence: Option<u64>,
        iteration: Option<u64>,
        operation: &'a str,
        peer: Option<u64>,
        lane: u64,
        size: Option<u64>,
        name: Option<u64>,
        start_ns: i64,
        end_ns: i64,
        bytes: Option<u64>,
        id: u64,
        called_ns: i64,
    }
}
table_row! {
    struct StepRow<'a> {
        name: &'a str,
        iteration: Option<u64>,
        rank: i64,
        start_ns: i64,
        end_ns: i64,
    }
}

/// Emits a part.
///
/// # Errors
/// The host refuses a table.
pub fn emit(run: &mut Run, rows: &Rows) -> Result<()> {
    let part = rows.parts.iter().map(|(part, _)| part.rank).min();
    let part = u64::from(part.unwrap_or(0));
    let texts = [(false, rows.texts.all()), (true, rows.groups.all())];
    let texts = texts.into_iter().flat_map(|(is_group, texts)| {
        (0..).zip(texts).map(move |(number, text)| TextRow {
            part,
            number,
            is_group,
            text,
        })
    });
    run.emit(Table::build("texts").rows(texts))?;
    let parts = rows.parts.iter().map(|(of, facts)| PartRow {
        part,
        rank: u64::from(of.rank),
        communicator: of.communicator.map(u64::from),
        group_ranks: of.group.map(u64::from),
        group_size: of.group_size.map(u64::from),
        sequence: of.sequence,
        iteration: of.iteration,
        operation: of.operation.name(),
        peer: of.peer.map(u64::from),
        lane: u64::from(of.lane),
        size: of.size,
        name: of.name.map(u64::from),
        start_ns: of.start_ns,
        end_ns: of.end_ns,
        bytes: facts.bytes,
        id: facts.id,
        called_ns: facts.called_ns,
    });
    run.emit(Table::build("rank_parts").rows(parts))?;
    let steps = rows.steps.iter().map(|step| StepRow {
        name: &step.name,
        iteration: step.iteration,
        rank: step.rank,
        start_ns: step.start_ns,
        end_ns: step.end_ns,
    });
    run.emit(Table::build("steps").rows(steps))?;
    let around = &rows.around;
    run.emit(
        Table::build("around")
            .i64("origin_ns", [around.origin_ns])
            .i64("wall_ns", [around.wall_ns])
            .u64("stated", [around.stated])
            .u64("without_work", [around.without_work])
            .u64("cut", [around.cut]),
    )
}

/// Reads all parts there are.
///
/// # Errors
/// An input lacks a column, or has it in another type or null.
pub fn read(run: &mut Run) -> Result<Rows> {
    let mut out = Rows::default();
    let mut numbers: FastMap<(u64, bool, u64), u32> = FastMap::default();
    for row in run.table("texts")?.read::<TextRow>()? {
        let row = row?;
        let into = if row.is_group {
            &mut out.groups
        } else {
            &mut out.texts
        };
        let key = (row.part, row.is_group, row.number);
        numbers.insert(key, into.number(row.text));
    }
    let table = run.table("rank_parts")?;
    out.parts.reserve(table.rows());
    for row in table.read::<PartRow>()? {
        let row = row?;
        let text = |number: Option<u64>, is_group: bool| match number {
            None => Ok(None),
            Some(number) => match numbers.get(&(row.part, is_group, number)) {
                Some(known) => Ok(Some(*known)),
                None => Err(Error::bad_input(format!(
                    "`texts` lacks text {number} of a part"
                ))),
            },
        };
        let small = |value: Option<u64>| value.and_then(|value| u32::try_from(value).ok());
        let needed = |value: u64, column: &str| {
            let too_large =
                |_| Error::bad_input(format!("{column} {value} of a part is too large"));
            u32::try_from(value).map_err(too_large)
        };
        let part = Part {
            rank: needed(row.rank, "rank")?,
            communicator: text(row.communicator, false)?,
            group: text(row.group_ranks, true)?,
            group_size: small(row.group_size),
            sequence: row.sequence,
            iteration: row.iteration,
            operation: Operation::parse(row.operation).unwrap_or(Operation::Other),
            peer: small(row.peer),
            lane: needed(row.lane, "lane")?,
            size: row.size,
            name: text(row.name, false)?,
            start_ns: row.start_ns,
            end_ns: row.end_ns,
        };
        let facts = PartFacts {
            bytes: row.bytes,
            id: row.id,
            called_ns: row.called_ns,
        };
        out.parts.push((part, facts));
    }
    for row in run.table("steps")?.read::<StepRow>()? {
        let row = row?;
        out.steps.push(Step {
            name: row.name.to_owned(),
            iteration: row.iteration,
            rank: row.rank,
            start_ns: row.start_ns,
            end_ns: row.end_ns,
        });
    }
    out.around = around(&run.table("around")?)?;
    Ok(out)
}

/// Merges the ranks' figures. All ranks have the same origin, and the longest wall time is that of the job.
fn around(table: &Table) -> Result<Around> {
    let most = |column: &str| -> Result<i64> {
        Ok(table.i64(column)?.iter().flatten().max().unwrap_or(0))
    };
    let sum = |column: &str| -> Result<u64> {
        let column = table.u64(column)?;
        Ok(column.iter().flatten().fold(0, u64::saturating_add))
    };
    Ok(Around {
        origin_ns: most("origin_ns")?,
        wall_ns: most("wall_ns")?,
        stated: sum("stated")?,
        without_work: sum("without_work")?,
        cut: sum("cut")?,
    })
}
