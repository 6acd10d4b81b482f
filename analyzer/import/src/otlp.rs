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
use std::path::Path;

use trueno_format::run_writer::RunWriter;

use crate::importer::{Head, Importer};
use crate::source::Source;
use crate::{Error, Notes, Options};
use document::Document;
use spans::Spans;

pub struct Otlp;

impl Importer for Otlp {
    fn name(&self) -> &'static str {
        "otlp"
    }

    fn description(&self) -> &'static str {
        "OpenTelemetry traces in JSON (OTLP/JSON)"
    }

    fn recognises(&self, head: &Head<'_>) -> bool {
        let member = head.text().strip_prefix('{').map(str::trim_start);
        member.is_some_and(|text| text.starts_with("\"resourceSpans\""))
    }

    fn import(
        &self,
        path: &Path,
        options: &Options,
        into: &mut RunWriter,
        notes: &mut Notes,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Option<i64>, Error> {
        let mut source = Source::open(path, options, progress)?;
        let mut spans = Spans::default();
        let json = serde_json::Deserializer::from_reader(BufReader::new(&mut source));
        for (documents, next) in json.into_iter::<Document>().enumerate() {
            match next {
                Ok(document) => spans.take(document, into, notes),
                Err(error) if documents > 0 && options.partial => {
                    let text = format!(
                        "cut or damaged ({error}): the {documents} documents before were read"
                    );
                    notes.cut_short(into, text);
                    break;
                }
                Err(error) => return Err(damaged(path, documents, &error)),
            }
        }
        source.end(notes);
        spans.write(path, into, notes)
    }
}

fn damaged(path: &Path, documents: usize, error: &serde_json::Error) -> Error {
    Error::Damaged {
        path: path.to_owned(),
        place: format!("line {}, document {}", error.line(), documents + 1),
        problem: format!(
            "expected OTLP/JSON, an object with resourceSpans: {error}; export it again"
        ),
    }
}

#[cfg(test)]
mod tests;
