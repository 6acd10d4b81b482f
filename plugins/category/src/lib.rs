//! Time by category, by brick and by lane.
//!
//! A lane is a host thread or a device stream. Every busy instant of a lane is
//! booked to its innermost interval, so that self times add up to busy time to
//! the nanosecond, nested or not ([`trueno_analysis::sweep`]). What is not busy is
//! `unaccounted` between the first and the last row of a lane, else `not
//! alive`. Host and device are never added.
//!
//! Categories: a brick has its own, or is `uncategorised`; run, iteration and
//! layer rows are `outside bricks`; a thread that waits for others is `waiting`;
//! kernels, tiles, calls and transfers have that of their brick: the one they
//! name, or else the one they began in. Where none was recorded, the host's table
//! `category_rules` has the categories of names: a kernel, call or transfer goes by
//! its own name before its brick's, and what has no row there is `uncategorised`.

pub mod findings;
pub mod tables;
pub mod totals;

use trueno_analysis::lanes;
use trueno_plugin::{Chart, Input, Plugin, Result, Run, export};

/// The plugin.
pub struct Category;

impl Plugin for Category {
    const ID: &'static str = "category";
    const SUMMARY: &'static str = "Time by category, brick and lane; wall shares: of wall × lanes.";
    const INPUTS: &'static [Input] = &lanes::INPUTS;
    type Options = ();

    fn run(run: &mut Run, _options: ()) -> Result<()> {
        let lanes = lanes::load(run)?;
        let totals = totals::totals(&lanes);
        let rows = tables::category_rows(&lanes, &totals);
        run.emit(tables::by_category(&lanes, &totals, &rows))?;
        run.emit(tables::by_brick(&lanes, &totals))?;
        run.emit(tables::by_lane(&lanes, &totals))?;
        for finding in findings::findings(&lanes, &totals, &rows) {
            run.finding(finding)?;
        }
        if !rows.is_empty() {
            let title = "Self time by category";
            run.chart(Chart::stacked_bar(
                title,
                "by_category",
                "lane_kind",
                "self_ns",
                "category",
            ))?;
        }
        Ok(())
    }
}

export!(Category);
