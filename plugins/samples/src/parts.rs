//! Tables of parts.

use trueno_plugin::{Input, Result, Run, Table, table_row};

use crate::function::Function;
use crate::sums::{BrickKey, Line, Sums, Tally, WaitPlace};
use crate::waits;

pub const MERGE_INPUTS: [Input; 10] = [
    Input::sql("function_sums", "SELECT * FROM samples.function_sums"),
    Input::sql("line_sums", "SELECT * FROM samples.line_sums"),
    Input::sql("thread_sums", "SELECT * FROM samples.thread_sums"),
    Input::sql("brick_sums", "SELECT * FROM samples.brick_sums"),
    Input::sql("waiting_sums", "SELECT * FROM samples.waiting_sums"),
    Input::sql("broken_stacks", "SELECT * FROM samples.broken_stacks"),
    waits::parts::WAIT_SUMS,
    waits::parts::WAKER_SUMS,
    waits::parts::STRETCHES,
    waits::parts::THREAD_TIMES,
];

table_row! {
    struct FunctionRow<'a> {
        event: &'a str,
        function_name: Option<&'a str>,
        module: Option<&'a str>,
        samples: u64,
        period: u64,
        without_period: u64,
        inclusive: u64,
    }
}
table_row! {
    struct LineRow<'a> {
        event: &'a str,
        function_name: Option<&'a str>,
        module: Option<&'a str>,
        file: &'a str,
        line: i64,
        samples: u64,
    }
}
table_row! {
    struct ThreadRow<'a> {
        event: &'a str,
        thread: i64,
        name: Option<&'a str>,
        samples: u64,
        period: u64,
        without_period: u64,
    }
}
table_row! {
    struct BrickRow<'a> {
        event: &'a str,
        kind: &'a str,
        name: &'a str,
        function_name: Option<&'a str>,
        module: Option<&'a str>,
        samples: u64,
    }
}
table_row! {
    struct WaitingRow<'a> {
        event: &'a str,
        thread: i64,
        thread_name: Option<&'a str>,
        function_name: Option<&'a str>,
        module: Option<&'a str>,
        file: Option<&'a str>,
        samples: u64,
    }
}

/// Emits a part.
///
/// # Errors
/// The host refuses a table.
pub fn emit(run: &mut Run, sums: &Sums) -> Result<()> {
    let functions = || {
        sums.events.iter().flat_map(|(event, sum)| {
            let functions = sum.functions.iter();
            functions.map(move |(function, sum)| (event.as_str(), function, sum))
        })
    };
    let rows = functions().map(|(event, function, sum)| FunctionRow {
        event,
        function_name: function.name.as_deref(),
        module: function.module.as_deref(),
        samples: sum.innermost.samples,
        period: sum.innermost.period,
        without_period: sum.innermost.without_period,
        inclusive: sum.inclusive,
    });
    run.emit(Table::build("function_sums").rows(rows))?;
    let rows = functions().flat_map(|(event, function, sum)| {
        sum.lines.iter().map(move |(line, samples)| LineRow {
            event,
            function_name: function.name.as_deref(),
            module: function.module.as_deref(),
            file: &line.file,
            line: line.line,
            samples: *samples,
        })
    });
    run.emit(Table::build("line_sums").rows(rows))?;
    let rows = sums.events.iter().flat_map(|(event, sum)| {
        sum.threads.iter().map(move |(thread, tally)| ThreadRow {
            event,
            thread: *thread,
            name: sums.thread_names.get(thread).map(String::as_str),
            samples: tally.samples,
            period: tally.period,
            without_period: tally.without_period,
        })
    });
    run.emit(Table::build("thread_sums").rows(rows))?;
    let rows = sums.events.iter().flat_map(|(event, sum)| {
        sum.bricks.iter().flat_map(move |(key, functions)| {
            functions.iter().map(move |(function, samples)| BrickRow {
                event,
                kind: &key.kind,
                name: &key.name,
                function_name: function.name.as_deref(),
                module: function.module.as_deref(),
                samples: *samples,
            })
        })
    });
    run.emit(Table::build("brick_sums").rows(rows))?;
    let rows = sums.events.iter().flat_map(|(event, sum)| {
        sum.waiting.iter().map(move |(place, samples)| WaitingRow {
            event,
            thread: place.thread,
            thread_name: sums.thread_names.get(&place.thread).map(String::as_str),
            function_name: place.function.name.as_deref(),
            module: place.function.module.as_deref(),
            file: place.file.as_deref(),
            samples: *samples,
        })
    });
    run.emit(Table::build("waiting_sums").rows(rows))?;
    waits::parts::emit(run, &sums.waits)?;
    run.emit(
        Table::build("broken_stacks")
            .u64("missing", [sums.missing_stacks])
            .u64("circular", [sums.circular_stacks]),
    )
}

/// Reads all parts there are, and adds them up.
///
/// # Errors
/// An input lacks a column, or has it in another type or null.
pub fn read(run: &mut Run) -> Result<Sums> {
    let mut sums = Sums::default();
    for row in run.table("function_sums")?.read::<FunctionRow>()? {
        let row = row?;
        let tally = Tally {
            samples: row.samples,
            period: row.period,
            without_period: row.without_period,
        };
        let event = sums.event(row.event);
        event.all.add(tally);
        let function = Function::of(row.function_name, row.module);
        let sum = event.functions.entry(function).or_default();
        sum.innermost.add(tally);
        sum.inclusive = sum.inclusive.saturating_add(row.inclusive);
    }
    for row in run.table("line_sums")?.read::<LineRow>()? {
        let row = row?;
        let line = Line {
            file: row.file.to_owned(),
            line: row.line,
        };
        let function = Function::of(row.function_name, row.module);
        let functions = &mut sums.event(row.event).functions;
        let lines = &mut functions.entry(function).or_default().lines;
        let sum = lines.entry(line).or_default();
        *sum = sum.saturating_add(row.samples);
    }
    for row in run.table("thread_sums")?.read::<ThreadRow>()? {
        let row = row?;
        if let Some(name) = row.name {
            sums.thread_names.insert(row.thread, name.to_owned());
        }
        let threads = &mut sums.event(row.event).threads;
        threads.entry(row.thread).or_default().add(Tally {
            samples: row.samples,
            period: row.period,
            without_period: row.without_period,
        });
    }
    for row in run.table("brick_sums")?.read::<BrickRow>()? {
        let row = row?;
        let key = BrickKey {
            kind: row.kind.to_owned(),
            name: row.name.to_owned(),
        };
        let functions = sums.event(row.event).bricks.entry(key).or_default();
        let function = Function::of(row.function_name, row.module);
        let sum = functions.entry(function).or_default();
        *sum = sum.saturating_add(row.samples);
    }
    for row in run.table("waiting_sums")?.read::<WaitingRow>()? {
        let row = row?;
        if let Some(name) = row.thread_name {
            sums.thread_names.insert(row.thread, name.to_owned());
        }
        let place = WaitPlace {
            thread: row.thread,
            function: Function::of(row.function_name, row.module),
            file: row.file.map(str::to_owned),
        };
        let waiting = &mut sums.event(row.event).waiting;
        let sum = waiting.entry(place).or_default();
        *sum = sum.saturating_add(row.samples);
    }
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
