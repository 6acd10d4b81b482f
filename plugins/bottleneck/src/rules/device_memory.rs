//! Device memory taken and given back again and again: each call goes to the driver, and most that give back wait for the
//! device.
//!
//! Evidence: calls that take or give back memory of devices, or pinned memory of the host, outside of a pool; at least
//! `least_gaps` that give back, on the critical path between the first and the last work of devices. An allocator that takes
//! memory and keeps it is no such case, and a call that took as long as all shorter ones of its name together is a single
//! event. Gain: that time, no more than the run would save without the calls.

use trueno_analysis::vendors::{returns_memory, takes_or_returns_memory};

use super::calls_between::CallsBetween;
use super::draft::Draft;
use super::{Options, Rule};
use crate::class::Class;
use crate::facts::{Facts, Idle, Without};
use crate::options::thresholds;
use crate::verdict::{Confidence, Verdicts};
use crate::wording::{count, percent, short};

pub const CLASS: Class = Class::new("device_allocation", 5).explaining(&[
    "serialisation",
    "launch_bound",
    "sync_bound",
    "idle_stretch",
]);

thresholds! {
    pub struct DeviceMemory {
    }
}

impl Rule for DeviceMemory {
    fn classes(&self) -> &'static [Class] {
        &[CLASS]
    }

    fn judge(&self, facts: &Facts, options: &Options, verdicts: &mut Verdicts) {
        let Some(found) = CallsBetween::find_recurring(facts, options, takes_or_returns_memory)
        else {
            return;
        };
        let returned = facts.bricks.calls.iter();
        let returned = returned.filter(|call| returns_memory(&call.0));
        let returned = returned.map(|call| call.1).fold(0, u64::saturating_add);
        // An allocator that still grows takes memory and keeps it.
        if returned < options.gaps.least_gaps {
            return;
        }
        let most = found.names[0];
        // Without each of several calls the run saves less than the sum, and devices stay as busy.
        let gain_ns = found.path_ns.min(facts.most_ns(&Without::Host));
        let without = Without::Names(found.names.clone());
        Draft {
            class: CLASS,
            code: "device_memory",
            scope_kind: "run",
            scope: most.to_owned(),
            place: Idle::device_name(facts.idle.spans[0].0),
            confidence: (
                Confidence::Medium,
                "the calls are on the critical path; assumes that a pool holds enough memory".into(),
            ),
            lead: format!(
                "allocating and freeing device memory takes {} of the wall ({} calls, most time in {})",
                percent(facts.share(found.path_ns)),
                count(found.calls),
                short(most)
            ),
            fix: "keeping the memory in a pool".into(),
            evidence: found.sql(facts),
            assumption: "memory comes from a pool and returns to it without driver calls".into(),
            considered: "calls that use a pool of the driver, such as `cudaMallocAsync`, are not counted".into(),
            suggestion: facts.producer.advice(
                "leave the caching allocator on (`PYTORCH_NO_CUDA_MEMORY_CACHING` and `PYTORCH_NO_HIP_MEMORY_CACHING` turn it off); if memory runs short and the allocator keeps freeing and reallocating, lower the peak or try `expandable_segments:True`",
                "allocate before the loop and use the memory again, or take it from a pool (`cudaMallocAsync`, `hipMallocAsync`)",
            ),
        }
        .with_gain(facts, options, facts.evidence(found.calls, &found.times), (gain_ns, without), verdicts);
    }
}
