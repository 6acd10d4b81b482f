//! Sums segments up: how complete a run is, and what there is to say about it.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use trueno_format::run_json::{RunJson, State};
use trueno_format::salvage::{self, Salvaged};
use trueno_format::schema::{self, FORMAT_MAJOR, FORMAT_MINOR};
use trueno_model::{
    IMPORT, IMPORT_CUT, IMPORT_LEFT_OUT, LIVE_ROWS, Level, NOT_VERIFIED, Problem, RECORDER,
    RunFacts, RunState, TableFacts, WallSource, width,
};
use trueno_plugin::{agreeing, counted};

use super::columns::Published;
use super::segment::{Segment, SegmentState};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Writer {
    /// It has finished, or nothing is known about it.
    Ended,
    /// It has not finished and still runs.
    Alive { pid: Option<u32> },
    /// It has not finished and no longer runs.
    Gone { pid: Option<u32> },
}

impl Writer {
    /// Decided by `run.json`, by the lock that a writer holds while it lives or, without a lock, by this
    /// machine's processes.
    pub(super) fn find(dir: &Path, run: &RunJson) -> Writer {
        let pid = run.program.pid;
        // An export was written at once, whatever became of its source.
        if run.state != State::Recording || run.exported_from.is_some() {
            return Writer::Ended;
        }
        match salvage::is_recording(dir) {
            Some(true) => return Writer::Alive { pid },
            Some(false) => return Writer::Gone { pid },
            None => {}
        }
        let here = fs::read_to_string("/proc/sys/kernel/hostname").ok();
        let same_machine = match (&run.host.name, here) {
            (Some(there), Some(here)) => there == here.trim(),
            _ => true,
        };
        let is_there = |pid: u32| Path::new(&format!("/proc/{pid}")).exists();
        if same_machine && pid.is_some_and(is_there) {
            Writer::Alive { pid }
        } else {
            Writer::Gone { pid }
        }
    }

    pub(super) fn is_alive(self) -> bool {
        matches!(self, Writer::Alive { .. })
    }

    pub(super) fn is_unfinished(self) -> bool {
        self != Writer::Ended
    }
}

pub(super) fn fill(
    facts: &mut RunFacts,
    run: Option<&RunJson>,
    rest: Option<&Salvaged>,
    segments: &[Segment],
    last_end_ns: Option<i64>,
) {
    let mut tables: BTreeMap<&str, TableFacts> = BTreeMap::new();
    for segment in segments {
        let table = tables.entry(segment.table()).or_insert_with(|| TableFacts {
            rows_expected: Some(0),
            rows_lost: Some(0),
            ..TableFacts::default()
        });
        table.segments += 1;
        table.bytes += segment.bytes;
        table.rows_read = table.rows_read.saturating_add(segment.rows_read);
        table.rows_expected = sum(table.rows_expected, segment.rows_expected);
        table.rows_lost = sum(table.rows_lost, segment.rows_lost());
    }
    for (name, counts) in run.iter().flat_map(|r| &r.tables) {
        let table = tables.entry(name).or_insert_with(|| TableFacts {
            rows_expected: Some(0),
            rows_lost: Some(0),
            ..TableFacts::default()
        });
        table.dropped = facts.dropped.map(|_| counts.dropped);
        // Segments that neither journal nor directory know: run.json alone remembers them.
        if table.rows_expected.is_none_or(|rows| rows < counts.rows) {
            table.rows_expected = Some(counts.rows);
            table.rows_lost = Some(counts.rows.saturating_sub(table.rows_read));
        }
        let lost = Some(counts.lost);
        table.rows_expected = sum(table.rows_expected, lost);
        table.rows_lost = sum(table.rows_lost, lost);
    }
    for (name, dropped) in rest.iter().flat_map(|rest| &rest.dropped) {
        let table = tables.entry(name).or_insert_with(|| TableFacts {
            rows_expected: Some(0),
            rows_lost: Some(0),
            ..TableFacts::default()
        });
        table.dropped = facts.dropped.map(|_| *dropped);
    }
    let of_rest = rest
        .iter()
        .flat_map(|rest| rest.lost_uncounted.iter().copied());
    let recovery = run.and_then(|run| run.recovery.as_ref());
    let of_recovered = recovery
        .iter()
        .flat_map(|recovery| &recovery.loss_not_known);
    for name in of_rest.chain(of_recovered.map(String::as_str)) {
        if let Some(table) = tables.get_mut(name) {
            (table.rows_lost, table.rows_expected) = (None, None);
        }
    }
    for (name, table) in &mut tables {
        table.name = (*name).to_owned();
        if facts.dropped.is_some() && table.dropped.is_none() {
            table.dropped = Some(0);
        }
    }

    let mut ordered: Vec<TableFacts> = schema::TABLES
        .iter()
        .filter_map(|t| tables.remove(t.name))
        .collect();
    ordered.extend(tables.into_values());
    facts.rows = ordered
        .iter()
        .map(|t| t.rows_read)
        .fold(0, u64::saturating_add);
    facts.rows_lost = ordered
        .iter()
        .filter_map(|t| t.rows_lost)
        .fold(0, u64::saturating_add);
    facts.tables = ordered;
    facts.clean_end =
        facts.state == RunState::Finished && segments.iter().all(|s| s.state != SegmentState::Open);
    // The recorder has nothing to say of a recovered run but what is missing.
    let recovered = facts.state == RunState::Recovered
        && run.is_some_and(|run| run.problems.is_empty())
        && segments.iter().all(|s| s.state != SegmentState::Open);
    let all_there = (facts.clean_end || recovered)
        && facts.dropped.is_none_or(|rows| rows == 0)
        && facts.open == 0
        && facts.tables.iter().all(|t| t.rows_lost == Some(0))
        && segments.iter().all(Segment::is_whole);
    // A trace of another tool mostly does not say what it lost.
    facts.complete = match facts.dropped {
        _ if run.is_some_and(is_cut) => Some(false),
        None if all_there => None,
        _ => Some(all_there),
    };
    if facts.wall_ns.is_none() && last_end_ns.is_some() {
        facts.wall_ns = last_end_ns;
        facts.wall_source = WallSource::LastEvent;
    }
}

