//! Values at the ends of their types, in each column in turn: no command panics, runs on, or ends otherwise than it
//! says.

use std::time::Duration;

use trueno_format::run_writer::Cell;
use trueno_format::schema::{ColumnType, TABLES};
use trueno_testing::damage::Seeded;
use trueno_testing::{Change, full};

use crate::harness::{Dir, PATIENCE};

/// Table, column, and the value that it has in every row.
type Extreme = (&'static str, &'static str, Cell);

/// A command of the long test that takes longer hangs: the run has only a few dozen rows.
const LONG_PATIENCE: Duration = Duration::from_secs(60);

fn ends(ty: ColumnType) -> Vec<Cell> {
    match ty {
        ColumnType::I64 => [i64::MIN, i64::MAX, -1].map(Cell::I64).to_vec(),
        ColumnType::U64 => [u64::MAX, i64::MAX as u64].map(Cell::U64).to_vec(),
        ColumnType::U32 => vec![Cell::U64(u32::MAX.into())],
        ColumnType::F64 => [f64::MAX, f64::MIN, f64::INFINITY, f64::NAN]
            .map(Cell::F64)
            .to_vec(),
        ColumnType::Bool | ColumnType::Text => Vec::new(),
    }
}

fn cases() -> Vec<Extreme> {
    let columns = TABLES.iter().flat_map(|table| {
        let columns = table.columns.iter();
        columns.map(|column| (table.name, column))
    });
    let cases = columns.flat_map(|(table, column)| {
        let ends = ends(column.ty).into_iter();
        ends.map(move |end| (table, column.name, end))
    });
    cases.collect()
}

/// Allowed exit codes. A panic would be 101, and a signal has none.
const CODES: [i32; 4] = [0, 1, 2, 3];

const SOME: [&str; 6] = [
    "report a.run --json r.json --html r.html",
    "compare a.run a.run",
    "tree a.run",
    "export chrome a.run -o t.json",
    "export parquet a.run -o p.run",
    "check a.run --golden a.run",
];

/// The other commands that read a run.
const OTHERS: [&str; 15] = [
    "report a.run --markdown r.md --csv csv --baseline b.run",
    "report a.run --window 100ns..500ns -q --json w.json",
    "compare b.run a.run --html c.html",
    "compare b.run a.run a.run --format json",
    "tree a.run --format json",
    "info a.run --format json",
    "tables a.run",
    "query a.run SELECT_SUMS",
    "query a.run SELECT_SPANS",
    "export perfetto a.run -o t.pftrace",
    "export otlp a.run -o t.otlp",
    "export folded a.run -o t.folded",
    "export flamegraph a.run -o t.svg",
    "golden save a.run -o g.json",
    "recover a.run -o n.run",
];

const SUMS: &str =
    "SELECT COUNT(*), SUM(dur_ns), MIN(start_ns), MAX(start_ns + dur_ns), AVG(dur_ns) FROM bricks";
const SPANS: &str = "SELECT * FROM timeline.spans";

/// Runs the commands on a run with these columns set to extreme values. Adds a description of each fault to
/// `faults`.
fn try_commands(
    changes: &[Extreme],
    commands: &[&str],
    patience: Duration,
    faults: &mut Vec<String>,
) {
    let dir = Dir::new();
    let change = |(table, column, to): &Extreme| Change {
        table,
        column,
        to: *to,
    };
    full(&dir.join("a.run"), changes.iter().map(change));
    if commands.iter().any(|command| command.contains("b.run")) {
        full(&dir.join("b.run"), None);
    }
    let shown: Vec<String> = changes
        .iter()
        .map(|(table, column, to)| format!("{table}.{column} = {to:?}"))
        .collect();
    let shown = shown.join(", ");
    for command in commands {
        let arguments: Vec<&str> = command
            .split(' ')
            .map(|word| match word {
                "SELECT_SUMS" => SUMS,
                "SELECT_SPANS" => SPANS,
                word => word,
            })
            .collect();
        let output = match dir.command_with_plugins(&arguments).ends_within(patience) {
            Ok(output) => output,
            Err(late) => {
                faults.push(format!("{shown}: {command}: {late}"));
                continue;
            }
        };
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let code = output.status.code();
        if !code.is_some_and(|code| CODES.contains(&code)) || said.contains("panicked") {
            faults.push(format!("{shown}: {command}: {:?}\n{said}", output.status));
        }
        if said.contains("Usage:") {
            faults.push(format!("{command}: is no command\n{said}"));
        }
    }
    for page in ["r.json", "r.html", "w.json", "c.html"] {
        let text = std::fs::read_to_string(dir.join(page)).unwrap_or_default();
        let found = text.find("panicked").or(text.find("with overflow"));
        if let Some(at) = found {
            let around: String = text[..at].chars().rev().take(200).collect();
            let around: String = around.chars().rev().collect();
            let rest: String = text[at..].chars().take(200).collect();
            faults.push(format!("{shown}: {page}: {around}{rest}"));
        }
    }
}

fn no_faults(cases: usize, commands: usize, faults: &[String]) {
    println!(
        "{cases} runs, {commands} commands each, {} faults",
        faults.len()
    );
    assert!(cases > 0);
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn some_columns_at_the_ends_of_their_types() {
    // Another column of each table, and of all values: it is `all_columns…` that leaves none out.
    let mut faults = Vec::new();
    let cases: Vec<Extreme> = cases().into_iter().step_by(29).collect();
    for case in &cases {
        try_commands(&[*case], &SOME, PATIENCE, &mut faults);
    }
    // And the other commands once.
    try_commands(&cases[..1], &OTHERS, PATIENCE, &mut faults);
    no_faults(cases.len(), SOME.len(), &faults);
}

/// `cargo test -p trueno-analyze --test e2e -- --ignored --nocapture all_columns`
#[test]
#[ignore = "an hour: each column, each end, every command"]
fn all_columns_at_the_ends_of_their_types() {
    let mut faults = Vec::new();
    let commands = [&SOME[..], &OTHERS].concat();
    let cases = cases();
    for case in &cases {
        try_commands(&[*case], &commands, LONG_PATIENCE, &mut faults);
    }
    no_faults(cases.len(), commands.len(), &faults);
}

/// `TRUENO_TEST_EXTREMES=500 cargo test -p trueno-analyze --test e2e -- --ignored --nocapture several_columns`
#[test]
#[ignore = "minutes: several columns at once, drawn by seeds"]
fn several_columns_at_the_ends_of_their_types() {
    let count = std::env::var("TRUENO_TEST_EXTREMES").ok();
    let count = count.and_then(|count| count.parse().ok()).unwrap_or(100);
    let (cases, mut faults) = (cases(), Vec::new());
    for seed in 0..count {
        let mut numbers = Seeded::new(seed);
        let several = 2 + numbers.below(4);
        let changes: Vec<Extreme> = (0..several)
            .map(|_| cases[numbers.below(cases.len())])
            .collect();
        try_commands(&changes, &SOME, LONG_PATIENCE, &mut faults);
    }
    no_faults(count as usize, SOME.len(), &faults);
}
