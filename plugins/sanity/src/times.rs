//! Checks of single rows: durations, the window, ids, parents, nesting, edges.

use trueno_plugin::{Result, Run, Severity};

use crate::check::{Check, Spec};
use crate::facts::Facts;
use crate::rows::TABLES;
use crate::scan::{Counts, Nesting, Scan};

const fn error(name: &'static str, expected: &'static str, suggestion: &'static str) -> Spec {
    Spec {
        name,
        expected,
        severity: Severity::Error,
        suggestion,
    }
}

const DURATIONS: Spec = error(
    "durations",
    "0 negative durations",
    "a clock ran backwards or an importer mixed two; such rows are left out of all sums",
);
const WINDOW: Spec = error(
    "inside_the_run",
    "0 rows outside",
    "times lie before the start or after the end of the run: look at the clock and at rows of other processes",
);
const UNIQUE: Spec = error(
    "unique_ids",
    "0 ids twice",
    "two rows share an id: edges and parents may point at the wrong one",
);
const PARENTS: Spec = error(
    "parents_exist",
    "0 missing parents",
    "the enclosing rows were still open when the recording ended (let guards go out of scope before Recorder::finish), were dropped, or were never recorded",
);
const NESTING: Spec = error(
    "nesting",
    "0 rows outside their parents",
    "rows reach out of the row they claim to lie in: self times are still exact, but the tree is not what ran",
);
const EDGES: Spec = error(
    "edges_exist",
    "0 edges to nowhere",
    "dependencies name rows that are not in the run",
);

/// `durations` and `inside_the_run`.
pub fn bounds(facts: &Facts, scan: &Scan) -> [Check; 2] {
    let rows = scan.rows();
    if rows == 0 {
        let why = "no row with a duration was recorded";
        return [DURATIONS.not_measurable(why), WINDOW.not_measurable(why)];
    }
    let count = |of: fn(&Counts) -> u64| scan.tables.iter().map(of).sum::<u64>();
    let first = |of: fn(&Counts) -> u64| {
        let mut tables = scan.tables.iter().zip(TABLES);
        tables
            .find(|(counts, _)| of(counts) > 0)
            .map(|(_, name)| name)
    };
    let negative: fn(&Counts) -> u64 = |counts| counts.negative;
    let outside: fn(&Counts) -> u64 = |counts| counts.outside;
    let worst = [first(negative), first(outside)];
    let (negative, outside) = (count(negative), count(outside));
    let window = match facts.wall_ns {
        Some(wall_ns) if facts.wall_is_recorded => format!("the run lasts from 0 to {wall_ns} ns"),
        _ => "the end of the run is not known; only the start was checked".to_owned(),
    };
    let durations = durations(scan, negative, rows);
    let inside = WINDOW.counted(outside, window);
    let wall_ns = facts.wall_ns.unwrap_or(i64::MAX);
    [
        match worst[0] {
            Some(table) => durations.evidence(format!("SELECT id, start_ns, dur_ns FROM {table} WHERE dur_ns < 0")),
            None => durations,
        },
        match worst[1] {
            Some(table) => inside.evidence(format!(
                "SELECT id, start_ns, dur_ns FROM {table} WHERE start_ns < 0 OR dur_ns > {wall_ns} - start_ns"
            )),
            None => inside,
        },
    ]
}

/// Negative rows, and tables whose durations add up to more than a sum of nanoseconds holds: each counts.
fn durations(scan: &Scan, negative: u64, rows: u64) -> Check {
    let tables = scan.tables.iter().zip(TABLES);
    let beyond = tables.filter(|(counts, _)| counts.sum_ns > i128::from(i64::MAX));
    let beyond: Vec<&str> = beyond.map(|(_, name)| name).collect();
    let mut detail = format!("of {rows} rows");
    if !beyond.is_empty() {
        detail.push_str("; durations of ");
        detail.push_str(&beyond.join(", "));
        detail.push_str(" add up to more than 292 years: their sums end there and are not valid");
    }
    DURATIONS.counted(negative + beyond.len() as u64, detail)
}

/// `unique_ids`, `parents_exist`, `nesting` and `edges_exist`.
///
/// A kernel, tile, call or transfer must lie in its parent on the same thread. A row of `bricks` must
/// begin in it: a detached one may end later, and so may a task on another thread. Ends of
/// parents that lie on a device tell nothing.
///
/// # Errors
/// An input lacks a column or has it in another type.
pub fn links(run: &mut Run, facts: &Facts, scan: &Scan) -> Result<[Check; 4]> {
    let all = scan.rows();
    let unique = if all == 0 {
        UNIQUE.not_measurable("no row with an id was recorded")
    } else {
        UNIQUE.counted(scan.twice, format!("of {all} ids"))
    };
    let Nesting {
        linked,
        missing,
        nested,
        outside,
        first_outside,
    } = scan.nesting;
    let parents = if linked == 0 {
        PARENTS.not_measurable("no row names a parent")
    } else {
        missing_links(
            PARENTS,
            missing,
            facts,
            format!("of {linked} rows with a parent"),
        )
    };
    let nesting = if nested == 0 {
        NESTING.not_measurable("no row lies in another on a host thread")
    } else {
        let check = NESTING.counted(outside, format!("of {nested} rows in another"));
        match first_outside {
            Some((table, id)) => {
                check.evidence(format!("SELECT * FROM {} WHERE id = {id}", TABLES[table]))
            }
            None => check,
        }
    };

    let table = run.table("edges")?;
    let (from, to) = (table.u64("from_id")?, table.u64("to_id")?);
    let nowhere = |id: Option<u64>| id.is_none_or(|id| scan.ids.get(id).is_none());
    let bad = (0..table.rows())
        .filter(|&row| nowhere(from.get(row)) || nowhere(to.get(row)))
        .count();
    let edges = if table.is_empty() {
        EDGES.not_measurable("no explicit dependency was recorded")
    } else {
        missing_links(
            EDGES,
            bad as u64,
            facts,
            format!("of {} edges", table.rows()),
        )
    };
    Ok([unique, parents, nesting, edges])
}

/// Links to nowhere are no fault of their own where rows are known to be missing.
fn missing_links(spec: Spec, missing: u64, facts: &Facts, of: String) -> Check {
    if missing > 0 && !facts.nothing_missing() {
        spec.not_measurable(format!(
            "{missing} {of} point at rows that are not here; the run has lost rows"
        ))
    } else {
        spec.counted(missing, of)
    }
}