fn is_cut(run: &RunJson) -> bool {
    run.import.is_some() && !run.problems.is_empty()
}

fn sum(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    Some(a?.saturating_add(b?))
}

/// The problem that describes how the recording ended; always listed first.
pub(super) fn end_problem(
    run: Option<&RunJson>,
    writer: Writer,
    last_end_ns: Option<i64>,
) -> Option<Problem> {
    let reach = last_end_ns.map_or_else(
        || "no interval was written yet".to_owned(),
        |ns| format!("the data reach {ns} ns of the run's time"),
    );
    let process = |pid: Option<u32>| {
        pid.map_or_else(|| "the program".to_owned(), |pid| format!("process {pid}"))
    };
    match writer {
        Writer::Ended => {
            let run = run.filter(|run| run.state == State::Recovered)?;
            let text = format!(
                "recovered after an unclean end: {} did not finish the run; {reach}",
                process(run.program.pid)
            );
            Some(Problem::warning("unclean_end", text))
        }
        Writer::Alive { pid } => {
            let text = format!("{} is still recording: {reach}", process(pid));
            Some(Problem::info("recording", text))
        }
        Writer::Gone { pid } => {
            let text = format!(
                "unclean end: {} is gone and did not finish the run; {reach}",
                process(pid)
            );
            Some(Problem::warning("unclean_end", text))
        }
    }
}

/// How much of the recording a rolling window is.
pub(super) fn kept_problem(
    run: Option<&RunJson>,
    rest: Option<&Salvaged>,
    writer: Writer,
) -> Option<Problem> {
    let run = run?;
    let kept = rest
        .and_then(|rest| rest.kept.as_ref())
        .or(run.kept.as_ref());
    let text = match (kept, run.recorder.keep_last_ns) {
        (Some(kept), _) => kept.text(),
        (None, Some(_)) if writer.is_alive() => {
            "the recording keeps its last rows in memory, and this run has none before it ends (hint: cut it)"
                .to_owned()
        }
        _ => return None,
    };
    Some(Problem::info("kept_last", text))
}

/// For a run with a later minor version: what this program does not know and shows unchanged.
pub(super) fn newer_format(
    run: Option<&RunJson>,
    published: &BTreeMap<String, Arc<Published>>,
) -> Option<Problem> {
    let format = &run?.format;
    if (format.major, format.minor) <= (FORMAT_MAJOR, FORMAT_MINOR) {
        return None;
    }
    let tables = published.keys();
    let tables = tables.filter(|name| schema::table(name).is_none());
    let columns = published.iter().flat_map(|(table, published)| {
        let columns = published.unknown_columns(table);
        columns.map(move |column| format!("{table}.{column}"))
    });
    let unknown: Vec<String> = tables.cloned().chain(columns).collect();
    let unknown = if unknown.is_empty() {
        "no table and no column of it is unknown".to_owned()
    } else {
        format!(
            "shown as they are, and used by no analysis: {}",
            unknown.join(", ")
        )
    };
    let text = format!(
        "format {}.{} is newer than {FORMAT_MAJOR}.{FORMAT_MINOR}, which this program knows; {unknown} \
         (hint: use a newer trueno-analyze)",
        format.major, format.minor
    );
    Some(Problem::info("newer_format", text))
}

