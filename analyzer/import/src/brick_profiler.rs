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

use crate::importer::{Head, Import, Importer};
use crate::{Error, mended};
use document::Document;

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

pub const IMPORTER: Importer = Importer {
    name: "brick-profiler",
    description: "JSON of BrickProfiler (aprender-compute, trueno-brick-profiler): sums",
    recognises,
    read,
};

fn recognises(head: &Head<'_>) -> bool {
    HEADS.iter().any(|(tokens, keys)| {
        let rest = head.behind(tokens);
        rest.is_some_and(|rest| keys.iter().all(|key| rest.contains(key)))
    })
}

fn read(mut import: Import<'_>) -> Result<Option<i64>, Error> {
    let format = mended::Document {
        expected: "JSON of BrickProfiler",
        remedy: "write it again",
        units: "bricks or tiles",
        count: |of: &Document| of.bricks.len() + of.tiles.len(),
    };
    let document = format.read(&mut import, |document, from| document.read(from))?;
    sums::add(document, import)?;
    Ok(None)
}

#[cfg(test)]
mod tests;
