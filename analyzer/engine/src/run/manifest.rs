//! `run.json`: what the recorder says about the run.

use std::io;
use std::path::Path;

use serde_json::Value;
use trueno_format::regular_file;
use trueno_format::run_json::{RUN_JSON as FILE, RunJson, Seal, State};
use trueno_format::schema::{FORMAT_MAJOR, FORMAT_NAME};
use trueno_model::{
    ClockFacts, HostFacts, Problem, ProgramFacts, RUN_JSON_CHANGED, RunFacts, RunState, WallSource,
};

use super::RunError;

const CHANGED_TEXT: &str = "run.json was changed after it was written (its hash does not match): host, program, \
                            clock, length and losses may be wrong";

/// Reads `run.json` of the run at `dir`. `None`, with a problem, if it is missing or unreadable.
pub(super) fn read(dir: &Path, problems: &mut Vec<Problem>) -> Result<Option<RunJson>, RunError> {
    let path = dir.join(FILE);
    let bytes = match regular_file::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let text = format!(
                "{FILE} is missing: program, host, time and length of the run are not known"
            );
            problems.push(Problem::error("run_json_missing", text));
            return Ok(None);
        }
        Err(error) => {
            problems.push(Problem::error(
                "run_json_unreadable",
                format!("{FILE} cannot be read: {error}"),
            ));
            return Ok(None);
        }
    };
    let mut damaged = |reason: String| {
        let text = format!(
            "{FILE} is damaged: {reason}; program, host, time and length of the run are not known"
        );
        problems.push(Problem::error("run_json_damaged", text));
    };
    let value: Value = match serde_json::from_slice(&bytes) {
        Ok(value) => value,
        Err(error) => {
            damaged(if bytes.is_empty() {
                "it is empty".into()
            } else {
                error.to_string()
            });
            return Ok(None);
        }
    };
    // Looked at before the rest: a newer major may have changed the rest.
    if let Some(found_major) = value["format"]["major"].as_u64()
        && value["format"]["name"] == FORMAT_NAME
        && found_major > u64::from(FORMAT_MAJOR)
    {
        return Err(RunError::NewerFormat {
            path,
            found_major,
            supported_major: FORMAT_MAJOR,
        });
    }
    match serde_json::from_value::<RunJson>(value) {
        Ok(run) if run.format.name != FORMAT_NAME => {
            damaged(format!(
                "expected format {FORMAT_NAME}, found {}",
                run.format.name
            ));
            Ok(None)
        }
        Ok(run) => {
            if Seal::of(&bytes) == Seal::Broken {
                problems.push(Problem::error(RUN_JSON_CHANGED, CHANGED_TEXT));
            }
            Ok(Some(run))
        }
        Err(error) => {
            damaged(error.to_string());
            Ok(None)
        }
    }
}

/// Facts from `run.json`. Those from segments are not filled in.
pub(super) fn facts(run: Option<&RunJson>) -> RunFacts {
    let known = run.is_some();
    let run = run.cloned().unwrap_or_default();
    let state = match run.state {
        _ if !known => RunState::Unknown,
        State::Recording => RunState::Recording,
        State::Finished => RunState::Finished,
        State::Failed => RunState::Failed,
        State::Recovered => RunState::Recovered,
    };
    let counted = match state {
        _ if run.imported => false,
        RunState::Recording => false,
        RunState::Recovered => run.recovery.as_ref().is_some_and(|r| r.dropped_known),
        RunState::Finished | RunState::Failed | RunState::Unknown => true,
    };
    let own_time = run.recorder.own_time.as_ref();
    RunFacts {
        run_id: some(run.run_id),
        label: run.label,
        directory: None,
        state,
        clean_end: false,
        complete: Some(false),
        wall_ns: run.wall_ns,
        wall_source: match run.wall_ns {
            Some(_) if state == RunState::Recovered || run.imported => WallSource::LastEvent,
            Some(_) => WallSource::Recorded,
            None => WallSource::None,
        },
        // A count of none is one as of the last writing, until the recorder has come to its end.
        dropped: (known && (counted || run.dropped > 0)).then_some(run.dropped),
        open: run.open,
        rows: 0,
        rows_lost: 0,
        format_minor: known.then_some(run.format.minor),
        producer: some(
            format!("{} {}", run.producer.name, run.producer.version)
                .trim()
                .to_owned(),
        ),
        host: HostFacts {
            name: run.host.name,
            os: run.host.os,
            kernel: run.host.kernel,
            arch: run.host.arch,
            cpu_model: run.host.cpu_model,
            logical_cpus: run.host.logical_cpus,
            memory_bytes: run.host.memory_bytes,
            cpu_features: run.host.cpu_features,
        },
        program: ProgramFacts {
            argv: run.program.argv,
            pid: run.program.pid,
        },
        clock: ClockFacts {
            source: some(run.clock.source),
            ticks_per_second: run.clock.ticks_per_second,
            resolution_ns: run.clock.resolution_ns,
            origin_realtime_ns: (run.clock.origin_realtime_ns != 0)
                .then_some(run.clock.origin_realtime_ns),
        },
        cost_ns_per_span: run.recorder.cost_ns_per_span,
        recorder_ns: own_time.map(|own| own.threads_ns.saturating_add(own.room_ns)),
        recorder_cpu_ns: own_time.and_then(|own| own.writer_cpu_ns),
        tables: Vec::new(),
        values: run.values,
        imports: run.import.into_iter().collect(),
        joined: run.joined,
        ranks: Vec::new(),
    }
}

fn some(text: String) -> Option<String> {
    (!text.is_empty()).then_some(text)
}
