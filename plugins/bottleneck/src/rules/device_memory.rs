//! Device memory taken and given back again and again: each call goes to the driver, and most that give back wait for the
//! device.
//!
//! Evidence: calls that take or give back memory of devices, or pinned memory of the host, outside of a pool; at least
//! `least_gaps` of them, on the critical path between the first and the last work of devices. Gain: that time, no more than
//! the run would save without the calls.

use trueno_analysis::evidence::Evidence;
use trueno_analysis::intervals::SaturatingSum;
use trueno_analysis::vendors::takes_or_returns_memory;

use super::draft::Draft;
use super::{Options, Rule};
use crate::class::Class;
use crate::facts::{Facts, Idle, Without};
use crate::options::thresholds;
use crate::verdict::{Confidence, Verdicts};
use crate::wording::{count, percent, quoted, short};

/// Devices wait while their memory is taken or given back.
pub const CLASS: Class = Class::new("device_allocation", 5).explaining(&[
    "serialisation",
    "launch_bound",
    "sync_bound",
    "idle_stretch",
]);

thresholds! {
    /// The rule; it has no thresholds of its own.
    pub struct DeviceMemory {
    }
}

impl Rule for DeviceMemory {
    fn classes(&self) -> &'static [Class] {
        &[CLASS]
    }

    fn judge(&self, facts: &Facts, options: &Options, verdicts: &mut Verdicts) {
        let spans = &facts.idle.spans;
        let first = spans.iter().map(|span| span.1).min();
        let last = spans.iter().map(|span| span.2).max();
        let (Some(first_ns), Some(last_ns)) = (first, last) else {
            return;
        };
        let calls = facts.bricks.calls.iter();
        let calls = calls.filter(|call| takes_or_returns_memory(&call.0));
        let n = calls
            .clone()
            .map(|call| call.1)
            .fold(0, u64::saturating_add);
        if n < options.gaps.least_gaps {
            return;
        }
        // What is before the first work of devices is set-up.
        let mut names: Vec<(i64, &str)> = calls
            .map(|call| {
                let name = call.0.as_str();
                (facts.path.work_between_ns(name, first_ns, last_ns), name)
            })
            .filter(|row| row.0 > 0)
            .collect();
        names.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(b.1)));
        let all_ns = names.iter().map(|row| row.0).saturating_sum();
        let Some((_, most)) = names.first() else {
            return;
        };
        let quoted: Vec<String> = names.iter().map(|row| quoted(row.1)).collect();
        // Without each of several calls the run saves less than the sum, and devices stay as busy.
        let gain_ns = all_ns.min(facts.most_ns(&Without::Host));
        let without = Without::Names(names.iter().map(|row| row.1).collect());
        Draft {
            class: CLASS,
            code: "device_memory",
            scope_kind: "run",
            scope: (*most).to_owned(),
            place: Idle::device_name(spans[0].0),
            confidence: (
                Confidence::Medium,
                "the calls are on the critical path; assumes that a pool holds enough memory".into(),
            ),
            lead: format!(
                "taking and giving back device memory takes {} of the wall ({} calls, most time in {})",
                percent(facts.share(all_ns)),
                count(n),
                short(most)
            ),
            fix: "keeping the memory in a pool".into(),
            evidence: format!(
                "SELECT id, name, thread, start_ns, dur_ns FROM calls WHERE name IN ({}){} ORDER BY dur_ns DESC",
                quoted.join(", "),
                facts.window.sql(" AND")
            ),
            assumption: "memory comes from a pool and goes back to it, without a call of the driver".into(),
            considered: "calls that take from a pool of the driver, such as `cudaMallocAsync`, are not counted".into(),
            suggestion: facts.producer.advice(
                "leave the caching allocator on (`PYTORCH_NO_CUDA_MEMORY_CACHING` and `PYTORCH_NO_HIP_MEMORY_CACHING` turn it off); if memory runs short and the allocator gives back and takes anew, lower the peak or try `expandable_segments:True`",
                "allocate before the loop and use the memory again, or take it from a pool (`cudaMallocAsync`, `hipMallocAsync`)",
            ),
        }
        .with_gain(facts, options, Evidence::new(n, all_ns), (gain_ns, without), verdicts);
    }
}
