//! Tables of parts.

use trueno_analysis::part_cells::required;
use trueno_plugin::{Input, Result, Run, Table};

use crate::cells::Cells;
use crate::function::Function;
use crate::sums::{BrickKey, EventSum, FunctionSum, Line, Sums};
use crate::waits;

/// Inputs of the merging.
pub const MERGE_INPUTS: [Input; 9] = [
    Input::sql(
        "function_sums",
        "SELECT event, function_name, module, samples, period, without_period, inclusive FROM samples.function_sums",
    ),
    Input::sql(
        "line_sums",
        "SELECT event, function_name, module, file, line, samples FROM samples.line_sums",
    ),
    Input::sql(
        "thread_sums",
        "SELECT event, thread, name, samples, period, without_period FROM samples.thread_sums",
    ),
    Input::sql(
        "brick_sums",
        "SELECT event, kind, name, function_name, module, samples FROM samples.brick_sums",
    ),
    Input::sql(
        "broken_stacks",
        "SELECT missing, circular FROM samples.broken_stacks",
    ),
    waits::parts::WAIT_SUMS,
    waits::parts::WAKER_SUMS,
    waits::parts::STRETCHES,
    waits::parts::THREAD_TIMES,
];

/// Emits a part.
///
/// # Errors
/// The host refuses a table.
pub fn emit(run: &mut Run, sums: &Sums) -> Result<()> {
    let functions: Vec<(&str, &Function, &FunctionSum)> = sums
        .events
        .iter()
        .flat_map(|(event, sum)| {
            let functions = sum.functions.iter();
            functions.map(move |(function, sum)| (event.as_str(), function, sum))
        })
        .collect();
    let rows = || functions.iter();
    run.emit(
        Table::build("function_sums")
            .text("event", rows().map(|row| row.0))
            .text("function_name", rows().map(|row| row.1.name.as_deref()))
            .text("module", rows().map(|row| row.1.module.as_deref()))
            .u64("samples", rows().map(|row| row.2.innermost.samples))
            .u64("period", rows().map(|row| row.2.innermost.period))
            .u64(
                "without_period",
                rows().map(|row| row.2.innermost.without_period),
            )
            .u64("inclusive", rows().map(|row| row.2.inclusive)),
    )?;
    let lines = || {
        functions.iter().flat_map(|(event, function, sum)| {
            let lines = sum.lines.iter();
            lines.map(move |(line, count)| (*event, *function, line, *count))
        })
    };
    run.emit(
        Table::build("line_sums")
            .text("event", lines().map(|row| row.0))
            .text("function_name", lines().map(|row| row.1.name.as_deref()))
            .text("module", lines().map(|row| row.1.module.as_deref()))
            .text("file", lines().map(|row| &row.2.file))
            .i64("line", lines().map(|row| row.2.line))
            .u64("samples", lines().map(|row| row.3)),
    )?;
    emit_threads(run, sums)?;
    emit_bricks(run, sums)?;
    waits::parts::emit(run, &sums.waits)?;
    run.emit(
        Table::build("broken_stacks")
            .u64("missing", [sums.missing_stacks])
            .u64("circular", [sums.circular_stacks]),
    )
}

fn emit_threads(run: &mut Run, sums: &Sums) -> Result<()> {
    let rows = || {
        sums.events.iter().flat_map(|(event, sum)| {
            let threads = sum.threads.iter();
            threads.map(move |(thread, tally)| (event.as_str(), *thread, *tally))
        })
    };
    let name = |thread: i64| sums.thread_names.get(&thread).map(String::as_str);
    run.emit(
        Table::build("thread_sums")
            .text("event", rows().map(|row| row.0))
            .i64("thread", rows().map(|row| row.1))
            .text("name", rows().map(|row| name(row.1)))
            .u64("samples", rows().map(|row| row.2.samples))
            .u64("period", rows().map(|row| row.2.period))
            .u64("without_period", rows().map(|row| row.2.without_period)),
    )
}

