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

use crate::importer::{Head, Import, Importer};
use crate::source::{Source, no_progress};
use crate::{Error, Options};

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

pub const IMPORTER: Importer = Importer {
    name: "axonml",
    description: "JSON of axonml-profile: a timeline, or a report",
    recognises: |head| is_timeline(head) || is_report(head),
    read,
};

fn read(import: Import<'_>) -> Result<Option<i64>, Error> {
    match first_byte(import.path, import.options)? {
        Some(b'[') => timeline::read(import).map(Some),
        Some(b'{') => report::read(import),
        _ => {
            Err(import.refused("expected JSON of axonml-profile: an array of events, or a report"))
        }
    }
}

fn first_byte(path: &Path, options: &Options) -> Result<Option<u8>, Error> {
    let mut source = Source::open(path, options, no_progress())?;
    let mut bytes = std::io::Read::bytes(std::io::BufReader::new(&mut source));
    let first = bytes.find(|byte| !matches!(byte, Ok(byte) if byte.is_ascii_whitespace()));
    let first = first.transpose();
    first.map_err(|error| source.refusal("its beginning", error))
}

fn damaged(import: &Import<'_>, error: &serde_json::Error) -> Error {
    let problem = format!("expected JSON of axonml-profile: {error}; export it again");
    import.damaged(format!("line {}", error.line()), problem)
}

#[cfg(test)]
mod tests;
