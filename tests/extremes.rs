//! Values at the ends of their types, in each column in turn: no command panics, runs on, or ends otherwise than it says.

use trueno_fixture::{Change, full};
use trueno_format::run_writer::Cell;
use trueno_format::schema::{ColumnType, TABLES};

use crate::harness::Dir;

/// The ends of a type.
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

/// Columns and values, by table.
fn cases() -> Vec<(&'static str, &'static str, Cell)> {
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

/// Exit codes that a command may have; 101 would be a panic, none a signal.
const CODES: [i32; 4] = [0, 1, 2, 3];

fn all_commands(cases: impl Iterator<Item = (&'static str, &'static str, Cell)>) {
    let mut faults = Vec::new();
    for (table, column, to) in cases {
        let dir = Dir::new();
        let run = dir.join("a.run");
        let shown = format!("{table}.{column} = {to:?}");
        full(&run, Some(Change { table, column, to }));
        let run = run.to_str().unwrap();
        for arguments in [
            vec!["report", run, "--json", "r.json", "--html", "r.html"],
            vec!["compare", run, run],
            vec!["tree", run],
            vec!["export", "chrome", run, "-o", "t.json"],
            vec!["export", "parquet", run, "-o", "p.run"],
            vec!["check", run, "--golden", run],
        ] {
            let output = dir.command(&arguments).command.output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            let is_fine = output
                .status
                .code()
                .is_some_and(|code| CODES.contains(&code));
            if !is_fine || said.contains("panicked") {
                faults.push(format!(
                    "{shown}: {}: {:?}\n{said}",
                    arguments[0], output.status
                ));
            }
        }
        let json = std::fs::read_to_string(dir.join("r.json")).unwrap_or_default();
        if json.contains("panicked") || json.contains("overflow") {
            let at = json.find("panicked").or(json.find("overflow")).unwrap_or(0);
            let text: String = json[at.saturating_sub(200)..].chars().take(400).collect();
            faults.push(format!("{shown}: report: {text}"));
        }
    }
    assert!(
        faults.is_empty(),
        "{} faults\n{}",
        faults.len(),
        faults.join("\n")
    );
}

#[test]
fn some_columns_at_the_ends_of_their_types() {
    // Another column of each table, and of all values: it is `all_columns…` that leaves none out.
    all_commands(cases().into_iter().step_by(29));
}

#[test]
#[ignore = "minutes: each column, each end, six commands"]
fn all_columns_at_the_ends_of_their_types() {
    all_commands(cases().into_iter());
}
