//! Checks of whether a run can be trusted: its end, losses, times, links, clocks and own cost.
//!
//! Each check passes, fails, or is *not measurable* where the run does not hold
//! what would tell. A check that fails is a finding too, with a query that shows the rows.

pub mod check;
pub mod completeness;
pub mod device;
pub mod facts;
pub mod inputs;
pub mod ranks;
pub mod rows;
pub mod scan;
pub mod times;

use trueno_plugin::{Input, Plugin, Result, Run, export};

/// The plugin.
pub struct Sanity;

impl Plugin for Sanity {
    const ID: &'static str = "sanity";
    const SUMMARY: &'static str = "Whether the run can be trusted.";
    const INPUTS: &'static [Input] = &inputs::INPUTS;
    type Options = ();

    fn run(run: &mut Run, _options: ()) -> Result<()> {
        let facts = facts::Facts::load(run)?;
        let scan = scan::Scan::read(run, &facts)?;
        let mut checks = completeness::ending(&facts).to_vec();
        checks.push(completeness::coverage(&facts, &scan));
        checks.push(completeness::one_timeline(&facts, &scan));
        checks.extend(times::bounds(&facts, &scan));
        checks.extend(times::links(run, &facts, &scan)?);
        checks.extend(device::checks(run, &scan)?);
        checks.push(completeness::cost(&facts, &scan));
        checks.extend(ranks::check(run, &facts)?);
        checks.sort_by_key(|check| check.verdict);
        run.emit(check::table(&checks))?;
        for finding in checks.iter().filter_map(check::Check::finding) {
            run.finding(finding)?;
        }
        Ok(())
    }
}

export!(Sanity);
