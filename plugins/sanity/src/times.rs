//! Checks of single rows: durations, the window, ids, parents, nesting, edges.

use trueno_plugin::Severity;

use crate::check::{Check, Spec};
use crate::facts::Facts;
use crate::rows::TABLES;
use crate::tallies::{Counts, Marked, Nesting, Tallies};

const fn error(
    name: &'static str,
    fault: &'static str,
    expected: &'static str,
    suggestion: &'static str,
) -> Spec {
    Spec {
        name,
        fault,
        expected,
        severity: Severity::Error,
        suggestion,
    }
}

const DURATIONS: Spec = error(
    "durations",
    "rows with impossible durations",
    "0 negative durations",
    "a clock ran backwards or an importer mixed two; such rows are left out of all sums",
);
const WINDOW: Spec = error(
    "inside_the_run",
    "rows outside the run",
    "0 rows outside",
    "times lie before the start or after the end of the run: look at the clock and at rows of other processes",
);
const UNIQUE: Spec = error(
    "unique_ids",
    "ids used more than once",
    "0 ids twice",
    "two rows share an id: edges and parents may point at the wrong one",
);
const PARENTS: Spec = error(
    "parents_exist",
    "rows whose parent does not exist",
    "0 missing parents",
    "the enclosing rows were still open when the recording ended (let guards go out of scope before Recorder::finish), were dropped, or were never recorded",
);
const NESTING: Spec = error(
    "nesting",
    "rows that extend beyond their parent",
    "0 rows outside their parents",
    "rows extend beyond their parent: self times are still exact, but the tree does not show what ran",
);
const EDGES: Spec = error(
    "edges_exist",
    "dependencies on rows that do not exist",
    "0 edges to missing rows",
    "dependencies name rows that are not in the run",
);

/// `durations` and `inside_the_run`.
pub fn bounds(facts: &Facts, tallies: &Tallies) -> [Check; 2] {
    let rows = tallies.rows();
    if rows == 0 {
        let why = "no row with a duration was recorded";
        return [DURATIONS.not_measurable(why), WINDOW.not_measurable(why)];
    }
    let first = |of: fn(&Counts) -> u64| {
        let mut tables = tallies.tables.iter().zip(TABLES);
        tables
            .find(|(counts, _)| of(counts) > 0)
            .map(|(_, name)| name)
    };
    let negative: fn(&Counts) -> u64 = |counts| counts.negative;
    let outside: fn(&Counts) -> u64 = |counts| counts.outside;
    let worst = [first(negative), first(outside)];
    let (negative, outside) = (tallies.sum(negative), tallies.sum(outside));
    let window = match facts.wall_ns {
        Some(wall_ns) if facts.wall_is_recorded => format!("the run lasts from 0 to {wall_ns} ns"),
        _ => "the end of the run is not known; only the start was checked".to_owned(),
    };
    let durations = durations(tallies, negative, rows);
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

/// Counts negative rows, and tables whose durations add up to more than an `i64` holds.
fn durations(tallies: &Tallies, negative: u64, rows: u64) -> Check {
    let tables = tallies.tables.iter().zip(TABLES);
    let beyond = tables.filter(|(counts, _)| i64::try_from(counts.sum_ns).is_err());
    let beyond: Vec<&str> = beyond.map(|(_, name)| name).collect();
    let mut detail = format!("of {rows} rows");
    if !beyond.is_empty() {
        detail.push_str("; durations of ");
        detail.push_str(&beyond.join(", "));
        detail.push_str(" add up to more than 292 years, so their sums are cut off and not valid");
    }
    DURATIONS.counted(negative.saturating_add(beyond.len() as u64), detail)
}

/// `unique_ids`, `parents_exist`, `nesting` and `edges_exist`. A kernel, tile, call or transfer must lie within its
/// parent on the same thread. A row of `bricks` only has to begin in it, because a detached one may end later; so
/// may a task on another thread. Parents on a device are not checked: their end says nothing about the host.
pub fn links(facts: &Facts, tallies: &Tallies) -> [Check; 4] {
    let all = tallies.rows();
    let unique = if all == 0 {
        UNIQUE.not_measurable("no row with an id was recorded")
    } else {
        UNIQUE.counted(tallies.twice, format!("of {all} ids"))
    };
    let Nesting {
        linked,
        missing,
        nested,
        outside,
        first_outside,
    } = tallies.nesting;
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
        NESTING.not_measurable("no row is nested in another on a host thread")
    } else {
        let check = NESTING.counted(outside, format!("of {nested} nested rows"));
        match first_outside.and_then(|row| Some((row.table, row.id?))) {
            Some((table, id)) => {
                check.evidence(format!("SELECT * FROM {} WHERE id = {id}", TABLES[table]))
            }
            None => check,
        }
    };
    let Marked { all, marked } = tallies.edges;
    let edges = if all == 0 {
        EDGES.not_measurable("no explicit dependency was recorded")
    } else {
        missing_links(EDGES, marked, facts, format!("of {all} edges"))
    };
    [unique, parents, nesting, edges]
}

/// If rows are known to be missing, broken links are not a fault of their own.
fn missing_links(spec: Spec, missing: u64, facts: &Facts, of: String) -> Check {
    if missing > 0 && !facts.nothing_missing() {
        spec.not_measurable(format!(
            "{missing} {of} point at missing rows; the run has lost rows"
        ))
    } else {
        spec.counted(missing, of)
    }
}
