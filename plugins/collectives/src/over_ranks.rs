//! Tables of parts: what ranks recorded of their collectives, gathered; merging them matches them.

use trueno_analysis::collectives::{Operation, Part};
use trueno_analysis::hash::FastMap;
use trueno_analysis::part_cells::required;
use trueno_analysis::steps::Step;
use trueno_plugin::{Input, Result, Run, Table};

use crate::inputs::{JOB, MISSING};
use crate::rows::{Around, PartFacts, Rows};

/// Inputs of the merging.
pub const MERGE_INPUTS: [Input; 6] = [
    Input::sql(
        "texts",
        "SELECT part, number, is_group, text FROM collectives.texts",
    ),
    Input::sql(
        "rank_parts",
        "SELECT part, rank, communicator, group_ranks, group_size, sequence, operation, peer, lane, size, name, start_ns, end_ns, \
         bytes, id, called_ns FROM collectives.rank_parts",
    ),
    Input::sql(
        "steps",
        "SELECT name, iteration, rank, start_ns, end_ns FROM collectives.steps",
    ),
    Input::sql(
        "around",
        "SELECT origin_ns, wall_ns, stated, without_work, cut FROM collectives.around",
    ),
    JOB,
    MISSING,
];

/// Emits a part.
///
/// # Errors
/// The host refuses a table.
pub fn emit(run: &mut Run, rows: &Rows) -> Result<()> {
    let parts = || rows.parts.iter().map(|(part, _)| part);
    let facts = || rows.parts.iter().map(|(_, facts)| facts);
    // A list of hundreds of ranks for each of millions of rows would be gigabytes.
    let part = rows.parts.iter().map(|(part, _)| part.rank).min();
    let part = u64::from(part.unwrap_or(0));
    let groups = rows.groups.all().iter();
    let texts = rows.texts.all().iter();
    let all = || {
        let names = (0_u64..).zip(texts.clone()).map(|of| (of, false));
        names.chain((0_u64..).zip(groups.clone()).map(|of| (of, true)))
    };
    run.emit(
        Table::build("texts")
            .u64("part", all().map(|_| part))
            .u64("number", all().map(|((number, _), _)| number))
            .bool("is_group", all().map(|(_, is_group)| is_group))
            .text("text", all().map(|((_, text), _)| text)),
    )?;
    let number = |number: Option<u32>| number.map(u64::from);
    run.emit(
        Table::build("rank_parts")
            .u64("part", parts().map(|_| part))
            .u64("rank", parts().map(|part| u64::from(part.rank)))
            .u64(
                "communicator",
                parts().map(|part| number(part.communicator)),
            )
            .u64("group_ranks", parts().map(|part| number(part.group)))
            .u64(
                "group_size",
                parts().map(|part| part.group_size.map(u64::from)),
            )
            .u64("sequence", parts().map(|part| part.sequence))
            .text("operation", parts().map(|part| part.operation.name()))
            .u64("peer", parts().map(|part| part.peer.map(u64::from)))
            .u64("lane", parts().map(|part| u64::from(part.lane)))
            .u64("size", parts().map(|part| part.size))
            .u64("name", parts().map(|part| number(part.name)))
            .i64("start_ns", parts().map(|part| part.start_ns))
            .i64("end_ns", parts().map(|part| part.end_ns))
            .u64("bytes", facts().map(|facts| facts.bytes))
            .u64("id", facts().map(|facts| facts.id))
            .i64("called_ns", facts().map(|facts| facts.called_ns)),
    )?;
    let steps = || rows.steps.iter();
    run.emit(
        Table::build("steps")
            .text("name", steps().map(|step| &step.name))
            .u64("iteration", steps().map(|step| step.iteration))
            .i64("rank", steps().map(|step| step.rank))
            .i64("start_ns", steps().map(|step| step.start_ns))
            .i64("end_ns", steps().map(|step| step.end_ns)),
    )?;
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

fn small(cell: Option<u64>) -> Option<u32> {
    cell.and_then(|cell| u32::try_from(cell).ok())
}

/// Reads all parts there are.
///
/// # Errors
/// An input lacks a column, or has it in another type or null.
pub fn read(run: &mut Run) -> Result<Rows> {
    let mut out = Rows::default();
    let mut numbers: FastMap<(u64, bool, u64), u32> = FastMap::default();
    let table = run.table("texts")?;
    let (part, number) = (table.u64("part")?, table.u64("number")?);
    let (is_group, text) = (table.bool("is_group")?, table.text("text")?);
    for row in 0..table.rows() {
        let is_group = required(is_group.get(row), "is_group")?;
        let into = if is_group {
            &mut out.groups
        } else {
            &mut out.texts
        };
        let key = (
            required(part.get(row), "part")?,
            is_group,
            required(number.get(row), "number")?,
        );
        numbers.insert(key, into.number(required(text.get(row), "text")?));
    }
    drop(table);
    let table = run.table("rank_parts")?;
    let of = table.u64("part")?;
    let (rank, peer) = (table.u64("rank")?, table.u64("peer")?);
    let (communicator, name) = (table.u64("communicator")?, table.u64("name")?);
    let (group_ranks, group_size) = (table.u64("group_ranks")?, table.u64("group_size")?);
    let (sequence, operation) = (table.u64("sequence")?, table.text("operation")?);
    let (lane, size) = (table.u64("lane")?, table.u64("size")?);
    let (start, end) = (table.i64("start_ns")?, table.i64("end_ns")?);
    let (bytes, id, called) = (
        table.u64("bytes")?,
        table.u64("id")?,
        table.i64("called_ns")?,
    );
    out.parts.reserve(table.rows());
    for row in 0..table.rows() {
        let of = required(of.get(row), "part")?;
        let text = |number: Option<u64>, is_group: bool| match number {
            None => Ok(None),
            Some(number) => {
                let known = numbers.get(&(of, is_group, number)).copied();
                required(known, "text").map(Some)
            }
        };
        let operation = operation.get(row).and_then(Operation::parse);
        let part = Part {
            rank: required(small(rank.get(row)), "rank")?,
            communicator: text(communicator.get(row), false)?,
            group: text(group_ranks.get(row), true)?,
            group_size: small(group_size.get(row)),
            sequence: sequence.get(row),
            operation: operation.unwrap_or(Operation::Other),
            peer: small(peer.get(row)),
            lane: required(small(lane.get(row)), "lane")?,
            size: size.get(row),
            name: text(name.get(row), false)?,
            start_ns: required(start.get(row), "start_ns")?,
            end_ns: required(end.get(row), "end_ns")?,
        };
        let facts = PartFacts {
            bytes: bytes.get(row),
            id: required(id.get(row), "id")?,
            called_ns: required(called.get(row), "called_ns")?,
        };
        out.parts.push((part, facts));
    }
    let table = run.table("steps")?;
    let (name, iteration) = (table.text("name")?, table.u64("iteration")?);
    let rank = table.i64("rank")?;
    let (start, end) = (table.i64("start_ns")?, table.i64("end_ns")?);
    for row in 0..table.rows() {
        out.steps.push(Step {
            name: required(name.get(row), "name")?.to_owned(),
            iteration: iteration.get(row),
            rank: required(rank.get(row), "rank")?,
            start_ns: required(start.get(row), "start_ns")?,
            end_ns: required(end.get(row), "end_ns")?,
        });
    }
    out.around = around(&run.table("around")?)?;
    Ok(out)
}

/// All ranks have one origin, and the longest wall is that of the job.
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
