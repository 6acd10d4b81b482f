//! System calls: counts, times, errors, bytes, and the files they were about.
//!
//! Rows of `calls` of kind `syscall`, and instants that tell of such a call without a duration. Functions of libraries,
//! which lie in `calls` as well, are none of them.

pub mod findings;
pub mod inputs;
pub mod instants;
pub mod load;
pub mod parts;
pub mod sums;
pub mod tables;

use serde::Deserialize;
use trueno_plugin::{Input, Parts, Plugin, Result, Run, export};

use crate::sums::Sums;

pub struct Syscalls;

#[derive(Clone, Debug, Deserialize)]
#[serde(default)]
pub struct Options {
    pub file_rows: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { file_rows: 1_000 }
    }
}

impl Plugin for Syscalls {
    const ID: &'static str = "syscalls";
    const SUMMARY: &'static str = "System calls by name, error and file; if traced, each duration includes half of a tracer stop.";
    const INPUTS: &'static [Input] = &inputs::INPUTS;
    type Options = Options;

    fn run(run: &mut Run, options: Options) -> Result<()> {
        let sums = load::load(run)?;
        emit(run, &sums, &options)
    }
}

impl Parts for Syscalls {
    const MERGE_INPUTS: &'static [Input] = &parts::MERGE_INPUTS;

    fn part(run: &mut Run, _options: Options) -> Result<()> {
        let sums = load::load(run)?;
        parts::emit(run, &sums)
    }

    fn merge(run: &mut Run, options: Options) -> Result<()> {
        let sums = parts::read(run)?;
        if run.is_final() {
            emit(run, &sums, &options)
        } else {
            parts::emit(run, &sums)
        }
    }
}

fn emit(run: &mut Run, sums: &Sums, options: &Options) -> Result<()> {
    if sums.calls.is_empty() {
        return Ok(());
    }
    run.emit(tables::calls(sums))?;
    if !sums.errors.is_empty() {
        run.emit(tables::errors(sums))?;
    }
    if !sums.files.is_empty() {
        run.emit(tables::files(sums, options.file_rows))?;
    }
    if let Some(finding) = findings::small_transfers(sums) {
        run.finding(finding)?;
    }
    Ok(())
}

export!(Syscalls, parts, as trueno_plugin_v1_syscalls);
