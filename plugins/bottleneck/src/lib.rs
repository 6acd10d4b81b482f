//! Findings of what holds the program back: each names its evidence, what was considered besides, what
//! the fix would save end to end and under which assumption; and, apart, what cannot be told.
//!
//! [`facts`] are read once: what the other plugins computed, and what the devices did when. Each of the
//! [`rules`] judges one class of bottleneck by thresholds of its own. Findings that
//! explain one another are put in [groups](group); of each group the one with the most to gain speaks.
//!
//! No evidence, no verdict: a rule that lacks a measurement says what is missing and how to record it. Gains are bounded
//! by the critical path, of a rank by that on its lanes, and do not add up. All other plugins are read as optional
//! tables, and nobody reads this one: so it comes late, and no cycle can arise.

pub mod class;
pub mod facts;
pub mod group;
pub mod inputs;
pub mod options;
pub mod rules;
pub mod scheduling;
pub mod tables;
pub mod verdict;
pub use trueno_analysis::wording;

use trueno_plugin::{Input, Plugin, Result, Run, export};

pub use rules::Options;

pub struct Bottleneck;

impl Plugin for Bottleneck {
    const ID: &'static str = "bottleneck";
    const SUMMARY: &'static str =
        "What limits the program, with evidence and what a fix would save.";
    const INPUTS: &'static [Input] = &inputs::INPUTS;
    type Options = Options;

    fn run(run: &mut Run, options: Options) -> Result<()> {
        let limits = facts::Limits {
            launch_ns: options.gaps.launch_ns,
            prepare_ns: options.gaps.prepare_ns,
            read_back_bytes: options.transfer.read_back_bytes,
        };
        let facts = facts::Facts::load(run, &limits)?;
        run.check_cancelled()?;
        let mut verdicts = verdict::Verdicts::default();
        for rule in options.rules() {
            rule.judge(&facts, &options, &mut verdicts);
        }
        let verdicts = group::grouped(verdicts, facts.window.ranks);
        let top = verdicts.leaders(options.general.findings);
        run.emit(tables::top(&verdicts, &top))?;
        run.emit(tables::bottlenecks(&verdicts))?;
        run.emit(tables::not_measurable(&verdicts))?;
        if !facts.idle.gaps.is_empty() {
            run.emit(tables::idle(&facts))?;
        }
        for at in &top {
            run.finding(tables::finding(&verdicts.findings[*at]))?;
        }
        Ok(())
    }
}

export!(Bottleneck, as trueno_plugin_v1_bottleneck);
