//! JSON of `axonml-profile`: a timeline (`TimelineProfiler::to_json`), or a report (`ProfileReport::export`).
//!
//! A timeline has times. An end belongs to the latest start of its name on its own thread; the two are a row of
//! `bricks`, and lie in what is still open there when they end. All other events are instants. Events are read one by
//! one; starts are held until their ends come.
//!
//! A report has sums only: they are counters at its end, and the run says so. Its percentages and bottlenecks are not
//! taken over: shares are of a sum in which operations that lie in others count twice.
//!
//! Its Chrome traces are read as any other: [`chrome`](crate::chrome).

mod report;
mod timeline;

use std::path::Path;

use trueno_format::run_writer::RunWriter;

use crate::importer::{Head, Importer};
use crate::source::Source;
use crate::{Error, Notes, Options};

pub struct Axonml;

fn is_timeline(head: &Head<'_>) -> bool {
    let event = head.behind(&["[", "{", "\"name\"", ":"]);
    event.is_some_and(|event| {
        let has = |key| event.contains(key);
        has("\"event_type\"") && has("\"timestamp_ns\"") && !has("\"ph\"")
    })
}

fn is_report(head: &Head<'_>) -> bool {
    let members = head.behind(&["{", "\"title\"", ":"]);
    members.is_some_and(|members| members.contains("\"total_duration_secs\""))
}

impl Importer for Axonml {
    fn name(&self) -> &'static str {
        "axonml"
    }

    fn description(&self) -> &'static str {
        "JSON of axonml-profile: a timeline, or a report"
    }

    fn recognises(&self, head: &Head<'_>) -> bool {
        is_timeline(head) || is_report(head)
    }

    fn import(
        &self,
        path: &Path,
        options: &Options,
        into: &mut RunWriter,
        notes: &mut Notes,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Option<i64>, Error> {
        let first = first_byte(path, options)?;
        let mut source = Source::open(path, options, progress)?;
        let wall_ns = match first {
            Some(b'[') => {
                let wall_ns = timeline::read(path, &mut source, options.partial, into, notes)?;
                Some(wall_ns)
            }
            Some(b'{') => report::read(path, &mut source, into, notes)?,
            _ => {
                return Err(Error::Format {
                    path: path.to_owned(),
                    problem: "expected JSON of axonml-profile: an array of events, or a report"
                        .to_owned(),
                });
            }
        };
        source.end(notes);
        Ok(wall_ns)
    }
}

fn first_byte(path: &Path, options: &Options) -> Result<Option<u8>, Error> {
    let mut nothing = |_| ();
    let mut source = Source::open(path, options, &mut nothing)?;
    let mut bytes = std::io::Read::bytes(std::io::BufReader::new(&mut source));
    let first = bytes.find(|byte| !matches!(byte, Ok(byte) if byte.is_ascii_whitespace()));
    let first = first.transpose();
    first.map_err(|error| source.refusal(path, "its beginning", error))
}

fn damaged(path: &Path, error: &serde_json::Error) -> Error {
    Error::Damaged {
        path: path.to_owned(),
        place: format!("line {}", error.line()),
        problem: format!("expected JSON of axonml-profile: {error}; export it again"),
    }
}

#[cfg(test)]
mod tests;
