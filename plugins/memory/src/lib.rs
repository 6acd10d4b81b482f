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
pub mod owners;
pub mod peak;
pub mod pools;
pub mod sample_weight;
pub mod trend;

use serde::Deserialize;
use trueno_plugin::{Chart, Input, Plugin, Result, Run, export};

/// The plugin.
pub struct Memory;

/// Options of the plugin.
#[derive(Clone, Debug, Deserialize)]
#[serde(default)]
pub struct Options {
    /// Points of time a series of table `live` has at most.
    pub points: u64,
    /// Tags of a place with a series of their own in table `live`; the rest is one series.
    pub tags: u64,
    /// Rows of tables `peak_owners` and `by_brick` at most.
    pub rows: u64,
    /// A trend with a p-value from here on is none.
    pub p: f64,
    /// Growth over all iterations, as a share of the median live bytes, from which on it is a finding.
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
        let events = events::Events::load(run)?;
        if events.places.is_empty() {
            run.emit(availability::nothing_recorded())?;
            return run.finding(findings::nothing_recorded(&events));
        }
        let owners = owners::Owners::load(run, events.has_ranks)?;
        let ends = growth::Ends::load(run, events.has_ranks, events.window)?;
        let table = run.table("run")?;
        let wall_ns = table.i64("wall_ns")?.iter().next().flatten();
        let dropped = table.u64("dropped")?.iter().next().flatten();
        let wall_ns = events.window.map(|window| window.length_ns()).or(wall_ns);
        let mut pools = Vec::with_capacity(events.places.len());
        for place in 0..events.places.len() {
            run.check_cancelled()?;
            pools.push(pools::Pool::from_rows(&events, place, &ends));
        }
        run.emit(pools::table(&events, &pools, wall_ns))?;
        run.emit(live::table(&events, &pools, wall_ns, &options))?;
        run.emit(peak::table(&events, &pools, &owners, &options))?;
        run.emit(growth::table(&events, &pools, &options))?;
        run.emit(lifetimes::table(&events, &pools))?;
        run.emit(fragments::table(&events, &pools))?;
        let churn = churn::rows(&events, &owners);
        run.emit(churn::table(&events, &churn, &options))?;
        run.emit(availability::table(&events, &pools, wall_ns))?;
        run.emit(pools::problems(&events, &pools))?;
        run.emit(ledger::table(&events, &pools))?;
        for finding in findings::findings(&events, &pools, &churn, dropped, &options) {
            run.finding(finding)?;
        }
        run.chart(
            Chart::line("live bytes", "live", "time_ns", "live_bytes")
                .series("series")
                .axes("time", "live bytes"),
        )
    }
}

export!(Memory);
