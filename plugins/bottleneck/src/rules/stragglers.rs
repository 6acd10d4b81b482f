//! What slows a job of ranks down, as plugin `stragglers` re-timed it.
//!
//! Of a job that was re-timed, this rule speaks for those that compare ranks with each other. Stages of a pipeline wait
//! for each other by design, so there waiting in communication is no loss either.

use trueno_analysis::evidence::Evidence;

use super::draft::Draft;
use super::{Options, Rule, imbalance};
use crate::facts::{Facts, Without};
use crate::options::thresholds;
use crate::verdict::{Confidence, Verdicts};
use crate::wording::short;

thresholds! {
    /// The thresholds are those of plugin `stragglers`.
    pub struct Stragglers {
    }
}

impl Rule for Stragglers {
    fn judge(&self, facts: &Facts, options: &Options, verdicts: &mut Verdicts) {
        if !facts.ranks.is_pipeline && !facts.ranks.is_retimed {
            return;
        }
        // What is worth a word, `stragglers` decided by the length of a step.
        let mut all = options.clone();
        all.general.least_share = 0.0;
        for cause in &facts.ranks.job_causes {
            // Why operations begin later, threads tell.
            let number = cause
                .name
                .strip_prefix("rank ")
                .and_then(|of| of.parse::<u64>().ok());
            let late = facts
                .ranks
                .causes
                .iter()
                .find(|(rank, ..)| Some(*rank) == number);
            let why = match late {
                Some((_, kind, Some(name)))
                    if ["input", "launch", "host"].contains(&kind.as_str()) =>
                {
                    format!(" (longer on {kind}: {})", short(name))
                }
                _ => String::new(),
            };
            Draft {
                class: imbalance::CLASS,
                code: "stragglers",
                scope_kind: "job",
                scope: cause.name.clone(),
                place: cause.name.clone(),
                confidence: (
                    Confidence::High,
                    "re-timed: operations are joined by the order of their lanes and by matched collectives".into(),
                ),
                lead: format!("{}{why}", cause.detail),
                fix: cause.fix.clone(),
                evidence: "SELECT * FROM stragglers.what_if ORDER BY gain_ns DESC".into(),
                assumption: "the order of operations stays as recorded".into(),
                considered: "ranks are compared with those of their stage only; what the pipeline makes all ranks wait is \
                             no cause (`stragglers.job`)"
                    .into(),
                suggestion: cause.suggestion.clone(),
            }
            .with_gain(
                facts,
                &all,
                Evidence::once(cause.gain_ns),
                (cause.gain_ns, Without::Unbounded),
                verdicts,
            );
        }
    }
}
