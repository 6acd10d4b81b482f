//! The answer first: what a report opens with, as tables that anyone can query.
//!
//! Nothing is measured here. Every figure is one of another plugin's table or a quotient of such; the page
//! `docs/analyses/summary.md` says which.

pub mod devices;
pub mod facts;
pub mod gain;
pub mod headline;
pub mod host;
pub mod inputs;
pub mod kernels;
pub mod limit;
pub mod parts;
pub mod sampled;
pub mod sentence;
pub mod steps;
pub mod threads;

use trueno_plugin::{Input, Parts, Plugin, Result, Run, export};

pub struct Summary;

impl Plugin for Summary {
    const ID: &'static str = "summary";
    const SUMMARY: &'static str = "The run in one sentence, its devices and its kernels.";
    const INPUTS: &'static [Input] = &inputs::INPUTS;
    type Options = ();

    fn run(run: &mut Run, (): ()) -> Result<()> {
        let facts = facts::Facts::load(run)?;
        let headline = headline::Headline::new(&facts);
        run.emit(headline.table())?;
        if !facts.devices.is_empty() {
            run.emit(devices::table(&facts))?;
            let owners = kernels::owners(run, &facts.kernels)?;
            run.emit(kernels::table(&facts, &owners))?;
        }
        if facts.tells_threads_apart() {
            run.emit(threads::table(&facts.threads))?;
        }
        Ok(())
    }
}

impl Parts for Summary {
    const MERGE_INPUTS: &'static [Input] = &inputs::MERGE_INPUTS;

    fn part(run: &mut Run, (): ()) -> Result<()> {
        parts::Events::load(run)?.emit(run)
    }

    /// Merges two lists of the parts. Everything else about all ranks comes from the tables of other plugins.
    fn merge(run: &mut Run, (): ()) -> Result<()> {
        if run.is_final() {
            Self::run(run, ())
        } else {
            parts::Events::load(run)?.emit(run)
        }
    }
}

export!(Summary, parts, as trueno_plugin_v1_summary);
