//! Memory over time: what lived when, the peak and who held it, growth over iterations, lifetimes,
//! fragmentation, churn. Host and every device apart.
//!
//! Everything comes from the rows of `allocations`, so *live* means: taken and not yet given back
//! since the recording began; and what was live before ([`initial_live`]), where the run tells. Blocks that the program's allocator recorded by itself are a place of their own,
//! `heap`; where it took samples, all figures are estimates and the name of the place says so. What cannot be known from them stands in table `measures` with the reason.

pub mod availability;
pub mod churn;
pub mod events;
pub mod findings;
pub mod fragments;
pub mod growth;
pub mod initial_live;
pub mod inputs;
pub mod ledger;
pub mod lifetimes;
pub mod live;
pub mod out_of_memory;
pub mod owners;
pub mod parts;
pub mod peak;
pub mod pools;
pub mod sample_weight;
pub mod section;
pub mod trend;

use serde::Deserialize;
use trueno_plugin::{Input, Parts, Plugin, Result, Run, export};

use crate::section::Section;

pub struct Memory;

#[derive(Clone, Debug, Deserialize)]
#[serde(default)]
pub struct Options {
    pub points: u64,
    /// Largest number of tags of a place with a series of their own in table `live`. The other tags share one
    /// series.
    pub tags: u64,
    pub rows: u64,
    /// A trend with a p-value from here on does not count.
    pub p: f64,
    /// Growth over all iterations, as a share of the median live bytes, from which it is a finding.
    pub growth_share: f64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            points: 200,
            tags: 7,
            rows: 1000,
            p: 0.01,
            growth_share: 0.01,
        }
    }
}

impl Plugin for Memory {
    const ID: &'static str = "memory";
    const SUMMARY: &'static str = "Memory over time: peaks, growth, lifetimes, churn.";
    const INPUTS: &'static [Input] = &inputs::INPUTS;
    type Options = Options;

    fn run(run: &mut Run, options: Options) -> Result<()> {
        let section = Section::from_rows(run, &options)?;
        section.emit(run)
    }
}

impl Parts for Memory {
    const MERGE_INPUTS: &'static [Input] = &parts::MERGE_INPUTS;

    fn part(run: &mut Run, options: Options) -> Result<()> {
        let section = Section::from_rows(run, &options)?;
        parts::emit(run, section)
    }

    fn merge(run: &mut Run, options: Options) -> Result<()> {
        let section = parts::read(run, &options)?;
        if run.is_final() {
            section.emit(run)
        } else {
            parts::emit(run, section)
        }
    }
}

export!(Memory, parts, as trueno_plugin_v1_memory);
