//! JSON of `trueno::brick::BrickProfiler` (crate `aprender-compute`) and of `trueno-brick-profiler`: sums of bricks
//! (`to_json`, `write_json`) or of tiles (`tile_stats_to_json`).
//!
//! Neither has a time of anything: the sums are counters, and the run has no length. Means and rates are worked out
//! anew from the sums, as the original rounds them. Shares, the throughput of all bricks and the intensity of tiles are
//! left out, each with its reason; so is what the original writes where it was told nothing: 0 bytes, a ratio of 1.
//!
//! The file is held in memory.

mod document;
mod sums;

use std::io::Read;
use std::path::Path;

use trueno_format::run_writer::RunWriter;

use crate::importer::{Head, Importer};
use crate::mended;
use crate::{Error, Notes, Options};
use document::Document;

pub struct BrickProfiler;

const HEADS: [(&[&str], &[&str]); 4] = [
    (
        &["{", "\"total_tokens\"", ":"],
        &["\"total_ns\"", "\"bricks\""],
    ),
    (
        &["{", "\"bricks\"", ":", "[", "{"],
        &["\"avg_us\"", "\"count\"", "\"bottleneck\""],
    ),
    (
        &["{", "\"bricks\"", ":", "[", "]"],
        &["\"total_ns\"", "\"total_tokens\""],
    ),
    (&["{", "\"tile_profiling_enabled\"", ":"], &["\"tiles\""]),
];

impl Importer for BrickProfiler {
    fn name(&self) -> &'static str {
        "brick-profiler"
    }

    fn description(&self) -> &'static str {
        "JSON of BrickProfiler (aprender-compute, trueno-brick-profiler): sums"
    }

    fn recognises(&self, head: &Head<'_>) -> bool {
        HEADS.iter().any(|(tokens, keys)| {
            let rest = head.behind(tokens);
            rest.is_some_and(|rest| keys.iter().all(|key| rest.contains(key)))
        })
    }

    fn import(
        &self,
        path: &Path,
        options: &Options,
        into: &mut RunWriter,
        notes: &mut Notes,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Option<i64>, Error> {
        let read = |document: &mut Document, from: &mut dyn Read| document.read(from);
        let format = mended::Document {
            expected: "JSON of BrickProfiler",
            remedy: "write it again",
            units: "bricks or tiles",
            count: |of: &Document| of.bricks.len() + of.tiles.len(),
        };
        let document = format.read((path, options), into, notes, progress, read)?;
        sums::add(document, into, notes)?;
        Ok(None)
    }
}

#[cfg(test)]
mod tests;
