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

//!
//! A job of ranks is added up rank by rank ([`parts`]): ranks share no lane, so that all sums of a job are sums of
//! those of its ranks, and the durations of a label are kept as values with counts.

pub mod findings;
pub mod parts;
pub mod sums;
pub mod tables;
pub mod totals;

use trueno_analysis::lanes;
use trueno_analysis::quantiles::{Quantiles, quantiles};
use trueno_plugin::{Chart, Input, Parts, Plugin, Result, Run, export};

use crate::sums::Sums;

pub struct Category;

impl Plugin for Category {
    const ID: &'static str = "category";
    const SUMMARY: &'static str =
        "Time by category, brick and lane; wall shares divide by wall × lanes.";
    const INPUTS: &'static [Input] = &lanes::INPUTS;
    type Options = ();

    fn run(run: &mut Run, _options: ()) -> Result<()> {
        let sums = Sums::new(&lanes::load(run)?, quantiles);
        emit(run, &sums)
    }
}

impl Parts for Category {
    const MERGE_INPUTS: &'static [Input] = &parts::INPUTS;

    fn part(run: &mut Run, _options: ()) -> Result<()> {
        let sums = Sums::new(&lanes::load(run)?, |dur_ns| {
            dur_ns.iter().copied().collect()
        });
        parts::emit(run, &sums)
    }

    fn merge(run: &mut Run, _options: ()) -> Result<()> {
        let sums = parts::read(run)?;
        if run.is_final() {
            emit(run, &sums.into_quantiles())
        } else {
            parts::emit(run, &sums)
        }
    }
}

fn emit(run: &mut Run, sums: &Sums<Option<Quantiles>>) -> Result<()> {
    let lanes = tables::lane_rows(sums);
    let kinds = tables::kind_totals(&lanes, sums.wall_ns);
    let rows = tables::category_rows(sums, &kinds);
    run.emit(tables::by_category(&rows, &kinds))?;
    run.emit(tables::by_brick(sums, &kinds))?;
    run.emit(tables::by_lane(&lanes))?;
    for finding in findings::findings(sums, &kinds, &rows) {
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

export!(Category, parts, as trueno_plugin_v1_category);
