//! The mark of an export in `otherData`, and the facts of its run there.

use std::path::Path;

use serde::de::DeserializeOwned;
use serde_json::Value;
use trueno_format::run_json::RunJson;

use crate::{Error, Notes};

/// Member of `otherData` and of some events that marks an export of a run.
pub const MARK: &str = "trueno";
/// Raised when an older importer would misread the events.
pub const FORMAT_VERSION: u32 = 1;

/// Entry in the run's `values` with the identity of the exported run.
const EXPORTED_FROM: &str = "exported_from";

pub(in crate::chrome) struct Mark {
    format: u64,
    run: Value,
}

impl Mark {
    /// Parses the mark in `otherData`; `None` if another program wrote the file.
    pub fn parse(other_data: &[u8]) -> Option<Self> {
        let mut other_data: Value = serde_json::from_slice(other_data).ok()?;
        let mark = other_data.get_mut(MARK)?;
        let format = mark.get("format")?.as_u64()?;
        let run = mark.get_mut("run").map(Value::take).unwrap_or_default();
        Some(Self { format, run })
    }

    pub fn check(&self, path: &Path) -> Result<(), Error> {
        if (1..=u64::from(FORMAT_VERSION)).contains(&self.format) {
            return Ok(());
        }
        let found = self.format;
        Err(Error::format(
            path,
            format!(
                "an export of a run in format {found}, expected at most {FORMAT_VERSION}; \
                 import it with the version of trueno-analyze that wrote it, or a later one"
            ),
        ))
    }

    /// Fills `run.json`. Returns the length of the run, if a clock measured it.
    pub fn describe(&self, hash: u64, run: &mut RunJson, notes: &mut Notes) -> Option<i64> {
        let facts = &self.run;
        run.run_id = format!("{hash:016x}");
        run.label = fact(facts, "label");
        run.program = fact(facts, "program").unwrap_or_default();
        run.host = fact(facts, "host").unwrap_or_default();
        let clock = &facts["clock"];
        run.clock.source = fact(clock, "source").unwrap_or_default();
        run.clock.ticks_per_second = fact(clock, "ticks_per_second");
        run.clock.resolution_ns = fact(clock, "resolution_ns");
        run.clock.origin_realtime_ns = fact(clock, "origin_realtime_ns").unwrap_or_default();
        run.recorder.cost_ns_per_span = fact(facts, "cost_ns_per_span");
        let dropped = fact(facts, "dropped");
        run.dropped = dropped.unwrap_or_default();
        // A run that was recorded, unless it was imported itself.
        run.imported = dropped.is_none();
        if let Some(Value::Object(values)) = facts.get("values") {
            let texts = values.iter();
            run.values
                .extend(texts.filter_map(|(key, v)| Some((key.clone(), v.as_str()?.to_owned()))));
        }
        if let Some(id) = fact(facts, "run_id") {
            run.values.insert(EXPORTED_FROM.to_owned(), id);
        }
        if facts["complete"] == Value::Bool(false) {
            let text = "the run that was exported was not complete".to_owned();
            run.problems.push(text.clone());
            notes.warn(text);
        }
        fact(facts, "wall_ns").filter(|_| facts["wall_source"] == "recorded")
    }
}

/// One fact, or `None` if it has another type, so that one bad fact does not lose the others.
fn fact<T: DeserializeOwned>(of: &Value, key: &str) -> Option<T> {
    T::deserialize(of.get(key)?).ok()
}