/// Problems of a killed recorder: what it left behind, and what it could not.
pub(super) fn rest_problems(
    run: Option<&RunJson>,
    writer: Writer,
    rest: &[Segment],
) -> Vec<Problem> {
    let mut problems = Vec::new();
    let rows = rest.iter().map(|segment| segment.rows_read);
    let rows = rows.fold(0, u64::saturating_add);
    if rows > 0 {
        let text = format!(
            "{} read from live/, where no hash covers {} (hint: `trueno-analyze recover` writes segments)",
            counted(rows, "row was", "rows were"),
            agreeing(rows, "it", "them")
        );
        problems.push(Problem::info(LIVE_ROWS, text));
    }
    let unsafe_run = run.is_some_and(|run| run.recorder.crash_safe == Some(false));
    if unsafe_run && matches!(writer, Writer::Gone { .. }) {
        let text = "the latest events may be missing: they were kept in the memory of the process";
        problems.push(Problem::warning("latest_events_missing", text));
    }
    problems
}

pub(super) fn recording_problems(run: Option<&RunJson>, rest: Option<&Salvaged>) -> Vec<Problem> {
    let Some(run) = run else { return Vec::new() };
    let mut problems = Vec::new();
    for text in &run.problems {
        // One line each, whoever wrote it.
        let text = width::printable(text);
        problems.push(match run.state {
            State::Failed => Problem::error(
                "recorder_failed",
                format!("the recorder stopped early: {text}"),
            ),
            State::Recovered => Problem::error("not_recovered", text.into_owned()),
            _ if run.import.is_some() => Problem::error(IMPORT_CUT, text.into_owned()),
            _ => Problem::warning(RECORDER, format!("the recorder reports: {text}")),
        });
    }
    if run.state == State::Failed && run.problems.is_empty() {
        problems.push(Problem::error(
            "recorder_failed",
            "the recorder stopped early, and gave no reason",
        ));
    }
    let dropped: BTreeMap<&str, u64> = match rest {
        Some(rest) => rest
            .dropped
            .iter()
            .map(|(name, rows)| (*name, *rows))
            .collect(),
        None => {
            let tables = run.tables.iter().filter(|(_, t)| t.dropped > 0);
            tables.map(|(name, t)| (name.as_str(), t.dropped)).collect()
        }
    };
    let rows = rest.map_or(run.dropped, |_| {
        dropped.values().copied().fold(0, u64::saturating_add)
    });
    if rows > 0 {
        let names = |table: &str| match rest {
            Some(rest) => rest.dropped_names.get(table),
            None => run.tables.get(table).map(|table| &table.dropped_names),
        };
        let tables: Vec<String> = dropped
            .iter()
            .map(|(table, rows)| format!("{table} {rows}{}", of_names(*rows, names(table))))
            .collect();
        let tables = if tables.is_empty() {
            String::new()
        } else {
            format!(": {}", tables.join(", "))
        };
        problems.push(Problem::warning(
            "dropped",
            format!(
                "{} dropped at recording{tables}",
                counted(rows, "row was", "rows were")
            ),
        ));
    }
    problems
}

/// From this share of records on, those left out by an import are a warning.
const MANY_LOST: f64 = 0.01;
/// From this share and number on, the run does not represent the program.
const MOST_LOST: (f64, u64) = (0.1, 5);
const REASONS: usize = 4;

pub(super) fn import_problems(facts: &RunFacts) -> Vec<Problem> {
    let mut problems = Vec::new();
    for import in &facts.imports {
        let counts = import.lost.values().copied();
        let lost = counts.fold(0, u64::saturating_add);
        if lost > 0 {
            let events = facts.events();
            let share = lost as f64 / lost.saturating_add(events) as f64;
            let is_most = events == 0 || share >= MOST_LOST.0 && lost >= MOST_LOST.1;
            let severity = match share {
                _ if is_most => Level::Error,
                share if share >= MANY_LOST => Level::Warning,
                _ => Level::Info,
            };
            problems.push(Problem {
                severity,
                code: IMPORT_LEFT_OUT.into(),
                text: format!(
                    "the import of {} left out {} and kept {}: {}",
                    width::printable(&import.file),
                    counted(lost, "record", "records"),
                    match events {
                        0 => "no row".to_owned(),
                        rows => counted(rows, "row", "rows"),
                    },
                    reasons(&import.lost)
                ),
            });
        }
        let warnings = import.warnings.iter();
        problems.extend(warnings.map(|text| Problem::warning(IMPORT, width::printable(text))));
    }
    problems
}

