//! Distance of work from what the machine can do.
//!
//! FLOPs and bytes are what the program *declared*, or what a profiler *counted* (`counters` of source
//! `ncu`); both stand side by side. FLOPs that the CPU counted around a brick (`counters` of source `measured`; not
//! those that were scaled) are taken with the bytes declared: *flops counted*. Ceilings are the run's own (`ceilings`), measured ones unless nominal
//! ones are asked for: the compute ceiling of the row's instruction set and precision, and the bandwidth of
//! the stated level of memory, both of one thread. That is the bandwidth of plain loads and stores; only
//! work that is faster is held against stores that pass the caches by. What was not recorded and had to be
//! assumed stands in a column. The model: [`trueno_analysis::roofline::model`].
//!
//! A point is the sum of all calls of a name and backend, inclusive of what is nested. Sums over the run,
//! bricks and categories take innermost rows with work only ([`nesting`]), so that nothing counts twice.
//! Rows without figures, and points above the roof ([`above_roof`]), are listed with their reason and part of no
//! efficiency; what says only its bytes, as a copy does, or only its FLOPs, has the rate of that ([`rates`]).
//!
//! Operators whose work the plugin `operators` derived from their shapes are points too ([`operators`]), with the
//! roofs that it chose.
//!
//! Over ranks: rows of a rank become [`sums`](sums::Sums) and distinct [`calls`](calls::CallCounts), which are merged;
//! points get their places at the end, from the ceilings of the whole job. The baseline is read then, once.

pub mod above_roof;
pub mod backends;
pub mod calls;
pub mod counted;
pub mod excluded;
pub mod findings;
pub mod inputs;
pub mod label;
pub mod nesting;
pub mod not_measurable;
pub mod operators;
pub mod parts;
pub mod point_rows;
pub mod points;
pub mod rates;
pub mod report;
pub mod roofs;
pub mod rows;
pub mod summary;
pub mod sums;
pub mod tables;
mod wider_sets;

use serde::Deserialize;
use trueno_analysis::name_groups::NameGroups;
use trueno_plugin::{Error, Input, Parts, Plugin, Result, Run, export};

use crate::calls::{CallCounts, RowCalls};
use crate::report::Surroundings;
use crate::sums::Sums;

pub struct Roofline;

#[derive(Clone, Debug, Deserialize)]
#[serde(default)]
pub struct Options {
    pub nominal: bool,
    /// Precision of work that has no counted one and none in its backend (`avx512 f64`).
    pub precision: String,
    /// Memory level whose traffic the bytes are: `dram`, `l3`, `l2` or `l1`. `auto` chooses for each point the
    /// first of these that is fast enough.
    pub memory: String,
    /// Emits only the table `backends` and the findings about it.
    pub compare_backends: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            nominal: false,
            precision: "f32".to_owned(),
            memory: AUTO.to_owned(),
            compare_backends: false,
        }
    }
}

impl Options {
    fn check(&self) -> Result<()> {
        if self.memory.eq_ignore_ascii_case(AUTO) || self.levels().count() > 0 {
            return Ok(());
        }
        Err(Error::bad_option(format!(
            "memory `{}` is not a level of memory (expected one of {AUTO}, {})",
            self.memory,
            MEMORY.join(", ")
        )))
    }

    fn levels(&self) -> impl Iterator<Item = &'static str> {
        let is_auto = self.memory.eq_ignore_ascii_case(AUTO);
        let is_taken = move |level: &&str| is_auto || self.memory.eq_ignore_ascii_case(level);
        MEMORY.into_iter().rev().filter(is_taken)
    }
}

/// Chooses a memory level for each point.
pub const AUTO: &str = "auto";

/// Memory levels, nearest first.
pub const MEMORY: [&str; 4] = ["l1", "l2", "l3", "dram"];

impl Plugin for Roofline {
    const ID: &'static str = "roofline";
    const SUMMARY: &'static str = "How far work is from the machine's ceilings.";
    const INPUTS: &'static [Input] = &inputs::INPUTS;
    type Options = Options;

    fn run(run: &mut Run, options: Options) -> Result<()> {
        options.check()?;
        let name_groups = NameGroups::read(run)?;
        let surroundings = Surroundings::read(run, &options, &name_groups)?;
        let mut rows = rows::load(run, "", &name_groups)?;
        run.check_cancelled()?;
        let standing = nesting::nesting(&mut rows);
        let sums = Sums::of_rows(&mut rows, &standing);
        let calls = RowCalls {
            rows: &rows,
            standing: &standing,
        };
        report::emit(run, &options, surroundings, &sums, &calls)
    }
}

impl Parts for Roofline {
    const MERGE_INPUTS: &'static [Input] = &inputs::MERGE_INPUTS;

    fn part(run: &mut Run, options: Options) -> Result<()> {
        options.check()?;
        let name_groups = NameGroups::read(run)?;
        let mut rows = rows::load(run, "", &name_groups)?;
        run.check_cancelled()?;
        let standing = nesting::nesting(&mut rows);
        let sums = Sums::of_rows(&mut rows, &standing);
        let calls = CallCounts::count(&RowCalls {
            rows: &rows,
            standing: &standing,
        });
        parts::emit(run, &sums, &calls)
    }

    fn merge(run: &mut Run, options: Options) -> Result<()> {
        let (sums, calls) = parts::read(run)?;
        if !run.is_final() {
            return parts::emit(run, &sums, &calls);
        }
        let name_groups = NameGroups::read(run)?;
        let surroundings = Surroundings::read(run, &options, &name_groups)?;
        report::emit(run, &options, surroundings, &sums, &calls)
    }
}

export!(Roofline, parts, as trueno_plugin_v1_roofline);
