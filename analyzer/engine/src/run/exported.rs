//! Facts that an exported run keeps of its source, and what is made of them again.

use std::borrow::Cow;
use std::collections::BTreeMap;

use trueno_format::run_json::{
    ExportedFrom, Format, Producer, RunJson, SourceProblem, State, Table,
};
use trueno_format::schema::{FORMAT_MAJOR, FORMAT_MINOR, FORMAT_NAME};
use trueno_model::{Level, Problem, RunFacts, RunState, WallSource};

use super::Run;

/// `run.json` for an export of `run`. Rows, files and bytes of the tables are not filled in.
pub(super) fn describe(run: &Run, manifest: Option<&RunJson>) -> RunJson {
    let facts = run.facts();
    let mut json = manifest.cloned().unwrap_or_default();
    let source_format = manifest.map(|run| run.format.clone());
    let before = json.exported_from.take();
    json.format = Format {
        name: FORMAT_NAME.to_owned(),
        major: FORMAT_MAJOR,
        minor: FORMAT_MINOR,
    };
    json.wall_ns = facts.wall_ns;
    json.clock.ticks_per_second = facts.clock.ticks_per_second;
    json.values.clone_from(&facts.values);
    json.dropped = facts.dropped.unwrap_or(json.dropped);
    json.tables = facts
        .tables
        .iter()
        .map(|table| {
            let counts = Table {
                dropped: table.dropped.unwrap_or(0),
                lost: table.rows_lost.unwrap_or(0),
                ..Table::default()
            };
            (table.name.clone(), counts)
        })
        .collect();
    let unknown = facts.tables.iter().filter(|t| t.rows_lost.is_none());
    json.exported_from = Some(ExportedFrom {
        run_id: facts.run_id.clone().unwrap_or_default(),
        // Of an export of an export, the format in which the run was recorded.
        format: before.map_or(source_format, |before| before.format),
        by: Producer {
            name: "trueno-analyze export".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        },
        state: state_in_file(facts.state),
        complete: facts.complete,
        clean_end: facts.clean_end,
        wall_ns: facts.wall_ns,
        wall_source: facts.wall_source.as_str().to_owned(),
        dropped: facts.dropped,
        loss_not_known: unknown.map(|table| table.name.clone()).collect(),
        problems: run.problems().iter().map(problem_in_file).collect(),
    });
    json
}

fn state_in_file(state: RunState) -> Option<State> {
    match state {
        RunState::Recording => Some(State::Recording),
        RunState::Finished => Some(State::Finished),
        RunState::Failed => Some(State::Failed),
        RunState::Recovered => Some(State::Recovered),
        RunState::Unknown => None,
    }
}

fn problem_in_file(problem: &Problem) -> SourceProblem {
    let mut text = problem.text.clone();
    // What was said of that moment, and what could be done about it then.
    match &*problem.code {
        "recording" => text.push_str(", when this was exported"),
        "live" => text.truncate(text.find(" (hint:").unwrap_or(text.len())),
        _ => {}
    }
    SourceProblem {
        severity: problem.severity.as_str().to_owned(),
        code: problem.code.clone().into_owned(),
        text,
    }
}

/// Replaces facts of `run.json` by those recorded about the source.
pub(super) fn apply(source: &ExportedFrom, facts: &mut RunFacts) {
    facts.state = match source.state {
        Some(State::Recording) => RunState::Recording,
        Some(State::Finished) => RunState::Finished,
        Some(State::Failed) => RunState::Failed,
        Some(State::Recovered) => RunState::Recovered,
        None => RunState::Unknown,
    };
    facts.wall_ns = source.wall_ns;
    facts.wall_source = match source.wall_source.as_str() {
        _ if source.wall_ns.is_none() => WallSource::None,
        "recorded" => WallSource::Recorded,
        _ => WallSource::LastEvent,
    };
    facts.dropped = source.dropped;
    facts.format_minor = source.format.as_ref().map(|format| format.minor);
}

/// Sets the other facts after the files were read. `files_are_whole` says whether all existing files are intact. If
/// more rows are missing than the source had lost, the export is incomplete too.
pub(super) fn apply_to_whole(
    source: &ExportedFrom,
    tables: &BTreeMap<String, Table>,
    files_are_whole: bool,
    facts: &mut RunFacts,
) {
    let lost_before = |name: &str| tables.get(name).map_or(0, |table| table.lost);
    let all_there = facts
        .tables
        .iter()
        .all(|t| t.rows_lost.is_some_and(|lost| lost <= lost_before(&t.name)));
    facts.clean_end = source.clean_end;
    facts.complete = if files_are_whole && all_there {
        source.complete
    } else {
        Some(false)
    };
    for table in &mut facts.tables {
        if source.loss_not_known.contains(&table.name) {
            table.rows_expected = None;
            table.rows_lost = None;
        }
    }
}

pub(super) fn problems(source: &ExportedFrom) -> impl Iterator<Item = Problem> {
    source.problems.iter().map(|problem| Problem {
        severity: match problem.severity.as_str() {
            "info" => Level::Info,
            "warning" => Level::Warning,
            _ => Level::Error,
        },
        code: Cow::Owned(problem.code.clone()),
        text: problem.text.clone(),
    })
}
