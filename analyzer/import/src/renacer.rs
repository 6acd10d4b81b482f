//! System calls as renacer writes them (`renacer --format json -T`, `renacer-json-v1`). Its text is read as
//! [`strace`](crate::strace)'s.
//!
//! The format has no times, only an order and, with `-T`, durations in whole microseconds. Its calls
//! are put end to end in their order, which is said in the run: gaps between them, and so the length
//! of the run, are not known. A call without a duration becomes an instant at the time reached so far, as do the exit code,
//! the total time and what renacer itself worked out.

mod document;

use std::io::{BufRead, BufReader};

use serde::de::DeserializeSeed;
use trueno_format::run_writer::RunWriter;
use trueno_format::schema::ThreadRow;
use trueno_format::stacks::{Frame, Stacks};

use crate::Error;
use crate::importer::{Head, Import, Importer};
use crate::json::Object;
use crate::strace::instants::{MAX_TEXT_BYTES, Source, cut};
use crate::strace::outcome::Outcome;
use crate::strace::system_calls::{SystemCall, SystemCalls};
use document::{Document, Found, Syscall};

/// Format name near the beginning of each file.
const FORMAT: &str = "renacer-json-v1";
const NO_TIMES: &str = "renacer records no times: the calls are placed end to end in their order, and the gaps between \
                        them are not known";

/// JSON of renacer. Its runs have no length, because renacer does not measure one.
pub const IMPORTER: Importer = Importer {
    name: "renacer",
    description: "Renacer's JSON",
    recognises,
    read,
};

fn recognises(head: &Head<'_>) -> bool {
    // renacer writes to the same place as the program, whose lines may come before.
    let Some(name) = head.text().find("\"renacer-json") else {
        return false;
    };
    let before = head.text()[..name].lines();
    before.into_iter().any(|line| line.starts_with('{'))
}

fn read(mut import: Import<'_>) -> Result<Option<i64>, Error> {
    let mut reader = BufReader::new(import.open()?);
    let skipped = skip_output(&mut reader);
    let skipped = skipped.map_err(|e| reader.get_ref().refusal("its beginning", e))?;
    if skipped > 0 {
        import.notes.warn(format!(
            "{skipped} lines before the JSON are the program's own output: left out"
        ));
    }
    let mut calls = Calls::default();
    let mut failed = None;
    let mut document = Document::new(|call: Syscall| {
        failed = calls.add(&call, &mut import).err();
        failed.as_ref().map_or(Ok(()), |_| Err("stopped"))
    });
    // Output of the program may follow the document.
    let mut json = serde_json::Deserializer::from_reader(&mut reader);
    let read = Object(&mut document).deserialize(&mut json);
    let read = read.map(|()| document.found);
    if let Some(error) = failed {
        return Err(error);
    }
    reader.get_mut().end(import.notes);
    finish(read, calls, &mut import)?;
    Ok(None)
}

#[derive(Default)]
struct Calls {
    rows: SystemCalls,
    stacks: Stacks,
    reached_ns: i64,
}

impl Calls {
    fn add(&mut self, call: &Syscall, import: &mut Import<'_>) -> Result<(), Error> {
        import.notes.read("syscall");
        let dur_ns = call
            .duration_us
            .and_then(|us| i64::try_from(us).ok()?.checked_mul(1_000))
            .filter(|dur_ns| self.reached_ns.checked_add(*dur_ns).is_some());
        let stack = match &call.source {
            Some(source) => {
                let frame = frame(source, import.into);
                Some(self.stacks.row(import.into, None, frame)?)
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
        self.rows.add(&row, import)?;
        self.reached_ns += dur_ns.unwrap_or(0);
        Ok(())
    }

    fn add_totals(&mut self, found: &Found, import: &mut Import<'_>) -> Result<(), Error> {
        let place = (None, self.reached_ns);
        let instants = &mut self.rows.instants;
        if let Some(code) = found.summary.exit_code {
            let json = format!(r#"{{"kind":"exit","code":{code}}}"#);
            instants.add_json(place, "exit code", &json, import)?;
        }
        if let Some(total_us) = found.summary.total_time_us {
            let json = format!(r#"{{"total_time_us":{total_us}}}"#);
            instants.add_json(place, "total time", &json, import)?;
        }
        for (name, analysis) in &found.analyses {
            let mut json = analysis.to_string();
            if json.len() > MAX_TEXT_BYTES {
                import
                    .notes
                    .warn(format!("{name} is longer than 64 KiB: cut"));
                // Within a text of its own, so that the arguments stay JSON.
                json = serde_json::json!({ "cut": cut(&json) }).to_string();
            }
            instants.add_json(place, name, &json, import)?;
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
    read: Result<Found, serde_json::Error>,
    mut calls: Calls,
    import: &mut Import<'_>,
) -> Result<(), Error> {
    let count: u64 = import.notes.read.values().sum();
    match read {
        Ok(found) if found.format.as_deref() == Some(FORMAT) => {
            let total = found.summary.total_syscalls;
            if let Some(total) = total.filter(|total| *total != count) {
                import.notes.warn(format!(
                    "the summary counts {total} calls, the file holds {count}"
                ));
            }
            calls.add_totals(&found, import)?;
        }
        Ok(found) => {
            let other = found.format.as_deref().unwrap_or("none").to_owned();
            return Err(import.refused(format!(
                    "expected the format {FORMAT}, found {other}; write it with `renacer --format json -T`"
                )));
        }
        Err(error) if count > 0 => {
            let text =
                format!("the JSON is cut or damaged ({error}): its first {count} calls were read");
            import.problem(text);
        }
        Err(error) => {
            return Err(import.damaged(
                format!("line {}", error.line()),
                format!("expected a document of {FORMAT}: {error}; record again"),
            ));
        }
    }
    if count > 0 {
        import.add(&ThreadRow::default())?;
    }
    import.count_stacks();
    if calls.rows.untimed > 0 {
        import.notes.warn(format!(
            "{} calls have no duration and became instants: record with -T; renacer writes none below a microsecond",
            calls.rows.untimed
        ));
    }
    import.notes.warn(NO_TIMES);
    import.into.run().clock.source = "none".to_owned();
    Ok(())
}

#[cfg(test)]
mod tests;