fn emit_bricks(run: &mut Run, sums: &Sums) -> Result<()> {
    let rows = || {
        sums.events.iter().flat_map(|(event, sum)| {
            sum.bricks.iter().flat_map(move |(key, functions)| {
                let functions = functions.iter();
                functions.map(move |(function, count)| (event.as_str(), key, function, *count))
            })
        })
    };
    run.emit(
        Table::build("brick_sums")
            .text("event", rows().map(|row| row.0))
            .text("kind", rows().map(|row| &row.1.kind))
            .text("name", rows().map(|row| &row.1.name))
            .text("function_name", rows().map(|row| row.2.name.as_deref()))
            .text("module", rows().map(|row| row.2.module.as_deref()))
            .u64("samples", rows().map(|row| row.3)),
    )
}

/// Reads all parts there are, and adds them up.
///
/// # Errors
/// An input lacks a column, or has it in another type or null.
pub fn read(run: &mut Run) -> Result<Sums> {
    let mut sums = Sums::default();
    read_functions(&run.table("function_sums")?, &mut sums)?;
    read_lines(&run.table("line_sums")?, &mut sums)?;
    read_threads(&run.table("thread_sums")?, &mut sums)?;
    read_bricks(&run.table("brick_sums")?, &mut sums)?;
    sums.waits = waits::parts::read(run)?;
    let table = run.table("broken_stacks")?;
    let sum = |column: &str| -> Result<u64> {
        let counts = table.u64(column)?.iter().flatten();
        Ok(counts.fold(0, u64::saturating_add))
    };
    sums.missing_stacks = sum("missing")?;
    sums.circular_stacks = sum("circular")?;
    Ok(sums)
}

impl Cells<'_> {
    fn event<'a>(&self, row: usize, sums: &'a mut Sums) -> Result<&'a mut EventSum> {
        let event = required(self.0.text("event")?.get(row), "event")?;
        if !sums.events.contains_key(event) {
            sums.events.insert(event.to_owned(), EventSum::default());
        }
        required(sums.events.get_mut(event), "event")
    }
}

fn read_functions(table: &Table, sums: &mut Sums) -> Result<()> {
    let cells = Cells(table);
    for row in 0..table.rows() {
        let (function, tally) = (cells.function(row)?, cells.tally(row)?);
        let inclusive = cells.count("inclusive", row)?;
        let event = cells.event(row, sums)?;
        event.all.add(tally);
        let sum = event.functions.entry(function).or_default();
        sum.innermost.add(tally);
        sum.inclusive = sum.inclusive.saturating_add(inclusive);
    }
    Ok(())
}

fn read_lines(table: &Table, sums: &mut Sums) -> Result<()> {
    let cells = Cells(table);
    for row in 0..table.rows() {
        let line = Line {
            file: cells.text("file", row)?,
            line: required(table.i64("line")?.get(row), "line")?,
        };
        let (function, count) = (cells.function(row)?, cells.count("samples", row)?);
        let event = cells.event(row, sums)?;
        let lines = &mut event.functions.entry(function).or_default().lines;
        let sum = lines.entry(line).or_default();
        *sum = sum.saturating_add(count);
    }
    Ok(())
}

fn read_threads(table: &Table, sums: &mut Sums) -> Result<()> {
    let cells = Cells(table);
    for row in 0..table.rows() {
        let thread = cells.thread(row)?;
        if let Some(name) = table.text("name")?.get(row) {
            sums.thread_names.insert(thread, name.to_owned());
        }
        let tally = cells.tally(row)?;
        let event = cells.event(row, sums)?;
        event.threads.entry(thread).or_default().add(tally);
    }
    Ok(())
}

fn read_bricks(table: &Table, sums: &mut Sums) -> Result<()> {
    let cells = Cells(table);
    for row in 0..table.rows() {
        let key = BrickKey {
            kind: cells.text("kind", row)?,
            name: cells.text("name", row)?,
        };
        let (function, count) = (cells.function(row)?, cells.count("samples", row)?);
        let event = cells.event(row, sums)?;
        let functions = event.bricks.entry(key).or_default();
        let sum = functions.entry(function).or_default();
        *sum = sum.saturating_add(count);
    }
    Ok(())
}
