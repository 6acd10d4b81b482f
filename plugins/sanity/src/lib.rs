//! Checks of whether a run can be trusted: its end, losses, times, links, clocks and own cost.
//!
//! Each check passes, fails, or is *not measurable* where the run does not hold
//! what would tell. A check that fails is a finding too, with a query that shows the rows.

pub mod alike;
pub mod check;
pub mod clock;
pub mod completeness;
pub mod decode;
pub mod device;
pub mod facts;
pub mod inputs;
pub mod parts;
pub mod ranks;
pub mod rows;
pub mod scan;
pub mod tallies;
pub mod times;
pub mod work;

use trueno_plugin::{Input, Parts, Plugin, Result, Run, export};

use facts::Facts;
use tallies::Tallies;

pub struct Sanity;

impl Plugin for Sanity {
    const ID: &'static str = "sanity";
    const SUMMARY: &'static str = "Whether the run can be trusted.";
    const INPUTS: &'static [Input] = &inputs::INPUTS;
    type Options = ();

    fn run(run: &mut Run, _options: ()) -> Result<()> {
        let facts = Facts::load(run)?;
        let tallies = Tallies::read(run, &facts)?;
        judge(run, &facts, &tallies)
    }
}

impl Parts for Sanity {
    const MERGE_INPUTS: &'static [Input] = &parts::MERGE_INPUTS;

    fn part(run: &mut Run, _options: ()) -> Result<()> {
        let facts = Facts::load(run)?;
        let tallies = Tallies::read(run, &facts)?;
        parts::emit(run, &tallies)
    }

    fn merge(run: &mut Run, _options: ()) -> Result<()> {
        let tallies = parts::read(run)?;
        if !run.is_final() {
            return parts::emit(run, &tallies);
        }
        let facts = Facts::load(run)?;
        judge(run, &facts, &tallies)
    }
}

fn judge(run: &mut Run, facts: &Facts, tallies: &Tallies) -> Result<()> {
    let mut checks = completeness::ending(facts).to_vec();
    checks.push(completeness::coverage(facts, tallies));
    checks.push(completeness::one_timeline(facts, tallies));
    checks.extend(times::bounds(facts, tallies));
    checks.push(alike::check(tallies.alike.as_ref()));
    checks.extend(times::links(facts, tallies));
    checks.extend(device::checks(facts, tallies));
    checks.push(decode::check(&tallies.decode, facts.nothing_missing()));
    checks.push(completeness::cost(facts, tallies));
    checks.extend(ranks::check(run, facts)?);
    checks.sort_by_key(|check| check.verdict);
    run.emit(check::table(&checks))?;
    for finding in checks.iter().filter_map(check::Check::finding) {
        run.finding(finding)?;
    }
    Ok(())
}

export!(Sanity, parts, as trueno_plugin_v1_sanity);
