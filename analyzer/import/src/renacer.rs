//! System calls as renacer writes them (`renacer --format json -T`, `renacer-json-v1`). Its text is read as
//! [`strace`](crate::strace)'s.
//!
//! The format has no times, only an order and, with `-T`, durations in whole microseconds. Its calls
//! are put end to end in their order, which is said in the run: gaps between them, and so the length
//! of the run, are not known. A call without a duration becomes an instant at the time reached so far, as do the exit code,
//! the total time and what renacer itself worked out.

mod document;

use std::io::{BufRead, BufReader};
use std::path::Path;

use trueno_format::run_writer::{RunWriter, TableId};
use trueno_format::schema::ThreadRow;
use trueno_format::stacks::{Frame, Stacks};

use crate::importer::{Head, Importer};
use crate::source;
use crate::strace::instants::{MAX_TEXT_BYTES, Source, cut};
use crate::strace::outcome::Outcome;
use crate::strace::system_calls::{SystemCall, SystemCalls};
use crate::{Error, Notes, Options};
use document::{Document, Syscall};

/// Format name near the beginning of each file.
const FORMAT: &str = "renacer-json-v1";
const NO_TIMES: &str = "renacer records no times: the calls are placed end to end in their order, and the gaps between \
                        them are not known";

/// JSON of renacer. Its runs have no length, because renacer does not measure one.
pub struct Renacer;

impl Importer for Renacer {
    fn name(&self) -> &'static str {
        "renacer"
    }

    fn description(&self) -> &'static str {
        "Renacer's JSON"
    }

    fn recognises(&self, head: &Head<'_>) -> bool {
        // renacer writes to the same place as the program, whose lines may come before.
        let Some(name) = head.text().find("\"renacer-json") else {
            return false;
        };
        let before = head.text()[..name].lines();
        before.into_iter().any(|line| line.starts_with('{'))
    }

    fn import(
        &self,
        path: &Path,
        options: &Options,
        into: &mut RunWriter,
        notes: &mut Notes,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Option<i64>, Error> {
        let mut reader = BufReader::new(source::Source::open(path, options, progress)?);
        let skipped = skip_output(&mut reader);
        let skipped = skipped.map_err(|e| reader.get_ref().refusal(path, "its beginning", e))?;
        if skipped > 0 {
            notes.warn(format!(
                "{skipped} lines before the JSON are the program's own output: left out"
            ));
        }
        let mut calls = Calls::default();
        let mut failed = None;
        let mut visit = |call: Syscall| {
            failed = calls.add(&call, into, notes).err();
            failed.is_none()
        };
        let read = document::read(&mut reader, &mut visit);
        if let Some(error) = failed {
            return Err(error);
        }
        reader.get_mut().end(notes);
        finish(path, read, calls, into, notes)?;
        Ok(None)
    }
}

#[derive(Default)]
struct Calls {
    rows: SystemCalls,
    stacks: Stacks,
    reached_ns: i64,
}

impl Calls {
    fn add(
        &mut self,
        call: &Syscall,
        into: &mut RunWriter,
        notes: &mut Notes,
    ) -> Result<(), Error> {
        notes.read("syscall");
        let dur_ns = call
            .duration_us
            .and_then(|us| i64::try_from(us).ok()?.checked_mul(1_000))
            .filter(|dur_ns| self.reached_ns.checked_add(*dur_ns).is_some());
        let stack = match &call.source {
            Some(source) => {
                let frame = frame(source, into);
                Some(self.stacks.row(into, None, frame)?)
            }
            None => None,
        };
        let arguments: Vec<&str> = call.args.iter().map(String::as_str).collect();
        let row = SystemCall {
            name: &call.name,
            arguments: &arguments,
            text: &arguments.join(", "),
            start_ns: self.reached_ns,
            dur_ns,
            outcome: call.result.map(Outcome::from_raw).unwrap_or_default(),
            stack,
            source: call.source.as_ref(),
            ..SystemCall::default()
        };
        self.rows.add(&row, into, notes)?;
        self.reached_ns += dur_ns.unwrap_or(0);
        Ok(())
    }

