//! Traces of OpenTelemetry in JSON (OTLP/JSON): one document, or one a line, as the Collector's file exporter writes.
//!
//! | OTLP | row |
//! | --- | --- |
//! | span | bricks, kind function; `task` where its parent is on another lane, with an edge `spawns` from there |
//! | attributes, an error of its status | attributes; `code.file.path` and `code.line.number` are `file` and `line` |
//! | events | annotations |
//! | links | edges: the kind that our own export states, else `depends_on` from what had ended, else `spawns` |
//! | resource | its spans are of one process; of the only one the attributes are values of the run |
//!
//! The lane of a span is the thread that it names (`thread.id`, of our own export `trueno.thread`). Spans without it, and those
//! that overlap others of their thread without nesting, are put on as few lanes as keep them apart, children on their
//! parent's: that is inferred, and said.
//!
//! One document at a time is held in memory, and of each span about 150 bytes and its attributes until the end, as
//! children come before their parents.

mod document;
mod spans;

use std::io::BufReader;

use crate::Error;
use crate::importer::{Head, Import, Importer};
use document::Document;
use spans::Spans;

pub const IMPORTER: Importer = Importer {
    name: "otlp",
    description: "OpenTelemetry traces in JSON (OTLP/JSON)",
    recognises,
    read,
};

fn recognises(head: &Head<'_>) -> bool {
    let member = head.text().strip_prefix('{').map(str::trim_start);
    member.is_some_and(|text| text.starts_with("\"resourceSpans\""))
}

fn read(mut import: Import<'_>) -> Result<Option<i64>, Error> {
    let mut source = import.open()?;
    let mut spans = Spans::default();
    let json = serde_json::Deserializer::from_reader(BufReader::new(&mut source));
    for (documents, next) in json.into_iter::<Document>().enumerate() {
        match next {
            Ok(document) => spans.take(document, &mut import),
            Err(error) if documents > 0 && import.options.partial => {
                import.problem(format!(
                    "cut or damaged ({error}): the {documents} documents before were read"
                ));
                break;
            }
            Err(error) => {
                let place = format!("line {}, document {}", error.line(), documents + 1);
                let problem = format!(
                    "expected OTLP/JSON, an object with resourceSpans: {error}; export it again"
                );
                return Err(import.damaged(place, problem));
            }
        }
    }
    source.end(import.notes);
    spans.write(&mut import)
}

#[cfg(test)]
mod tests;
