//! `trueno-analyze recover`.

use std::fmt::Write;

use serde_json::json;
use trueno_engine::run::{Recovered, Recovery, recover as recover_run};
use trueno_model::width::printable;
use trueno_model::{Level, Problem, RunState, exit, units};

use super::stderr::Stderr;
use super::stdout::to_stdout;
use crate::cli::{RecoverArgs, TextFormat};

/// Recovers a run. Exit code 1 if something that was recorded is missing.
pub fn recover(args: &RecoverArgs, stderr: &Stderr) -> anyhow::Result<u8> {
    let is_json = args.json || args.format == TextFormat::Json;
    let recovered = recover_run(&args.run, args.output.as_deref(), &mut |step| {
        stderr.step(step)
    })?;
    let recovery = match recovered {
        Recovered::Nothing(state) => {
            let text = if is_json {
                pretty(&json!({"run": args.run, "state": state, "recovered": false}))
            } else {
                format!(
                    "{}, nothing to recover{}\n",
                    ended(args, state),
                    unwritten(args)
                )
            };
            to_stdout(text.as_bytes())?;
            return Ok(exit::FINE);
        }
        Recovered::Damaged(damage) => {
            tell(&damage.problems, stderr);
            let text = if is_json {
                pretty(&json!({
                    "run": args.run, "state": damage.state, "recovered": false, "rows": damage.rows,
                    "rows_lost": damage.rows_lost, "problems": damage.problems,
                }))
            } else {
                format!(
                    "{}, and damaged: {} rows lost, {} can be read; live/ has nothing to restore them from{}\n",
                    ended(args, damage.state),
                    damage.rows_lost,
                    damage.rows,
                    unwritten(args)
                )
            };
            to_stdout(text.as_bytes())?;
            return Ok(exit::CHECK_FAILED);
        }
        Recovered::Done(recovery) => recovery,
    };
    tell(&recovery.problems, stderr);
    let text = if is_json {
        let mut value = serde_json::to_value(&recovery)?;
        value["state"] = json!(RunState::Recovered);
        value["recovered"] = json!(true);
        pretty(&value)
    } else {
        text(&recovery)
    };
    to_stdout(text.as_bytes())?;
    Ok(if recovery.has_losses() {
        exit::CHECK_FAILED
    } else {
        exit::FINE
    })
}

fn tell(problems: &[Problem], stderr: &Stderr) {
    let errors = problems.iter().filter(|p| p.severity == Level::Error);
    errors.for_each(|problem| stderr.warn(&problem.text));
}

fn ended(args: &RecoverArgs, state: RunState) -> String {
    let run = args.run.display().to_string();
    let how = match state {
        RunState::Recording => "an export of what was recorded",
        ended => ended.as_str(),
    };
    format!("{}: {how}", printable(&run))
}

fn unwritten(args: &RecoverArgs) -> String {
    let to = args.output.as_deref().map(|to| to.display().to_string());
    to.map_or_else(String::new, |to| {
        format!("; {} was not written", printable(&to))
    })
}

fn pretty(value: &serde_json::Value) -> String {
    format!("{value:#}\n")
}

fn text(recovery: &Recovery) -> String {
    let mut out = String::new();
    let run = recovery.run.display().to_string();
    let _ = writeln!(out, "{}: recovered after an unclean end", printable(&run));
    let dropped = recovery.rows_dropped.map_or_else(
        || "dropped: not known".to_owned(),
        |rows| format!("{rows} dropped"),
    );
    let _ = writeln!(
        out,
        "rows      {}, {} of them from live/; {} lost, {dropped}",
        recovery.rows, recovery.rows_from_live, recovery.rows_lost
    );
    let reach = recovery.reach_ns.map_or_else(
        || "no interval".to_owned(),
        |ns| format!("{} ({ns} ns)", units::duration(ns as f64)),
    );
    let _ = writeln!(out, "data to   {reach}");
    let _ = writeln!(
        out,
        "segments  {} sealed, {} added",
        recovery.segments_sealed, recovery.segments_added
    );
    out
}
