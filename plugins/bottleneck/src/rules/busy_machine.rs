//! A busy machine: threads that could have run, and no processor was free.
//!
//! Evidence: waits of kind `runnable` (the scheduler's own records) on the critical path, for at least `least_share` of the wall.
//! Gain: what the path would be shorter by without its waits, no more than these.

use trueno_analysis::evidence::Evidence;
use trueno_analysis::intervals::SaturatingSum;

use super::draft::Draft;
use super::{Options, Rule};
use crate::class::Class;
use crate::facts::{Facts, Without};
use crate::options::thresholds;
use crate::verdict::{Confidence, Verdicts};
use crate::wording::percent;

/// More threads are ready to run than there are processors.
pub const CLASS: Class = Class::new("busy_machine", 5).explaining(&["sync_bound"]);

thresholds! {
    pub struct BusyMachine {
    }
}

pub fn runnable_ns(facts: &Facts) -> i64 {
    let rows = facts.path.names.iter();
    let rows = rows.filter(|row| row.0 == "runnable" && row.1 == "sync_wait");
    rows.map(|row| row.3).saturating_sum()
}

impl Rule for BusyMachine {
    fn classes(&self) -> &'static [Class] {
        &[CLASS]
    }

    fn judge(&self, facts: &Facts, options: &Options, verdicts: &mut Verdicts) {
        let ns = runnable_ns(facts);
        let waits = facts.device.waits.iter().filter(|wait| wait.is_runnable);
        Draft {
            class: CLASS,
            code: "no_processor_free",
            scope_kind: "run",
            scope: "processors".into(),
            place: "waits".into(),
            confidence: (Confidence::High, "the scheduler recorded when each thread was ready but did not run".into()),
            lead: format!("threads were ready to run but no processor was free for {} of the wall", percent(facts.share(ns))),
            fix: "a free processor for each thread".into(),
            evidence: format!(
                "SELECT id, thread, start_ns, dur_ns FROM syncs WHERE kind = 'runnable'{} ORDER BY dur_ns DESC",
                facts.window.sql(" AND")
            ),
            assumption: "every ready thread runs at once, for as long as it ran".into(),
            considered: "waits in which a thread yielded its processor are not counted; the recording does not say whether other programs or threads of this one had the processors".into(),
            suggestion: "measure again on a quiet machine, or with fewer threads than processors; limits of a container (cgroup) look the same".into(),
        }
        .with_gain(facts, options, Evidence::new(waits.count() as u64, ns), (facts.path.gain_ns("kind:sync_wait", 1.0).min(ns), Without::Unbounded), verdicts);
    }
}
