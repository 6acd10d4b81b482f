//! A run as lanes: host threads and device streams, each with the intervals
//! that ran on it, in the order of their starts.
//!
//! [`load`] reads the published tables into [`Lanes`]; a plugin lists [`INPUTS`] as its inputs, or among
//! them. [`Nesting`] tells what lies around each interval, and [`sweep`](crate::sweep), for every instant of
//! a lane, which interval was running:
//!
//! ```text
//! lane    ├────── layer ──────┤   ├─ layer ─┤
//!           ├ brick ┤ ├brick┤
//! sweep   l b bbbbb l bbbbbbb l   l l l l l l
//! ```
//!
//! A plugin that adds up self times by name:
//!
//! ```
//! use std::collections::BTreeMap;
//!
//! use trueno_analysis::{lanes, sweep::self_times};
//! use trueno_plugin::{Input, Plugin, Result, Run, Table};
//!
//! struct SelfTime;
//!
//! impl Plugin for SelfTime {
//!     const ID: &'static str = "self_time";
//!     const SUMMARY: &'static str = "Self time by name.";
//!     const INPUTS: &'static [Input] = &lanes::INPUTS;
//!     type Options = ();
//!
//!     fn run(run: &mut Run, _options: ()) -> Result<()> {
//!         let run_lanes = lanes::load(run)?;
//!         let mut by_name: BTreeMap<&str, i64> = BTreeMap::new();
//!         for lane in &run_lanes.lanes {
//!             self_times(&lane.spans, |span, start_ns, end_ns| {
//!                 let name = run_lanes.labels.get(span.label).name;
//!                 *by_name.entry(run_lanes.texts.text(name)).or_default() += end_ns - start_ns;
//!             });
//!         }
//!         run.emit(Table::build("by_name").text("name", by_name.keys()).i64("self_ns", by_name.values()))
//!     }
//! }
//!
//! // In a test, without a host: a layer of 100 ns with a brick of 60 ns.
//! # fn main() -> Result<()> {
//! use trueno_analysis::testing::{RunFixture, interval};
//! let run = RunFixture {
//!     bricks: vec![interval(1, "layer", "layer 0", 0, 100), interval(2, "brick", "norm", 20, 80)],
//!     ..RunFixture::default()
//! };
//! let output = trueno_plugin::testing::run::<SelfTime>(run.inputs(), "{}")?;
//! assert_eq!(output.table("by_name").to_string(), "name     self_ns\nlayer 0       40\nnorm          60\n");
//! # Ok(())
//! # }
//! ```
//!
//! **Categories.** The category of a kernel, tile, call or transfer is that of its brick: the one it
//! names, else the one it began in. Where none was recorded, a rule on its own name comes before one on
//! its brick's. A host wait is `waiting`, whatever it lies in: it is busy time, and nobody's work.
//!
//! **Calls within calls.** `cudaMalloc` calls `ioctl`, and a thread does not run while it waits in a call. The outer call
//! states what the time is for, so two kinds of rows are left out: calls of the operating system within a call of a
//! device's API, and waits of kind `off_cpu` within one or within a call that waits, such as `poll`.
//!
//! **Bricks and device work.** A brick is always its host interval; device work is rows of `kernels`. A
//! launch of 26 µs and its 89 µs of work are two facts, and only the first nests. Rows that only bound
//! their work (`timing = bound`) are counted and become no interval.
//!
//! **Ranks.** Threads and devices of ranks are renumbered, so their lanes never meet; lanes are named by
//! the rank and its own numbers.
//!
//! **Windows.** Times count from the start of the window; tables add [`Lanes::origin_ns`] again.

mod categories;
mod elements;
mod inherit;
mod inputs;
mod load;
mod nesting;
mod rows;
mod rules;
mod span;

pub use categories::{INHERITED, OUTSIDE, UNCATEGORISED, WAITING};
pub use inputs::{CATEGORY_RULES, INPUTS};
pub use load::{Lanes, LeftOut, load};
pub use nesting::{NO_INTERVAL, Nesting};
pub use rules::category_rules;
pub use span::{Class, Label, Labels, Lane, LaneKey, LaneKind, NO_ELEMENTS, Span};
