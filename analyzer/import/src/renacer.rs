//! System calls as renacer writes them (`renacer --format json -T`, `renacer-json-v1`).
//!
//! The format has no times, only an order and, with `-T`, durations in whole microseconds. Its calls
//! are put end to end in their order, which is said in the run: gaps between them, and so the length
//! of the run, are not known. A call without a duration becomes no row.

mod document;

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use trueno_format::run_writer::RunWriter;
use trueno_format::schema::{CallRow, TableId, ThreadRow};

use crate::importer::{Head, Importer};
use crate::{Error, Notes, Options};
use document::{Document, Syscall};

/// Name of the format, near the beginning of each file.
const FORMAT: &str = "renacer-json-v1";
const NO_TIMES: &str = "renacer records no times: the calls stand end to end in their order, the gaps between \
                        them are not known";

/// JSON of renacer. Its runs have no length, as nothing measured one.
pub struct Renacer;

impl Importer for Renacer {
    fn name(&self) -> &'static str {
        "renacer"
    }

    fn description(&self) -> &'static str {
        "Renacer's JSON"
    }

    fn recognises(&self, head: &Head<'_>) -> bool {
        head.text().starts_with('{') && head.text().contains("\"renacer-json")
    }

    fn import(
        &self,
        path: &Path,
        _: &Options,
        into: &mut RunWriter,
        notes: &mut Notes,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Option<i64>, Error> {
        let file = File::open(path).map_err(|e| Error::io(path, "open it", e))?;
        let mut reader = BufReader::new(file);
        let skipped = skip_output(&mut reader).map_err(|e| Error::io(path, "read it", e))?;
        if skipped > 0 {
            notes.warn(format!(
                "{skipped} lines before the JSON are the program's own output: left out"
            ));
        }
        let mut end_ns = 0_i64;
        let mut failed = None;
        let mut visit = |call: Syscall| {
            notes.read("syscall");
            let dur_ns = call
                .duration_us
                .and_then(|us| i64::try_from(us).ok()?.checked_mul(1_000));
            let next = dur_ns.and_then(|dur_ns| end_ns.checked_add(dur_ns));
            let (Some(dur_ns), Some(next)) = (dur_ns, next) else {
                notes.leave_out("syscall without a duration: record with -T");
                return true;
            };
            let row = CallRow {
                id: into.rows(TableId::Calls) + 1,
                name: into.text(&call.name),
                start_ns: end_ns,
                dur_ns,
                status: call.result,
                ..CallRow::default()
            };
            end_ns = next;
            failed = notes.add(into, &row).err();
            failed.is_none()
        };
        let read = document::read(&mut reader, &mut visit);
        if let Some(error) = failed {
            return Err(error);
        }
        finish(path, read, into, notes)?;
        if let Ok(length) = std::fs::metadata(path) {
            progress(length.len());
        }
        Ok(None)
    }
}

/// Passes lines until one begins the document.
fn skip_output(reader: &mut impl BufRead) -> std::io::Result<u64> {
    let mut skipped = 0;
    loop {
        let ahead = reader.fill_buf()?;
        match ahead.iter().position(|byte| !byte.is_ascii_whitespace()) {
            Some(at) if ahead[at] == b'{' => return Ok(skipped),
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
    into: &mut RunWriter,
    notes: &mut Notes,
) -> Result<(), Error> {
    let found: u64 = notes.read.values().sum();
    match read {
        Ok(document) if document.format.as_deref() == Some(FORMAT) => {
            if let Some(total) = document.total_syscalls.filter(|total| *total != found) {
                notes.warn(format!(
                    "the summary counts {total} calls, the file holds {found}"
                ));
            }
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
            notes.warn(text.clone());
            into.run().problems.push(text);
        }
        Err(error) => {
            return Err(Error::Damaged {
                path: path.to_owned(),
                place: format!("line {}", error.line()),
                problem: format!("expected a document of {FORMAT}: {error}; record again"),
            });
        }
    }
    if notes.kept.contains_key("calls") {
        notes.add(into, &ThreadRow::default())?;
    }
    notes.warn(NO_TIMES);
    into.run().problems.push(NO_TIMES.to_owned());
    into.run().clock.source = "none".to_owned();
    Ok(())
}

#[cfg(test)]
mod tests;
