//! The sources a run holds, and which one is meant.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use serde_json::{Value, json};
use trueno_engine::frame::{text_at, u64_at};
use trueno_engine::query::{Database, QueryError, collect, nearest};
use trueno_model::units::{Unit, show};
use trueno_model::{Cell, width};

use super::launches::Launches;

#[derive(Default)]
struct Source {
    names: BTreeSet<String>,
    bytes: Option<u64>,
    launches: u64,
}

pub(super) struct Sources(BTreeMap<String, Source>);

pub(super) enum Found {
    One(String),
    Several(Vec<String>),
    NoSource,
    Nothing(Vec<String>),
}

impl Sources {
    /// Reads the table `ptx`, and the hashes that only launches have.
    pub(super) fn read(database: &Database, launches: &Launches) -> Result<Sources, QueryError> {
        let sql = "SELECT CAST(hash AS VARCHAR) AS hash, CAST(name AS VARCHAR) AS name, source_bytes FROM ptx";
        let frame = collect(database, sql)?;
        let mut all: BTreeMap<String, Source> = BTreeMap::new();
        for row in 0..frame.height() {
            let Some(hash) = text_at(&frame, "hash", row) else {
                continue;
            };
            let source = all.entry(hash.to_owned()).or_default();
            source.bytes = u64_at(&frame, "source_bytes", row).or(source.bytes);
            source
                .names
                .extend(text_at(&frame, "name", row).map(str::to_owned));
        }
        for alike in &launches.0 {
            if let Some(hash) = &alike.launch.ptx {
                all.entry(hash.clone()).or_default().launches += alike.count;
            }
        }
        Ok(Sources(all))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Looks up a name or the beginning of a hash. A name wins: `add` is both.
    pub(super) fn find(&self, which: &str, launches: &Launches) -> Found {
        let kernels = launches.0.iter().filter(|alike| alike.kernel == which);
        let mut hashes: BTreeSet<String> = kernels
            .clone()
            .filter_map(|alike| alike.launch.ptx.clone())
            .collect();
        let named = |source: &Source| source.names.contains(which);
        hashes.extend(
            self.0
                .iter()
                .filter(|(_, s)| named(s))
                .map(|(hash, _)| hash.clone()),
        );
        let is_kernel = kernels.count() > 0;
        if hashes.is_empty() {
            let digits = which.to_ascii_lowercase();
            hashes.extend(
                self.0
                    .keys()
                    .filter(|hash| !digits.is_empty() && hash.starts_with(&digits))
                    .cloned(),
            );
        }
        let hashes: Vec<String> = hashes.into_iter().collect();
        match &hashes[..] {
            [one] => Found::One(one.clone()),
            [] if is_kernel => Found::NoSource,
            [] => {
                let names = launches.0.iter().map(|alike| alike.kernel.as_str());
                let sources = self.0.values().flat_map(|source| &source.names);
                let all: BTreeSet<&str> = names.chain(sources.map(String::as_str)).collect();
                Found::Nothing(nearest(which, all.into_iter()))
            }
            _ => Found::Several(hashes),
        }
    }

    pub(super) fn names(&self, hash: &str) -> Vec<&str> {
        let source = self.0.get(hash);
        source.map_or(Vec::new(), |source| {
            source.names.iter().map(String::as_str).collect()
        })
    }

    pub(super) fn line(&self, hash: &str) -> String {
        let mut line = width::printable(hash).into_owned();
        let Some(source) = self.0.get(hash) else {
            return line;
        };
        let number = |value| show(Cell::U64(value), Unit::None);
        let bytes = source.bytes.map_or_else(
            || "not kept".to_owned(),
            |bytes| format!("{} bytes", number(bytes)),
        );
        // Writing to a string cannot fail.
        let _ = write!(line, "  {bytes}, {} launches", number(source.launches));
        for name in &source.names {
            let _ = write!(line, "  {}", width::printable(name));
        }
        line
    }

    pub(super) fn some(&self, hashes: &[String]) -> String {
        let lines: Vec<String> = hashes
            .iter()
            .map(|hash| format!("  {}", self.line(hash)))
            .collect();
        lines.join("\n")
    }

    pub(super) fn list(&self) -> String {
        self.0.keys().map(|hash| self.line(hash) + "\n").collect()
    }

    pub(super) fn json(&self) -> Value {
        let row = |(hash, source): (&String, &Source)| {
            json!({
                "hash": hash,
                "names": source.names,
                "source_bytes": source.bytes,
                "launches": source.launches,
            })
        };
        self.0.iter().map(row).collect()
    }
}
