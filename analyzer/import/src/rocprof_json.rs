//! JSON of rocprofv3 (`--output-format json`): `rocprofiler-sdk-tool`, a list with an object a process.
//!
//! The file is read twice: names of kernels and of calls, and agents, stand apart from the records, which are read one by
//! one and not held.

mod document;

use std::io::BufReader;
use std::path::Path;

use serde::de::DeserializeSeed;
use trueno_format::run_writer::RunWriter;

use crate::chrome::feed::Feed;
use crate::importer::{Head, Importer};
use crate::source::Source;
use crate::{Error, Notes, Options};
use document::{Facts, Records};

pub struct RocprofJson;

impl Importer for RocprofJson {
    fn name(&self) -> &'static str {
        "rocprofv3-json"
    }

    fn description(&self) -> &'static str {
        "rocprofv3's JSON"
    }

    fn recognises(&self, head: &Head<'_>) -> bool {
        head.behind(&["{", "\"rocprofiler-sdk-tool\"", ":"])
            .is_some()
    }

    fn import(
        &self,
        path: &Path,
        options: &Options,
        into: &mut RunWriter,
        notes: &mut Notes,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Option<i64>, Error> {
        let mut nothing = |_| ();
        let mut facts = Facts::default();
        // The second pass reports damage.
        let _ = read(path, options, &mut nothing, &mut |reader| {
            document::Document(&mut facts).deserialize(reader)
        })?;
        let mut feed = Feed::new(path, "rocprofv3", into, notes, options);
        let (read, hash) = {
            let mut records = Records::new(&facts, &mut feed)?;
            let (read, hash) = read(path, options, progress, &mut |reader| {
                document::Document(&mut records).deserialize(reader)
            })?;
            if let Some(error) = records.failed.take() {
                return Err(error);
            }
            (read, hash)
        };
        if let Err(error) = read {
            let place = format!("line {}, column {}", error.line(), error.column());
            if !options.partial {
                return Err(Error::Damaged {
                    path: path.to_owned(),
                    place,
                    problem: format!("{error}; --partial keeps what comes before"),
                });
            }
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let text = format!("{name} was imported up to {place} only: {error}");
            feed.run().run().problems.push(text.clone());
            feed.notes().warn(text);
        }
        feed.finish(hash)
    }
}

type Json<'r, 's> = &'r mut serde_json::Deserializer<serde_json::de::IoRead<BufReader<Source<'s>>>>;

/// Reads the document once. Returns serde's result and the hash of the file.
fn read(
    path: &Path,
    options: &Options,
    progress: &mut dyn FnMut(u64),
    take: &mut dyn FnMut(Json<'_, '_>) -> serde_json::Result<()>,
) -> Result<(serde_json::Result<()>, u64), Error> {
    let source = Source::open(path, options, progress)?;
    let mut json = serde_json::Deserializer::from_reader(BufReader::new(source));
    let read = take(&mut json);
    drop(json);
    Ok((read, Source::hash_of(path, options)?))
}

#[cfg(test)]
mod tests;
