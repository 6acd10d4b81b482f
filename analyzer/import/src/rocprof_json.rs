//! JSON of rocprofv3 (`--output-format json`): `rocprofiler-sdk-tool`, a list with an object a process.
//!
//! The file is read twice: names of kernels and of calls, and agents, stand apart from the records, which are read one by
//! one and not held.

mod document;

use std::io::BufReader;
use std::path::Path;

use serde::de::DeserializeSeed;

use crate::chrome::feed::Feed;
use crate::importer::{Head, Import, Importer};
use crate::json::Object;
use crate::source::{Source, no_progress};
use crate::{Error, Options};
use document::{Document, Facts, Parts, Records};

pub const IMPORTER: Importer = Importer {
    name: "rocprofv3-json",
    description: "rocprofv3's JSON",
    recognises,
    read,
};

fn recognises(head: &Head<'_>) -> bool {
    head.behind(&["{", "\"rocprofiler-sdk-tool\"", ":"])
        .is_some()
}

fn read(mut import: Import<'_>) -> Result<Option<i64>, Error> {
    let (path, options) = (import.path, import.options);
    let mut facts = Facts::default();
    // The second pass reports damage.
    let _ = document(path, options, no_progress(), &mut facts)?;
    let progress = import.take_progress();
    let mut feed = Feed::new(import, "rocprofv3");
    let mut records = Records::new(&facts, &mut feed)?;
    let read = document(path, options, progress, &mut records)?;
    if let Some(error) = records.failed.take() {
        return Err(error);
    }
    if let Err(error) = read {
        let place = format!("line {}, column {}", error.line(), error.column());
        feed.import().keep_before(&place, error, false)?;
    }
    feed.finish()
}

/// Reads the document once.
fn document(
    path: &Path,
    options: &Options,
    progress: &mut dyn FnMut(u64),
    parts: &mut impl Parts,
) -> Result<serde_json::Result<()>, Error> {
    let source = Source::open(path, options, progress)?;
    let mut json = serde_json::Deserializer::from_reader(BufReader::new(source));
    Ok(Object(&mut Document(parts)).deserialize(&mut json))
}

#[cfg(test)]
mod tests;