/// Most frequent first.
fn reasons(lost: &BTreeMap<String, u64>) -> String {
    let mut reasons: Vec<(&String, u64)> = lost.iter().map(|(why, count)| (why, *count)).collect();
    reasons.sort_by_key(|(_, count)| Reverse(*count));
    let others = reasons.split_off(reasons.len().min(REASONS));
    let named = reasons.iter();
    let mut parts: Vec<String> = named
        .map(|(why, count)| format!("{count} × {}", width::printable(why)))
        .collect();
    if !others.is_empty() {
        let count = others.iter().map(|(_, count)| count);
        let count = count.fold(0_u64, |sum, count| sum.saturating_add(*count));
        parts.push(format!("{count} × other reasons"));
    }
    parts.join(", ")
}

/// Limit for the names of dropped rows in a message, per table.
const NAMED: usize = 4;

/// The most frequent names among a table's dropped rows, as ` (gemv 812, softmax 10, others 4)`; empty if none is
/// known.
fn of_names(rows: u64, names: Option<&BTreeMap<String, u64>>) -> String {
    let mut names: Vec<(&String, u64)> = names
        .into_iter()
        .flatten()
        .map(|(name, rows)| (name, *rows))
        .collect();
    if names.is_empty() {
        return String::new();
    }
    names.sort_by_key(|(_, rows)| Reverse(*rows));
    names.truncate(NAMED);
    let named = names
        .iter()
        .fold(0, |sum: u64, (_, rows)| sum.saturating_add(*rows));
    let mut parts: Vec<String> = names
        .iter()
        .map(|(name, rows)| format!("{} {rows}", width::printable(name)))
        .collect();
    match rows.saturating_sub(named) {
        0 => {}
        others => parts.push(format!("others {others}")),
    }
    format!(" ({})", parts.join(", "))
}

/// One problem if some rows were read without a hash to verify them.
pub(super) fn not_verified(segments: &[Segment]) -> Option<Problem> {
    let read = || segments.iter().filter(|segment| segment.rows_read > 0);
    let unverified = read().filter(|s| s.state == SegmentState::Sealed && !s.verified);
    let (count, of) = (unverified.clone().count() as u64, read().count() as u64);
    let rows = unverified.map(|segment| segment.rows_read);
    let rows = rows.fold(0, u64::saturating_add);
    (count > 0).then(|| {
        let text = format!(
            "NOT VERIFIED: no hash shows whether {} in {count} of {} are unchanged",
            counted(rows, "row", "rows"),
            counted(of, "segment", "segments"),
        );
        Problem::warning(NOT_VERIFIED, text)
    })
}

/// Problems of the segments, sorted by segment name.
pub(super) fn segment_problems(segments: &[Segment]) -> Vec<Problem> {
    let of = |segment: &Segment| {
        let loses = segment.state == SegmentState::Lost || segment.rows_lost() != Some(0);
        let name = segment.name.clone();
        let make = move |fault: &String| {
            let text = format!("{name}: {fault}");
            if loses {
                Problem::error("segment_damaged", text)
            } else {
                Problem::warning("segment", text)
            }
        };
        let mut problems: Vec<Problem> = segment.faults.iter().map(make).collect();
        if let Some(lost) = segment.rows_lost().filter(|&rows| rows > 0) {
            let expected = segment.rows_expected.unwrap_or(lost);
            let text = format!(
                "{}: {lost} of {} lost",
                segment.name,
                counted(expected, "row", "rows")
            );
            problems.push(Problem::error("rows_lost", text));
        }
        problems
    };
    segments.iter().flat_map(of).collect()
}

/// Tables whose row counts in `run.json` and in the segments differ.
pub(super) fn count_problems(facts: &RunFacts, run: Option<&RunJson>) -> Vec<Problem> {
    let ended = |r: &&RunJson| matches!(r.state, State::Finished | State::Recovered);
    let Some(run) = run.filter(ended) else {
        return Vec::new();
    };
    let mut problems = Vec::new();
    for table in &facts.tables {
        let Some(counts) = run.tables.get(&table.name) else {
            problems.push(Problem::warning(
                "counts_differ",
                format!(
                    "{}: {} found, run.json lists no such table",
                    table.name,
                    counted(table.rows_read, "row was", "rows were")
                ),
            ));
            continue;
        };
        let known = table.rows_lost.unwrap_or(0).saturating_add(table.rows_read);
        if counts.rows.saturating_add(counts.lost) != known || counts.segments != table.segments {
            let text = format!(
                "{}: run.json counts {} in {}, found {} in {}",
                table.name,
                counted(counts.rows, "row", "rows"),
                counted(counts.segments, "segment", "segments"),
                counted(table.rows_read, "row", "rows"),
                table.segments
            );
            problems.push(Problem::warning("counts_differ", text));
        }
    }
    problems
}