    fn add_totals(
        &mut self,
        document: &Document,
        into: &mut RunWriter,
        notes: &mut Notes,
    ) -> Result<(), Error> {
        let place = (None, self.reached_ns);
        let instants = &mut self.rows.instants;
        if let Some(code) = document.summary.exit_code {
            let json = format!(r#"{{"kind":"exit","code":{code}}}"#);
            instants.add_json(place, "exit code", &json, into, notes)?;
        }
        if let Some(total_us) = document.summary.total_time_us {
            let json = format!(r#"{{"total_time_us":{total_us}}}"#);
            instants.add_json(place, "total time", &json, into, notes)?;
        }
        for (name, analysis) in &document.analyses {
            let mut json = analysis.to_string();
            if json.len() > MAX_TEXT_BYTES {
                notes.warn(format!("{name} is longer than 64 KiB: cut"));
                // Within a text of its own, so that the arguments stay JSON.
                json = serde_json::json!({ "cut": cut(&json) }).to_string();
            }
            instants.add_json(place, name, &json, into, notes)?;
        }
        Ok(())
    }
}

fn frame(source: &Source, into: &mut RunWriter) -> Frame {
    Frame {
        function: source.function.as_deref().map(|name| into.text(name)),
        file: Some(into.text(&source.file)),
        line: source.line,
        ..Frame::default()
    }
}

fn skip_output(reader: &mut impl BufRead) -> std::io::Result<u64> {
    let mut skipped = 0;
    loop {
        let ahead = reader.fill_buf()?;
        match ahead.iter().position(|byte| !byte.is_ascii_whitespace()) {
            Some(at) if document::begins(&ahead[at..]) => return Ok(skipped),
            None if ahead.is_empty() => return Ok(skipped),
            None => {
                let blank = ahead.len();
                reader.consume(blank);
            }
            Some(at) => {
                reader.consume(at);
                reader.skip_until(b'\n')?;
                skipped += 1;
            }
        }
    }
}

fn finish(
    path: &Path,
    read: Result<Document, serde_json::Error>,
    mut calls: Calls,
    into: &mut RunWriter,
    notes: &mut Notes,
) -> Result<(), Error> {
    let found: u64 = notes.read.values().sum();
    match read {
        Ok(document) if document.format.as_deref() == Some(FORMAT) => {
            let total = document.summary.total_syscalls;
            if let Some(total) = total.filter(|total| *total != found) {
                notes.warn(format!(
                    "the summary counts {total} calls, the file holds {found}"
                ));
            }
            calls.add_totals(&document, into, notes)?;
        }
        Ok(document) => {
            let other = document.format.as_deref().unwrap_or("none").to_owned();
            return Err(Error::Format {
                path: path.to_owned(),
                problem: format!(
                    "expected the format {FORMAT}, found {other}; write it with `renacer --format json -T`"
                ),
            });
        }
        Err(error) if found > 0 => {
            let text =
                format!("the JSON is cut or damaged ({error}): its first {found} calls were read");
            notes.cut_short(into, text);
        }
        Err(error) => {
            return Err(Error::Damaged {
                path: path.to_owned(),
                place: format!("line {}", error.line()),
                problem: format!("expected a document of {FORMAT}: {error}; record again"),
            });
        }
    }
    if found > 0 {
        notes.add(into, &ThreadRow::default())?;
    }
    let stacks = into.rows(TableId::Stacks);
    if stacks > 0 {
        notes.kept.insert("stacks", stacks);
    }
    if calls.rows.untimed > 0 {
        notes.warn(format!(
            "{} calls have no duration and became instants: record with -T; renacer writes none below a microsecond",
            calls.rows.untimed
        ));
    }
    notes.warn(NO_TIMES);
    into.run().clock.source = "none".to_owned();
    Ok(())
}

#[cfg(test)]
mod tests;
